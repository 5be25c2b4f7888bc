"""A sandbox of an earlier Kafka whose brokers keep their metadata in ZooKeeper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from partage.live.sandbox import Sandbox
from partage.live.sandbox.launch import Progress
from partage.live.sandbox.logs import READY
from partage.live.sandbox.nodes import CONTROLLER, Node
from partage.live.sandbox.settings import PLAINTEXT, settings_of, to_properties
from partage.outputs import lines_with_checksum, make_folder, write_file

_OF_KRAFT = (
    *("process.roles", "node.id", "controller.quorum.voters", "controller.listener.names"),
    *("broker.session.timeout.ms", "broker.heartbeat.interval.ms"),
)
_STARTED = re.compile(r"KafkaServer id=\d+\] started|binding to port")


class ZooKeeperSandbox(Sandbox):
    """ZooKeeper in place of the controller, from the jars of the same Kafka."""

    def _command_ending(self, node: Node, folder: object = None) -> str:
        ending = super()._command_ending(node)
        server = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return ending if node.id else ending.replace("kafka.Kafka", server)

    def _write_settings(self, node: Node) -> None:
        home = self._folder / node.name
        for folder in (home, home / "tmp"):
            make_folder(folder, root=self._folder)
        settings: dict[str, object] = {
            "dataDir": home / "data",
            "tickTime": 500,
            "clientPortAddress": "127.0.0.1",
            "clientPort": node.port,
            "admin.enableServer": "false",
        }
        if node.id:
            settings = settings_of(node, self._nodes, home, PLAINTEXT, {})
            settings = {name: value for name, value in settings.items() if name not in _OF_KRAFT}
            settings |= {
                "broker.id": node.id,
                "zookeeper.connect": self._nodes[CONTROLLER].address,
                "zookeeper.session.timeout.ms": 4000,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
            }
        text = lines_with_checksum(to_properties(settings))
        write_file(home / "server.properties", text, root=self._folder)

    def _bring_up(self, brokers: Iterable[Node], progress: Progress) -> None:
        """ZooKeeper names the cluster when the first broker registers."""
        super()._bring_up(brokers, progress)
        for node in self.brokers:
            file = self._folder / node.name / "data" / "meta.properties"
            found = re.search(r"^cluster\.id=(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert found is not None
            self.cluster_id = found[1]
        self._write()

    def _format(self, ids: Iterable[int], java: Sequence[str]) -> None:
        """Its folders are not formatted."""

    def _log(self, node: Node) -> str:
        log = super()._log(node)
        return log + READY * bool(_STARTED.search(log))
