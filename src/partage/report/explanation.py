"""Why a partition moves, in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from partage.brokers.explain import Explanation
from partage.report.printing import table

_FATE = {"stays": "", "goes": "yellow", "comes": "green"}


def print_explanation(found: Explanation, console: Console) -> None:
    """Print the replica lists before and after, the leader, and a row per replica."""
    console.print()
    title = Text(f"Why {found.partition}: ", style="bold")
    console.print(title + Text(f"{found.before} → {found.after}", style="not bold"))
    console.print(Text(found.leader))
    shown = table()
    shown.add_column("broker", justify="right")
    shown.add_column("rack")
    shown.add_column("fate")
    shown.add_column("why", max_width=44)
    shown.add_column("instead, at least", max_width=24)
    for reason in found.replicas:
        shown.add_row(
            str(reason.broker),
            Text(reason.rack or ""),
            Text(reason.fate, style=_FATE[reason.fate]),
            Text(reason.why),
            "–" if reason.instead is None else str(reason.instead),
        )
    console.print(shown)
