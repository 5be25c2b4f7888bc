"""Placements, assignments and simulations as SVG pictures, for pages and slides: without script.

A placement is a line per partition and a column per broker: dark the leader, light a follower, with
a bold border what is fetched, dashed what is given up; below, the replicas of each broker.

An assignment is a row per member, with a box per partition: filled what it keeps, with a bold
border what it gains, dashed what it gives up. A topic has one colour.

A simulation is a line per partition and time from left to right: a bar while a member owns it, in
the member's colour, and red where nobody does though somebody would; below, the lag. Unlike the
picture on a terminal it is drawn to scale, so a gap of half a second is as long as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise

import numpy as np

from partage.cluster import Cluster
from partage.consumers.assignment import Assignment
from partage.consumers.simulation import Simulation
from partage.report import units

WIDTH = 900
_LABEL, _EDGE, _LINE, _BOX = 120, 16, 18, 30
_PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d31",
    "#7b61c4", "#a3c614", "#3b5b7a", "#d6616b", "#17becf", "#9c9ede",
    "#637939", "#e7969c", "#843c39", "#bcbd22",
)  # fmt: skip
_GAP, _LIGHT = "#d00000", "#8ec1e3"
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1d2733}.small{font-size:11px;fill:#4a5866}"
    ".title{font-size:14px;font-weight:600}.in{fill:#fff;font-size:11px}"
)
_MANY, _LINES = 60, 4
"""More members or partitions, and more lines of boxes of a member, are counted and not drawn."""


def placement_svg(before: Cluster, after: Cluster, title: str) -> str:
    """The same partitions before and after; of more than 60 those that change, the first 60."""
    column = {broker.id: _LABEL + at * _BOX for at, broker in enumerate(after.brokers)}
    parts = [_text(x + 12, 62, str(broker), "small", "middle") for broker, x in column.items()]
    parts.append(_text(_LABEL - 10, 62, "broker", "small", "end"))
    y = 72
    held = {broker: [0, 0] for broker in column}
    rows = list(zip(after.names, before.replica_lists(), after.replica_lists(), strict=True))
    if len(rows) > _MANY:
        rows.sort(key=lambda row: row[1] == row[2])
    for name, old, new in rows:
        for at, replicas in enumerate((old, new)):
            for broker in replicas:
                held[broker][at] += 1
        if y < 72 + _MANY * _BOX:
            parts.append(_text(_LABEL - 10, y + 17, name, "", "end"))
            for broker in dict.fromkeys(new + old):
                kind = "goes" if broker not in new else "keeps" if broker in old else "gains"
                fill = (
                    _PALETTE[0]
                    if broker in (new[0], old[0] if kind == "goes" else None)
                    else _LIGHT
                )
                parts.append(_box(column[broker], y, fill, None, kind))
            y += _BOX
    y = _rest(len(rows), "partitions", parts, y)
    parts.append(_text(_LABEL - 10, y + 16, "replicas", "small", "end"))
    for broker, (old_count, new_count) in held.items():
        change = str(old_count) if old_count == new_count else f"{old_count}→{new_count}"
        parts.append(_text(column[broker] + 12, y + 16, change, "small", "middle"))
    y += 40
    for x, kind, fill, said in (
        (_LABEL, "keeps", _PALETTE[0], "leads"),
        (_LABEL + 90, "keeps", _LIGHT, "follows"),
        (_LABEL + 180, "gains", _LIGHT, "fetched"),
        (_LABEL + 270, "goes", _LIGHT, "given up"),
    ):
        parts.append(_box(x, y - 6, fill, None, kind, size=14))
        parts.append(_text(x + 22, y + 5, said, "small"))
    return _svg(title, parts, y + 22, max(WIDTH, _LABEL + len(column) * _BOX + _EDGE))


def assignment_svg(found: Assignment, assignor: str) -> str:
    """One round: who keeps, gains and gives up what."""
    group = found.group
    title = f"{assignor}: {units.plural(found.moves, 'move')}"
    claims = [set[int]() for _ in group.members]
    for member, partition in zip(*(column.tolist() for column in group.claims), strict=True):
        claims[member].add(partition)
    colour = {topic: _colour(at) for at, topic in enumerate(group.names)}
    fitting = (WIDTH - _LABEL - _EDGE) // _BOX
    parts, y = [], 58
    for at, member in enumerate(group.members[:_MANY]):
        has = set(np.flatnonzero(found.owner == at).tolist())
        goes = {p for p in claims[at] if found.target[p] != at}
        boxes = sorted(has | goes)
        parts.append(_text(_LABEL - 10, y + 17, member.id, anchor="end"))
        for place, row in enumerate(boxes[: _LINES * fitting]):
            topic = int(group.topic[row])
            x, top = _LABEL + place % fitting * _BOX, y + place // fitting * _BOX
            kind = "goes" if row in goes else "keeps" if row in claims[at] else "gains"
            number = row - int(group.offset[topic])
            parts.append(_box(x, top, colour[group.names[topic]], number, kind))
        y += _BOX * max(1, -(-min(len(boxes), _LINES * fitting) // fitting)) + 6
        if len(boxes) > _LINES * fitting:
            parts.append(
                _text(_LABEL, y + 8, f"and {len(boxes) - _LINES * fitting:,} more", "small")
            )
            y += 20
    y = _rest(len(group.members), "members", parts, y) + 14
    parts.extend(_legend(((topic, colour[topic]) for topic in group.names), y))
    y += 22
    for x, kind, said in (
        (_LABEL, "keeps", "keeps"),
        (_LABEL + 100, "gains", "gains"),
        (_LABEL + 200, "goes", "gives up"),
    ):
        parts.append(_box(x, y - 6, "#6b7885", None, kind, size=14))
        parts.append(_text(x + 22, y + 5, said, "small"))
    return _svg(title, parts, y + 22)


def simulation_svg(found: Simulation) -> str:
    """Who owned what when, the rounds, and the lag."""
    scenario = found.scenario
    title = (
        f"{found.assignor}, {found.protocol}: "
        f"{found.unowned:,.1f} partition-seconds without an owner, "
        f"{units.plural(found.moved, 'partition')} moved"
    )
    per_second = (WIDTH - _LABEL - _EDGE) / scenario.until
    colour = {actor.id: _colour(at) for at, actor in enumerate(scenario.members)}
    partitions = list(found.produce)[:_MANY]
    top = 66
    line = {partition: top + at * _LINE for at, partition in enumerate(partitions)}
    bottom = top + len(partitions) * _LINE
    parts: list[str] = []
    for (topic, number), y in line.items():
        parts.append(_text(_LABEL - 10, y + 12, f"{topic}-{number}", "small", "end"))
        spans = [span for span in found.spans if span.partition == (topic, number)]
        for start, end in _waits(found, topic, [(span.start, span.end) for span in spans]):
            parts.append(_bar(start, end, y, _GAP, per_second, "nobody"))
        parts.extend(
            _bar(span.start, span.end, y, colour[span.member], per_second, span.member)
            for span in spans
        )
    for number, one in enumerate(found.rounds, 1):
        x = _LABEL + one.at * per_second
        parts.append(
            f'<path d="M{x:.1f} {top - 6} V{bottom}" stroke="#1d2733" stroke-dasharray="2 3"/>'
        )
        parts.append(_text(x, top - 10, str(number), "small", "middle"))
    parts.append(_text(_LABEL - 10, top - 10, "round", "small", "end"))
    y = _rest(len(found.produce), "partitions", parts, bottom) + 6
    if any(found.produce.values()):
        parts.extend(_lag(found, y, per_second))
        y += 66
    parts.append(_text(_LABEL, y + 14, "0 s", "small"))
    parts.append(_text(WIDTH - _EDGE, y + 14, f"{scenario.until:g} s", "small", "end"))
    members = [(name, colour[name]) for name in colour][:_MANY]
    rows = list(_legend([*members, ("nobody", _GAP)], y + 34))
    return _svg(title, [*parts, *rows], y + 44 + 20 * _rows_of(len(members) + 1))


def _waits(
    found: Simulation, topic: str, owned: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """When a partition has no owner though a subscriber is there."""
    there = [a for a in found.scenario.members if topic in a.topics]
    edges = sorted(
        {0.0, found.scenario.until}
        | {t for span in owned for t in span}
        | {min(t, found.scenario.until) for a in there for t in (a.joins_at, a.ends_at)}
    )
    for start, end in pairwise(edges):
        if any(s <= start and end <= e for s, e in owned):
            continue
        if any(a.joins_at <= start and end <= a.ends_at for a in there):
            yield start, end


def _lag(found: Simulation, y: float, per_second: float) -> Iterator[str]:
    """The sum of all lags as an area of 60 pixels."""
    curves = [np.array(curve).T for curve in found.lag.values()]
    times = np.unique(np.concatenate([curve[0] for curve in curves]))
    total = np.sum([np.interp(times, *curve) for curve in curves], axis=0)
    most = float(total.max())
    points = " ".join(
        f"{_LABEL + t * per_second:.1f},{y + 56 - 50 * lag / max(most, 1.0):.1f}"
        for t, lag in zip(times.tolist(), total.tolist(), strict=True)
    )
    yield (
        f'<polygon points="{_LABEL},{y + 56} {points} {WIDTH - _EDGE},{y + 56}" '
        'fill="#c9d3dd" stroke="#4a5866"/>'
    )
    yield _text(_LABEL - 10, y + 34, "lag", "small", "end")
    yield _text(_LABEL + 4, y + 14, f"at most {units.count(round(most))} records", "small")


def _bar(start: float, end: float, y: float, fill: str, per_second: float, said: str) -> str:
    width = max((end - start) * per_second, 0.8)
    return (
        f'<rect x="{_LABEL + start * per_second:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{_LINE - 4}" fill="{fill}"><title>{escape(said)}, {start:.2f}–{end:.2f} s'
        "</title></rect>"
    )


def _box(x: int, y: int, fill: str, number: int | None, kind: str, size: int = _BOX - 6) -> str:
    border = {
        "keeps": f'fill="{fill}"',
        "gains": f'fill="{fill}" stroke="#1d2733" stroke-width="3"',
        "goes": f'fill="#fff" stroke="{fill}" stroke-width="1.5" stroke-dasharray="4 3"',
    }[kind]
    text = ""
    if number is not None:
        look = "small" if kind == "goes" else "in"
        text = _text(x + size / 2, y + size / 2 + 4, str(number), look, "middle")
    return f'<rect x="{x}" y="{y}" width="{size}" height="{size}" rx="3" {border}/>{text}'


def _rest(count: int, what: str, parts: list[str], y: int) -> int:
    """Say how many lines are left out; where the picture goes on."""
    if count <= _MANY:
        return y
    parts.append(_text(_LABEL, y + 12, f"and {count - _MANY:,} {what} more", "small"))
    return y + 18


def _rows_of(entries: int) -> int:
    return -(-entries // 8)


def _legend(entries: Iterable[tuple[str, str]], y: float) -> Iterator[str]:
    """Name and colour, eight in a row."""
    for at, (name, fill) in enumerate(entries):
        x, line = _LABEL + at % 8 * 95, y + at // 8 * 20
        yield f'<rect x="{x}" y="{line - 10}" width="12" height="12" rx="2" fill="{fill}"/>'
        yield _text(x + 17, line, name if len(name) <= 12 else name[:11] + "…", "small")


def _text(x: float, y: float, said: str, look: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{look}" text-anchor="{anchor}">{escape(said)}</text>'


def _colour(at: int) -> str:
    return _PALETTE[at % len(_PALETTE)]


def _svg(title: str, parts: Iterable[str], height: float, width: int = WIDTH) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">\n<style>{_STYLE}</style>\n'
        f'<rect width="{width}" height="{height:g}" rx="8" fill="#fff"/>\n'
        f"{_text(_EDGE, 28, title, 'title')}\n{body}\n</svg>\n"
    )
