"""Copies from current leaders to targets, by broker and by rack.

Of many brokers the table has the largest senders and receivers and one sum of the others; the
script has every pair, so that any broker can be looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.report import units
from partage.report.page.packed import packed
from partage.report.view import View

BROKERS = 40
"""Senders and receivers in the table."""

NOWHERE = "no live source"


@dataclass(frozen=True)
class Matrix:
    """Leader × target: headings and [rows][columns] bytes and replicas.

    ``unknown``: some sizes are unknown, so that 0 bytes are shown as unknown.
    """

    sources: list[str]
    targets: list[str]
    bytes: list[list[int]]
    replicas: list[list[int]]
    unknown: bool

    @property
    def by_bytes(self) -> bool:
        return any(map(any, self.bytes))

    def data(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "replicas": self.replicas, "unknown": self.unknown}

    def cell(self, row: int, column: int) -> str:
        if not self.replicas[row][column]:
            return "·"
        if self.by_bytes:
            copied = self.bytes[row][column]
            return units.size(copied) if copied or not self.unknown else units.MISSING
        return units.count(self.replicas[row][column])

    def level(self, row: int, column: int) -> int:
        table: Sequence[Sequence[float]] = self.bytes if self.by_bytes else self.replicas
        highest = max(map(max, table))
        return int(np.ceil(6 * table[row][column] / highest)) if highest else 0


@dataclass(frozen=True)
class Movement:
    """Both tables (``racks``: None with fewer than two), whether the first table sums up brokers in
    a last row or column, and every pair for the script."""

    brokers: Matrix
    racks: Matrix | None
    folded: bool
    pairs: dict[str, Any]

    @property
    def by_bytes(self) -> bool:
        return self.brokers.by_bytes

    def data(self) -> dict[str, Any]:
        racks = self.racks.data() if self.racks else None
        return {"brokers": self.brokers.data(), "racks": racks, **self.pairs}


def movement(plan: View) -> Movement | None:
    """The tables of a plan; None where no replica moves."""
    if not plan.moves:
        return None
    source, target = np.nonzero(plan.move_replicas)
    racks = _by_rack(plan) if 1 < len(plan.racks) <= BROKERS else None
    return Movement(
        brokers=_by_broker(plan),
        racks=racks,
        folded=max((plan.move_replicas > 0).any(axis=axis).sum() for axis in (0, 1)) > BROKERS,
        pairs={
            "from": packed(source),
            "to": packed(target),
            "pair_replicas": packed(plan.move_replicas[source, target]),
            "pair_bytes": packed(plan.move_bytes[source, target].astype(np.float32)),
        },
    )


def _by_broker(plan: View) -> Matrix:
    names = [*(str(broker.id) for broker in plan.brokers), NOWHERE]
    copied, replicas = plan.move_bytes, plan.move_replicas

    def heaviest(axis: int) -> tuple[Any, Any]:
        weight, number = copied.sum(axis=axis), replicas.sum(axis=axis)
        order = np.lexsort((-number, -weight))
        order = order[number[order] > 0]
        return np.sort(order[:BROKERS]), order[BROKERS:]

    rows, other_rows = heaviest(1)
    columns, other_columns = heaviest(0)

    def folded(table: Any) -> Any:
        if len(other_rows):
            table = np.vstack([table[rows], table[other_rows].sum(axis=0)])
        else:
            table = table[rows]
        if len(other_columns):
            rest = table[:, other_columns].sum(axis=1)
            return np.column_stack([table[:, columns], rest])
        return table[:, columns]

    def headings(chosen: Any, others: Any) -> list[str]:
        rest = [units.plural(len(others), "other")] if len(others) else []
        return [names[i] for i in chosen] + rest

    return _matrix(
        plan,
        headings(rows, other_rows),
        headings(columns, other_columns),
        folded(copied),
        folded(replicas),
    )


def _by_rack(plan: View) -> Matrix:
    """All racks; brokers without a rack and partitions without a live source where they copy."""
    count = len(plan.racks)
    rack = np.where(plan.rack < 0, count, plan.rack)
    names = [*(rack.name for rack in plan.racks), "no rack", NOWHERE]
    of_source = np.append(rack, count + 1)
    table = np.zeros((2, count + 2, count + 1))
    cell = (of_source[:, None], rack[None, :])
    np.add.at(table[0], cell, plan.move_bytes)
    np.add.at(table[1], cell, plan.move_replicas)
    rows = [i for i in range(count + 2) if i < count or table[1, i].any()]
    columns = [i for i in range(count + 1) if i < count or table[1, :, i].any()]
    copied, replicas = (part[np.ix_(rows, columns)] for part in table)
    return _matrix(plan, [names[i] for i in rows], [names[i] for i in columns], copied, replicas)


def _matrix(
    plan: View, sources: list[str], targets: list[str], copied: Any, replicas: Any
) -> Matrix:
    return Matrix(
        sources=sources,
        targets=targets,
        bytes=[[int(v) for v in row] for row in copied],
        replicas=[[int(v) for v in row] for row in replicas],
        unknown=plan.unknown_sizes > 0,
    )
