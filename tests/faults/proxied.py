"""The cluster that faults are injected into: four brokers in two racks, with three log dirs each,
behind proxies.

It is a sandbox with other settings. Brokers advertise the port of their proxy. Two of them are also
controllers, so that with the sandbox's own there are three, and another takes over when the active
one dies. Fetches are small and the throttle's window is short, so that little data moves slowly
from the start.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka.admin import AdminClient

from partage.live.sandbox import Node, Sandbox
from tests.faults.proxy import HOST, Proxies
from tests.on_disk import OnDisk, on_disk

BROKERS, RACKS, LOG_DIRS = 4, ("a", "b"), 3
CONTROLLER = 0
VOTERS = (CONTROLLER, 1, 2)
OBSERVER = "observer"
"""The client id that no cut affects."""

_SETTINGS: dict[str, object] = {
    "replica.fetch.max.bytes": 32 * 1024,
    "replica.fetch.response.max.bytes": 64 * 1024,
    "replica.fetch.wait.max.ms": 100,
    "replication.quota.window.num": 3,
    "alter.log.dirs.replication.quota.window.num": 3,
    "log.initial.task.delay.ms": 1000,
    "file.delete.delay.ms": 1000,
}


class Proxied(Sandbox):
    """``with Proxied.start(folder, brokers=BROKERS, racks=RACKS)``."""

    def __init__(self, directory: str | os.PathLike[str], nodes: Iterable[Node] = ()) -> None:
        super().__init__(directory, nodes)
        self.proxies = Proxies()
        for broker in self.brokers:
            self.proxies.open(broker.id)
        self._voters = {voter: _free_port() for voter in VOTERS if voter != CONTROLLER}

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.proxies.close()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of the proxies."""
        return ",".join(f"{HOST}:{port}" for port in self.proxies.ports.values())

    @property
    def ids(self) -> list[int]:
        return [broker.id for broker in self.brokers]

    def _write_settings(self, node: Node) -> None:
        file = self._folder / node.name / "server.properties"
        file.unlink(missing_ok=True)  # the sandbox replaces none with added lines
        super()._write_settings(node)
        voters = {CONTROLLER: self._nodes[CONTROLLER].port, **self._voters}
        quorum = ",".join(f"{voter}@{HOST}:{port}" for voter, port in voters.items())
        settings = {**_SETTINGS, "controller.quorum.voters": quorum}
        if node.id:
            self.proxies.targets[node.id] = node.port
            advertised = f"PLAINTEXT://{HOST}:{self.proxies.ports[node.id]}"
            settings["advertised.listeners"] = advertised
        if node.id in self._voters:
            own = f"CONTROLLER://{HOST}:{self._voters[node.id]}"
            settings["process.roles"] = "broker,controller"
            settings["listeners"] = f"PLAINTEXT://{node.address},{own}"
            settings["advertised.listeners"] = f"{advertised},{own}"
        # the later line of a setting wins
        with file.open("a") as lines:
            lines.writelines(f"{name}={value}\n" for name, value in settings.items())

    def log_dirs(self) -> list[tuple[int, Path]]:
        """The log dirs, each with its broker."""
        return [
            (one.id, self._folder / one.name / name) for one in self.brokers for name in one.data
        ]

    def on_disk(self) -> OnDisk:
        """The log dirs of all replicas."""
        return on_disk(self.log_dirs())

    def await_brokers(self) -> None:
        """Wait until every broker knows all of them: each learns of it at its own time."""
        for port in self.proxies.ports.values():
            client = AdminClient({"bootstrap.servers": f"{HOST}:{port}", "client.id": OBSERVER})
            deadline = time.monotonic() + 30.0
            while set(client.list_topics(timeout=10.0).brokers) != set(self.ids):
                assert time.monotonic() < deadline, "the brokers do not find each other"
                time.sleep(0.1)

    def is_up(self, node: int) -> bool:
        """Whether its process runs."""
        return self._nodes[node] in self._running()

    def signal_broker(self, broker: int, how: signal.Signals) -> None:
        """Send SIGSTOP or SIGCONT, to make a broker hang."""
        pid = self._broker(broker).pid
        assert pid is not None
        os.kill(pid, how)

    def fill_disk(self, broker: int) -> None:
        """Let all its files grow no further: every write fails, and Kafka ends the broker."""
        pid = self._broker(broker).pid
        assert pid is not None
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, 1))

    def kill_controller(self) -> None:
        """Kill the dedicated controller; another one takes over if it was active."""
        with self._changing():
            self._end([self._nodes[CONTROLLER]], timeout=0)

    def start_controller(self) -> None:
        with self._changing():
            self._launch([CONTROLLER], other_ports=False)
            self._all_ready({CONTROLLER}, lambda _: None, may_retry=False)


def begin(folder: str | os.PathLike[str], kafka: str | None = None) -> Proxied:
    """Start a new cluster in this folder, of a version or of the default one."""
    return Proxied.start(folder, brokers=BROKERS, racks=RACKS, log_dirs=LOG_DIRS, kafka=kafka)


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        return int(bound.getsockname()[1])
