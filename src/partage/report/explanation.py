"""One partition's explanation, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.brokers.explain import Explanation, Instead

_FATE = {"stays": "", "goes": "yellow", "comes": "green"}


def print_explanation(found: Explanation, console: Console) -> None:
    """The lists before and after, who leads, and a line per replica."""
    console.print()
    title = Text(f"Why {found.partition}: ", style="bold")
    console.print(title + Text(f"{found.before} → {found.after}", style="not bold"))
    console.print(Text(found.leader))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("broker", justify="right")
    table.add_column("rack")
    table.add_column("fate")
    table.add_column("why", max_width=44)
    table.add_column("instead, at least", max_width=24)
    for reason in found.replicas:
        table.add_row(
            str(reason.broker),
            Text(reason.rack or ""),
            Text(reason.fate, style=_FATE[reason.fate]),
            Text(reason.why),
            _instead(reason.instead),
        )
    console.print(table)


def _instead(instead: Instead | None) -> str:
    if instead is None:
        return "–"
    dearer = next(((cost, n) for cost, n in instead.costs.items() if n), None)
    if dearer is None:
        return f"broker {instead.broker}: as good"
    return f"broker {instead.broker}: {dearer[0]} {dearer[1]:+d}"
