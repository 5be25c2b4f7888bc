"""Every load of the brokers, against its band if the plan aims at one; and the highest of each."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from partage.report import printing
from partage.report.view import View
from partage.report.view.resources import highest_loads, resource_rows

IN_BAND = "green: within the band; red: outside"

_HIGHEST = 12
"""Brokers of which the highest load is shown: those where it is highest."""


def resource_table(plan: View) -> tuple[str, Table] | None:
    """Title and table; None where loads are not known."""
    rows = resource_rows(plan.figures_before, plan.figures)
    if not rows:
        return None
    banded = any(row.band for row in rows)
    band = ["band"] if banded else []
    numbers = ("fair share", "before", "after", *band, "bound", "if one fails")
    table = printing.closer(printing.table(("load",), numbers))
    for row in rows:
        table.add_row(
            row.name,
            Text(row.fair, style="dim"),
            Text(row.before, style="dim"),
            Text(row.after, style=_style(row.within)),
            *([row.band] if banded else []),
            row.bound,
            row.survivor,
        )
    return "Loads per broker", table


def highest_load_table(plan: View) -> tuple[str, Table] | None:
    """Title and table; None where loads are not known."""
    rows = highest_loads(plan.figures)
    if not rows:
        return None
    rows.sort(key=lambda row: -float(row.share))
    headroom, banded = any(row.headroom for row in rows), any(row.band for row in rows)
    table = printing.closer(printing.table())
    band = ["band"] if banded else []
    for title in ("broker", "highest load", *band, "hottest partition"):
        table.add_column(title, no_wrap=title != "hottest partition", overflow="fold")
    if headroom:
        table.add_column("headroom", no_wrap=True)
    for row in rows[:_HIGHEST]:
        table.add_row(
            str(plan.brokers[row.position].id),
            Text(f"{row.load} {row.share}", style=_style(row.within)),
            *([row.band] if banded else []),
            Text(row.partition),
            *([row.headroom] if headroom else []),
        )
    more = f", the {_HIGHEST} highest" if len(rows) > _HIGHEST else ""
    return f"Highest load of each broker{more}", table


def _style(within: bool | None) -> str:
    if within is None:
        return ""
    return "green" if within else "red"
