"""The copies of a plan, from current leaders to targets: a matrix, or the largest pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.table import Table
from rich.text import Text

from partage.arrays import Floats, Ints
from partage.report import printing, units
from partage.report.view import View

_TARGETS, _SOURCES = 9, 12
"""Columns and rows up to which the whole matrix fits."""
_PAIRS = 10


def movement_table(plan: View) -> tuple[str, Table]:
    """Title and table, in bytes; in replicas where no size is known."""
    by_bytes = bool(plan.move_bytes.sum())
    amount = plan.move_bytes if by_bytes else plan.move_replicas.astype(np.float64)
    sources = np.flatnonzero(plan.move_replicas.sum(axis=1))
    targets = np.flatnonzero(plan.move_replicas.sum(axis=0))
    divisor, unit = units.common(float(amount.max())) if by_bytes else (1.0, "replicas")

    def text(value: float) -> str:
        return units.significant(value / divisor) if by_bytes else units.count(value)

    if len(targets) > _TARGETS or len(sources) > _SOURCES:
        return _pairs(plan, amount, unit, text)
    return f"Copies, leader → target, {unit}", _matrix(plan, amount, sources, targets, text)


def _names(plan: View) -> list[str]:
    return [*(str(broker.id) for broker in plan.brokers), "no live source"]


def _matrix(
    plan: View, amount: Floats, sources: Ints, targets: Ints, text: Callable[[float], str]
) -> Table:
    names = _names(plan)
    table = printing.table()
    table.add_column("from \\ to", no_wrap=True)
    for target in targets:
        table.add_column(names[target], justify="right")
    table.add_column("sum", justify="right", style="dim")
    for source in sources:
        cells = [text(amount[source, t]) if plan.move_replicas[source, t] else "·" for t in targets]
        table.add_row(names[source], *cells, text(amount[source].sum()))
    table.add_section()
    sums = amount.sum(axis=0)
    table.add_row("sum", *(text(sums[t]) for t in targets), text(sums.sum()), style="dim")
    return table


def _pairs(
    plan: View, amount: Floats, unit: str, text: Callable[[float], str]
) -> tuple[str, Table]:
    """The largest copies between two brokers."""
    names = _names(plan)
    row, column = np.nonzero(plan.move_replicas)
    order = np.argsort(-amount[row, column], kind="stable")
    table = printing.table()
    table.add_column("from → to", no_wrap=True)
    table.add_column("racks", no_wrap=True)
    table.add_column("replicas", justify="right")
    table.add_column(unit, justify="right")
    racks = [*(broker.rack or units.MISSING for broker in plan.brokers), units.MISSING]
    for place in order[:_PAIRS]:
        source, target = row[place], column[place]
        table.add_row(
            Text(f"{names[source]} → {names[target]}"),
            Text(f"{racks[source]} → {racks[target]}"),
            units.count(plan.move_replicas[source, target]),
            text(amount[source, target]),
        )
    rest = order[_PAIRS:]
    if len(rest):
        table.add_row(
            f"{units.count(len(rest))} others",
            "",
            units.count(plan.move_replicas[row[rest], column[rest]].sum()),
            text(float(amount[row[rest], column[rest]].sum())),
            style="dim",
        )
    return f"Copies, leader → target, the largest of {units.plural(len(row), 'pair')}", table
