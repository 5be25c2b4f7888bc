"""The sandbox: what Kafka itself says of it, what fails, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from partage.errors import InputError, PartageError
from partage.live.sandbox import MARKER, Sandbox, cluster, nodes, process
from partage.live.sandbox.jars import OWN_JARS
from partage.live.sandbox.logs import reason
from partage.live.sandbox.settings import SETTINGS
from partage.live.sandbox.state import random_id

real = pytest.mark.kafka


def described(sandbox: Sandbox) -> dict[int, tuple[str | None, str, bool]]:
    """What the cluster says of its brokers, by id: rack, address, fenced or not."""
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    deadline = time.monotonic() + 60
    while True:
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers.split(","))
        try:
            found = admin.describe_cluster()["brokers"]
            break
        except KafkaError:  # it may ask a broker that is gone, and does not ask another then
            if time.monotonic() > deadline:
                raise
        finally:
            admin.close()
    return {
        of["broker_id"]: (of["rack"], f"{of['host']}:{of['port']}", of["is_fenced"]) for of in found
    }


def alive(sandbox: Sandbox) -> set[int]:
    return {broker for broker, (_, _, fenced) in described(sandbox).items() if not fenced}


def eventually(holds: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.2)
    return False


def pids(folder: Path) -> list[int]:
    """The ids of the processes that a sandbox's state names."""
    state = json.loads((folder / MARKER).read_text())
    return [node["pid"] for node in state["nodes"] if node["pid"] is not None]


def exists(pid: int) -> bool:
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# ---------------------------------------------------------------------- the cluster of all tests


@real
def test_every_broker_is_registered_and_unfenced(kafka: Sandbox) -> None:
    assert described(kafka) == {
        of.id: (rack, of.address, False)
        for of, rack in zip(kafka.brokers, ("a", "b", "c"), strict=True)
    }


@real
def test_it_is_on_the_loopback_address_only(kafka: Sandbox) -> None:
    for node in (*kafka.brokers, kafka._nodes[0]):
        socket.create_connection(("127.0.0.1", node.port), timeout=5).close()
        if sys.platform == "linux":  # all of 127/8 is loopback: what listens everywhere answers
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


@real
@pytest.mark.parametrize("broker", [1, 3])
def test_a_killed_broker_is_fenced_and_comes_back(kafka: Sandbox, broker: int) -> None:
    before = described(kafka)
    pid = next(of.pid for of in kafka.brokers if of.id == broker)
    assert pid is not None
    kafka.kill_broker(broker)
    try:
        assert not exists(pid)
        assert eventually(lambda: alive(kafka) == {1, 2, 3} - {broker})
        rows = {of["id"]: of["pid"] for of in kafka.to_json()["brokers"]}
        assert rows[broker] is None
        assert None not in {rows[other] for other in {1, 2, 3} - {broker}}
    finally:
        kafka.start_broker(broker)
    assert kafka.started == [broker]
    assert described(kafka) == before
    kafka.start_broker(broker)
    assert kafka.started == []


@real
def test_a_broker_back_at_once_is_waited_for(kafka: Sandbox) -> None:
    """Its earlier life is still registered when it returns: ready is the new one."""
    kafka.kill_broker(2)
    kafka.start_broker(2)
    ready = kafka._log(kafka._nodes[2]).splitlines()
    assert any("Transition from STARTING to STARTED" in line for line in ready)
    # on a busy machine a heartbeat may be late, and it is fenced once more
    assert eventually(lambda: alive(kafka) == {1, 2, 3})


@real
def test_all_brokers_may_be_gone(kafka: Sandbox) -> None:
    for broker in (1, 2, 3):
        kafka.stop_broker(broker)
    again = Sandbox.start(kafka.directory)
    assert again.started == [1, 2, 3]
    assert again.bootstrap_servers == kafka.bootstrap_servers
    assert eventually(lambda: alive(again) == {1, 2, 3})


@real
def test_a_broker_that_is_not_there(kafka: Sandbox) -> None:
    for broker in (0, 4, -1):
        for call in (kafka.stop_broker, kafka.kill_broker, kafka.start_broker):
            with pytest.raises(InputError, match=rf"has no broker {broker}, only 1, 2, 3$"):
                call(broker)


@real
def test_up_again_is_the_same_cluster(kafka: Sandbox) -> None:
    again = Sandbox.start(kafka.directory, brokers=3, racks=["a", "b", "c"], kafka="4.3.0")
    assert again.started == []
    assert again.brokers == Sandbox.open(kafka.directory).brokers
    for asked, said in (
        ({"brokers": 4}, r"^--brokers: 4: .* has 3; partage sandbox down --dir "),
        ({"racks": ["a", "b"]}, r"^--racks: the brokers in .* are in a,b,c; "),
        ({"kafka": "4.4.0"}, r"^--kafka: 4.4.0: .* is a 4.3.0; "),
    ):
        with pytest.raises(InputError, match=said):
            Sandbox.start(kafka.directory, **asked)  # type: ignore[arg-type]


@real
def test_one_at_a_time(kafka: Sandbox) -> None:
    with kafka._alone(), pytest.raises(PartageError, match=r"another partage is at work on it$"):
        Sandbox.open(kafka.directory).stop_broker(1)


# ---------------------------------------------------------------------- a life of its own


@real
def test_a_life(tmp_path: Path) -> None:
    """Up, a topic, down but kept, up, one more broker, the controller gone, down."""
    from kafka import KafkaAdminClient
    from kafka.admin import NewTopic

    def topics() -> set[str]:
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)
        try:
            return set(admin.list_topics())
        finally:
            admin.close()

    folder = tmp_path / "ein Ordner é€"
    sandbox = Sandbox.start(folder, brokers=1)
    try:
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

        assert again.add_broker("r") == 2
        assert eventually(lambda: len(described(again)) == 2)
        assert described(again)[2] == ("r", again.brokers[1].address, False)

        os.kill(pids(folder)[0], signal.SIGKILL)
        assert eventually(lambda: Sandbox.open(folder).to_json()["controller"]["pid"] is None)
        whole = Sandbox.start(folder)
        assert whole.started == [1, 2]
        assert eventually(lambda: alive(whole) == {1, 2})
        (folder / "notes.txt").write_text("mine")
    finally:
        last = pids(folder)
        ran, left = sandbox.down()
    assert sorted(ran) == ["broker-1", "broker-2", "controller"]
    assert not any(map(exists, last))
    assert left == ["notes.txt"]
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


# ---------------------------------------------------------------------- what does not come up


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def always(port: int) -> Callable[[int], Any]:
    """In place of ``bound``: another has taken the port before the process starts."""

    class Held:
        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", port

    @contextmanager
    def bound(_: int) -> Iterator[Held]:
        yield Held()

    return bound


@real
@pytest.mark.parametrize("loser", ["controller", "broker"])
def test_a_port_that_is_taken_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loser: str
) -> None:
    bound, asked = nodes.bound, []

    def first_time(port: int) -> Any:
        asked.append(port)
        lost = len(asked) == (1 if loser == "controller" else 2)
        return always(taken)(port) if lost else bound(port)

    monkeypatch.setattr(cluster, "bound", first_time)
    with taken_port() as taken, Sandbox.start(tmp_path / "s", brokers=1) as sandbox:
        assert alive(sandbox) == {1}
        assert taken not in {node.port for node in sandbox._nodes.values()}
    assert not (tmp_path / "s").exists()


@real
def test_ports_that_are_always_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = nodes.bound
    started: list[int] = []

    def tell(_: str) -> None:
        if (tmp_path / "s" / MARKER).exists():
            started.extend(pids(tmp_path / "s"))

    with taken_port() as taken:
        calls: list[int] = []

        def but_for_the_controller(port: int) -> Any:
            calls.append(port)
            return bound(port) if len(calls) == 1 else always(taken)(port)

        monkeypatch.setattr(cluster, "bound", but_for_the_controller)
        with pytest.raises(PartageError, match=r"^broker-1 did not start: .*already in use") as e:
            Sandbox.start(tmp_path / "s", brokers=1, tell=tell)
    assert "\n" not in str(e.value)
    assert len(calls) == 4
    assert started
    assert not any(map(exists, set(started)))
    assert list(tmp_path.iterdir()) == []


@real
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    started: list[int] = []

    def interrupt(step: str) -> None:
        if step.endswith("nodes"):
            started.extend(pids(tmp_path / "s"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Sandbox.start(tmp_path / "s", brokers=2, tell=interrupt)
    assert len(started) == 3
    assert not any(map(exists, started))
    assert list(tmp_path.iterdir()) == []


@real
def test_a_broker_that_cannot_be_added(kafka: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(path.name for path in Path(kafka.directory).iterdir())
    monkeypatch.setitem(SETTINGS, "num.io.threads", "none")
    with pytest.raises(PartageError, match=r"^broker-4 cannot be formatted: .*num.io.threads"):
        kafka.add_broker("d")
    assert sorted(path.name for path in Path(kafka.directory).iterdir()) == before
    assert alive(kafka) == {1, 2, 3}
    assert [of.id for of in Sandbox.open(kafka.directory).brokers] == [1, 2, 3]


def test_jars_without_a_broker_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    (libs / "kafka_2.13-4.3.0.jar").touch()
    monkeypatch.setenv(OWN_JARS, str(libs))
    said = r"^controller cannot be formatted: .*kafka\.tools\.StorageTool"
    with pytest.raises(PartageError, match=said) as raised:
        Sandbox.start(tmp_path / "s")
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["libs"]


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("", "its log is empty"),
        ("hello\n\n", "hello"),
        ("INFO a\nERROR b (kafka.Kafka$)\nINFO c\n", "ERROR b (kafka.Kafka$)"),
        (
            "ERROR fatal\njava.lang.E_Exception: x\n\tat a.b(C.java)\n"
            "Caused by: java.net.BindException: taken\n\t... 3 more\nINFO bye\n",
            "java.net.BindException: taken",
        ),
        (
            "Picked up JAVA_TOOL_OPTIONS: -Xbad\nUnrecognized option: -Xbad\n"
            "Error: Could not create the Java Virtual Machine.\n"
            "Error: A fatal exception has occurred. Program will exit.\n",
            "Unrecognized option: -Xbad",
        ),
        ("Error occurred during initialization of VM\nToo small heap\n", "Too small heap"),
    ],
)
def test_the_reason_in_a_log(log: str, why: str) -> None:
    assert reason(log) == why


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"brokers": 0}, "^--brokers: 0: expected 1 to 30$"),
        ({"brokers": 31}, "^--brokers: 31: expected 1 to 30$"),
        ({"racks": []}, "^--racks: 0 racks for 3 brokers"),
        ({"brokers": 2, "racks": ["a", "b", "c"]}, "^--racks: 3 racks for 2 brokers"),
        ({"racks": ["a", " "]}, "^--racks: ' ' is no name of a rack$"),
        ({"racks": ["a\nb"]}, r"^--racks: 'a\\nb' is no name of a rack$"),
        ({"kafka": "3.9.0"}, "^--kafka: '3.9.0': expected a version from 4.0.0 on"),
    ],
)
def test_what_cannot_be_asked(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Sandbox.start(tmp_path / "s", **asked)
    assert list(tmp_path.iterdir()) == []


def test_racks_are_dealt_in_turn() -> None:
    def racks(brokers: int | None, names: list[str] | None) -> list[str | None]:
        return [node.rack for node in nodes.layout(brokers, names)]

    assert racks(5, ["a", "b", "c"]) == ["a", "b", "c", "a", "b"]
    assert racks(None, ["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    assert racks(None, ["a", "a"]) == ["a", "a", "a"]
    assert racks(None, None) == [None, None, None]


def test_ids_are_of_the_form_of_kafka() -> None:
    made = {random_id() for _ in range(2000)}
    assert len(made) == 2000
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", each) for each in made)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for name, said in (
        ("theirs", "holds files that partage did not write"),
        ("file", "is a file, expected a directory"),
        ("no/folder", "there is no folder"),
        ("a,b", "a comma in its path"),
    ):
        with pytest.raises(InputError, match=said):
            Sandbox.start(tmp_path / name)
    with pytest.raises(InputError, match=r"^--dir: the name of the folder is empty$"):
        Sandbox.start("")
    for name in ("theirs", "file", "nothing"):
        with pytest.raises(InputError, match=r"no sandbox is there \(no sandbox.json\)$"):
            Sandbox.open(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "theirs"]
    assert (tmp_path / "theirs" / "file").read_text() == "x"


def state(**changed: Any) -> dict[str, Any]:
    nodes = [{"id": n, "rack": None, "port": 1, "pid": None} for n in (0, 1)]
    found = {
        "format_version": 1,
        "kafka": "4.3.0",
        "cluster_id": "x",
        "folder": "/",
        "nodes": nodes,
    }
    return found | changed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps(state(format_version=2)),
        json.dumps(state(nodes=[])),
        json.dumps(state(nodes=[{"id": 1, "rack": None, "port": 1, "pid": None}])),
        json.dumps(state(nodes=[{"id": 0, "rack": None, "port": 1, "pid": -1}])),
        json.dumps(state(nodes=[{"id": 0, "rack": None, "port": "1", "pid": None}])),
        json.dumps(state(nodes=[{"id": 0, "role": "x"}])),
        json.dumps(state(nodes=["x"])),
        json.dumps(state(nodes=[{"id": 0, "more_ports": [-1]}])),
        json.dumps(state(folder=None)),
    ],
)
def test_a_state_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    for call in (Sandbox.start, Sandbox.open):
        with pytest.raises(InputError, match=r"sandbox.json: "):
            call(tmp_path)
    assert (tmp_path / MARKER).read_text() == text


def test_an_open_sandbox_is_not_made_secure(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps(state()))
    with pytest.raises(InputError, match=r"^--secure: the sandbox in .* is an open one; partage"):
        Sandbox.start(tmp_path, secure=True)


def test_certificates_need_openssl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    (libs / "kafka_2.13-4.3.0.jar").touch()
    monkeypatch.setenv(OWN_JARS, str(libs))
    monkeypatch.setenv("PATH", str(libs))
    with pytest.raises(PartageError, match=r"^certificates need openssl, and there is none"):
        Sandbox.start(tmp_path / "s", secure=True)
    assert [path.name for path in tmp_path.iterdir()] == ["libs"]


def test_a_recycled_process_id_is_not_killed(tmp_path: Path) -> None:
    """The state names a process that has become another's: it lives on."""
    folder = tmp_path / "s"
    (folder / "broker-1").mkdir(parents=True)
    config = folder / "elsewhere" / "server.properties"
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", "kafka.Kafka", str(config)]
    with subprocess.Popen(sleep) as other:
        try:
            nodes = [{"id": n, "rack": None, "port": 1, "pid": other.pid} for n in (0, 1)]
            (folder / MARKER).write_text(json.dumps(state(nodes=nodes)))
            sandbox = Sandbox.open(folder)
            assert sandbox.to_json()["brokers"][0]["pid"] is None
            assert sandbox.down() == ([], [])
            assert other.poll() is None
        finally:
            other.kill()
    assert not folder.exists()


def test_the_controller_is_ended_though_a_broker_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [{"id": n, "rack": None, "port": 1, "pid": 100 + n} for n in (0, 1)]
    (tmp_path / MARKER).write_text(json.dumps(state(nodes=nodes, folder=str(tmp_path))))
    asked: list[int] = []

    def end(processes: dict[int, str], patience: float) -> None:
        asked.extend(processes)
        if 101 in processes:
            raise PartageError("still there: process 101")

    monkeypatch.setattr(process, "end", end)
    monkeypatch.setattr(process, "runs", lambda *_: True)
    with pytest.raises(PartageError, match="still there: process 101"):
        Sandbox.open(tmp_path).down()
    assert asked == [101, 100]
    left = json.loads((tmp_path / MARKER).read_text())["nodes"]
    assert [node["pid"] for node in left] == [None, 101]


@pytest.fixture
def posing(tmp_path: Path) -> Iterator[tuple[Path, Any]]:
    """A sandbox's folder, and a process that poses as its controller."""
    folder = tmp_path / "s"
    folder.mkdir()
    config = folder / "controller" / "server.properties"
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", "kafka.Kafka", str(config)]
    with subprocess.Popen(sleep) as node:
        nodes = [{"id": 0, "rack": None, "port": 1, "pid": node.pid}]
        text = json.dumps(state(nodes=nodes, folder=str(folder)))
        (folder / MARKER).write_text(text)
        while not process.runs(node.pid, str(config)):  # for a moment it has no command line
            assert node.poll() is None
        yield folder, node
        node.kill()


def test_a_sandbox_that_was_moved_while_it_runs(posing: tuple[Path, Any]) -> None:
    folder, node = posing
    moved = folder.with_name("t")
    folder.rename(moved)
    for call in (Sandbox.start, Sandbox.open):
        with pytest.raises(InputError, match=rf"moved or copied from {folder} while"):
            call(moved)
    assert node.poll() is None
    node.kill()
    node.wait()
    assert Sandbox.open(moved).down() == ([], [])
    assert not moved.exists()


def test_a_link_to_a_sandbox_is_the_sandbox(posing: tuple[Path, Any]) -> None:
    folder, node = posing
    link = folder.with_name("link")
    link.symlink_to(folder)
    assert Sandbox.open(link).to_json()["controller"]["pid"] == node.pid
    assert Sandbox.open(link).down() == (["controller"], [])
    assert not exists(node.pid)
