"""What each broker leads before any failure, and after the one that adds most to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.broker_table import arrows
from partage.report.view.resources import LOAD_WORDS
from partage.units import percent

SURVIVORS_NOTE = (
    "Before → after the failure of the broker that adds most; replicas, disk and bytes in stay. "
    "Highest: in % of the broker's fair share, by capacity; fails: the broker whose failure that is"
)
_HOTTEST = "; hottest partition: adds most to that load"
_HEADROOM = "; headroom: what is then free of the network for bytes out"

_HIGHEST = 12
"""Brokers that are shown: those with the highest load after a failure."""

Row = Mapping[str, Any]


def survivors_note(rows: Sequence[Row]) -> str:
    """What the columns of these rows are."""
    hottest = _HOTTEST if any(row["hottest"] for row in rows) else ""
    free = _HEADROOM if any(row["headroom"] is not None for row in rows) else ""
    return f"{SURVIVORS_NOTE}{hottest}{free}."


def survivor_table(rows: Sequence[Row]) -> tuple[str, Table]:
    """Title and table of the rows of one placement and kind of failure."""
    brokers: dict[int, dict[str, Row]] = {}
    for row in rows:
        brokers.setdefault(row["broker"], {})[row["load"]] = row
    shown = sorted(brokers.values(), key=lambda own: -_share(_highest(own)))[:_HIGHEST]
    names = [name for name in LOAD_WORDS if name in next(iter(shown), {})]
    highest = [_highest(own) for own in shown]
    table = printing.closer(printing.table())
    table.add_column("broker", no_wrap=True)
    columns = []
    for name in names:
        unit, cells = _cells(name, [own[name] for own in shown])
        table.add_column(f"{LOAD_WORDS[name]} {unit}".rstrip(), justify="right")
        columns.append(cells)
    banded = any(row["band"] is not None for row in highest)
    free = any(row["headroom"] is not None for own in shown for row in own.values())
    hot = any(row["hottest"] for row in highest)
    for title in ("highest", *(["band"] if banded else []), "fails"):
        table.add_column(title, no_wrap=True)
    if hot:
        table.add_column("hottest partition", overflow="fold")
    if free:
        table.add_column("headroom", justify="right", no_wrap=True)
    for i, (own, row) in enumerate(zip(shown, highest, strict=True)):
        table.add_row(
            str(row["broker"]),
            *(cells[i] for cells in columns),
            f"{LOAD_WORDS[row['load']]} {units.of_fair(row['after'], row['fair'])}",
            *([_band(row)] if banded else []),
            Text(row["fails"] or units.MISSING),
            *([Text(row["hottest"] or units.MISSING)] if hot else []),
            *([_headroom(own)] if free else []),
        )
    more = f", the {_HIGHEST} highest" if len(brokers) > _HIGHEST else ""
    return f"Brokers if another one fails{more}", table


def _highest(own: Mapping[str, Row]) -> Row:
    """The highest load in bytes, else the leaders."""
    return max([row for row in own.values() if row["hottest"]] or own.values(), key=_share)


def _share(row: Row) -> float:
    return float(row["after"]) / row["fair"] if row["fair"] else 0.0


def _cells(name: str, rows: Sequence[Row]) -> tuple[str, list[Text]]:
    """The unit of a load, and its cell for each broker."""
    highest = max((row["after"] for row in rows), default=0)
    divisor, unit = (1.0, "") if name == "leaders" else units.common_rate(highest)
    show = units.count if name == "leaders" else units.significant
    old, new = ([show(row[key] / divisor) for row in rows] for key in ("before", "after"))
    return unit, arrows(old, new, [False] * len(rows))


def _band(row: Row) -> str:
    return "–".join(units.of_fair(end, row["fair"]) for end in row["band"] or ())


def _headroom(own: Mapping[str, Row]) -> str:
    free = [row["headroom"] for row in own.values() if row["headroom"] is not None]
    return percent(min(free)) if free else units.MISSING
