"""The plan as an operator reads it in a terminal: rich tables that fit a hundred columns.

Colour says only what the numbers say too, and the console leaves it out where it has no place (a
pipe, ``NO_COLOR``, ``TERM=dumb``): green for what came nearer to its fair share, yellow for what
went further from it, bold for the best of a comparison. Names go in as ``Text``, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.comparison import Column, columns, legend
from partage.report.view import MARKS, Load, Verdict, View, view
from partage.report.view.waves import bytes_of
from partage.report.wave_load import WaveLoad, busiest, wave_load

MANY_BROKERS = 40
"""Above this the broker table shows a summary and the extremes."""

_EXTREMES = 5
_MATRIX_TARGETS = 9
_MATRIX_SOURCES = 12
_TOP_PAIRS = 10
_WAVES_SHOWN = 8
_LOAD_WAVES, _LOAD_BROKERS = 30, 8
_RULES_SHOWN = 8

_VERDICT_STYLE: dict[Verdict, str] = {
    "good": "green",
    "limit": "yellow",
    "bad": "red",
    "none": "dim",
}


def print_plan(document: Mapping[str, Any], console: Console) -> None:
    """Print the plan.json document: what changes, for whom, by which waves, and the proof."""
    plan = view(document)
    _heading(plan, console)
    _show(console, *_brokers(plan))
    _show(console, "Six criteria", _criteria(plan))
    if plan.moves:
        _show(console, *_movement(plan))
    if plan.waves:
        _show(console, *_waves(plan))
    load = wave_load(plan, _LOAD_WAVES, _LOAD_BROKERS)
    if load:
        _show(console, *_wave_load(plan, load))
    _list(console, "What binds", plan.binding, "yellow")
    _list(console, "Gaps", [f"{name}: {value}" for name, value in plan.gaps], "yellow")
    _list(console, "Loads", plan.measured, "dim")
    _list(console, "Warnings", plan.warnings, "yellow")
    console.print()
    console.print(Text(plan.proof, style="green" if plan.fewest else "yellow"))


def print_compare(compare: Mapping[str, Any], console: Console) -> None:
    """Print ``{"strategies": {name: figures or {"cannot": why}}}``, one strategy a row."""
    strategies: Mapping[str, Mapping[str, Any]] = compare["strategies"]
    able = {name: row for name, row in strategies.items() if "cannot" not in row}
    groups = columns(able.values())

    def table(shown: Sequence[Column]) -> Table:
        part = printing.table()
        part.padding = (0, 1, 0, 0)
        part.add_column("strategy", no_wrap=True, vertical="bottom")
        for column in shown:
            part.add_column(Text(column.short), justify="right", vertical="bottom", no_wrap=True)
        best = [column.best(able.values()) for column in shown]
        for name, row in able.items():
            cells = [Text(name, style="bold" if row.get("optimal") else "")]
            for column, least in zip(shown, best, strict=True):
                stands_out = least is not None and column.value(row) == least
                cells.append(Text(column.text(row), style="bold green" if stands_out else ""))
            part.add_row(*cells)
        return part

    unbounded = console.options.update(max_width=1000)

    def fits(shown: Sequence[Column]) -> bool:
        return console.measure(table(shown), options=unbounded).maximum < console.width

    if fits(every := [column for _, part in groups for column in part]):
        groups = [("", every)] if able else []
    for group, part in groups:
        title = f"Strategies: {group}" if group else "Strategies"
        for shown in _packed(part, fits):
            _show(console, title, table(shown))
            title = f"Strategies: {group}, continued"
    for name, row in strategies.items():
        if "cannot" in row:
            _bullet(
                console,
                Text("✗", "red"),
                Text.assemble((name, "bold"), f" cannot: {row['cannot']}"),
            )
    if able:
        console.print()
        console.print(Padding(Text(legend(groups), style="dim"), (0, 0, 0, 1), expand=False))


def _packed(part: Sequence[Column], fits: Callable[[Sequence[Column]], bool]) -> list[list[Column]]:
    """The columns in as few tables as the width allows."""
    tables: list[list[Column]] = [[]]
    for column in part:
        if tables[-1] and not fits([*tables[-1], column]):
            tables.append([])
        tables[-1].append(column)
    return tables


# ---------------------------------------------------------------------- the plan's tables


def _heading(plan: View, console: Console) -> None:
    brokers = units.plural(sum(b.usable for b in plan.brokers), "broker")
    shape = (
        f"{brokers}, {units.plural(len(plan.topics), 'topic')}, "
        f"{units.plural(len(plan.topic), 'partition')}, {units.plural(plan.replicas, 'replica')}"
    )
    console.print(Text(plan.headline, style="bold"))
    if plan.effect:
        console.print(Text(plan.effect))
    options = " ".join(plan.options)
    console.print(Text(f"{plan.strategy} · {shape}" + (f" · {options}" if options else ""), "dim"))


def _show(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Padding(table, (0, 0, 0, 1), expand=False))


def _brokers(plan: View) -> tuple[str, Table]:
    if len(plan.brokers) > MANY_BROKERS:
        return _many_brokers(plan)
    table = printing.table()
    table.add_column("broker", no_wrap=True)
    racks = any(broker.rack is not None for broker in plan.brokers)
    if racks:
        table.add_column("rack", no_wrap=True, max_width=12, overflow="ellipsis")
    columns = []
    for load in plan.loads:
        title, cells = _column(load)
        table.add_column(title, justify="right", no_wrap=True)
        columns.append(cells)
    table.add_column("if it fails", justify="right", no_wrap=True)
    failures = _failure_column(plan)
    for i, broker in enumerate(plan.brokers):
        name = Text(str(broker.id))
        if broker.mark:
            name.append(f" {broker.mark}", style="cyan" if broker.mark == "new" else "yellow")
        cells = [name, Text(broker.rack or units.MISSING)] if racks else [name]
        table.add_row(*cells, *(column[i] for column in columns), failures[i])
    if len(plan.brokers) > 1:
        table.add_section()
        fair = [Text("fair share")] + ([Text("")] if racks else [])
        fair += [_fair(load, plan) for load in plan.loads]
        fair.append(Text(f"ideal {units.count(plan.ideal)}"))
        table.add_row(*fair, style="dim")
    return "Brokers, before → after", table


def _fair(load: Load, plan: View) -> Text:
    shares = np.unique(load.fair[plan.usable])
    if not len(shares):
        return Text(units.MISSING)
    divisor, _ = _unit(load)
    if len(shares) > 1 and shares[-1] - shares[0] > 1e-6 * shares[-1]:
        return Text("by capacity")
    value = float(shares[-1]) / divisor
    return Text(f"{value:,.1f}" if load.unit == "count" else units.significant(value))


def _unit(load: Load) -> tuple[float, str]:
    if load.unit == "count":
        return 1.0, ""
    highest = max(load.before.max(initial=0), load.after.max(initial=0))
    return units.common(float(highest), "B" if load.unit == "bytes" else "B/s")


def _column(load: Load) -> tuple[str, list[Text]]:
    """Title and one ``before → after`` per broker, in one unit, the numbers aligned."""
    divisor, unit = _unit(load)

    def text(value: float) -> str:
        return units.count(value) if load.unit == "count" else units.significant(value / divisor)

    old, new = [text(v) for v in load.before.tolist()], [text(v) for v in load.after.tolist()]
    better = np.abs(load.after - load.fair) < np.abs(load.before - load.fair)
    return (f"{_name(load)} {unit}".rstrip(), _arrows(old, new, better.tolist()))


def _arrows(old: Sequence[str], new: Sequence[str], better: Sequence[bool]) -> list[Text]:
    left, right = max(map(len, old), default=0), max(map(len, new), default=0)
    cells = []
    for was, now, nearer in zip(old, new, better, strict=True):
        if was == now:
            cells.append(Text(now.rjust(right)))
            continue
        style = "green" if nearer else "yellow"
        cells.append(Text.assemble((f"{was.rjust(left)} → ", "dim"), (now.rjust(right), style)))
    return cells


def _failure_column(plan: View) -> list[Text]:
    def text(worst: int) -> str:
        return units.MISSING if worst < 0 else units.count(worst)

    old = [text(v) for v in plan.worst_before.tolist()]
    new = [text(v) for v in plan.worst_after.tolist()]
    return _arrows(old, new, (plan.worst_after <= plan.worst_before).tolist())


def _many_brokers(plan: View) -> tuple[str, Table]:
    """Minimum, median and maximum of every load, and who is at the ends."""
    table = printing.table()
    for title in ("", "before", "after", "least", "most"):
        table.add_column(title, no_wrap=title in ("before", "after"))
    usable = np.flatnonzero(plan.usable)
    known = np.array([b.alive for b in plan.brokers], dtype=np.bool_)
    for load in plan.loads:
        old, new = load.before[known], load.after[usable]
        order = usable[np.argsort(new, kind="stable")]
        table.add_row(
            _name(load),
            _three(old, load),
            Text(_three(new, load), style="green" if _width(new) < _width(old) else ""),
            _named(plan, order[:_EXTREMES]),
            _named(plan, order[::-1][:_EXTREMES]),
        )
    worst = plan.worst_after[usable]
    order = usable[np.argsort(worst, kind="stable")]
    count = plan.loads[0]  # for how a count is shown
    table.add_row(
        f"if one fails\n(ideal {units.count(plan.ideal)})",
        _three(plan.worst_before[plan.worst_before >= 0], count),
        _three(worst, count),
        _named(plan, order[:_EXTREMES]),
        _named(plan, order[::-1][:_EXTREMES]),
    )
    return f"{len(plan.brokers)} brokers, min · median · max, and who is there after", table


def _name(load: Load) -> str:
    return "rate in" if load.key == "rate" else load.key


def _width(values: Any) -> float:
    return float(np.ptp(values)) if len(values) else 0.0


def _three(values: Any, load: Load) -> str:
    if not len(values):
        return units.MISSING
    ends = (float(values.min()), float(np.median(values)), float(values.max()))
    if load.unit == "count":
        return " · ".join(map(units.count, ends))
    divisor, unit = units.common(ends[2], "B" if load.unit == "bytes" else "B/s")
    return " · ".join(units.significant(v / divisor) for v in ends) + f" {unit}"


def _named(plan: View, positions: Any) -> str:
    return ", ".join(str(plan.brokers[i].id) for i in positions)


def _criteria(plan: View) -> Table:
    table = printing.table()
    for title in ("", "", "before", "after", ""):
        table.add_column(title)
    table.padding = (0, 1, 0, 0)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for criterion in plan.criteria:
        table.add_row(
            Text(MARKS[criterion.verdict], style=_VERDICT_STYLE[criterion.verdict]),
            Text(criterion.name),
            Text(criterion.before, style="dim"),
            Text(criterion.after),
            Text(criterion.note),
        )
    return table


def _movement(plan: View) -> tuple[str, Table]:
    """Bytes from current leader to target; replicas where no size is known."""
    by_bytes = bool(plan.move_bytes.sum())
    amount = plan.move_bytes if by_bytes else plan.move_replicas.astype(np.float64)
    sources = np.flatnonzero(plan.move_replicas.sum(axis=1))
    targets = np.flatnonzero(plan.move_replicas.sum(axis=0))
    names = [*(str(broker.id) for broker in plan.brokers), "no live source"]
    divisor, unit = units.common(float(amount.max()), "B") if by_bytes else (1.0, "replicas")

    def text(value: float) -> str:
        return units.significant(value / divisor) if by_bytes else units.count(value)

    if len(targets) > _MATRIX_TARGETS or len(sources) > _MATRIX_SOURCES:
        return _pairs(plan, amount, sources, names, f"{unit}", text)
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
    return f"Movement, leader → target, {unit}", table


def _pairs(
    plan: View,
    amount: Any,
    sources: Any,
    names: Sequence[str],
    unit: str,
    text: Callable[[float], str],
) -> tuple[str, Table]:
    """The largest flows between two brokers, where the whole matrix would not fit."""
    row, column = np.nonzero(plan.move_replicas)
    order = np.argsort(-amount[row, column], kind="stable")
    shown = order[:_TOP_PAIRS]
    table = printing.table()
    table.add_column("from → to", no_wrap=True)
    table.add_column("racks", no_wrap=True)
    table.add_column("replicas", justify="right")
    table.add_column(unit, justify="right")
    racks = [*(broker.rack or units.MISSING for broker in plan.brokers), units.MISSING]
    for place in shown:
        source, target = row[place], column[place]
        table.add_row(
            Text(f"{names[source]} → {names[target]}"),
            Text(f"{racks[source]} → {racks[target]}"),
            units.count(plan.move_replicas[source, target]),
            text(amount[source, target]),
        )
    rest = order[_TOP_PAIRS:]
    if len(rest):
        table.add_row(
            f"{units.count(len(rest))} others",
            "",
            units.count(plan.move_replicas[row[rest], column[rest]].sum()),
            text(float(amount[row[rest], column[rest]].sum())),
            style="dim",
        )
    pairs = units.plural(len(row), "pair")
    return f"Movement, leader → target, the largest of {pairs}", table


def _waves(plan: View) -> tuple[str, Table]:
    title = units.plural(len(plan.waves), "wave")
    if plan.seconds is not None:
        title += f", about {units.duration(plan.seconds)}"
    table = printing.table()
    for heading in ("wave", "partitions", "moves", "to copy", "busiest broker", "time"):
        table.add_column(heading, justify="left" if heading == "wave" else "right")
    shown = plan.waves if len(plan.waves) <= _WAVES_SHOWN else plan.waves[: _WAVES_SHOWN - 1]
    for wave in shown:
        table.add_row(
            Text(wave.file),
            units.count(wave.partitions),
            units.count(wave.moves),
            units.size(wave.bytes),
            Text(busiest(plan, wave)),
            units.duration(wave.seconds),
        )
    rest = plan.waves[len(shown) :]
    if rest:
        known = [wave.seconds for wave in rest if wave.seconds is not None]
        table.add_row(
            f"{len(rest)} more",
            units.count(sum(wave.partitions for wave in rest)),
            units.count(sum(wave.moves for wave in rest)),
            units.size(bytes_of(rest)),
            "",
            units.duration(sum(known) if len(known) == len(rest) else None),
            style="dim",
        )
    return title, table


def _wave_load(plan: View, load: WaveLoad) -> tuple[str, Table]:
    """Little bars, a column a wave: what the brokers that copy most receive and send."""
    title = f"Load per wave, {'bytes' if load.by_bytes else 'replicas'}"
    if load.first[0] != load.last[0]:
        title += f", a bar for {load.last[0] - load.first[0] + 1} waves"
    if load.hidden:
        title += f", the {len(load.brokers)} brokers that copy most"
    table = printing.table()
    table.add_column("broker", no_wrap=True)
    table.add_column("receives", no_wrap=True)
    table.add_column("sends, as leader", no_wrap=True)
    for row, broker in enumerate(load.brokers.tolist()):
        name = Text(str(plan.brokers[broker].id))
        if plan.brokers[broker].mark:
            name.append(f" {plan.brokers[broker].mark}", style="cyan")
        table.add_row(name, load.blocks(load.received, row), load.blocks(load.sent, row))
    return title, table


def _bullet(console: Console, sign: Text, line: Text) -> None:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(sign, line)
    console.print(Padding(grid, (0, 0, 0, 1), expand=False))


def _list(console: Console, title: str, lines: Sequence[str], style: str) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines[:_RULES_SHOWN]:
        _bullet(console, Text("•", style=style), Text(line))
    if len(lines) > _RULES_SHOWN:
        console.print(Text(f"   and {len(lines) - _RULES_SHOWN} more, in plan.json", style="dim"))
