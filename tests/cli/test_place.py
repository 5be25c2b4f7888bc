"""place, from files; and on a running Kafka, where it creates what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.live.admin.connection import Connection

Run = Callable[..., Any]


def test_a_new_topic(run: Run, grown: str) -> None:
    ended = run("place", "orders", grown, "--partitions", "12", "--replication-factor", "3")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert "orders: 12 new partitions with 3 replicas" in lines
    assert "✓ proven: no placement spreads the topic, and then the replicas, more evenly" in lines
    assert lines[-1].startswith(
        "With Kafka's tool: kafka-topics.sh --bootstrap-server HOST:PORT --create --topic orders "
        "--replica-assignment "
    )
    assert lines[-1].rpartition(" ")[2].count(",") == 11


def test_more_partitions(run: Run, grown: str) -> None:
    words = ("place", "kafka", grown, "--partitions", "30", "--brokers", "1,2,3,4")
    out = run(*words).out
    assert "kafka: 6 new partitions with 3 replicas" in out
    assert "--alter --partitions 30 --topic kafka --replica-assignment" in out
    found = run(*words, "--json").json
    assert [one["partition"] for one in found["assignment"]] == list(range(24, 30))
    assert {b for one in found["assignment"] for b in one["replicas"]} <= {1, 2, 3, 4}
    assert len(found["replica_assignment"].split(",")) == 30
    assert (found["new_topic"], found["created"], found["proven"]) == (False, False, True)


def test_many_partitions_fit_a_screen(run: Run, grown: str) -> None:
    ended = run("place", "wide", grown, "--partitions", "200", "--replication-factor", "2")
    assert "and 180 more: --json prints all" in ended.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("orders", "--partitions", "3"), "--replication-factor: is missing: orders is a new"),
        (("kafka", "--partitions", "3"), "--partitions 3: expected 25 to 100,000"),
        (
            ("o", "--partitions", "3", "--replication-factor", "2", "--brokers", "1;2"),
            "--brokers 1;2: expected a broker id from 0 to 2147483647",
        ),
        (
            ("o", "--partitions", "3", "--replication-factor", "2", "--brokers", "1,2,1"),
            "--brokers 1,2,1: a broker is given twice",
        ),
        (
            ("o", "--partitions", "3", "--replication-factor", "2", "--create"),
            "--create: needs the running cluster: leave out CLUSTER",
        ),
    ],
)
def test_mistakes(run: Run, grown: str, words: tuple[str, ...], problem: str) -> None:
    topic, *options = words
    ended = run("place", topic, grown, *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"partage: {problem}")


def test_partitions_that_exist_keep_their_replicas(run: Run, tmp_path: Any) -> None:
    """More partitions of a topic: the list for Kafka's tool begins with those of today."""
    value = {
        "brokers": [{"id": n} for n in (1, 2, 3)],
        "partitions": [{"topic": "a.b", "partition": 0, "replicas": [1, 2]}],
    }
    (tmp_path / "c.json").write_text(json.dumps(value))
    found = run("place", "a.b", str(tmp_path / "c.json"), "--partitions", "2", "--json").json
    assert found["replica_assignment"].startswith("1:2,3:")


@pytest.mark.kafka
def test_create(run: Run, kafka: Any) -> None:
    with Connection.of(kafka.bootstrap_servers).admin() as admin:
        admin.create_topics({"there": {"assignments": {0: [1, 2]}}}, wait_for_metadata=True)
    words = ("place", "made", "--bootstrap-server", kafka.bootstrap_servers, "--partitions", "3")
    refused = run(*words, "--replication-factor", "2", "--create")
    assert refused.code == 2
    assert "there is no terminal to ask on: nothing was changed" in refused.err
    asked = run(*words, "--replication-factor", "2", "--json").json
    assert not asked["created"]
    made = run(*words, "--replication-factor", "2", "--create", "--yes")
    assert made.code == 0
    assert made.out.endswith("Created.\n")
    again = run(*words, "--create", "--yes")
    assert "--partitions 3: expected 4 to 100,000; made has 3 partitions" in again.err
    more = run(*words[:-1], "4", "--json").json
    assert more["replica_assignment"].startswith(asked["replica_assignment"])
    with Connection.of(kafka.bootstrap_servers).admin() as admin:
        admin.delete_topics(["there", "made"])
