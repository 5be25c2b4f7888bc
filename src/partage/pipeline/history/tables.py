"""The tables of a rebalance history: members, rounds, ownership, unowned, replay, rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from partage.consumers.history import History
from partage.consumers.history.model import seconds

_TIME = pa.timestamp("us", "UTC")
SCHEMAS: dict[str, pa.Schema] = {
    "members": pa.schema(
        [
            ("group", pa.string()),
            ("member", pa.string()),
            ("client", pa.string()),
            ("consumer", pa.string()),
            ("source", pa.string()),
            ("instance_id", pa.string()),
            ("joins", _TIME),
            ("ends", _TIME),
            ("ended", pa.string()),
        ]
    ),
    "rounds": pa.schema(
        [
            ("group", pa.string()),
            ("round", pa.int32()),
            ("at", _TIME),
            ("generation", pa.int32()),
            ("protocol", pa.string()),
            ("assignor", pa.string()),
            ("members", pa.int32()),
            ("added", pa.int64()),
            ("revoked", pa.int64()),
            ("lost", pa.int64()),
            ("unowned_partition_seconds", pa.float64()),
        ]
    ),
    "ownership": pa.schema(
        [
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("member", pa.string()),
            ("start", _TIME),
            ("end", _TIME),
        ]
    ),
    "unowned": pa.schema(
        [
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("round", pa.int32()),
            ("seconds", pa.float64()),
        ]
    ),
    "replay": pa.schema(
        [
            ("group", pa.string()),
            ("assignor", pa.string()),
            ("protocol", pa.string()),
            ("moved", pa.int64()),
            ("unowned_partition_seconds", pa.float64()),
            ("rounds", pa.int64()),
            ("cannot", pa.string()),
        ]
    ),
    "rejected": pa.schema(
        [
            ("source", pa.string()),
            ("line", pa.int64()),
            ("row", pa.string()),
            ("reason", pa.string()),
        ]
    ),
}
"""The tables' columns."""

ORDER = {
    "members": ("group", "joins", "member"),
    "rounds": ("group", "round"),
    "ownership": ("group", "topic", "partition", "start", "member"),
    "unowned": ("group", "round", "topic", "partition"),
    "replay": ("group", "assignor", "protocol"),
    "rejected": ("source", "line", "reason"),
}
"""The columns by which the files of a table are sorted."""

Rows = Iterator[dict[str, Any]]


def _members(group: str, history: History) -> Rows:
    for one in history.members:
        yield {
            "group": group,
            "member": one.id,
            "client": one.client,
            "consumer": one.consumer,
            "source": one.source,
            "instance_id": one.instance_id,
            "joins": one.joins,
            "ends": one.ends,
            "ended": one.ended,
        }


def _rounds(group: str, history: History) -> Rows:
    for number, one in enumerate(history.rounds, 1):
        yield {
            "group": group,
            "round": number,
            "at": one.at,
            "generation": one.generation,
            "protocol": one.protocol,
            "assignor": one.assignor,
            "members": len(one.assignment),
            "added": sum(map(len, one.added.values())),
            "revoked": sum(map(len, one.revoked.values())),
            "lost": sum(map(len, one.lost.values())),
            "unowned_partition_seconds": seconds(sum(one.unowned.values())),
        }


def _ownership(group: str, history: History) -> Rows:
    for one in history.owned:
        yield {
            "group": group,
            "topic": one.partition[0],
            "partition": one.partition[1],
            "member": one.member,
            "start": one.start,
            "end": one.end,
        }


def _unowned(group: str, history: History) -> Rows:
    for number, one in enumerate(history.rounds, 1):
        for (topic, partition), length in one.unowned.items():
            yield {
                "group": group,
                "topic": topic,
                "partition": partition,
                "round": number,
                "seconds": seconds(length),
            }


OF_A_GROUP: Mapping[str, Callable[[str, History], Rows]] = {
    "members": _members,
    "rounds": _rounds,
    "ownership": _ownership,
    "unowned": _unowned,
}
"""The tables whose rows follow from a group's history."""
