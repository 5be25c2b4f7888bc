"""Every load that a plan balances, before and after, against its band and a proven bound."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table
from rich.text import Text

from partage.brokers.plan_file import ResourceFigures
from partage.report import printing, units
from partage.report.view import View

_NAMES: dict[str, tuple[str, Callable[[float], str]]] = {
    "replicas": ("replicas", units.tenth),
    "leaders": ("leaders", units.tenth),
    "disk": ("disk", units.size),
    "in": ("bytes in", units.rate),
    "out": ("bytes out", units.rate),
    "leader_in": ("leader bytes in", units.rate),
}

FOOTNOTE = (
    "lowest and highest broker, its band and a proven bound on the highest, in % of the fair share"
)
IN_BAND = "green: within the band; red: outside"


def resource_table(plan: View) -> tuple[str, Table] | None:
    """Title and table; None if the plan does not balance every load."""
    before, after = plan.figures_before.resources, plan.figures.resources
    if not after:
        return None
    table = printing.table()
    table.add_column("load", no_wrap=True)
    for title in ("fair share", "before", "after", "band", "bound"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, (words, shown) in _NAMES.items():
        was, now = before[name], after[name]
        style = "green" if now.band[0] <= now.min and now.max <= now.band[1] else "red"
        table.add_row(
            words,
            Text(shown(now.fair), style="dim"),
            Text(_span(was.min, was.max, was), style="dim"),
            Text(_span(now.min, now.max, now), style=style),
            _span(*now.band, now),
            _percent(now.bound, now),
        )
    return "Loads per broker", table


def _span(low: float, high: float, figures: ResourceFigures) -> str:
    return f"{_percent(low, figures)}–{_percent(high, figures)}"


def _percent(value: float, figures: ResourceFigures) -> str:
    return f"{100 * value / figures.fair:.3g}" if figures.fair else units.MISSING
