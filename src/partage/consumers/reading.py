"""How members keep up: records pulled by those who own partitions, or pushed at them.

Both are computed as flows of records, exactly, between the moments at which something changes.

*Pull*: records wait at the broker, and what waits is the lag. A member takes what it can process,
the same from each of its partitions that has a lag, and never more from one than there is. A poll
that finds nothing waits for ``poll_timeout_ms``; then it returns empty.

*Push*: the broker sends what comes in, and after a time without an owner all that has gathered, as
fast as it can; what a member cannot process stays in its buffer, and what the buffer cannot take
overruns it: the broker is refused, or records are dropped. Nothing of it slows the broker down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partage.consumers.protocol.messages import Partition
from partage.consumers.scenario import Actor

_NOTHING = 1e-9


@dataclass(frozen=True)
class Span:
    """A member owns a partition from a time to another."""

    partition: Partition
    member: str
    start: float
    end: float


@dataclass(frozen=True)
class Pushed:
    """What pushing does to a member: the most that its buffer held, when it first overran (None:
    never), and the records that it could not take."""

    most: float
    overrun_at: float | None
    overrun: float


Curve = list[tuple[float, float]]
"""(time, records): straight between one point and the next."""


def pull(
    spans: Sequence[Span],
    produce: Mapping[Partition, float],
    actors: Mapping[str, Actor],
    until: float,
) -> dict[Partition, Curve]:
    """The lag of every partition over time."""
    lag = dict.fromkeys(produce, 0.0)
    curves: dict[Partition, Curve] = {partition: [(0.0, 0.0)] for partition in produce}
    for start, end, owned in _between(spans, until):
        free = set(produce)
        for member, partitions in owned.items():
            free.difference_update(partitions)
            _drain(member, partitions, start, end, produce, actors, lag, curves)
        for partition in free:
            lag[partition] += produce[partition] * (end - start)
            _point(curves[partition], end, lag[partition])
    return curves


def _drain(
    member: str,
    partitions: Sequence[Partition],
    start: float,
    end: float,
    produce: Mapping[Partition, float],
    actors: Mapping[str, Actor],
    lag: dict[Partition, float],
    curves: dict[Partition, Curve],
) -> None:
    """One member reads its partitions from ``start`` to ``end``."""
    rate = actors[member].rate
    if rate is None:
        for partition in partitions:
            lag[partition] = 0.0
            _point(curves[partition], start, 0.0)
            _point(curves[partition], end, 0.0)
        return
    now = start
    while now < end:
        read = _shares(rate, [(lag[p] > _NOTHING, produce[p]) for p in partitions])
        slope = [produce[p] - r for p, r in zip(partitions, read, strict=True)]
        empties = [
            now + lag[p] / -s
            for p, s in zip(partitions, slope, strict=True)
            if s < 0 and lag[p] > _NOTHING
        ]
        next_ = min(empties, default=end)
        next_ = end if next_ > end - _NOTHING else max(next_, now + _NOTHING)
        for partition, s in zip(partitions, slope, strict=True):
            left = max(lag[partition] + s * (next_ - now), 0.0)
            lag[partition] = 0.0 if left < 1e-6 else left
            _point(curves[partition], next_, lag[partition])
        now = next_


def _shares(rate: float, wants: Sequence[tuple[bool, float]]) -> list[float]:
    """Records per second out of each partition: level, but no more than comes in where nothing
    waits."""
    limits = [math.inf if waits else comes for waits, comes in wants]
    found = [0.0] * len(limits)
    left = rate
    order = sorted(range(len(limits)), key=lambda at: limits[at])
    for done, at in enumerate(order):
        found[at] = min(limits[at], left / (len(order) - done))
        left -= found[at]
    return found


def push(
    spans: Sequence[Span],
    produce: Mapping[Partition, float],
    actors: Mapping[str, Actor],
    until: float,
) -> dict[str, Pushed]:
    """What every member would have to bear. What waits for an owner comes at once when there is
    one."""
    waiting = dict.fromkeys(produce, 0.0)
    buffer = dict.fromkeys(actors, 0.0)
    most = dict.fromkeys(actors, 0.0)
    overrun = dict.fromkeys(actors, 0.0)
    first: dict[str, float] = {}
    for start, end, owned in _between(spans, until):
        free = set(produce)
        for member, partitions in owned.items():
            free.difference_update(partitions)
            actor = actors[member]
            if actor.rate is None:
                continue
            burst = sum(waiting[p] for p in partitions)
            room = actor.buffer - buffer[member]
            if burst > room + _NOTHING:
                overrun[member] += burst - room
                first.setdefault(member, start)
            buffer[member] = min(buffer[member] + burst, actor.buffer)
            most[member] = max(most[member], buffer[member])
            rise = sum(produce[p] for p in partitions) - actor.rate
            level = buffer[member] + rise * (end - start)
            if rise > 0 and level > actor.buffer + _NOTHING:
                overrun[member] += level - actor.buffer
                first.setdefault(member, start + (actor.buffer - buffer[member]) / rise)
            buffer[member] = min(max(level, 0.0), actor.buffer)
            most[member] = max(most[member], buffer[member])
        for partition in produce:
            waiting[partition] = (
                waiting[partition] + produce[partition] * (end - start)
                if partition in free
                else 0.0
            )
    return {name: Pushed(most[name], first.get(name), overrun[name]) for name in actors}


def empty_polls(
    spans: Sequence[Span],
    curves: Mapping[Partition, Curve],
    produce: Mapping[Partition, float],
    actors: Mapping[str, Actor],
    until: float,
) -> dict[str, int | None]:
    """Polls of each member that wait in vain; None for a member whose polls do not wait at all and
    so spin. A member that has no lag waits for its next record, one that owns nothing for ever."""
    found: dict[str, float] = dict.fromkeys(actors, 0.0)
    spins: set[str] = set()
    for start, end, owned in _between(spans, until):
        for name, actor in actors.items():
            time = min(end, actor.ends_at) - max(start, actor.joins_at)
            if time <= _NOTHING:
                continue
            partitions = owned.get(name, [])
            comes = sum(produce[p] for p in partitions)
            behind = actor.rate is not None and (
                comes > actor.rate or any(_at(curves[p], end) > 0 for p in partitions)
            )
            if behind:
                continue
            if actor.poll_timeout_ms == 0:
                spins.add(name)
                continue
            waits = actor.poll_timeout_ms / 1000
            if comes == 0:
                found[name] += time / waits
            else:
                found[name] += math.floor(1 / comes / waits) * comes * time
    return {name: None if name in spins else round(found[name]) for name in actors}


def _at(curve: Curve, time: float) -> float:
    return next((lag for at, lag in reversed(curve) if at <= time + _NOTHING), 0.0)


def _between(
    spans: Sequence[Span], until: float
) -> list[tuple[float, float, dict[str, list[Partition]]]]:
    """(start, end, partitions by member) of every stretch of time in which nothing changes."""
    times = sorted({0.0, until, *(s.start for s in spans), *(s.end for s in spans)})
    at = {time: number for number, time in enumerate(times)}
    owned: list[dict[str, list[Partition]]] = [{} for _ in times[1:]]
    for span in spans:
        for number in range(at[span.start], at[span.end]):
            owned[number].setdefault(span.member, []).append(span.partition)
    return list(zip(times, times[1:], owned, strict=False))


def _point(curve: Curve, time: float, lag: float) -> None:
    """Go on with a curve; a point on the line between its neighbours is left out."""
    if len(curve) > 1 and curve[-1][0] < time:
        (t0, l0), (t1, l1) = curve[-2], curve[-1]
        on_line = t1 > t0 and abs(l0 + (lag - l0) * (t1 - t0) / (time - t0) - l1) < 1e-6
        if on_line:
            curve.pop()
    if not curve or curve[-1] != (time, lag):
        curve.append((time, lag))
