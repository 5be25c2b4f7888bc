"""A real Kafka on this machine, to try things on: its nodes are processes, its state is a folder.

``sandbox.json``, the marker, says which nodes there are: id, rack, port, process id. It is written
anew whenever one of them changes, so that whatever interrupts a run, the next knows what to end or
to start again. Beside it each node has a folder: settings, data, log. Nothing is kept elsewhere but
the jars.

One node is the controller and nothing else, the others are brokers and nothing else. So any broker
can be killed, or all of them, and what is left goes on. Three nodes that are both would be one
process fewer, but the cluster would stand still with any two of them gone.

A free port is found by binding it, held while settings are written, and let go just before the
process starts. If another takes it in between, the node's log says so and the node ends: it is
given another port.

A node is ready when its log says so: Kafka writes that line once the controller has unfenced the
broker. Who asks the cluster instead may be told of the broker that was killed a second before.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from partage.errors import InputError, PartageError
from partage.files import check_writable_directory, parse_json, read_text, to_json, write_text
from partage.java import find_java
from partage.live import process
from partage.live.jars import kafka_jars, kafka_version

MARKER = "sandbox.json"
FORMAT_VERSION = 1

BROKERS = 3
MOST_BROKERS = 30
"""At 200 MB each, more is a slip of the finger."""

_CONTROLLER = 0
_HOST = "127.0.0.1"
_READY = "Kafka Server started"
_PORT_TAKEN = "Address already in use"
_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1

_JAVA_OPTIONS = (
    # Java's first compiler only, and few threads: a sandbox runs for minutes on one machine.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",  # would be a file in the temporary folder of the system
    "-Dlog4j2.level=INFO",
)

_SETTINGS: dict[str, object] = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # A dead broker is fenced in seconds; Kafka's own 9 s and 2 s suit real networks.
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 500,
    # A group that is tried out does not wait for more members.
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # Few threads, and 4 MB for the cleaner's map instead of 128.
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
}

_SAYS_NOTHING = re.compile(
    r"at |\.\.\. |Picked up |Error: Could not create the Java|Error: A fatal exception"
    r"|Error occurred during initialization of VM"
)
"""Lines of a log that name no reason: stack traces, and how Java begins and ends a complaint."""

Tell = Callable[[str], None]


def _silent(_: str) -> None:
    return None


@dataclass(frozen=True)
class Node:
    """One process of a sandbox: the controller, id 0, or a broker. Without ``pid`` it is down."""

    id: int
    rack: str | None = None
    port: int = 0
    pid: int | None = None

    @property
    def name(self) -> str:
        """What messages, and its folder, call it."""
        return f"broker-{self.id}" if self.id else "controller"

    @property
    def address(self) -> str:
        """``127.0.0.1:PORT``."""
        return f"{_HOST}:{self.port}"


class Sandbox:
    """A Kafka cluster on this machine, in a folder. ``with Sandbox.start(...)`` ends it at the end.

    ``start`` makes one or brings up the one that is there, ``open`` takes it as it is. Several
    processes may use one sandbox: each call reads its state anew, and one changes it at a time.
    """

    def __init__(self, directory: str | os.PathLike[str], nodes: Iterable[Node] = ()) -> None:
        self.directory = os.fspath(directory)
        self.kafka = ""
        self.cluster_id = ""
        self.started: list[int] = []
        """The brokers that the last call started."""
        self._folder = Path(directory).resolve()
        self._nodes = {node.id: node for node in nodes}

    # ------------------------------------------------------------------ making, finding, ending

    @classmethod
    def start(
        cls,
        directory: str | os.PathLike[str],
        *,
        brokers: int | None = None,
        racks: Sequence[str] | None = None,
        kafka: str | None = None,
        tell: Tell = _silent,
    ) -> Self:
        """A sandbox whose brokers are all registered and unfenced.

        A new one has ``brokers`` (3) with ids from 1 on, dealt round the ``racks`` in turn, and
        runs the version ``kafka`` (4.3.0). Of one that is there, what is down is started on its
        data; what is asked for must be what it is. Raises InputError for what cannot be asked,
        PartageError for a cluster that does not come up, of which nothing is left then.
        """
        sandbox = cls(directory, [Node(_CONTROLLER), *_layout(brokers, racks)])
        sandbox._check_place()
        sandbox._folder.mkdir(exist_ok=True)
        with sandbox._alone():
            fresh = not sandbox._marker.exists()
            if not fresh:
                sandbox._read()
                sandbox._must_be(brokers, racks, kafka)
            try:
                if fresh:
                    sandbox.kafka = kafka_version(kafka_jars(kafka, tell))
                    sandbox.cluster_id = _random_id()
                sandbox._bring_up(sandbox.brokers, tell)
            except BaseException:
                if fresh:
                    sandbox._end(sandbox._running(), patience=0)
                    sandbox._remove()
                raise
        return sandbox

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """The sandbox in a folder, whatever of it runs. Raises InputError where there is none."""
        sandbox = cls(directory)
        sandbox._read()
        return sandbox

    def down(self, *, keep: bool = False) -> tuple[list[str], list[str]]:
        """End every process and remove what the sandbox made; with ``keep`` its data stays.

        Gives the nodes that ran, and what else is in the folder, which stays and keeps the folder.
        """
        with self._changing():
            running = self._running()
            self._end(running)
            left = [] if keep else self._remove()
        return [node.name for node in running], left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._marker.exists():
            self.down()

    # ------------------------------------------------------------------ what there is

    @property
    def brokers(self) -> list[Node]:
        """The brokers by id, those that do not run included."""
        return [node for _, node in sorted(self._nodes.items()) if node.id != _CONTROLLER]

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:PORT,127.0.0.1:PORT``: every broker, whether it runs or not."""
        return ",".join(node.address for node in self.brokers)

    def to_json(self) -> dict[str, Any]:
        """What ``partage sandbox up --json`` prints; ``pid`` is null for what does not run."""
        running = {node.id for node in self._running()}

        def node(of: Node) -> dict[str, Any]:
            return {
                "address": of.address,
                "pid": of.pid if of.id in running else None,
                "log": str(Path(self.directory) / of.name / "server.log"),
            }

        return {
            "directory": self.directory,
            "kafka": self.kafka,
            "cluster_id": self.cluster_id,
            "bootstrap_servers": self.bootstrap_servers,
            "brokers": [{"id": of.id, "rack": of.rack, **node(of)} for of in self.brokers],
            "controller": node(self._nodes[_CONTROLLER]),
            "started": self.started,
        }

    # ------------------------------------------------------------------ one broker

    def stop_broker(self, broker: int) -> None:
        """End a broker in good order: it hands over what it leads first."""
        with self._changing():
            self._end([self._broker(broker)])

    def kill_broker(self, broker: int) -> None:
        """End a broker at once, as a failure would; the controller fences it 4 seconds later."""
        with self._changing():
            self._end([self._broker(broker)], patience=0)

    def start_broker(self, broker: int, tell: Tell = _silent) -> None:
        """Start a broker again, on its data; returns when it is unfenced."""
        with self._changing():
            self._bring_up([self._broker(broker)], tell)

    def add_broker(self, rack: str | None = None, tell: Tell = _silent) -> int:
        """Start a new, empty broker, and give its id: the next one."""
        with self._changing():
            if len(self.brokers) == MOST_BROKERS:
                raise InputError(
                    self.directory, f"has {MOST_BROKERS} brokers, the most there can be"
                )
            added = Node(max(self._nodes) + 1, _checked(rack, "--rack"))
            self._nodes[added.id] = added
            try:
                self._bring_up([added], tell)
            except BaseException:
                shutil.rmtree(self._folder / added.name, ignore_errors=True)
                del self._nodes[added.id]
                self._write()
                raise
        return added.id

    def _broker(self, broker: int) -> Node:
        if broker == _CONTROLLER or broker not in self._nodes:
            ids = ", ".join(str(node.id) for node in self.brokers)
            raise InputError(self.directory, f"has no broker {broker}, only {ids}")
        return self._nodes[broker]

    # ------------------------------------------------------------------ starting

    def _bring_up(self, brokers: Iterable[Node], tell: Tell) -> None:
        """Start the controller and those of the brokers that do not run; wait until all are ready.

        What was started is ended again if one of them does not come up.
        """
        wanted = {_CONTROLLER, *(node.id for node in brokers)}
        running = {node.id for node in self._running()}
        if _CONTROLLER not in running:
            # Brokers cannot follow it to another port.
            self._end(self._running())
            wanted |= running
        tell(f"starting Kafka {self.kafka}")
        launched: set[int] = set()
        try:
            for tries_left in (2, 1, 0):
                missing = wanted - {node.id for node in self._running()}
                again = bool(launched)
                launched |= missing
                if missing:
                    self._launch(sorted(missing), other_ports=again)
                if self._all_ready(wanted, tell, may_retry=tries_left > 0):
                    break
        except BaseException:
            self._end((self._nodes[node] for node in launched), patience=0)
            raise
        self.started = sorted(launched - {_CONTROLLER})

    def _launch(self, ids: Sequence[int], other_ports: bool) -> None:
        """Give the nodes ports, settings and a formatted folder, and start their processes."""
        jars, java = kafka_jars(self.kafka), find_java("Kafka") / "bin" / "java"
        with ExitStack() as held:
            for number in ids:
                node = self._nodes[number]
                bound = held.enter_context(_bound(0 if other_ports else node.port))
                self._nodes[number] = replace(node, port=bound.getsockname()[1])
            for number in ids:
                self._write_settings(self._nodes[number])
            self._write()
            self._format(ids, [str(java), *_JAVA_OPTIONS, "-cp", f"{jars}/*"])
        for number in ids:
            node = self._nodes[number]
            home = self._folder / node.name
            log = home / "server.log"
            with suppress(FileNotFoundError):
                log.replace(home / "server.log.1")
            command = [
                str(java),
                "-Xmx384m" if node.id else "-Xmx256m",
                *_JAVA_OPTIONS,
                f"-Djava.io.tmpdir={home}",
                f"-XX:ErrorFile={home}/java-error.log",
                *("-cp", f"{jars}/*"),
                *self._ending(node).split(" ", 1),
            ]
            self._nodes[number] = replace(node, pid=process.spawn(command, log))
            self._write()

    def _write_settings(self, node: Node) -> None:
        controller = self._nodes[_CONTROLLER]
        copies = min(3, len(self.brokers))
        settings = {
            **_SETTINGS,
            "process.roles": "broker" if node.id else "controller",
            "node.id": node.id,
            "controller.quorum.voters": f"{_CONTROLLER}@{controller.address}",
            "listeners": f"{'PLAINTEXT' if node.id else 'CONTROLLER'}://{node.address}",
            "log.dirs": self._folder / node.name / "data",
            "default.replication.factor": copies,
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "share.coordinator.state.topic.replication.factor": copies,
        }
        if node.rack is not None:
            settings["broker.rack"] = node.rack
        home = self._folder / node.name
        home.mkdir(exist_ok=True)
        # Java's properties know the escapes of JSON: one line, in ASCII.
        lines = (f"{key}={json.dumps(str(value))[1:-1]}\n" for key, value in settings.items())
        write_text(home / "server.properties", "".join(lines))

    def _format(self, ids: Iterable[int], java: Sequence[str]) -> None:
        """Have Kafka's tool prepare the data folders that are new, side by side."""
        tool = [*java, "kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c"]
        with ExitStack() as tools:
            runs = []
            for number in ids:
                node = self._nodes[number]
                home = self._folder / node.name
                if (home / "data" / "meta.properties").exists():
                    continue
                run = tools.enter_context(
                    subprocess.Popen(
                        [*tool, str(home / "server.properties")],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        errors="replace",
                    )
                )
                tools.callback(run.kill)
                runs.append((node, run))
            for node, run in runs:
                printed, _ = run.communicate()
                if run.returncode != 0:
                    raise PartageError(f"{node.name} cannot be formatted: {_reason(printed)}")

    def _all_ready(self, wanted: set[int], tell: Tell, may_retry: bool) -> bool:
        """Wait until all are ready. False if one has ended because its port was taken meanwhile."""
        deadline = time.monotonic() + _START_SECONDS
        ready = -1
        while True:
            running = {node.id for node in self._running()}
            logs = {node: self._log(self._nodes[node]) for node in sorted(wanted)}
            for node in sorted(wanted - running):
                if _PORT_TAKEN in logs[node] and may_retry:
                    if node == _CONTROLLER:
                        self._end(self._running(), patience=0)
                    return False
                raise PartageError(f"{self._nodes[node].name} did not start: {_reason(logs[node])}")
            slow = [node for node, log in logs.items() if _READY not in log]
            if not slow:
                return True
            if time.monotonic() > deadline:
                name, why = self._nodes[slow[0]].name, _reason(logs[slow[0]])
                raise PartageError(f"{name} is not ready after {_START_SECONDS:.0f} s: {why}")
            if ready != (ready := len(wanted) - len(slow)):
                tell(f"starting Kafka {self.kafka}: {ready} of {len(wanted)} nodes")
            time.sleep(_POLL_SECONDS)

    # ------------------------------------------------------------------ processes

    def _ending(self, node: Node, folder: Path | None = None) -> str:
        """How the command line of a node's process ends: no other process's does."""
        return f"kafka.Kafka {(folder or self._folder) / node.name / 'server.properties'}"

    def _running(self) -> list[Node]:
        return [
            node
            for node in self._nodes.values()
            if node.pid is not None and process.runs(node.pid, self._ending(node))
        ]

    def _end(self, nodes: Iterable[Node], patience: float = _STOP_SECONDS) -> None:
        """End those that run, the controller last, as the brokers say goodbye to it."""
        nodes = list(nodes)
        for brokers in (True, False):
            them = [node for node in nodes if (node.id != _CONTROLLER) == brokers]
            process.end(
                {node.pid: self._ending(node) for node in them if node.pid is not None}, patience
            )
            for node in them:
                self._nodes[node.id] = replace(self._nodes[node.id], pid=None)
            self._write()

    def _log(self, node: Node) -> str:
        try:
            log = self._folder / node.name / "server.log"
            return log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    # ------------------------------------------------------------------ the folder

    @property
    def _marker(self) -> Path:
        return self._folder / MARKER

    def _check_place(self) -> None:
        """Refuse a folder that is another's, or that Kafka could not use."""
        if not self.directory:
            raise InputError("--dir", "the name of the folder is empty")
        check_writable_directory(self.directory, MARKER)
        if not self._folder.parent.is_dir():
            raise InputError(self.directory, f"there is no folder {self._folder.parent}")
        if "," in str(self._folder):
            raise InputError(
                self.directory, "a comma in its path, which Kafka takes for two folders"
            )

    def _must_be(self, brokers: int | None, racks: Sequence[str] | None, kafka: str | None) -> None:
        """Refuse to change what is there."""
        count, dealt = len(self.brokers), [node.rack for node in self.brokers]
        end = f"partage sandbox down --dir {self.directory} removes it"
        if brokers not in (None, count):
            raise InputError("--brokers", f"{brokers}: {self.directory} has {count}; {end}")
        if racks is not None and [node.rack for node in _layout(count, racks)] != dealt:
            there = ",".join(rack or "none" for rack in dealt)
            raise InputError("--racks", f"the brokers in {self.directory} are in {there}; {end}")
        if kafka not in (None, self.kafka):
            raise InputError("--kafka", f"{kafka}: {self.directory} is a {self.kafka}; {end}")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Alone with the sandbox as it is now."""
        self._read()  # before the lock: to say that there is none
        with self._alone():
            self._read()
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes, and threads, from changing the sandbox meanwhile."""
        with ExitStack() as opened:
            try:
                handle = os.open(self._folder, os.O_RDONLY)
                opened.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.path.samestat(os.fstat(handle), self._folder.stat()):
                    raise FileNotFoundError  # removed, and made anew
            except (BlockingIOError, FileNotFoundError):
                raise PartageError(f"{self.directory}: another partage is at work on it") from None
            yield

    def _write(self) -> None:
        state = {
            "format_version": FORMAT_VERSION,
            "kafka": self.kafka,
            "cluster_id": self.cluster_id,
            "folder": str(self._folder),
            "nodes": [asdict(node) for _, node in sorted(self._nodes.items())],
        }
        write_text(self._marker, to_json(state, indent=1))

    def _read(self) -> None:
        if not self._marker.exists():
            raise InputError(self.directory, f"no sandbox is there (no {MARKER})")
        where = str(Path(self.directory) / MARKER)
        state = parse_json(read_text(self._marker), where)
        try:
            if state["format_version"] != FORMAT_VERSION:
                raise ValueError
            nodes = [Node(**node) for node in state["nodes"]]
            kafka, cluster_id = str(state["kafka"]), str(state["cluster_id"])
            home = Path(state["folder"])
            numbers = [n for node in nodes for n in (node.id, node.port, node.pid or 1)]
            if not all(type(n) is int and n >= 0 for n in numbers) or nodes[0].id != _CONTROLLER:
                raise ValueError
        except (LookupError, TypeError, ValueError):
            raise InputError(where, "is not the state of a sandbox of this partage") from None
        if home != self._folder and any(
            node.pid is not None and process.runs(node.pid, self._ending(node, home))
            for node in nodes
        ):
            problem = f"moved or copied from {home} while its processes run: use it there"
            raise InputError(self.directory, problem)
        self.kafka, self.cluster_id = kafka, cluster_id
        self._nodes = {node.id: node for node in nodes}

    def _remove(self) -> list[str]:
        """Remove what the sandbox made, its marker last; gives what else there is, if anything."""
        for node in self._nodes.values():
            shutil.rmtree(self._folder / node.name, ignore_errors=True)
        self._marker.unlink(missing_ok=True)
        left = sorted(path.name for path in self._folder.iterdir())
        if not left:
            self._folder.rmdir()
        return left


# ---------------------------------------------------------------------- small things


def _layout(brokers: int | None, racks: Sequence[str] | None) -> list[Node]:
    """The brokers that are asked for, dealt round the racks in turn."""
    count = max(BROKERS, len(racks or ())) if brokers is None else brokers
    if not 1 <= count <= MOST_BROKERS:
        raise InputError("--brokers", f"{count}: expected 1 to {MOST_BROKERS}")
    if racks is None:
        return [Node(number + 1) for number in range(count)]
    names = [_checked(rack, "--racks") for rack in racks]
    if not names or len(names) > count:
        raise InputError("--racks", f"{len(names)} racks for {count} brokers: each needs a broker")
    return [Node(number + 1, names[number % len(names)]) for number in range(count)]


def _checked(rack: str | None, option: str) -> str | None:
    if rack is not None and not (rack.strip() and rack.isprintable()):
        raise InputError(option, f"{rack!r} is no name of a rack")
    return None if rack is None else rack.strip()


@contextmanager
def _bound(port: int) -> Iterator[socket.socket]:
    """A socket that holds this port of the loopback, or another free one where it is taken."""
    with socket.socket() as bound:
        try:
            if port:
                # As Java will: connections of an earlier run may linger on it.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound.bind((_HOST, port))
        except OSError:
            port = 0
        if not port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            bound.bind((_HOST, 0))
        yield bound


def _random_id() -> str:
    """An id as Kafka makes them: 16 bytes in 22 characters, not beginning as an option would."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not made.startswith("-"):
            return made


def _reason(log: str) -> str:
    """The line of a log that says why its process ended: the last exception, error or line."""
    lines = [line.strip() for line in log.splitlines()]
    said = [line for line in lines if line and not _SAYS_NOTHING.match(line)]
    for pattern in (r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ", r"\b(?:ERROR|FATAL|Error)\b"):
        telling = [line for line in said if re.search(pattern, line)]
        if telling:
            return telling[-1].removeprefix("Caused by: ")[:300]
    return said[-1][:300] if said else "its log is empty"
