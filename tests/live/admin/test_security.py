"""A secured cluster: each way to prove who asks, what is wrong told in one line, ACLs, secrets."""

from __future__ import annotations

import io
import json
import re
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ResourcePattern,
    ResourceType,
    UserScramCredentialUpsertion,
)

from partage.java import find_java
from partage.live.admin.connection import Connection
from partage.live.admin.permissions import NEEDS, Acl
from partage.live.admin.snapshot import read_throttles
from partage.live.admin.states import Throttles
from partage.live.sandbox import Sandbox
from partage.live.sandbox.jars import kafka_jars
from partage.live.sandbox.security import MECHANISMS
from partage.live.sandbox.settings import to_properties
from partage.properties import login_module
from tests.command_lines import watched

pytestmark = [pytest.mark.long, pytest.mark.kafka]

RECORDS = 40
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "connect-securely.md"


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
        for number in range(RECORDS):
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


def by(mechanism: str, settings: Mapping[str, object]) -> dict[str, object]:
    """A client's settings, with the same login by this mechanism."""
    who = str(settings["sasl.jaas.config"]).partition(" required ")[2].removesuffix(";")
    jaas = login_module(mechanism, who)
    return {**settings, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_each_way_to_prove_who_asks(
    secured: Sandbox, plan: Path, tmp_path: Path, listener: str, mechanism: str
) -> None:
    settings = secured.security.client("admin", listener)
    if mechanism:
        settings = by(mechanism, settings)
    config = ("--command-config", written(tmp_path / "client.properties", settings))
    address = ("--bootstrap-server", secured.servers(listener))
    taken = run("snapshot", *config, *address, "--json")
    found = json.loads(taken.out)
    assert (taken.code, found["cluster_id"], found["warnings"]) == (0, secured.cluster_id, [])
    assert {one["topic"] for one in found["partitions"]} >= {"orders", "payments"}
    assert [one["group"] for one in found["groups"]] == ["billing"]
    groups = json.loads(run("groups", *config, *address, "--json").out)
    assert groups["groups"][0]["total_lag"] == RECORDS - 10
    verdict = run("verify", str(plan), *config, *address, "--json")
    assert (verdict.code, json.loads(verdict.out)["state"]) == (1, "not begun")


# ---------------------------------------------------------------------- what is wrong


def other_authority(folder: Path) -> str:
    """A certificate that has signed nothing here."""
    path = folder / "other.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -keyout {folder}/other.key -out {path} -subj /CN=x"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    return str(path)


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        ("password", 1, "the login is refused: check user name and password"),
        ("plain password", 1, "the login is refused: check user name and password"),
        ("authority", 1, "its certificate is not accepted: unable to get local issuer certificate"),
        ("host name", 1, "its certificate is not accepted: Hostname mismatch"),
        ("plaintext to TLS", 1, "the listener uses TLS, but security.protocol is PLAINTEXT"),
        (
            "plaintext to a login",
            1,
            "requires SASL, but security.protocol is PLAINTEXT",
        ),
        ("TLS to plaintext", 1, "does not use TLS, but security.protocol is SASL_SSL"),
        ("TLS to a login", 1, "the listener requires SASL, but security.protocol is SSL"),
        ("no certificate", 1, "it ended the TLS handshake (sslv3 alert bad certificate)"),
        ("JKS", 2, "is not a PKCS12 or JKS store, or needs ssl.truststore.password"),
        ("no file", 2, "ssl.truststore.location: the file: no such file"),
        ("no properties", 2, "client.properties: no such file"),
        ("no password", 2, "sasl.jaas.config: expected a login module"),
        ("mechanism", 2, "sasl.mechanism: expected one of PLAIN"),
    ],
)
def test_errors_are_one_line(
    secured: Sandbox, tmp_path: Path, wrong: str, code: int, said: str
) -> None:
    security, file = secured.security, tmp_path / "client.properties"
    usual, certified = security.client("admin", "SASL_SSL"), security.client("admin", "SSL")
    plain = by("PLAIN", usual)
    servers = {name: secured.servers(name) for name in secured.listeners}
    key = "ssl_truststore_location"
    address = servers["SASL_SSL"]
    jaas = str(usual["sasl.jaas.config"])
    match wrong:
        case "password":
            written(file, usual, sasl_jaas_config=re.sub('word=".*"', 'word="hunter2"', jaas))
        case "plain password":
            jaas = re.sub('word=".*"', 'word="hunter2"', str(plain["sasl.jaas.config"]))
            written(file, plain, sasl_jaas_config=jaas)
        case "authority":
            written(file, usual, **{key: other_authority(tmp_path)})
        case "host name":
            written(file, usual)
            address = address.replace("127.0.0.1", "localhost")
        case "plaintext to TLS":
            file.touch()
        case "plaintext to a login":
            file.touch()
            address = servers["SASL_PLAINTEXT"]
        case "TLS to plaintext":
            written(file, usual)
            address = servers["SASL_PLAINTEXT"]
        case "TLS to a login":
            written(file, certified)
        case "no certificate":
            written(file, certified, ssl_keystore_type=None, ssl_keystore_location=None)
            address = servers["SSL"]
        case "JKS":
            written(file, usual, ssl_truststore_type=None)
        case "no file":
            written(file, usual, **{key: str(tmp_path / "none.pem")})
        case "no password":
            written(file, usual, sasl_jaas_config='ScramLoginModule required username="hunter2";')
        case "mechanism":
            written(file, usual, sasl_mechanism="NTLM")
    began = time.monotonic()
    ended = run("snapshot", "--bootstrap-server", address, "--command-config", str(file))
    assert time.monotonic() - began < 60, "it took its time"
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert ended.err.startswith("partage: ")
    assert ended.err.count("\n") == 1
    assert "hunter2" not in ended.err


# ---------------------------------------------------------------------- who may do what


def documented() -> dict[str, frozenset[Acl]]:
    """The table of the page: what each command needs."""
    section = PAGE.read_text(encoding="utf-8").partition("## Least privilege")[2]
    rows = re.findall(r"^\| (`.*) \|(.*)\|(.*)\|(.*)\|$", section, flags=re.MULTILINE)
    return {
        command: frozenset(
            Acl(operation.strip(), resource)
            for resource, cell in zip(("cluster", "topic", "group"), cells, strict=True)
            for operation in cell.split(",")
            if operation.strip()
        )
        for names, *cells in rows
        for command in re.findall("`([^`]*)`", names)
    }


def test_the_table_of_the_page_is_the_table_of_the_code() -> None:
    assert documented() == {command: frozenset(needs) for command, needs in NEEDS.items()}


class Users:
    """Users with ACLs of their own. Rights are only ever added, so that nothing of an earlier test
    is left over while brokers still hear of a change."""

    def __init__(self, secured: Sandbox, admin: KafkaAdminClient, folder: Path) -> None:
        self._secured, self._admin, self._folder, self._count = secured, admin, folder, 0

    def having(self, acls: frozenset[Acl], described: Sequence[str] = ()) -> str:
        """A new user with just these, and Describe on some topics; gives the properties file."""
        self._count += 1
        name, password = f"user{self._count}", "correct-horse"
        self._admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion(name, "SCRAM-SHA-512", password)]
        )
        wanted = [self._acl(name, one) for one in acls]
        wanted += [self._acl(name, Acl("Describe", "topic"), topic) for topic in described]
        if wanted:
            assert not self._admin.create_acls(wanted)["failed"]
        settings = self._secured.security.client("guest", "SASL_SSL")
        jaas = str(settings["sasl.jaas.config"]).partition("username")[0]
        return written(
            self._folder / f"{name}.properties",
            {"bootstrap.servers": self._secured.bootstrap_servers, **settings},
            sasl_jaas_config=f'{jaas}username="{name}" password="{password}";',
        )

    @staticmethod
    def _acl(name: str, acl: Acl, on: str = "*") -> ACL:
        operation = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", acl.operation).upper()
        resource = "kafka-cluster" if acl.resource == "cluster" else on
        return ACL(
            f"User:{name}",
            "*",
            ACLOperation[operation],
            ACLPermissionType.ALLOW,
            ResourcePattern(ResourceType[acl.resource.upper()], resource),
        )


@pytest.fixture(scope="module")
def users(
    secured: Sandbox, admin: KafkaAdminClient, tmp_path_factory: pytest.TempPathFactory
) -> Users:
    return Users(secured, admin, tmp_path_factory.mktemp("users"))


def until(*words: str, says: str) -> Ended:
    """The command, again until it says this: what brokers are told they know a moment later."""
    deadline = time.monotonic() + 30
    while True:
        ended = run(*words)
        if says in ended.out + ended.err:
            return ended
        assert time.monotonic() < deadline, ended


def lacks(ended: Ended, acl: Acl) -> None:
    """It names this ACL, in one line, and no other."""
    on = "the cluster" if acl.resource == "cluster" else rf"(the )?{acl.resource}\b"
    lines = {line for line in (ended.out + ended.err).splitlines() if "missing ACL" in line}
    assert all(re.search(f"missing ACL: {acl.operation} on {on}[^,]*$", one) for one in lines), (
        lines
    )


LOOKING = {
    "snapshot": "replicas",
    "plan": "2 replicas move",
    "groups": "billing",
    "verify": "2 waiting",
}
GOES_ON = {
    "snapshot": {Acl("DescribeConfigs", "topic"), Acl("Describe", "group")},
    "plan": {Acl("DescribeConfigs", "topic")},
    "groups": documented()["groups"],
}
"""Without these it lacks something, says so, and does the rest."""


@pytest.mark.parametrize("command", LOOKING)
def test_permissions_to_read(users: Users, plan: Path, command: str) -> None:
    needs = documented()[command]
    typed = {"plan": ["plan", "--topics", "orders"], "verify": ["verify", str(plan)]}.get(
        command, [command]
    )
    ended = until(*typed, "--command-config", users.having(needs), says=LOOKING[command])
    assert "missing ACL" not in ended.out + ended.err
    for acl in sorted(needs):
        lacking = users.having(needs - {acl})
        said = f"missing ACL: {acl.operation} on "
        ended = until(*typed, "--command-config", lacking, says=said)
        lacks(ended, acl)
        assert ended.code == (0 if acl in GOES_ON.get(command, ()) else 1)


def test_topics_that_are_hidden_are_noticed(users: Users, tmp_path: Path) -> None:
    """Only one of two topics may be described: no half of a cluster is planned on."""
    needs = {one for one in documented()["plan"] if one.resource == "cluster"}
    config = users.having(frozenset(needs), ("payments", "__consumer_offsets"))
    for command in ("snapshot", "plan"):
        out = tmp_path / command
        words = (command, "--command-config", config, "-o", str(out))
        ended = until(*words, says="Describe on topic orders")
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == "partage: not allowed: missing ACL: Describe on topic orders\n"
        assert not out.exists()


@pytest.mark.parametrize("throttle", [(), ("--throttle", "50MB")], ids=["", "throttled"])
def test_permissions_to_change(users: Users, plan: Path, throttle: tuple[str, ...]) -> None:
    for command in ("apply", "rollback"):
        needs = documented()[" ".join((command, *throttle[:1]))]
        typed = (command, str(plan), "--yes", *throttle, "--command-config")
        for acl in sorted(needs) if command == "apply" else ():
            ended = until(*typed, users.having(needs - {acl}), says=f"ACL: {acl.operation} on ")
            lacks(ended, acl)
            assert (ended.code, ended.out) == (1, "")
            assert ended.err.count("\n") == 1
            assert not (plan / "journal.jsonl").exists()  # nothing was begun
        done = until(*typed, users.having(needs), says="Done: ")
        assert done.code == 0
        assert "missing ACL" not in done.out + done.err
    (plan / "journal.jsonl").unlink()


def test_permissions_to_create_partitions(users: Users, admin: KafkaAdminClient) -> None:
    """Of a new topic with Create, then more of it with Alter instead, which implies Describe."""
    create, alter = Acl("Create", "topic"), Acl("Alter", "topic")
    creating = documented()["place --create"]
    growing = creating - {create} | {alter}
    new, more = ("--partitions", "2", "--replication-factor", "2"), ("--partitions", "4")
    asked = creating - {Acl("DescribeConfigs", "topic")}
    for needs, words, refused in ((creating, new, asked), (growing, more, {alter})):
        typed = ("place", "placed", *words, "--create", "--yes", "--json", "--command-config")
        for acl in sorted(refused):
            ended = until(*typed, users.having(needs - {acl}), says=f"ACL: {acl.operation} on ")
            lacks(ended, acl)
            assert (ended.code, ended.out) == (1, "")
            assert ended.err.count("\n") == 1
        assert until(*typed, users.having(needs), says='"created":true').code == 0
    admin.delete_topics(["placed"])


def test_acls_are_taken_away_during_a_run(
    secured: Sandbox, admin: KafkaAdminClient, users: Users, tmp_path: Path
) -> None:
    """The run ends and names one; once they are back, the same command does the rest, and no
    throttle or claim is left."""
    admin.create_topics({"half": {"assignments": {p: [1] for p in range(4)}}})
    connection = Connection.of(None, secured.security.folder / "admin.properties")
    producer = KafkaProducer(
        acks="all", bootstrap_servers=connection.servers.split(","), **connection.config
    )
    for number in range(32):
        producer.send("half", b"x" * 900_000, partition=number % 4)
    producer.close()
    config = ("--command-config", str(secured.security.folder / "admin.properties"))
    assert run("plan", *config, "--topics", "half", "-o", str(tmp_path / "plan")).code == 0
    user = users.having(documented()["apply --throttle"])
    typed = ("apply", str(tmp_path / "plan"), "--yes", "--throttle", "1MB", "--json")
    command = [sys.executable, "-m", "partage", *typed, "--command-config", user]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal, deadline = tmp_path / "plan" / "journal.jsonl", time.monotonic() + 60
    while not (journal.exists() and '"submitted"' in journal.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    name = Path(user).stem
    taken = [users._acl(name, Acl("AlterConfigs", one)) for one in ("cluster", "topic")]
    admin.delete_acls(taken)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 1
    assert re.search(r"missing ACL: AlterConfigs on the \w+: grant it and run again", errors), (
        errors
    )
    assert not admin.create_acls(taken)["failed"]
    done = until(*typed, "--command-config", user, says='"state":"done"')
    assert done.code == 0
    assert read_throttles(admin, [1, 2], ["half"]) == Throttles()
    described = admin.describe_configs([ConfigResource("BROKER", "1")], config_filter="all")
    assert [one for one in described["broker"]["1"] if one.startswith("partage.")] == []
    admin.delete_topics(["half"])


@pytest.mark.parametrize(
    ("command", "denied"),
    [("plan", {"reassignment", "throttles"}), ("apply", {"throttles"}), ("apply --throttle", ())],
)
def test_doctor_finds_what_the_user_may_do(
    users: Users, command: str, denied: Sequence[str]
) -> None:
    """Before a command that needs more fails."""
    user = users.having(documented()[command] | documented()["plan"])
    words = ("doctor", "--json", "--command-config", user)
    deadline = time.monotonic() + 30
    while True:
        findings = json.loads(run(*words).out)["findings"]
        by_name = {one["name"]: one for one in findings}
        names = ("replica sizes", "reassignment", "throttles", "groups")
        missing = {name for name in names if by_name.get(name, {}).get("state") != "ok"}
        if missing == set(denied):
            break
        assert time.monotonic() < deadline, findings
    for name in denied:
        assert by_name[name]["found"].startswith("not allowed: missing ACL: Alter")
        assert by_name[name]["advice"]


def test_the_command_of_the_page(secured: Sandbox) -> None:
    """With Kafka's own tool: afterwards guest may take a snapshot."""
    section = PAGE.read_text(encoding="utf-8").partition("\nWith Kafka's own tool, ")[2]
    likewise = re.search(r"\(likewise `(.*)`, `(.*)`\)", section)
    block = re.search(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    assert likewise is not None
    assert block is not None
    program, *words, resource = shlex.split(block[1].replace("\\\n", " "))
    assert program == "kafka-acls.sh"
    folder = secured.security.folder
    for every in (resource, *likewise.groups()):
        real = {"HOST:PORT": secured.bootstrap_servers}
        subprocess.run(
            [
                str(find_java("Kafka") / "bin" / "java"),
                *("-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars()}/*"),
                "org.apache.kafka.tools.AclCommand",
                *(real.get(word, word) for word in words),
                *shlex.split(every),
            ],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=120,
        )
    ended = until("snapshot", "--command-config", str(folder / "guest.properties"), says="replicas")
    assert ended.code == 0
    assert "missing ACL" not in ended.out


@pytest.mark.spark
def test_permissions_to_read_records(
    secured: Sandbox,
    users: Users,
    spark: Any,
    connector: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of Spark's connector: nothing on groups, and what Read brings along."""
    monkeypatch.setenv("PARTAGE_SPARK_KAFKA", str(connector))
    url = f"kafka://{secured.bootstrap_servers}/orders"
    cluster = tmp_path / "cluster.json"
    admin = str(secured.security.folder / "admin.properties")
    assert run("snapshot", "--command-config", admin, "-o", str(cluster)).code == 0
    typed = {
        "profile": ("profile", url, "-o", str(tmp_path / "profile"), "--json"),
        "keys": ("keys", url, "--partitions", "2", "--json"),
        "watch": ("watch", url, "--cluster", str(cluster), "-o", str(tmp_path / "watch"), "--once"),
    }
    for command, words in typed.items():
        ended = run(*words, "--command-config", users.having(documented()[command]))
        assert ended.code == 0, ended
    measured = json.loads((tmp_path / "profile" / "profile.json").read_text())
    assert measured["totals"]["records"] == RECORDS
    for acls in (frozenset[Acl](), frozenset({Acl("Describe", "topic")})):
        ended = run(*typed["keys"], "--command-config", users.having(acls))
        assert (ended.code, ended.out) == (1, "")
        line = ended.err.splitlines()[-1]
        assert line.endswith("probably not authorized: missing ACL: Read on topic orders"), (
            ended.err
        )


# ---------------------------------------------------------------------- secrets, variables


def secret_files(secured: Sandbox) -> list[Path]:
    folder = Path(secured.directory)
    return [*(folder / "security").iterdir(), *folder.glob("*/server.properties")]


def modes(files: Sequence[Path]) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in files}


@pytest.fixture(scope="module")
def restarted(secured: Sandbox) -> list[str]:
    """The command lines of a restart of broker 2, whose files nobody else could read before."""
    assert modes(secret_files(secured)) == {0o600}
    secured.stop_broker(2)
    with watched() as lines:
        secured.start_broker(2)
    assert any("kafka.Kafka" in line for line in lines)
    return list(lines)


def test_variables_are_enough_and_secrets_stay_secret(
    secured: Sandbox, restarted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshot, plan, apply, rollback by variables alone; then every word of it is looked at."""
    security = secured.security
    passwords = json.loads((security.folder / "passwords.json").read_text())
    secrets = [*passwords.values(), "hunter2"]
    for name, value in {
        "BOOTSTRAP_SERVERS": secured.bootstrap_servers,
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SSL_TRUSTSTORE_TYPE": "PEM",
        "SSL_TRUSTSTORE_LOCATION": str(security.folder / "ca.pem"),
        "SASL_MECHANISM": "SCRAM-SHA-256",
        "SASL_USERNAME": "admin",
        "SASL_PASSWORD": passwords["admin"],
    }.items():
        monkeypatch.setenv(f"PARTAGE_{name}", value)
    plan, file = str(tmp_path / "plan"), str(tmp_path / "cluster.json")
    with watched() as lines:
        ended = [
            run("snapshot", "-o", file, "--json"),
            run("snapshot"),
            run("groups", "--json"),
            run("plan", "--topics", "orders", "-o", plan),
            run("apply", plan, "--yes", "--json"),
            run("verify", plan, "--json"),
            run("rollback", plan, "--yes"),
            run("sandbox", "up", "--dir", secured.directory),
            run("sandbox", "up", "--dir", secured.directory, "--json"),
        ]
    assert [one.code for one in ended] == [0] * len(ended)
    monkeypatch.setenv("PARTAGE_SASL_PASSWORD", "hunter2")
    refused = run("snapshot")
    assert (refused.code, "the login is refused" in refused.err) == (1, True)
    monkeypatch.delenv("PARTAGE_SASL_PASSWORD")
    alone = run("snapshot")
    assert (alone.code, alone.err) == (
        2,
        "partage: PARTAGE_SASL_PASSWORD: is missing: a login needs user name and password\n",
    )
    file = str(security.folder / "admin-ssl.properties")
    monkeypatch.delenv("PARTAGE_BOOTSTRAP_SERVERS")
    monkeypatch.setenv("PARTAGE_COMMAND_CONFIG", file)
    by_file = run("verify", plan)
    assert by_file.out.startswith("not begun"), by_file
    said = "".join(one.out + one.err for one in (*ended, refused, alone, by_file))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"plan.json", "journal.jsonl", "cluster.json"} <= {path.name for path in files}
    logs = [*Path(secured.directory).glob("*/server.log"), Path(secured.directory, "sandbox.json")]
    assert len(logs) == len(secured.brokers) + 2
    for text in (
        said,
        *restarted,
        *lines,
        *(path.read_text(errors="replace") for path in (*files, *logs)),
    ):
        for secret in secrets:
            assert secret not in text


def test_only_the_owner_reads_what_is_secret(secured: Sandbox, restarted: list[str]) -> None:
    """Before and after a restart."""
    folder, secret = Path(secured.directory), secret_files(secured)
    assert "admin.properties" in {path.name for path in secret}
    assert "users.args" not in {path.name for path in secret}  # what the storage tool was told
    assert modes(secret) == {0o600}
    assert stat.S_IMODE((folder / "security").stat().st_mode) == 0o700
    again = Connection.of(None, folder / "security" / "admin.properties")
    assert again.servers == secured.bootstrap_servers
