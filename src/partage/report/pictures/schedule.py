"""Members over time: light what they can own, dark what the partitions need; a panel for the
schedule and one for the lag-based scaler, to the same scale."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from partage.consumers.comparison import ScheduleComparison
from partage.consumers.scaled_group import Played
from partage.period import shown
from partage.report.pictures.shapes import (
    DARK,
    LEFT,
    LIGHT,
    MARGIN,
    WIDTH,
    Bar,
    Label,
    Shape,
    Swatch,
    svg,
)

_PANEL, _TOP = 90, 50
_TITLES = {"schedule": "schedule", "lag_scaler": "by lag"}


def schedule_svg(found: ScheduleComparison) -> str:
    """The picture, an element of a page."""
    loads = found.schedule.loads
    length = len(loads.start) * loads.seconds
    most = max(members for one in found.played.values() for _, members in one.changes)
    shapes: list[Shape] = []
    y = _TOP
    for name, title in _TITLES.items():
        shapes.append(Label(LEFT - 10, y + _PANEL // 2, title, "small", "end"))
        shapes += _panel(found, found.played[name], y, length, _PANEL / most)
        y += _PANEL + 14
    shapes.append(Label(LEFT, y + 6, shown(loads.start[0]), "small"))
    shapes.append(Label(WIDTH - MARGIN, y + 6, shown(loads.end), "small", "end"))
    for x, fill, meaning in ((LEFT, LIGHT, "members"), (LEFT + 110, DARK, "rate, in members")):
        shapes += [Swatch(x, y + 18, fill), Label(x + 17, y + 28, meaning, "small")]
    return svg("Members over time", shapes, y + 44, inline=True)


def _panel(
    found: ScheduleComparison, played: Played, top: int, length: int, unit: float
) -> Iterator[Shape]:
    scale, bottom = (WIDTH - LEFT - MARGIN) / length, top + _PANEL
    for (start, members), (end, _) in pairwise([*played.changes, (float(length), 0)]):
        yield _bar(start, end, members * unit, bottom, scale, LIGHT, f"members: {members:,}")
    loads, capacity = found.schedule.loads, found.schedule.capacity
    for window, load in enumerate(loads.load.sum(axis=1).tolist()):
        start, needed = window * loads.seconds, load / capacity
        moment = f"{shown(loads.start[window])}: {needed:.2f}"
        yield _bar(
            start, start + loads.seconds, needed * unit, bottom, scale, DARK, moment, thin=True
        )


def _bar(
    start: float,
    end: float,
    height: float,
    bottom: int,
    scale: float,
    fill: str,
    tooltip: str,
    *,
    thin: bool = False,
) -> Bar:
    """From the bottom upwards; a thin one leaves the sides free."""
    high, wide = round(height), max((end - start) * scale, 0.8)
    side = wide / 4 if thin else 0
    x = LEFT + start * scale + side
    return Bar(x, bottom - high, wide - 2 * side, high, fill, tooltip)
