"""A simulation: a line per partition, time from left to right.

A bar in the member's colour while it owns the partition, red while no member does although one
subscribes; below, the lag. The picture is to scale: half a second without an owner is as wide as it
is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from partage.consumers.simulation import Simulation
from partage.report import units
from partage.report.pictures.shapes import (
    LEFT,
    MANY,
    MARGIN,
    WIDTH,
    Area,
    Bar,
    Label,
    Moment,
    Shape,
    colour,
    left_out,
    legend,
    legend_rows,
    svg,
)

NO_OWNER = "#d00000"
_LINE, _TOP = 18, 66


def simulation_svg(found: Simulation, title: str | None = None, *, inline: bool = False) -> str:
    """The owners of partitions over time, the rounds, and the lag. ``title``: by default the key
    figures; ``inline``: an element of a page."""
    scenario = found.scenario
    title = title or (
        f"{found.assignor}, {found.protocol}: "
        f"{found.unowned:,.1f} partition-seconds without an owner, "
        f"{units.plural(found.moved, 'partition')} moved"
    )
    scale = (WIDTH - LEFT - MARGIN) / scenario.until
    colours = {member.id: colour(i) for i, member in enumerate(scenario.members)}
    partitions = list(found.produce)[:MANY]
    bottom = _TOP + len(partitions) * _LINE
    shapes: list[Shape] = []
    for i, partition in enumerate(partitions):
        shapes += _partition(found, partition, _TOP + i * _LINE, colours, scale)
    for number, one in enumerate(found.rounds, 1):
        x = LEFT + one.at * scale
        shapes += [Moment(x, _TOP - 6, bottom), Label(x, _TOP - 10, str(number), "small", "middle")]
    shapes.append(Label(LEFT - 10, _TOP - 10, "round", "small", "end"))
    more, y = left_out(len(found.produce), "partitions", bottom)
    shapes += more
    y += 6
    if any(found.produce.values()):
        shapes += _lag(found, y, scale)
        y += 66
    shapes.append(Label(LEFT, y + 14, "0 s", "small"))
    shapes.append(Label(WIDTH - MARGIN, y + 14, f"{scenario.until:g} s", "small", "end"))
    entries = [*list(colours.items())[:MANY], ("no owner", NO_OWNER)]
    shapes += legend(entries, y + 34)
    return svg(title, shapes, y + 44 + 20 * legend_rows(len(entries)), inline=inline)


def _partition(
    found: Simulation, partition: tuple[str, int], y: int, colours: dict[str, str], scale: float
) -> Iterator[Shape]:
    topic, number = partition
    yield Label(LEFT - 10, y + 12, f"{topic}-{number}", "small", "end")
    spans = [span for span in found.spans if span.partition == partition]
    for start, end in _unowned(found, partition, [(span.start, span.end) for span in spans]):
        yield _bar(start, end, y, NO_OWNER, scale, "no owner")
    for span in spans:
        yield _bar(span.start, span.end, y, colours[span.member], scale, span.member)


def _bar(start: float, end: float, y: int, fill: str, scale: float, owner: str) -> Bar:
    width = max((end - start) * scale, 0.8)
    tooltip = f"{owner}, {start:.2f}–{end:.2f} s"
    return Bar(LEFT + start * scale, y, width, _LINE - 4, fill, tooltip)


def _unowned(
    found: Simulation, partition: tuple[str, int], owned: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Intervals in which a partition has no owner although a subscriber is in the group."""
    topic, (created, deleted) = partition[0], found.scenario.lifetimes[partition]
    topics = found.scenario.all_topics
    subscribers = [m for m in found.scenario.members if topic in m.subscription(topics)]
    edges = sorted(
        {created, deleted}
        | {t for span in owned for t in span}
        | {max(min(t, deleted), created) for m in subscribers for t in (m.joins_at, m.ends_at)}
    )
    for start, end in pairwise(edges):
        if any(s <= start and end <= e for s, e in owned):
            continue
        if any(m.joins_at <= start and end <= m.ends_at for m in subscribers):
            yield start, end


def _lag(found: Simulation, y: int, scale: float) -> Iterator[Shape]:
    """The total lag as an area 50 units high."""
    curves = [np.array(curve).T for curve in found.lag.values()]
    times = np.unique(np.concatenate([curve[0] for curve in curves]))
    total = np.sum([np.interp(times, *curve) for curve in curves], axis=0)
    most = float(total.max())
    base = str(y + 56)
    points = [
        (f"{LEFT + t * scale:.1f}", f"{y + 56 - 50 * lag / max(most, 1.0):.1f}")
        for t, lag in zip(times.tolist(), total.tolist(), strict=True)
    ]
    yield Area([(str(LEFT), base), *points, (str(WIDTH - MARGIN), base)])
    yield Label(LEFT - 10, y + 34, "lag", "small", "end")
    yield Label(LEFT + 4, y + 14, f"at most {units.count(round(most))} records", "small")
