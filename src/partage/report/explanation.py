"""Why a partition moves, in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.brokers.explain import Explanation
from partage.report.printing import closer, note, table, titled
from partage.report.units import MISSING, of_fair
from partage.report.view.resources import LOAD_WORDS

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
    if any(reason.loads for reason in found.replicas):
        titled(console, *_loads(found))
        banded = any(load["band"] for reason in found.replicas for load in reason.loads.values())
        band = ", and the band," if banded else ","
        note(console, f"before → after{band} in % of the broker's fair share")


def _loads(found: Explanation) -> tuple[str, Table]:
    """Every load of these brokers: a row per load, a column per broker."""
    shown = closer(table())
    shown.add_column("load", no_wrap=True)
    for reason in found.replicas:
        shown.add_column(f"broker {reason.broker}", justify="right")
    for name in found.replicas[0].loads:
        cells = (_percent(reason.loads[name]) for reason in found.replicas)
        shown.add_row(LOAD_WORDS[name], *cells)
    return "Loads of these brokers", shown


def _percent(load: Mapping[str, Any]) -> str:
    """``127 → 95``, with a band ``127 → 95 (95–105)``; nothing of one that may hold nothing."""
    fair = load["fair"]
    if not fair:
        return MISSING
    before, after, *band = (
        of_fair(value, fair) for value in (load["before"], load["after"], *(load["band"] or ()))
    )
    change = after if before == after else f"{before} → {after}"
    return f"{change} ({'–'.join(band)})" if band else change
