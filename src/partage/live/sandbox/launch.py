"""Start the nodes of a sandbox, wait until they are ready, and end them.

The state (``state.py``) is written whenever a node changes, so that after an interrupted run the
next one knows which processes to end and which to start.

Whether a node is ready is read from its log. Asked right after a broker was killed, the cluster
would still report the broker of before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from partage.errors import InputError, PartageError
from partage.java import find_java
from partage.live.sandbox import assignor, process
from partage.live.sandbox.jars import kafka_jars
from partage.live.sandbox.logs import PORT_TAKEN, READY, reason
from partage.live.sandbox.nodes import CONTROLLER, Node, bound
from partage.live.sandbox.security import LISTENERS, Security
from partage.live.sandbox.settings import JAVA_OPTIONS, PLAINTEXT, settings_of, to_properties
from partage.live.sandbox.state import MARKER, State
from partage.outputs import keep_previous, lines_with_checksum, make_folder, write_file

_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1
_PORT_RETRIES = 2
_FULL_BYTES = 2**20
"""What a node could not run on."""

CLIENT = "client.properties"
"""The file for clients of a sandbox that is not secured."""

Progress = Callable[[str], None]


class Nodes:
    """The nodes of a sandbox with their processes, and the state file that lists them."""

    def __init__(self, directory: str | os.PathLike[str], nodes: Iterable[Node] = ()) -> None:
        self.directory = os.fspath(directory)
        self.kafka = ""
        """Kafka's version."""
        self.cluster_id = ""
        self.secure = False
        self.assignor = False
        """Whether groups can use partage's assignor."""
        self.started: list[int] = []
        """The brokers that the last call started."""
        self._folder = Path(directory).resolve()
        self._nodes = {node.id: node for node in nodes}

    @property
    def brokers(self) -> list[Node]:
        """The brokers by id, also those that are down."""
        return [node for _, node in sorted(self._nodes.items()) if node.id != CONTROLLER]

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names of the listeners that each broker has."""
        return LISTENERS if self.secure else PLAINTEXT

    def servers(self, listener: str) -> str:
        """``127.0.0.1:PORT,127.0.0.1:PORT``: every broker's address for this listener."""
        index = self.listeners.index(listener)
        return ",".join(node.addresses[index] for node in self.brokers)

    @property
    def security(self) -> Security:
        """Certificates, users and client properties, if the sandbox is secured."""
        return Security(self._folder)

    # ------------------------------------------------------------------ starting

    def _bring_up(self, brokers: Iterable[Node], progress: Progress) -> None:
        """Start the controller and those of the brokers that are down; wait until all are ready.

        If one of them fails, all that were started are ended.
        """
        wanted = {CONTROLLER, *(node.id for node in brokers)}
        running = {node.id for node in self._running()}
        if CONTROLLER not in running:
            # it may get another port, which brokers only read when they start
            self._end(self._running())
            wanted |= running
        progress(f"starting Kafka {self.kafka}")
        launched: set[int] = set()
        try:
            for retries_left in range(_PORT_RETRIES, -1, -1):
                missing = wanted - {node.id for node in self._running()}
                retried = bool(launched)
                launched |= missing
                if missing:
                    self._launch(sorted(missing), other_ports=retried)
                if self._all_ready(wanted, progress, may_retry=retries_left > 0):
                    break
        except BaseException:
            self._end((self._nodes[node] for node in launched), timeout=0)
            raise
        self.started = sorted(launched - {CONTROLLER})

    def _launch(self, ids: Sequence[int], other_ports: bool) -> None:
        """Give the nodes ports, settings and a formatted folder, and start their processes."""
        jars, java = kafka_jars(self.kafka), find_java("Kafka") / "bin" / "java"
        classpath = f"{jars}/*"
        if self.assignor:
            classpath += f"{os.pathsep}{assignor.assignor_jar(self.kafka)}"
        with ExitStack() as held_ports:
            for number in ids:
                node = self._nodes[number]
                count = len(self.listeners) if node.id else 1
                wanted = [node.port, *node.more_ports, *[0] * count][:count]
                first, *more = (
                    held_ports.enter_context(bound(0 if other_ports else port)).getsockname()[1]
                    for port in wanted
                )
                self._nodes[number] = replace(node, port=first, more_ports=tuple(more))
            for number in ids:
                self._write_settings(self._nodes[number])
            self._write()
            self._write_client_properties()
            self._format(ids, [str(java), *JAVA_OPTIONS, "-cp", classpath])
        for number in ids:
            node = self._nodes[number]
            home = self._folder / node.name
            log = home / "server.log"
            keep_previous(log, root=self._folder)
            command = [
                str(java),
                "-Xmx384m" if node.id else "-Xmx256m",
                *JAVA_OPTIONS,
                f"-Djava.io.tmpdir={home}/tmp",
                f"-XX:ErrorFile={home}/java-error.log",
                *("-cp", classpath),
                *self._command_ending(node).split(" ", 1),
            ]
            self._nodes[number] = replace(node, pid=process.spawn(command, log))
            self._write()

    def _write_settings(self, node: Node) -> None:
        more: dict[str, object] = {**assignor.SETTINGS} if self.assignor else {}
        if self.secure:
            more |= self.security.settings(node)
        home = self._folder / node.name
        for folder in (home, home / "tmp"):
            make_folder(folder, root=self._folder)
        settings = settings_of(node, self._nodes, home, self.listeners, more)
        text = lines_with_checksum(to_properties(settings))
        write_file(home / "server.properties", text, private=self.secure, root=self._folder)

    def _write_client_properties(self) -> None:
        if self.secure:
            self.security.write_clients({name: self.servers(name) for name in self.listeners})
        else:
            text = to_properties({"bootstrap.servers": self.servers(*PLAINTEXT)})
            write_file(self._folder / CLIENT, lines_with_checksum(text), root=self._folder)

    def _format(self, ids: Iterable[int], java: Sequence[str]) -> None:
        """Format new data folders with Kafka's storage tool, all at the same time."""
        tool = ["kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c"]
        with ExitStack() as tools:
            runs = []
            for number in ids:
                node = self._nodes[number]
                home = self._folder / node.name
                if (home / "data" / "meta.properties").exists():
                    continue
                arguments = [*tool, str(home / "server.properties")]
                if self.secure and number == CONTROLLER:
                    arguments = [tools.enter_context(self.security.format_arguments(arguments))]
                run = tools.enter_context(
                    subprocess.Popen(
                        [*java, *arguments],
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
                    raise PartageError(f"{node.name} cannot be formatted: {self._reason(printed)}")

    def _all_ready(self, wanted: set[int], progress: Progress, may_retry: bool) -> bool:
        """Wait until all nodes are ready. False if one ended because its port was taken, and it
        ``may_retry`` with another port."""
        deadline = time.monotonic() + _START_SECONDS
        ready = -1
        while True:
            running = {node.id for node in self._running()}
            logs = {node: self._log(self._nodes[node]) for node in sorted(wanted)}
            for node in sorted(wanted - running):
                if PORT_TAKEN in logs[node] and may_retry:
                    if node == CONTROLLER:
                        self._end(self._running(), timeout=0)
                    return False
                raise PartageError(
                    f"{self._nodes[node].name} did not start: {self._reason(logs[node])}"
                )
            slow = [node for node, log in logs.items() if READY not in log]
            if not slow:
                return True
            if time.monotonic() > deadline:
                name, why = self._nodes[slow[0]].name, self._reason(logs[slow[0]])
                raise PartageError(f"{name} is not ready after {_START_SECONDS:.0f} s: {why}")
            if ready != (ready := len(wanted) - len(slow)):
                progress(f"starting Kafka {self.kafka}: {ready} of {len(wanted)} nodes")
            time.sleep(_POLL_SECONDS)

    def _reason(self, log: str) -> str:
        """Why a log's process ended. A full disk often cuts the line of the log that names it."""
        full = shutil.disk_usage(self._folder).free < _FULL_BYTES
        return reason(log) + full * f" (the disk of {self.directory} is full)"

    # ------------------------------------------------------------------ processes

    def _command_ending(self, node: Node, folder: Path | None = None) -> str:
        """How the command line of a node's process ends; no other process's ends the same."""
        return f"kafka.Kafka {(folder or self._folder) / node.name / 'server.properties'}"

    def _running(self) -> list[Node]:
        return [
            node
            for node in self._nodes.values()
            if node.pid is not None and process.runs(node.pid, self._command_ending(node))
        ]

    def _end(self, nodes: Iterable[Node], timeout: float = _STOP_SECONDS) -> None:
        """End those that run: brokers first, because they report their shutdown to the controller.
        Kill those left after ``timeout`` seconds. Raises PartageError if one cannot be ended, after
        it has ended the controller as well."""
        nodes = list(nodes)
        try:
            self._end_together([node for node in nodes if node.id != CONTROLLER], timeout)
        finally:
            self._end_together([node for node in nodes if node.id == CONTROLLER], timeout)

    def _end_together(self, nodes: Sequence[Node], timeout: float) -> None:
        process.end(
            {node.pid: self._command_ending(node) for node in nodes if node.pid is not None},
            timeout,
        )
        for node in nodes:
            self._nodes[node.id] = replace(self._nodes[node.id], pid=None)
        with suppress(InputError):  # a full disk: a process that has ended is recognised anyway
            self._write()

    def _log(self, node: Node) -> str:
        try:
            log = self._folder / node.name / "server.log"
            return log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _write(self) -> None:
        nodes = tuple(node for _, node in sorted(self._nodes.items()))
        state = State(self.kafka, self.cluster_id, self.secure, self._folder, nodes, self.assignor)
        state.write(self._folder / MARKER)
