"""A Kafka cluster on this machine, in a folder: create, open, change, end.

Each node has a folder for its settings, data and log. Apart from the jars, nothing is kept
elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any, Self

from partage.errors import InputError
from partage.live.sandbox import process
from partage.live.sandbox.assignor import assignor_jar
from partage.live.sandbox.folder import check_usable, locked
from partage.live.sandbox.jars import kafka_jars, kafka_version
from partage.live.sandbox.launch import CLIENT, Nodes, Progress
from partage.live.sandbox.nodes import (
    CONTROLLER,
    MOST_BROKERS,
    WRITTEN_BY_A_NODE,
    Node,
    checked,
    layout,
)
from partage.live.sandbox.security import FILES, FOLDER
from partage.live.sandbox.state import MARKER, State, random_id
from partage.outputs import make_folder, refuse_link, remove_file, remove_known


def _silent(_: str) -> None:
    return None


class Sandbox(Nodes):
    """A Kafka cluster on this machine, in a folder. ``with Sandbox.start(...)`` removes it on exit.

    ``start`` creates a cluster or starts an existing one; ``open`` takes it as it is. Several
    processes may use one sandbox: each call reads its state again, and one changes it at a time.
    """

    # ------------------------------------------------------------------ create, open, end

    @classmethod
    def start(
        cls,
        directory: str | os.PathLike[str],
        *,
        brokers: int | None = None,
        racks: Sequence[str] | None = None,
        log_dirs: int | None = None,
        kafka: str | None = None,
        secure: bool = False,
        assignor: bool = False,
        progress: Progress = _silent,
    ) -> Self:
        """A sandbox whose brokers are all registered and unfenced.

        A new one has ``brokers`` (3) with ids from 1, in the ``racks`` round robin, with so many
        ``log_dirs`` each (1), and runs the version ``kafka`` (4.3.0); ``secure`` adds TLS, logins
        and ACLs, ``assignor`` offers partage's assignor to groups. In an existing one, nodes that
        are down start on their data, and the arguments must match what it is. Raises InputError for
        arguments that are not accepted, PartageError if the cluster does not start; nothing of a
        new one is left then.
        """
        sandbox = cls(directory, [Node(CONTROLLER), *layout(brokers, racks, log_dirs)])
        check_usable(sandbox.directory, sandbox._folder)
        make_folder(sandbox._folder)
        with locked(sandbox.directory, sandbox._folder):
            new = not sandbox._marker.exists()
            if not new:
                sandbox._read()
                sandbox._check_matches(brokers, racks, kafka, secure)
                sandbox._check_assignor(assignor)
                sandbox._check_log_dirs(log_dirs)
            try:
                if new:
                    sandbox.kafka = kafka_version(kafka_jars(kafka, progress))
                    if assignor:
                        assignor_jar(sandbox.kafka)
                        sandbox.assignor = True
                    sandbox.cluster_id = random_id()
                    sandbox.secure = secure
                    if secure:
                        sandbox.security.make()
                sandbox._bring_up(sandbox.brokers, progress)
            except BaseException:
                if new:
                    try:
                        sandbox._end(sandbox._running(), timeout=0)
                    finally:
                        sandbox._remove()
                raise
        return sandbox

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """The sandbox in a folder, running or not. Raises InputError if there is none."""
        sandbox = cls(directory)
        sandbox._read()
        return sandbox

    def down(self, *, keep: bool = False) -> tuple[list[str], list[str]]:
        """End every process and remove the sandbox's files; ``keep`` leaves its data.

        Returns the names of the nodes that ran, and the other files in the folder, which are left.
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

    # ------------------------------------------------------------------ describe

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:PORT,127.0.0.1:PORT``: every broker, running or not; the SASL_SSL listeners
        of a secured sandbox."""
        return self.servers(self.listeners[0])

    @property
    def client_properties(self) -> str:
        """The properties file of a client that may do everything."""
        return str(Path(self.directory) / next(iter(self._client_files())))

    def _client_files(self) -> dict[str, tuple[str | None, str]]:
        """User and listener by file, relative to the directory."""
        if not self.secure:
            return {CLIENT: (None, self.listeners[0])}
        return {str(PurePath(FOLDER) / name): of for name, of in FILES.items()}

    def to_json(self) -> dict[str, Any]:
        """The object that ``partage sandbox up --json`` prints; ``pid`` is null for a node that is
        down."""
        running = {node.id for node in self._running()}

        def node_json(node: Node) -> dict[str, Any]:
            return {
                "address": node.address,
                "pid": node.pid if node.id in running else None,
                "log": str(Path(self.directory) / node.name / "server.log"),
            }

        return {
            "directory": self.directory,
            "kafka": self.kafka,
            "cluster_id": self.cluster_id,
            "secure": self.secure,
            "assignor": self.assignor,
            "bootstrap_servers": self.bootstrap_servers,
            "brokers": [{"id": one.id, "rack": one.rack, **node_json(one)} for one in self.brokers],
            "controller": node_json(self._nodes[CONTROLLER]),
            "started": self.started,
            "client_properties": [
                {"file": str(Path(self.directory) / file), "user": user, "listener": listener}
                for file, (user, listener) in self._client_files().items()
            ],
        }

    # ------------------------------------------------------------------ one broker

    def stop_broker(self, broker: int) -> None:
        """Shut a broker down; it hands over its leaderships first."""
        with self._changing():
            self._end([self._broker(broker)])

    def kill_broker(self, broker: int) -> None:
        """Kill a broker, as a failure would; the controller fences it 4 seconds later."""
        with self._changing():
            self._end([self._broker(broker)], timeout=0)

    def start_broker(self, broker: int, progress: Progress = _silent) -> None:
        """Start a broker again, on its data; returns when it is unfenced."""
        with self._changing():
            self._bring_up([self._broker(broker)], progress)

    def add_broker(self, rack: str | None = None, progress: Progress = _silent) -> int:
        """Start a new, empty broker with the next id, and return the id."""
        with self._changing():
            if len(self.brokers) == MOST_BROKERS:
                raise InputError(self.directory, f"has {MOST_BROKERS} brokers, the maximum")
            added = Node(
                max(self._nodes) + 1,
                checked(rack, "rack"),
                log_dirs=max(node.log_dirs for node in self.brokers),
            )
            self._nodes[added.id] = added
            try:
                self._bring_up([added], progress)
            except BaseException:
                remove_known(self._folder / added.name, WRITTEN_BY_A_NODE)
                del self._nodes[added.id]
                self._write()
                raise
        return added.id

    def _broker(self, broker: int) -> Node:
        if broker == CONTROLLER or broker not in self._nodes:
            ids = ", ".join(str(node.id) for node in self.brokers)
            raise InputError(self.directory, f"has no broker {broker}, only {ids}")
        return self._nodes[broker]

    # ------------------------------------------------------------------ the state

    @property
    def _marker(self) -> Path:
        return self._folder / MARKER

    def _check_matches(
        self, brokers: int | None, racks: Sequence[str] | None, kafka: str | None, secure: bool
    ) -> None:
        """Raise InputError if the arguments would change the existing sandbox."""
        count, existing = len(self.brokers), [node.rack for node in self.brokers]
        end = f"partage sandbox down --dir {self.directory} removes it"
        if brokers not in (None, count):
            raise InputError("brokers", f"{brokers}: {self.directory} has {count}; {end}")
        if racks is not None and [node.rack for node in layout(count, racks)] != existing:
            listed = ",".join(rack or "none" for rack in existing)
            raise InputError("racks", f"the brokers in {self.directory} are in {listed}; {end}")
        if kafka not in (None, self.kafka):
            raise InputError("kafka", f"{kafka}: {self.directory} runs {self.kafka}; {end}")
        if secure and not self.secure:
            raise InputError("secure", f"the sandbox in {self.directory} is not secured; {end}")

    def _check_assignor(self, assignor: bool) -> None:
        if assignor and not self.assignor:
            raise InputError(
                "assignor",
                f"the sandbox in {self.directory} was created without it; "
                f"partage sandbox down --dir {self.directory} removes it",
            )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock, with the state read again."""
        self._read()  # before the lock: raises if there is no sandbox
        with locked(self.directory, self._folder):
            self._read()
            yield

    def _check_log_dirs(self, log_dirs: int | None) -> None:
        """Raise InputError if brokers do not have so many log dirs."""
        own = self.brokers[0].log_dirs
        if log_dirs not in (None, own):
            end = f"partage sandbox down --dir {self.directory} removes it"
            raise InputError(
                "log_dirs", f"{log_dirs}: the brokers in {self.directory} have {own}; {end}"
            )

    def _read(self) -> None:
        refuse_link(self.directory)
        if not self._marker.exists():
            raise InputError(self.directory, f"there is no sandbox (no {MARKER})")
        state = State.read(self._marker, str(Path(self.directory) / MARKER))
        home = state.folder
        if home != self._folder and any(
            node.pid is not None and process.runs(node.pid, self._command_ending(node, home))
            for node in state.nodes
        ):
            problem = f"was moved or copied from {home} while its processes run: use it there"
            raise InputError(self.directory, problem)
        self.kafka, self.cluster_id, self.secure = state.kafka, state.cluster_id, state.secure
        self.assignor = state.assignor
        self._nodes = {node.id: node for node in state.nodes}

    def _remove(self) -> list[str]:
        """Remove the sandbox's files, its marker last; returns the names of other files."""
        left = {
            node.name: remove_known(self._folder / node.name, WRITTEN_BY_A_NODE)
            for node in self._nodes.values()
        }
        if self.secure:
            left[FOLDER] = self.security.remove()
        else:
            with suppress(InputError):  # the user's by now: it stays
                remove_file(self._folder / CLIENT, root=self._folder)
        remove_file(self._marker, root=self._folder, recognised=True)
        others = sorted(path.name for path in self._folder.iterdir())
        if not others:
            self._folder.rmdir()
        return [
            str(PurePath(name) / file) for name in others for file in left.get(name, ()) or [""]
        ]
