"""A simulation as a picture: one line per partition, or per member, and time from left to right.

A cell is a stretch of time. In a partition's line it shows the member that owns it at the end of
the stretch, or a dot where it had no owner for a part of it, however short: gaps are what one looks
for. In a member's line it shows the least number of partitions that the member had in the stretch.
"""

from __future__ import annotations

import string
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from partage.consumers.reading import Curve
from partage.consumers.simulation import Simulation
from partage.report import units

MANY_LINES = 40
"""More partitions than this are not drawn one by one."""

NOBODY, ABSENT, CRASH = "·", " ", "×"
_SYMBOLS = string.digits + string.ascii_lowercase + string.ascii_uppercase
_STYLES = ("cyan", "green", "magenta", "blue", "yellow", "bright_cyan", "bright_green")
_BARS = "▁▂▃▄▅▆▇█"
_LABEL = 18
_LEAST = 1e-9


def print_timeline(found: Simulation, console: Console, by: str = "partition") -> None:
    """Draw it, ``by`` partition or by member."""
    width = max(console.width - _LABEL - 2, 20)
    until = found.scenario.until
    lines = list(_partitions(found, width) if by == "partition" else _members(found, width))
    for label, cells in lines:
        console.print(Text(_label(label)).append(cells), no_wrap=True, crop=True)
    if any(found.produce.values()):
        bars, most = _lag(found.lag.values(), until, width)
        console.print(Text(_label("lag")).append(bars, "dim"), no_wrap=True, crop=True)
        console.print(Text(_label("") + f"at most {units.count(most)} records wait", "dim"))
    marks = [" "] * width
    for number, one in enumerate(found.rounds):
        marks[min(int(one.at / until * width), width - 1)] = _SYMBOLS[(number + 1) % 10]
    console.print(Text(_label("round") + "".join(marks).rstrip(), "dim"), no_wrap=True)
    end = f"{until:g} s"
    console.print(Text(_label("") + "0 s" + end.rjust(width - 3), "dim"), no_wrap=True)
    if by == "partition":
        legend = Text("\n")
        for at, actor in enumerate(found.scenario.members[:MANY_LINES]):
            legend.append(f"{_symbol(at)} ", _style(at)).append(f"{actor.id}   ")
        console.print(legend.append(f"{NOBODY} nobody"))
    else:
        console.print(Text(f"\n1, 2 … partitions   {NOBODY} none   {CRASH} crashes", "dim"))


def _partitions(found: Simulation, width: int) -> Iterable[tuple[str, Text]]:
    place = {actor.id: at for at, actor in enumerate(found.scenario.members)}
    cell = found.scenario.until / width
    for topic, number in found.produce:
        spans = [span for span in found.spans if span.partition == (topic, number)]
        there = [a for a in found.scenario.members if topic in a.topics]
        text = Text()
        for at in range(width):
            start, end = at * cell, (at + 1) * cell
            inside = [s for s in spans if s.start < end - _LEAST and s.end > start + _LEAST]
            wanted = sum(min(end, s.end) - max(start, s.start) for s in inside)
            if wanted < cell - 1e-6 and not any(
                a.joins_at < end - _LEAST and a.ends_at > start + _LEAST for a in there
            ):
                text.append(ABSENT)
            elif wanted < cell - 1e-6:
                text.append(NOBODY, "bold red")
            else:
                member = place[inside[-1].member]
                text.append(_symbol(member), _style(member))
        yield f"{topic}-{number}", text


def _members(found: Simulation, width: int) -> Iterable[tuple[str, Text]]:
    cell = found.scenario.until / width
    for number, actor in enumerate(found.scenario.members):
        spans = [span for span in found.spans if span.member == actor.id]
        text = Text()
        for at in range(width):
            start, end = at * cell, (at + 1) * cell
            if actor.crashes_at is not None and start <= actor.crashes_at < end:
                text.append(CRASH, "bold red")
                continue
            if actor.joins_at >= end or actor.ends_at <= start:
                text.append(ABSENT)
                continue
            inside = [s for s in spans if s.start < end and s.end > start]
            times = {start, *(s.start for s in inside), *(s.end for s in inside)}
            held = min(sum(s.start <= t < s.end for s in inside) for t in times if start <= t < end)
            shown = NOBODY if held == 0 else str(held) if held < 10 else "+"
            text.append(shown, "" if held == 0 else _style(number))
        yield actor.id, text


def _lag(curves: Iterable[Curve], until: float, width: int) -> tuple[str, float]:
    """Bars of the total lag at the end of each cell, and its highest."""
    listed = list(curves)
    times = [until * (at + 1) / width for at in range(width)]
    total = [sum(_height(curve, time) for curve in listed) for time in times]
    corners = {time for curve in listed for time, _ in curve}
    most = max(sum(_height(curve, time) for curve in listed) for time in corners)
    scale = max(most, 1.0)
    bars = "".join(
        " " if lag < 0.5 else _BARS[min(int(lag / scale * len(_BARS)), len(_BARS) - 1)]
        for lag in total
    )
    return bars, most


def _height(curve: Curve, time: float) -> float:
    """Where the curve is at a time; the higher end of a fall."""
    before = curve[0]
    for point in curve:
        if point[0] >= time:
            if point[0] == before[0]:
                return max(point[1], before[1])
            part = (time - before[0]) / (point[0] - before[0])
            return before[1] + part * (point[1] - before[1])
        before = point
    return before[1]


def _label(text: str) -> str:
    short = text if cell_len(text) <= _LABEL else set_cell_size(text, _LABEL - 1) + "…"
    return set_cell_size(short, _LABEL) + "  "


def _symbol(at: int) -> str:
    return _SYMBOLS[at % len(_SYMBOLS)]


def _style(at: int) -> str:
    return _STYLES[at % len(_STYLES)]
