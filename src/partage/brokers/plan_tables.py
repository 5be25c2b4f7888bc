"""Tables of a plan by name: moves, brokers, waves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partage.brokers.figures import Placement, one_width
from partage.brokers.waves import Wave
from partage.cluster import Cluster
from partage.frames import Columns


def moves_table(before: Cluster, after: Cluster, waves: Sequence[Wave]) -> Columns:
    """topic, partition, from, to, bytes, wave: a row per new replica, in the order of the waves.

    ``from`` is the broker whose replica it replaces, None for an additional replica; ``bytes`` is
    None where the size is unknown.
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("topic", "partition", "from", "to", "bytes", "wave")
    }
    old, new = one_width(before.replicas, after.replicas)
    for number, wave in enumerate(waves, start=1):
        for row in wave.rows.tolist():
            had, has = old[row][old[row] >= 0], new[row][new[row] >= 0]
            leaving = [int(broker) for broker in had if broker not in has]
            for broker in (int(broker) for broker in has if broker not in had):
                source = leaving.pop(0) if leaving else None
                size = int(before.copied[row]) if before.size_bytes[row] >= 0 else None
                values = (
                    before.topics[before.topic[row]],
                    int(before.partition[row]),
                    None if source is None else int(before.broker_ids[source]),
                    int(before.broker_ids[broker]),
                    size,
                    number,
                )
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
    return columns


def brokers_table(before: Cluster, after: Cluster) -> Columns:
    """broker, rack, and replicas, leaders and bytes of each broker, before and after."""
    columns: dict[str, list[Any]] = {
        "broker": before.broker_ids.tolist(),
        "rack": [broker.rack for broker in before.brokers],
    }
    for when, cluster in (("before", before), ("after", after)):
        placement = Placement(cluster, cluster.alive)
        columns[f"replicas_{when}"] = placement.replica_counts().tolist()
        columns[f"leaders_{when}"] = placement.leader_counts().tolist()
        columns[f"bytes_{when}"] = placement.byte_counts().tolist()
    return columns


def waves_table(waves: Sequence[Wave]) -> Columns:
    """wave, partitions, moves, bytes, seconds: a row per wave, in the order of execution."""
    return {
        "wave": list(range(1, len(waves) + 1)),
        "partitions": [len(wave.rows) for wave in waves],
        "moves": [wave.moves for wave in waves],
        "bytes": [wave.bytes for wave in waves],
        "seconds": [wave.seconds for wave in waves],
    }
