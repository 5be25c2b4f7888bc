"""A sandbox from its creation to its end, and arguments that are not accepted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partage.errors import InputError, PartageError
from partage.live.sandbox import MARKER, Sandbox, process
from partage.live.sandbox.jars import OWN_JARS
from partage.live.sandbox.settings import SETTINGS
from tests.command_lines import watched
from tests.live.sandbox.running import alive, described, eventually, exists, pids, state
from tests.outputs.test_file import full_disk, umask

real = pytest.mark.kafka


@real
def test_every_broker_is_registered_and_unfenced(kafka: Sandbox) -> None:
    assert described(kafka) == {
        of.id: (rack, of.address, False)
        for of, rack in zip(kafka.brokers, ("a", "b", "c"), strict=True)
    }


@real
def test_it_listens_on_loopback_only(kafka: Sandbox) -> None:
    for node in (*kafka.brokers, kafka._nodes[0]):
        socket.create_connection(("127.0.0.1", node.port), timeout=5).close()
        if sys.platform == "linux":  # a node that listens on all addresses would answer here
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", node.port), timeout=5)


@real
def test_a_group_reads_what_was_written(kafka: Sandbox) -> None:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
    from kafka.admin import NewTopic

    servers = kafka.bootstrap_servers.split(",")
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("sandbox-read", num_partitions=2, replication_factor=3)])
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    for number in range(10):
        producer.send("sandbox-read", str(number).encode(), partition=number % 2).get(30)
    producer.close()
    consumer = KafkaConsumer(
        "sandbox-read",
        bootstrap_servers=servers,
        group_id="sandbox-read",
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    read = sorted(int(next(consumer).value) for _ in range(10))
    consumer.close()
    admin.delete_topics(["sandbox-read"])
    admin.close()
    assert read == list(range(10))


@pytest.mark.long
@real
@pytest.mark.parametrize("broker", [1, 3])
def test_a_killed_broker_is_fenced_and_can_start_again(kafka: Sandbox, broker: int) -> None:
    before = described(kafka)
    pid = next(one.pid for one in kafka.brokers if one.id == broker)
    assert pid is not None
    kafka.kill_broker(broker)
    try:
        assert not exists(pid)
        assert eventually(lambda: alive(kafka) == {1, 2, 3} - {broker})
        rows = {one["id"]: one["pid"] for one in kafka.to_json()["brokers"]}
        assert rows[broker] is None
        assert None not in {rows[other] for other in {1, 2, 3} - {broker}}
    finally:
        kafka.start_broker(broker)
    assert kafka.started == [broker]
    assert described(kafka) == before
    kafka.start_broker(broker)
    assert kafka.started == []


@pytest.mark.long
@real
def test_a_broker_that_restarts_at_once_is_waited_for(kafka: Sandbox) -> None:
    """Its previous registration is still valid when it starts: ready means the new one."""
    kafka.kill_broker(2)
    kafka.start_broker(2)
    ready = kafka._log(kafka._nodes[2]).splitlines()
    assert any("Transition from STARTING to STARTED" in line for line in ready)
    # on a busy machine a late heartbeat may fence it once more
    assert eventually(lambda: alive(kafka) == {1, 2, 3})


@pytest.mark.long
@real
def test_all_brokers_may_be_down(kafka: Sandbox) -> None:
    for broker in (1, 2, 3):
        kafka.stop_broker(broker)
    again = Sandbox.start(kafka.directory)
    assert again.started == [1, 2, 3]
    assert again.bootstrap_servers == kafka.bootstrap_servers
    assert eventually(lambda: alive(again) == {1, 2, 3})


@real
def test_a_broker_that_does_not_exist(kafka: Sandbox) -> None:
    for broker in (0, 4, -1):
        for call in (kafka.stop_broker, kafka.kill_broker, kafka.start_broker):
            with pytest.raises(InputError, match=rf"has no broker {broker}, only 1, 2, 3$"):
                call(broker)


@pytest.mark.long
@real
def test_starting_again_is_the_same_cluster(kafka: Sandbox) -> None:
    again = Sandbox.start(kafka.directory, brokers=3, racks=["a", "b", "c"], kafka="4.3.0")
    assert again.started == []
    assert again.brokers == Sandbox.open(kafka.directory).brokers
    for arguments, message in (
        ({"brokers": 4}, r"^brokers: 4: .* has 3; partage sandbox down --dir "),
        ({"racks": ["a", "b"]}, r"^racks: the brokers in .* are in a,b,c; "),
        ({"kafka": "4.4.0"}, r"^kafka: 4.4.0: .* runs 4.3.0; "),
    ):
        with pytest.raises(InputError, match=message):
            Sandbox.start(kafka.directory, **arguments)  # type: ignore[arg-type]


@real
def test_a_broker_that_cannot_be_added(kafka: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(path.name for path in Path(kafka.directory).iterdir())
    monkeypatch.setitem(SETTINGS, "num.io.threads", "none")
    with pytest.raises(PartageError, match=r"^broker-4 cannot be formatted: .*num.io.threads"):
        kafka.add_broker("d")
    assert sorted(path.name for path in Path(kafka.directory).iterdir()) == before
    assert alive(kafka) == {1, 2, 3}
    assert [of.id for of in Sandbox.open(kafka.directory).brokers] == [1, 2, 3]


@pytest.mark.long
@real
def test_from_creation_to_removal(tmp_path: Path) -> None:
    """Start, a topic, stop and keep, start, one more broker, the controller killed, stop."""
    from kafka import KafkaAdminClient
    from kafka.admin import NewTopic

    def topics() -> set[str]:
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)
        try:
            return set(admin.list_topics())
        finally:
            admin.close()

    folder = tmp_path / "ein Ordner é€"
    with umask(0o027):
        sandbox = Sandbox.start(folder, brokers=1)
    try:
        assert not [path for path in folder.rglob("*") if path.stat().st_mode & 0o027]
        assert described(sandbox) == {1: (None, sandbox.bootstrap_servers, False)}
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)
        admin.create_topics([NewTopic("kept", num_partitions=1, replication_factor=1)])
        admin.close()
        first = pids(folder)
        ran, left = sandbox.down(keep=True)
        assert (ran, left) == (["controller", "broker-1"], [])
        assert not any(map(exists, first))
        assert pids(folder) == []

        again = Sandbox.start(folder)
        assert (again.cluster_id, again.started) == (sandbox.cluster_id, [1])
        assert again.bootstrap_servers == sandbox.bootstrap_servers
        assert "kept" in topics()

        with full_disk(), pytest.raises(InputError, match=r"cannot be written \(File too large\)"):
            again.add_broker("r")
        assert [broker.id for broker in Sandbox.open(folder).brokers] == [1]
        assert again.add_broker("r") == 2
        assert eventually(lambda: len(described(again)) == 2)
        assert described(again)[2] == ("r", again.brokers[1].address, False)

        os.kill(pids(folder)[0], signal.SIGKILL)
        assert eventually(lambda: Sandbox.open(folder).to_json()["controller"]["pid"] is None)
        whole = Sandbox.start(folder)
        assert whole.started == [1, 2]
        assert eventually(lambda: alive(whole) == {1, 2})
        for place in ("notes.txt", "broker-1/notes.txt", "broker-1/data/t-0/notes.txt"):
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_text("mine")
        (folder / "controller/link").symlink_to(folder / "notes.txt")
    finally:
        last = pids(folder)
        ran, left = sandbox.down()
    assert sorted(ran) == ["broker-1", "broker-2", "controller"]
    assert not any(map(exists, last))
    assert left == [
        *("broker-1/data/t-0/notes.txt", "broker-1/notes.txt", "controller/link", "notes.txt")
    ]
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    assert found == set(left)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"brokers": 0}, "^brokers: 0: expected 1 to 30$"),
        ({"brokers": 31}, "^brokers: 31: expected 1 to 30$"),
        ({"racks": []}, "^racks: 0 racks for 3 brokers"),
        ({"brokers": 2, "racks": ["a", "b", "c"]}, "^racks: 3 racks for 2 brokers"),
        ({"racks": ["a", " "]}, "^racks: ' ': expected the name of a rack$"),
        ({"racks": ["a\nb"]}, r"^racks: 'a\\nb': expected the name of a rack$"),
        ({"kafka": "3.9.0"}, "^kafka: '3.9.0': expected one of 3.4.1"),
    ],
)
def test_arguments_that_are_not_accepted(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Sandbox.start(tmp_path / "s", **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_an_existing_sandbox_cannot_be_secured(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps(state()))
    with pytest.raises(InputError, match=r"^secure: the sandbox in .* is not secured; partage"):
        Sandbox.start(tmp_path, secure=True)


def test_certificates_need_openssl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    (libs / "kafka_2.13-4.3.0.jar").touch()
    monkeypatch.setenv(OWN_JARS, str(libs))
    monkeypatch.setenv("PATH", str(libs))
    with pytest.raises(PartageError, match=r"^a secured sandbox needs openssl"):
        Sandbox.start(tmp_path / "s", secure=True)
    assert [path.name for path in tmp_path.iterdir()] == ["libs"]


@pytest.fixture
def running_controller(tmp_path: Path) -> Iterator[tuple[Path, Any]]:
    """A sandbox's folder, and a process with the command line of its controller."""
    folder = tmp_path / "s"
    folder.mkdir()
    config = folder / "controller" / "server.properties"
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", "kafka.Kafka", str(config)]
    with subprocess.Popen(sleep) as node:
        nodes = [{"id": 0, "rack": None, "port": 1, "pid": node.pid}]
        text = json.dumps(state(nodes=nodes, folder=str(folder)))
        (folder / MARKER).write_text(text)
        while not process.runs(node.pid, str(config)):  # the command line may appear a moment later
            assert node.poll() is None
        yield folder, node
        node.kill()


@pytest.mark.long
def test_a_sandbox_moved_while_it_runs(running_controller: tuple[Path, Any]) -> None:
    folder, node = running_controller
    moved = folder.with_name("t")
    folder.rename(moved)
    for call in (Sandbox.start, Sandbox.open):
        with pytest.raises(InputError, match=rf"was moved or copied from {folder} while"):
            call(moved)
    assert node.poll() is None
    node.kill()
    node.wait()
    assert Sandbox.open(moved).down() == ([], [])
    assert not moved.exists()


@real
@pytest.mark.parametrize("secure", [False, True])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, secure: bool) -> None:
    with full_disk(), pytest.raises(InputError, match=r"cannot be written \(File too large\)$"):
        Sandbox.start(tmp_path / "s", brokers=1, secure=secure)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@real
def test_no_secret_is_on_a_command_line(tmp_path: Path) -> None:
    """Kafka's tool and the nodes read theirs from files of mode 600."""
    with watched() as lines, Sandbox.start(tmp_path / "s", brokers=1, secure=True) as sandbox:
        folder = sandbox.security.folder
        secrets = set(json.loads((folder / "passwords.json").read_text()).values()) - {None}
        files = [path for path in folder.iterdir() if path.is_file()]
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    for program in ("kafka.tools.StorageTool", "users.args", "kafka.Kafka"):
        assert any(program in line for line in lines), program
    assert not [line for line in lines if any(secret in line for secret in secrets)]


@pytest.mark.long
@real
@pytest.mark.parametrize("size", [1_500, 60_000])
def test_a_disk_that_a_node_fills_leaves_nothing_behind(tmp_path: Path, size: int) -> None:
    with full_disk(size), pytest.raises(PartageError, match=r"did not start: .*File too large$"):
        Sandbox.start(tmp_path / "s", brokers=1)
    assert list(tmp_path.iterdir()) == []
    assert not processes_of(tmp_path)


@pytest.mark.long
@real
def test_a_small_disk_is_named(tmp_path: Path) -> None:
    """Its log is cut, too: the reason is not in it."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("only root can mount a small disk")
    try:
        with pytest.raises(PartageError, match=r"did not start: .* \(the disk of .*/s is full\)$"):
            Sandbox.start(tmp_path / "s", brokers=1)
        assert list(tmp_path.iterdir()) == []
        assert not processes_of(tmp_path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def processes_of(folder: Path) -> list[str]:
    """Command lines that name the folder."""
    listed = subprocess.run(["ps", "-e", "-ww", "-o", "command="], capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if str(folder) in line]


def test_a_full_disk_does_not_keep_it_from_ending(running_controller: tuple[Path, Any]) -> None:
    """Its removal makes room."""
    folder, node = running_controller
    with full_disk():
        assert Sandbox.open(folder).down() == (["controller"], [])
    assert not exists(node.pid)
    assert not folder.exists()


def test_a_link_to_a_sandbox_is_not_followed(running_controller: tuple[Path, Any]) -> None:
    folder, node = running_controller
    link = folder.with_name("link")
    link.symlink_to(folder)
    for attempt in (Sandbox.open, Sandbox.start):
        with pytest.raises(InputError, match="link: is a symbolic link: name what it points to"):
            attempt(link)
    assert exists(node.pid)
    assert Sandbox.open(folder).down() == (["controller"], [])
    assert not exists(node.pid)
