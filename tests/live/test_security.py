"""A secured cluster: each way to prove who asks, what is wrong told in one line, ACLs, secrets."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from partage.live.connection import Connection
from partage.live.sandbox import Sandbox
from partage.live.sandbox.security import MECHANISMS
from partage.live.sandbox.settings import to_properties

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-securely.md"
GUEST = "User:guest"
LINES = {"snapshot": 0, "groups": 0}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def run(*words: str) -> Ended:
    """A command, as a user types it."""
    from partage.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["partage", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    return Ended(int(ended.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Two brokers; two topics that lie on broker 1 alone, and a group that has read of one."""
    folder = tmp_path_factory.mktemp("secured") / "sandbox"
    with Sandbox.start(folder, brokers=2, racks=("a", "b"), secure=True) as sandbox:
        connection = Connection.of(None, folder / "security" / "admin.properties")
        with connection.admin() as client:
            client.create_topics(
                {
                    "orders": {"assignments": {p: [1] for p in range(4)}},
                    "payments": {"assignments": {0: [1]}},
                }
            )
        config = {"bootstrap_servers": connection.servers.split(","), **connection.config}
        producer = KafkaProducer(acks="all", **config)
        for number in range(40):
            producer.send("orders", b"x" * 1000, partition=number % 4)
        producer.close()
        reader = KafkaConsumer(
            "orders",
            group_id="billing",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **config,
        )
        deadline = time.monotonic() + 60
        while not reader.poll(timeout_ms=200, max_records=10):
            assert time.monotonic() < deadline
        reader.commit()
        reader.close()
        yield sandbox


@pytest.fixture(scope="module")
def admin(secured: Sandbox) -> Iterator[KafkaAdminClient]:
    with Connection.of(None, secured.security.folder / "admin.properties").admin() as client:
        yield client


@pytest.fixture(scope="module")
def plan(secured: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that moves two replicas."""
    folder = tmp_path_factory.mktemp("planned") / "plan"
    config = ("--command-config", str(secured.security.folder / "admin.properties"))
    assert run("plan", *config, "--topics", "orders", "-o", str(folder)).code == 0
    return folder


# ---------------------------------------------------------------------- who asks


WAYS = [
    *(("SASL_SSL", mechanism) for mechanism in MECHANISMS),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SSL", ""),
]


def written(path: Path, settings: Mapping[str, object], **changed: str | None) -> str:
    """A properties file, with settings changed (``sasl_mechanism``) or, None, left out."""
    said = {**settings, **{name.replace("_", "."): value for name, value in changed.items()}}
    path.write_text(to_properties({k: v for k, v in said.items() if v is not None}))
    return str(path)


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_each_way_to_prove_who_asks(
    secured: Sandbox, plan: Path, tmp_path: Path, listener: str, mechanism: str
) -> None:
    settings = secured.security.client("admin", listener, mechanism)
    config = ("--command-config", written(tmp_path / "client.properties", settings))
    address = ("--bootstrap-server", secured.servers(listener))
    taken = run("snapshot", *config, *address, "--json")
    found = json.loads(taken.out)
    assert (taken.code, found["cluster_id"], found["warnings"]) == (0, secured.cluster_id, [])
    assert {one["topic"] for one in found["partitions"]} >= {"orders", "payments"}
    assert [one["group"] for one in found["groups"]] == ["billing"]
    groups = json.loads(run("groups", *config, *address, "--json").out)
    assert groups["groups"][0]["total_lag"] == 30
    verdict = run("verify", str(plan), *config, *address, "--json")
    assert (verdict.code, json.loads(verdict.out)["state"]) == (1, "not begun")
