"""A sandbox with remote storage (KIP-405); segments are copied into a folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.request import urlopen

from partage.jars import cache_folder, mirror
from partage.live.sandbox.jars import KAFKA
from partage.live.sandbox.nodes import Node
from tests.configured_sandbox import ConfiguredSandbox

_SHA256 = "4a1451e34e101e24e3fbc442ee4f76c65cfa5be93a11215635b00f00d9d81997"
_ENABLED: dict[str, object] = {"remote.log.storage.system.enable": "true"}


def plugin() -> Path:
    """The jar of Kafka's tests with ``LocalTieredStorage``, downloaded once."""
    name = f"kafka-storage-{KAFKA}-test.jar"
    folder = cache_folder(f"tiered-{KAFKA}")
    found = folder / name
    if not found.exists():
        with urlopen(f"{mirror()}/org/apache/kafka/kafka-storage/{KAFKA}/{name}") as answer:
            content = answer.read()
        assert hashlib.sha256(content).hexdigest() == _SHA256
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name}.{os.getpid()}"
        part.write_bytes(content)
        part.replace(found)
    return found


class TieredSandbox(ConfiguredSandbox):
    """Topics may have ``remote.storage.enable``. New replicas on broker ``SKIPPING`` start at the
    last tiered offset (KIP-1023)."""

    SKIPPING = 3

    controller_settings = _ENABLED

    def _own_settings(self, node: Node) -> dict[str, object]:
        own = super()._own_settings(node)
        if node.id == 0:
            return own
        manager = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
        return {
            **own,
            **_ENABLED,
            "remote.log.storage.manager.class.name": manager,
            "remote.log.storage.manager.class.path": plugin(),
            "remote.log.storage.manager.impl.prefix": "rsm.config.",
            "rsm.config.dir": self._folder.parent / "remote",
            "remote.log.metadata.manager.listener.name": "PLAINTEXT",
            "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
            "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
            "rlmm.config.remote.log.metadata.topic.replication.factor": 1,
            "remote.log.manager.task.interval.ms": 500,
            "log.retention.check.interval.ms": 500,
            "log.initial.task.delay.ms": 500,
            "follower.fetch.last.tiered.offset.enable": node.id == self.SKIPPING,
        }
