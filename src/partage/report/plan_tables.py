"""A plan in a terminal: tables that fit 80 and 100 columns.

Colour repeats the numbers: green for what came nearer to its fair share, yellow for what
went further from it. The console drops it in a pipe and with ``NO_COLOR`` or ``TERM=dumb``. Names
are ``Text``, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.resource_table import IN_BAND, highest_load_table, resource_table
from partage.report.view import MARKS, Rating, View, view
from partage.report.view.resources import (
    HIGHEST_NOTE,
    resource_rows,
    resources_note,
    zones_note,
)

_MARKS = "✓ holds or is the best possible; ◆ limited by an option, or not proven; ✗ does not hold"
_COLOURS = (
    "green: nearer to the fair share than before, or no more if a broker fails; yellow: worse"
)
_STYLES: dict[Rating, str] = {"good": "green", "limit": "yellow", "bad": "red", "none": "dim"}


def print_plan(document: Mapping[str, Any], console: Console, verbose: bool = False) -> None:
    """Print a plan.json document, what changes last: a terminal scrolls the rest away.

    ``verbose``: also the loads of the brokers, the copies and the waves."""
    plan = view(document)
    if verbose:
        _details(plan, console)
    resources = resource_table(plan)
    if resources is not None:
        printing.titled(console, *resources, first=not verbose)
        rows = resource_rows(plan.figures_before, plan.figures)
        printing.note(console, resources_note(rows))
        if any(row.band for row in rows):
            printing.legend(console, IN_BAND)
        if crossing := zones_note(plan.figures_before, plan.figures):
            printing.note(console, crossing)
    first = not verbose and resources is None
    printing.titled(console, "Criteria", _criteria(plan), first=first)
    printing.note(console, _MARKS)
    if plan.failure_aim:
        printing.note(console, plan.failure_aim)
    gaps = [] if plan.figures.optimal else [f"{name}: {value}" for name, value in plan.gaps]
    printing.bullets(console, "Limiting constraints", plan.file.binding, "yellow")
    printing.bullets(console, "Gaps to the lower bounds", gaps, "yellow")
    printing.bullets(console, "Measurements", plan.file.loads, "dim")
    printing.bullets(console, "Warnings", plan.warnings, "yellow")
    console.print()
    _heading(plan, console)
    if plan.proof and not plan.minimal:
        console.print(Text(plan.proof, style="yellow"))
    if plan.figures.optimal and plan.file.gaps:
        console.print(Text(f"{plan.optimality.capitalize()}.", style="yellow"))
    if plan.refused is not None:
        console.print(Text(plan.refused, style="yellow"))


def _details(plan: View, console: Console) -> None:
    from partage.report.broker_table import broker_tables, footnote
    from partage.report.movement_table import movement_table
    from partage.report.wave_tables import wave_load_table, wave_table

    for i, titled in enumerate(broker_tables(plan)):
        printing.titled(console, *titled, first=i == 0)
    printing.note(console, footnote(plan))
    printing.legend(console, _COLOURS)
    if highest := highest_load_table(plan):
        printing.titled(console, *highest)
        printing.note(console, HIGHEST_NOTE)
    if plan.moves:
        printing.titled(console, *movement_table(plan))
    if plan.waves:
        printing.titled(console, *wave_table(plan))
        if load := wave_load_table(plan):
            printing.titled(console, *load)


def _heading(plan: View, console: Console) -> None:
    counts = (
        units.plural(sum(broker.usable for broker in plan.brokers), "broker"),
        units.plural(len(plan.topics), "topic"),
        units.plural(len(plan.topic), "partition"),
        units.plural(plan.replicas, "replica"),
    )
    console.print(Text(plan.headline, style="bold"))
    if plan.effect:
        console.print(Text(plan.effect))
    parts = [plan.file.strategy, ", ".join(counts), " ".join(plan.flags)]
    console.print(Text(" · ".join(filter(None, parts)), "dim"))


def _criteria(plan: View) -> Table:
    table = printing.closer(printing.table())
    for title in ("", "", "before", "after", ""):
        table.add_column(title)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for criterion in plan.criteria:
        table.add_row(
            Text(MARKS[criterion.rating], style=_STYLES[criterion.rating]),
            Text(criterion.name),
            Text(criterion.before, style="dim"),
            Text(criterion.after),
            Text(criterion.note),
        )
    return table
