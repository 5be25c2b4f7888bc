"""The tables of a rebalance history: rounds, ownership, unowned, replay, rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from partage.consumers.history import History, Rejected
from partage.consumers.history.model import seconds

_TIME = pa.timestamp("us", "UTC")
SCHEMAS: dict[str, pa.Schema] = {
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

Replays = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]
"""The results of replays by group, assignor and protocol."""

Rows = list[dict[str, Any]]


def tables(
    groups: Mapping[str, History], replays: Replays, rejected: Iterable[Rejected]
) -> dict[str, pa.Table]:
    """The tables by name, their rows in a fixed order."""
    rows: dict[str, Rows] = {name: [] for name in SCHEMAS}
    for group, history in groups.items():
        rows["rounds"] += _rounds(group, history)
        rows["ownership"] += [
            {
                "group": group,
                "topic": one.partition[0],
                "partition": one.partition[1],
                "member": one.member,
                "start": one.start,
                "end": one.end,
            }
            for one in history.owned
        ]
        rows["unowned"] += _unowned(group, history)
        rows["replay"] += [
            {"group": group, "assignor": assignor, "protocol": protocol, **result}
            for assignor, by_protocol in replays.get(group, {}).items()
            for protocol, result in by_protocol.items()
        ]
    rows["rejected"] = [
        {"source": one.source, "line": one.line, "row": one.text, "reason": one.reason}
        for one in rejected
    ]
    return {
        name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in SCHEMAS.items()
    }


def _rounds(group: str, history: History) -> Rows:
    return [
        {
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
        for number, one in enumerate(history.rounds, 1)
    ]


def _unowned(group: str, history: History) -> Rows:
    return [
        {
            "group": group,
            "topic": topic,
            "partition": partition,
            "round": number,
            "seconds": seconds(length),
        }
        for number, one in enumerate(history.rounds, 1)
        for (topic, partition), length in sorted(one.unowned.items())
    ]
