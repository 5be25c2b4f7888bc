"""The loads of brokers before and after a plan; of many brokers a summary and the extremes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from partage.arrays import Floats, Ints
from partage.report import printing, units
from partage.report.view import Load, View
from partage.report.view.resources import DIFFERS, common_band

MANY_BROKERS = 40
"""More brokers than this are summarised."""

_FOOTNOTE = (
    "if it fails: most leaders on one survivor (the worst survivor); bound: proven lower bound"
)

_EXTREMES = 5
_RACK = 12


def broker_tables(plan: View) -> list[tuple[str, Table]]:
    """Titles and tables: one, or a second for bytes where every load is known."""
    if len(plan.brokers) > MANY_BROKERS:
        return [_summary(plan)]
    title = "Brokers, before → after"
    counts = [load for load in plan.loads if not load.rows or load.unit == "count"]
    others = [load for load in plan.loads if load not in counts]
    first = title, _every_broker(plan, counts, failures=True)
    rest = [(f"{title}: bytes", _every_broker(plan, others, failures=False))] if others else []
    return [first, *rest]


def footnote(plan: View) -> str:
    """What the columns about failures are."""
    sets = "" if plan.least_for_other_sets is None else " for these replica sets"
    return f"{_FOOTNOTE}{sets}"


def _every_broker(plan: View, loads: Sequence[Load], failures: bool) -> Table:
    table = printing.table()
    table.add_column("broker", no_wrap=True)
    racks = any(broker.rack is not None for broker in plan.brokers)
    if racks:
        table.add_column("rack", no_wrap=True)
    columns = []
    for load in loads:
        divisor, unit = _unit(load, max(load.before.max(initial=0), load.after.max(initial=0)))
        table.add_column(f"{_name(load)} {unit}".rstrip(), justify="right", no_wrap=True)
        columns.append(_changes(load, divisor))
    if failures:
        table.add_column("if it fails", justify="right", no_wrap=True)
        columns.append(_failure_changes(plan))
    for i, broker in enumerate(plan.brokers):
        name = Text(str(broker.id))
        if broker.status:
            name.append(f" {broker.status}", style="cyan" if broker.status == "new" else "yellow")
        cells = (
            [name, Text(printing.clipped(broker.rack or units.MISSING, _RACK))] if racks else [name]
        )
        table.add_row(*cells, *(column[i] for column in columns))
    if len(plan.brokers) > 1:
        table.add_section()
        blank = [""] if racks else []
        fair = ["fair share", *blank, *(_fair(load, plan) for load in loads)]
        table.add_row(*fair, *([_bound(plan)] if failures else []), style="dim")
        if any(load.banded for load in loads):
            table.add_row("band", *blank, *map(_band, loads), style="dim")
    return table


def _bound(plan: View) -> str:
    return f"bound {units.count(plan.failure_bound)}"


def _fair(load: Load, plan: View) -> str:
    shares = np.unique(load.fair[plan.usable])
    if not len(shares):
        return units.MISSING
    differ = shares[-1] - shares[0] > 1e-6 * shares[-1]
    ends = shares[[0, -1]].tolist() if differ else [float(shares[-1])]
    if load.unit == "count":
        return "–".join(f"{value:,.1f}" for value in ends)
    return "–".join(_in_column(load, value) for value in ends)


def _band(load: Load) -> str:
    band = common_band(load)
    if band is None:
        return DIFFERS
    return "–".join(dict.fromkeys(_in_column(load, end) for end in band))


def _in_column(load: Load, value: float) -> str:
    """A value in the unit of the column."""
    divisor, _ = _unit(load, max(load.before.max(initial=0), load.after.max(initial=0)))
    return _text(load, value, divisor)


def _unit(load: Load, highest: float) -> tuple[float, str]:
    """What to divide the values by, and their unit."""
    if load.unit == "count":
        return 1.0, ""
    return units.common(highest) if load.unit == "bytes" else units.common_rate(highest)


def _text(load: Load, value: float, divisor: float) -> str:
    return units.count(value) if load.unit == "count" else units.significant(value / divisor)


def _changes(load: Load, divisor: float) -> list[Text]:
    """One ``before → after`` per broker, numbers aligned."""
    old = [_text(load, value, divisor) for value in load.before.tolist()]
    new = [_text(load, value, divisor) for value in load.after.tolist()]
    nearer = np.abs(load.after - load.fair) < np.abs(load.before - load.fair)
    return arrows(old, new, nearer.tolist())


def _failure_changes(plan: View) -> list[Text]:
    def text(worst: int) -> str:
        return units.MISSING if worst < 0 else units.count(worst)

    old = [text(value) for value in plan.worst_before.tolist()]
    new = [text(value) for value in plan.worst_after.tolist()]
    return arrows(old, new, (plan.worst_after <= plan.worst_before).tolist())


def arrows(old: Sequence[str], new: Sequence[str], better: Sequence[bool]) -> list[Text]:
    """``before → after`` per broker, numbers aligned."""
    left, right = max(map(len, old), default=0), max(map(len, new), default=0)
    cells = []
    for was, now, good in zip(old, new, better, strict=True):
        if was == now:
            cells.append(Text(now.rjust(right)))
            continue
        style = "green" if good else "yellow"
        cells.append(Text.assemble((f"{was.rjust(left)} → ", "dim"), (now.rjust(right), style)))
    return cells


def _summary(plan: View) -> tuple[str, Table]:
    """Minimum, median and maximum of every load, and the brokers at both ends."""
    table = printing.table()
    for title in ("", "before", "after", "least", "most"):
        table.add_column(title, no_wrap=title in ("before", "after"))
    usable = np.flatnonzero(plan.usable)
    alive = np.array([broker.alive for broker in plan.brokers], dtype=np.bool_)

    def ends(values: Floats | Ints) -> tuple[str, str]:
        order = usable[np.argsort(values, kind="stable")]
        return _ids(plan, order[:_EXTREMES]), _ids(plan, order[::-1][:_EXTREMES])

    for load in plan.loads:
        old, new = load.before[alive], load.after[usable]
        table.add_row(
            _name(load),
            _range(old, load),
            Text(_range(new, load), style="green" if _width(new) < _width(old) else ""),
            *ends(new),
        )
    worst, counts = plan.worst_after[usable], plan.loads[0]
    table.add_row(
        f"if it fails\n({_bound(plan)})",
        _range(plan.worst_before[plan.worst_before >= 0], counts),
        _range(worst, counts),
        *ends(worst),
    )
    return (
        f"{len(plan.brokers)} brokers, min · median · max, and the extremes after the plan",
        table,
    )


def _name(load: Load) -> str:
    if load.key == "rate":
        return "leader in" if load.rows else "rate in"
    return load.key


def _width(values: Floats | Ints) -> float:
    return float(np.ptp(values)) if len(values) else 0.0


def _range(values: Floats | Ints, load: Load) -> str:
    if not len(values):
        return units.MISSING
    ends = (float(values.min()), float(np.median(values)), float(values.max()))
    divisor, unit = _unit(load, ends[2])
    return " · ".join(_text(load, value, divisor) for value in ends) + f" {unit}".rstrip()


def _ids(plan: View, positions: Ints) -> str:
    return ", ".join(str(plan.brokers[i].id) for i in positions)
