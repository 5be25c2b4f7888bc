"""A cluster of nodes: started, changed and ended, its state in a folder.

The state (``state.py``) is written anew whenever a node changes, so that whatever interrupts a run,
the next knows what to end or to start again. Beside it each node has a folder: settings, data, log.
Nothing is kept elsewhere but the jars.

A node is ready when its log says so. Who asks the cluster instead may be told of the broker that
was killed a second before.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from partage.errors import InputError, PartageError
from partage.files import check_writable_directory, write_text
from partage.java import find_java
from partage.live.sandbox import process
from partage.live.sandbox.jars import kafka_jars, kafka_version
from partage.live.sandbox.logs import PORT_TAKEN, READY, reason
from partage.live.sandbox.nodes import CONTROLLER, MOST_BROKERS, Node, bound, checked, layout
from partage.live.sandbox.security import FILES, FOLDER, LISTENERS, Security
from partage.live.sandbox.settings import JAVA_OPTIONS, PLAINTEXT, settings_of, to_properties
from partage.live.sandbox.state import MARKER, State, random_id

_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1

Tell = Callable[[str], None]


def _silent(_: str) -> None:
    return None


class Sandbox:
    """A Kafka cluster on this machine, in a folder. ``with Sandbox.start(...)`` ends it at the end.

    ``start`` makes one or brings up the one that is there, ``open`` takes it as it is. Several
    processes may use one sandbox: each call reads its state anew, and one changes it at a time.
    """

    def __init__(self, directory: str | os.PathLike[str], nodes: Iterable[Node] = ()) -> None:
        self.directory = os.fspath(directory)
        self.kafka = ""
        self.cluster_id = ""
        self.secure = False
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
        secure: bool = False,
        tell: Tell = _silent,
    ) -> Self:
        """A sandbox whose brokers are all registered and unfenced.

        A new one has ``brokers`` (3) with ids from 1 on, dealt round the ``racks`` in turn, and
        runs the version ``kafka`` (4.3.0); ``secure``: with TLS, logins and ACLs. Of one that is
        there, what is down is started on its data; what is asked for must be what it is. Raises
        InputError for what cannot be asked, PartageError for a cluster that does not come up, of
        which nothing is left then.
        """
        sandbox = cls(directory, [Node(CONTROLLER), *layout(brokers, racks)])
        sandbox._check_place()
        sandbox._folder.mkdir(exist_ok=True)
        with sandbox._alone():
            fresh = not sandbox._marker.exists()
            if not fresh:
                sandbox._read()
                sandbox._must_be(brokers, racks, kafka, secure)
            try:
                if fresh:
                    sandbox.kafka = kafka_version(kafka_jars(kafka, tell))
                    sandbox.cluster_id = random_id()
                    sandbox.secure = secure
                    if secure:
                        sandbox.security.make()
                sandbox._bring_up(sandbox.brokers, tell)
            except BaseException:
                if fresh:
                    try:
                        sandbox._end(sandbox._running(), patience=0)
                    finally:
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
        return [node for _, node in sorted(self._nodes.items()) if node.id != CONTROLLER]

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:PORT,127.0.0.1:PORT``: every broker, whether it runs or not; of a secured
        sandbox by SASL_SSL."""
        return self.servers(self.listeners[0])

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names of those that each broker has."""
        return LISTENERS if self.secure else PLAINTEXT

    def servers(self, listener: str) -> str:
        """The same as ``bootstrap_servers``, by this listener."""
        place = self.listeners.index(listener)
        return ",".join(node.addresses[place] for node in self.brokers)

    @property
    def security(self) -> Security:
        """Certificates, users and clients' files, where the sandbox is secured."""
        return Security(self._folder)

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
            "secure": self.secure,
            "bootstrap_servers": self.bootstrap_servers,
            "brokers": [{"id": of.id, "rack": of.rack, **node(of)} for of in self.brokers],
            "controller": node(self._nodes[CONTROLLER]),
            "started": self.started,
            "client_properties": [
                {"file": str(Path(self.directory) / FOLDER / name), "user": user, "listener": by}
                for name, (user, by) in (FILES if self.secure else {}).items()
            ],
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
            added = Node(max(self._nodes) + 1, checked(rack, "--rack"))
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
        if broker == CONTROLLER or broker not in self._nodes:
            ids = ", ".join(str(node.id) for node in self.brokers)
            raise InputError(self.directory, f"has no broker {broker}, only {ids}")
        return self._nodes[broker]

    # ------------------------------------------------------------------ starting

    def _bring_up(self, brokers: Iterable[Node], tell: Tell) -> None:
        """Start the controller and those of the brokers that do not run; wait until all are ready.

        What was started is ended again if one of them does not come up.
        """
        wanted = {CONTROLLER, *(node.id for node in brokers)}
        running = {node.id for node in self._running()}
        if CONTROLLER not in running:
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
        self.started = sorted(launched - {CONTROLLER})

    def _launch(self, ids: Sequence[int], other_ports: bool) -> None:
        """Give the nodes ports, settings and a formatted folder, and start their processes."""
        jars, java = kafka_jars(self.kafka), find_java("Kafka") / "bin" / "java"
        with ExitStack() as held:
            for number in ids:
                node = self._nodes[number]
                count = len(self.listeners) if node.id else 1
                wanted = [node.port, *node.more_ports, *[0] * count][:count]
                first, *more = (
                    held.enter_context(bound(0 if other_ports else port)).getsockname()[1]
                    for port in wanted
                )
                self._nodes[number] = replace(node, port=first, more_ports=tuple(more))
            for number in ids:
                self._write_settings(self._nodes[number])
            self._write()
            if self.secure:
                self.security.write_clients({name: self.servers(name) for name in self.listeners})
            self._format(ids, [str(java), *JAVA_OPTIONS, "-cp", f"{jars}/*"])
        for number in ids:
            node = self._nodes[number]
            home = self._folder / node.name
            log = home / "server.log"
            with suppress(FileNotFoundError):
                log.replace(home / "server.log.1")
            command = [
                str(java),
                "-Xmx384m" if node.id else "-Xmx256m",
                *JAVA_OPTIONS,
                f"-Djava.io.tmpdir={home}",
                f"-XX:ErrorFile={home}/java-error.log",
                *("-cp", f"{jars}/*"),
                *self._ending(node).split(" ", 1),
            ]
            self._nodes[number] = replace(node, pid=process.spawn(command, log))
            self._write()

    def _write_settings(self, node: Node) -> None:
        security = self.security.settings(node) if self.secure else {}
        home = self._folder / node.name
        home.mkdir(exist_ok=True)
        settings = settings_of(node, self._nodes, home, self.listeners, security)
        text = to_properties(settings)
        write_text(home / "server.properties", text, private=self.secure)

    def _format(self, ids: Iterable[int], java: Sequence[str]) -> None:
        """Have Kafka's tool prepare the data folders that are new, side by side."""
        tool = ["kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c"]
        with ExitStack() as tools:
            runs = []
            for number in ids:
                node = self._nodes[number]
                home = self._folder / node.name
                if (home / "data" / "meta.properties").exists():
                    continue
                words = [*tool, str(home / "server.properties")]
                if self.secure and number == CONTROLLER:
                    words = [tools.enter_context(self.security.users(words))]
                run = tools.enter_context(
                    subprocess.Popen(
                        [*java, *words],
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
                    raise PartageError(f"{node.name} cannot be formatted: {reason(printed)}")

    def _all_ready(self, wanted: set[int], tell: Tell, may_retry: bool) -> bool:
        """Wait until all are ready. False if one has ended because its port was taken meanwhile."""
        deadline = time.monotonic() + _START_SECONDS
        ready = -1
        while True:
            running = {node.id for node in self._running()}
            logs = {node: self._log(self._nodes[node]) for node in sorted(wanted)}
            for node in sorted(wanted - running):
                if PORT_TAKEN in logs[node] and may_retry:
                    if node == CONTROLLER:
                        self._end(self._running(), patience=0)
                    return False
                raise PartageError(f"{self._nodes[node].name} did not start: {reason(logs[node])}")
            slow = [node for node, log in logs.items() if READY not in log]
            if not slow:
                return True
            if time.monotonic() > deadline:
                name, why = self._nodes[slow[0]].name, reason(logs[slow[0]])
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
        """End those that run, the controller last, as the brokers say goodbye to it; and it, too,
        where one of them does not end. Raises PartageError then."""
        nodes = list(nodes)
        try:
            self._end_at_once([node for node in nodes if node.id != CONTROLLER], patience)
        finally:
            self._end_at_once([node for node in nodes if node.id == CONTROLLER], patience)

    def _end_at_once(self, nodes: Sequence[Node], patience: float) -> None:
        process.end(
            {node.pid: self._ending(node) for node in nodes if node.pid is not None}, patience
        )
        for node in nodes:
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
        if not self._marker.is_file():
            check_writable_directory(self.directory, MARKER)
        if not self._folder.parent.is_dir():
            raise InputError(self.directory, f"there is no folder {self._folder.parent}")
        if "," in str(self._folder):
            raise InputError(
                self.directory, "a comma in its path, which Kafka takes for two folders"
            )

    def _must_be(
        self, brokers: int | None, racks: Sequence[str] | None, kafka: str | None, secure: bool
    ) -> None:
        """Refuse to change what is there."""
        count, dealt = len(self.brokers), [node.rack for node in self.brokers]
        end = f"partage sandbox down --dir {self.directory} removes it"
        if brokers not in (None, count):
            raise InputError("--brokers", f"{brokers}: {self.directory} has {count}; {end}")
        if racks is not None and [node.rack for node in layout(count, racks)] != dealt:
            there = ",".join(rack or "none" for rack in dealt)
            raise InputError("--racks", f"the brokers in {self.directory} are in {there}; {end}")
        if kafka not in (None, self.kafka):
            raise InputError("--kafka", f"{kafka}: {self.directory} is a {self.kafka}; {end}")
        if secure and not self.secure:
            raise InputError("--secure", f"the sandbox in {self.directory} is an open one; {end}")

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
        nodes = tuple(node for _, node in sorted(self._nodes.items()))
        state = State(self.kafka, self.cluster_id, self.secure, self._folder, nodes)
        state.write(self._marker)

    def _read(self) -> None:
        if not self._marker.exists():
            raise InputError(self.directory, f"no sandbox is there (no {MARKER})")
        state = State.read(self._marker, str(Path(self.directory) / MARKER))
        home = state.folder
        if home != self._folder and any(
            node.pid is not None and process.runs(node.pid, self._ending(node, home))
            for node in state.nodes
        ):
            problem = f"moved or copied from {home} while its processes run: use it there"
            raise InputError(self.directory, problem)
        self.kafka, self.cluster_id, self.secure = state.kafka, state.cluster_id, state.secure
        self._nodes = {node.id: node for node in state.nodes}

    def _remove(self) -> list[str]:
        """Remove what the sandbox made, its marker last; gives what else there is, if anything."""
        for node in self._nodes.values():
            shutil.rmtree(self._folder / node.name, ignore_errors=True)
        if self.secure:
            self.security.remove()
        self._marker.unlink(missing_ok=True)
        left = sorted(path.name for path in self._folder.iterdir())
        if not left:
            self._folder.rmdir()
        return left
