"""The settings of a sandbox's nodes, of Kafka and of Java."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from partage.live.sandbox.nodes import CONTROLLER, Node

PLAINTEXT = ("PLAINTEXT",)
"""The only listener of a broker without authentication."""

JAVA_OPTIONS = (
    # Only Java's first compiler, and few threads: a sandbox runs for minutes on one machine.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",  # would write into the system's temporary folder
    "-Dlog4j2.level=INFO",
)

SETTINGS: dict[str, object] = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # Fence a dead broker within seconds; Kafka's defaults of 9 s and 2 s are for real networks.
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 500,
    # Let a group start without waiting for more members.
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # Few threads, and 4 MB for the log cleaner's map instead of 128 MB.
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
}


def settings_of(
    node: Node,
    nodes: Mapping[int, Node],
    folder: Path,
    listeners: tuple[str, ...],
    more: Mapping[str, object],
) -> dict[str, object]:
    """The settings of a node among ``nodes``, with its data in ``folder``; ``more`` overrides
    them."""
    copies = min(3, len(nodes) - 1)
    names = listeners if node.id else ("CONTROLLER",)
    found = {
        **SETTINGS,
        "process.roles": "broker" if node.id else "controller",
        "node.id": node.id,
        "controller.quorum.voters": f"{CONTROLLER}@{nodes[CONTROLLER].address}",
        "listeners": ",".join(
            f"{name}://{address}" for name, address in zip(names, node.addresses, strict=True)
        ),
        "log.dirs": ",".join(str(folder / name) for name in node.data),
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "share.coordinator.state.topic.replication.factor": copies,
        **more,
    }
    if node.rack is not None:
        found["broker.rack"] = node.rack
    return found


def to_properties(settings: Mapping[str, object]) -> str:
    """The text of a properties file: ASCII, one line per setting. Java reads the escapes of JSON,
    and needs none for quotes."""
    escaped = {key: json.dumps(str(value))[1:-1] for key, value in settings.items()}
    return "".join(key + "=" + value.replace('\\"', '"') + "\n" for key, value in escaped.items())
