"""A timeline of a simulation in a terminal: a line per partition or per member.

A cell is a time interval. In a partition's line it shows the member that owns the partition at the
end of the interval, or a dot if the partition had no owner for any part of it, so that no gap is
missed. In a member's line it shows the fewest partitions that the member owned in the interval.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from partage.consumers.record_flow import LagCurve, OwnershipSpan
from partage.consumers.simulation import Simulation
from partage.printable import printable
from partage.report import units
from partage.report.printing import clipped, drawn, legend

MANY_LINES = 40
"""Draw lines per partition up to this number of partitions."""

NO_OWNER, ABSENT, CRASH = "·", " ", "×"
_SYMBOLS = string.digits + string.ascii_lowercase + string.ascii_uppercase
_STYLES = ("cyan", "green", "magenta", "blue", "yellow", "bright_cyan", "bright_green")
_BARS = "▁▂▃▄▅▆▇█"
_LABEL = 18
_END = 9
"""Characters at the end of an id that are always shown."""
_LEAST = 1e-9

Key = TypeVar("Key")


def print_timeline(found: Simulation, console: Console, by: str = "partition") -> None:
    """Print a line per partition or per member (``by``); a page has the picture instead."""
    if drawn(console, lambda: _picture(found)):
        return
    width = max(console.width - _LABEL - 2, 20)
    until = found.scenario.until
    lines = list(_partitions(found, width) if by == "partition" else _members(found, width))
    for label, end, cells in lines:
        console.print(Text(_label(label, end)).append(cells), no_wrap=True, crop=True)
    if any(found.produce.values()):
        bars, most = _lag(found.lag.values(), until, width)
        console.print(Text(_label("lag")).append(bars, "dim"), no_wrap=True, crop=True)
        console.print(Text(_label("") + f"at most {units.count(most)} records of lag", "dim"))
    marks = [" "] * width
    for number, one in enumerate(found.rounds):
        marks[min(int(one.at / until * width), width - 1)] = _SYMBOLS[(number + 1) % 10]
    console.print(Text(_label("round") + "".join(marks).rstrip(), "dim"), no_wrap=True)
    end = f"{until:g} s"
    console.print(Text(_label("") + "0 s" + end.rjust(width - 3), "dim"), no_wrap=True)
    if by == "partition":
        symbols = Text("\n")
        for at, actor in enumerate(found.scenario.members[:MANY_LINES]):
            symbols.append(f"{_symbol(at)} ", _style(at)).append(f"{printable(actor.id)}   ")
        console.print(symbols.append(f"{NO_OWNER} no owner"))
    else:
        console.print(Text(f"\n1, 2 … partitions   {NO_OWNER} none   {CRASH} crashes", "dim"))
        legend(console, "a colour for each member")


def _picture(found: Simulation) -> str:
    from partage.report.pictures import simulation_svg  # a terminal needs no templates

    return simulation_svg(found, "The owner of each partition", inline=True)


def _partitions(found: Simulation, width: int) -> Iterable[tuple[str, str, Text]]:
    """Topic, ``-number`` and cells of each partition."""
    place = {actor.id: at for at, actor in enumerate(found.scenario.members)}
    cell = found.scenario.until / width
    of_partition = _grouped(found.spans, lambda span: span.partition)
    topics, lifetimes = found.scenario.all_topics, found.scenario.lifetimes
    for topic, number in found.produce:
        spans = of_partition.get((topic, number), [])
        there = [a for a in found.scenario.members if topic in a.subscription(topics)]
        since, deleted = lifetimes[topic, number]
        text = Text()
        for at in range(width):
            start, end = max(at * cell, since), min((at + 1) * cell, deleted)
            inside = [s for s in spans if s.start < end - _LEAST and s.end > start + _LEAST]
            owned = sum(min(end, s.end) - max(start, s.start) for s in inside)
            partly = owned < end - start - 1e-6
            if start > end - _LEAST or (
                partly
                and not any(a.joins_at < end - _LEAST and a.ends_at > start + _LEAST for a in there)
            ):
                text.append(ABSENT)
            elif partly:
                text.append(NO_OWNER, "bold red")
            else:
                member = place[inside[-1].member]
                text.append(_symbol(member), _style(member))
        yield topic, f"-{number}", text


def _members(found: Simulation, width: int) -> Iterable[tuple[str, str, Text]]:
    """The id, in two parts, and cells of each member."""
    cell = found.scenario.until / width
    of_member = _grouped(found.spans, lambda span: span.member)
    for number, member in enumerate(found.scenario.members):
        spans = of_member.get(member.id, [])
        text = Text()
        for at in range(width):
            start, end = at * cell, (at + 1) * cell
            if member.crashes_at is not None and start <= member.crashes_at < end:
                text.append(CRASH, "bold red")
            elif member.joins_at >= end or member.ends_at <= start:
                text.append(ABSENT)
            elif fewest := _fewest(spans, start, end):
                text.append(str(fewest) if fewest < 10 else "+", _style(number))
            else:
                text.append(NO_OWNER)
        yield member.id[:-_END], member.id[-_END:], text


def _fewest(spans: Iterable[OwnershipSpan], start: float, end: float) -> int:
    """The fewest partitions owned at any time of the interval."""
    inside = [span for span in spans if span.start < end and span.end > start]
    times = {start, *(span.start for span in inside), *(span.end for span in inside)}
    return min(
        sum(span.start <= time < span.end for span in inside)
        for time in times
        if start <= time < end
    )


def _grouped(
    spans: Iterable[OwnershipSpan], key: Callable[[OwnershipSpan], Key]
) -> dict[Key, list[OwnershipSpan]]:
    found: dict[Key, list[OwnershipSpan]] = {}
    for span in spans:
        found.setdefault(key(span), []).append(span)
    return found


def _lag(curves: Iterable[LagCurve], until: float, width: int) -> tuple[str, float]:
    """Bars of the total lag at the end of each cell, and its maximum."""
    listed = [np.array(curve).T for curve in curves]
    for curve in listed:  # np.interp needs ascending times: spread a drop at one moment
        curve[0] += 1e-9 * np.arange(curve.shape[1])
    ends = until * np.arange(1, width + 1) / width
    corners = np.unique(np.concatenate([curve[0] for curve in listed]))
    total, most = np.zeros(width), np.zeros(len(corners))
    for time, lag in listed:
        total += np.interp(ends, time, lag)
        most += np.interp(corners, time, lag)
    scale = max(float(most.max()), 1.0)
    bars = "".join(
        " " if lag < 0.5 else _BARS[min(int(lag / scale * len(_BARS)), len(_BARS) - 1)]
        for lag in total.tolist()
    )
    return bars, float(most.max())


def _label(text: str, end: str = "") -> str:
    """A name, its ``text`` clipped where it is too long: names differ in their ``end``."""
    end = printable(end)
    return set_cell_size(clipped(text, _LABEL - cell_len(end)) + end, _LABEL) + "  "


def _symbol(at: int) -> str:
    return _SYMBOLS[at % len(_SYMBOLS)]


def _style(at: int) -> str:
    return _STYLES[at % len(_STYLES)]
