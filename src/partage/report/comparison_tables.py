"""Strategies compared in a terminal: one strategy per row, in one table that fits the width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.comparison import (
    Column,
    StrategyFigures,
    columns,
    comparison_of,
    legend,
    nearly_optimal,
)


def print_compare(compare: Mapping[str, Any], console: Console, verbose: bool = False) -> None:
    """Print the output of ``partage compare --json``: the criteria to decide by, as many as fit.

    ``verbose``: all of them, in as few tables as the width allows."""
    comparison = comparison_of(compare)
    plans = comparison.plans
    groups = columns(plans.values())
    every = [column for _, part in groups for column in part]
    unlimited = console.options.update(max_width=1000)

    def fits(shown: Sequence[Column]) -> bool:
        width = console.measure(_table(plans, shown), options=unlimited).maximum
        return width < console.width

    shown = _first(every, fits)
    if verbose and shown != every:
        for group, part in groups:
            title = f"Strategies: {group}"
            for some in _split(part, fits):
                printing.titled(console, title, _table(plans, some))
                title = f"Strategies: {group}, continued"
        shown = every
    elif plans:
        printing.titled(console, "Strategies", _table(plans, shown))
    for name, reason in comparison.cannot.items():
        line = Text.assemble((name, "bold"), f" cannot: {reason}")
        printing.bullet(console, Text("✗", "red"), line)
    for nearly in nearly_optimal(plans):
        printing.bullet(console, Text("◆", "yellow"), Text(nearly))
    if plans:
        console.print()
        printing.note(console, legend(shown))
        printing.legend(console, "green: the best of its column; bold: proven optimal")
        if left_out := [column.name for column in every if column not in shown]:
            printing.note(console, f"Not shown: {'; '.join(left_out)}: see compare --verbose.")
    printing.bullets(console, "Warnings", comparison.warnings, "yellow", "--json")
    console.print()
    console.print(Text(_answer(plans), "bold"))


def _answer(plans: Mapping[str, StrategyFigures]) -> str:
    """Which strategies are proven optimal, and what the plan of the first of them costs."""
    if not plans:
        return "No strategy has a plan for this."
    proven = [name for name, row in plans.items() if row.optimal and not row.gaps]
    if not proven:
        return "No plan is proven optimal in every stage."
    first = plans[proven[0]]
    cost = units.plural(first.moves or 0, "move")
    if first.bytes_moved is not None:
        cost += f", {units.size(first.bytes_moved)} to copy"
    if first.replicas_deleted:
        cost += f", {units.plural(first.replicas_deleted, 'replica')} deleted"
    if len(proven) == 1:
        return f"{proven[0]} is proven optimal: {cost}."
    return f"{printing.some(proven)} are proven optimal; {proven[0]}: {cost}."


def _table(plans: Mapping[str, StrategyFigures], shown: Sequence[Column]) -> Table:
    titles = [Text(column.short) for column in shown]
    table = printing.closer(printing.table(("strategy",), titles, bottom=True))
    best = [column.best(plans.values()) for column in shown]
    for name, row in plans.items():
        cells = [Text(name, style="bold" if row.optimal else "")]
        for column, least in zip(shown, best, strict=True):
            is_best = least is not None and column.rank(row) == least
            cells.append(Text(column.text(row), style="bold green" if is_best else ""))
        table.add_row(*cells)
    return table


def _first(every: Sequence[Column], fits: Callable[[Sequence[Column]], bool]) -> list[Column]:
    """The columns that fit one table, in their order; the first places are given first."""
    chosen: list[Column] = []
    for column in sorted(every, key=lambda column: column.place):
        wider = [one for one in every if one in chosen or one is column]
        chosen = wider if not chosen or fits(wider) else chosen
    return chosen


def _split(part: Sequence[Column], fits: Callable[[Sequence[Column]], bool]) -> list[list[Column]]:
    """The columns in as few tables as the width allows."""
    tables: list[list[Column]] = [[]]
    for column in part:
        if tables[-1] and not fits([*tables[-1], column]):
            tables.append([])
        tables[-1].append(column)
    return tables
