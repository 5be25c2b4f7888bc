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
from itertools import pairwise

from partage.consumers.protocol.messages import Partition
from partage.consumers.scenario import ScenarioMember

_NOTHING = 1e-9


@dataclass(frozen=True)
class OwnershipSpan:
    """A member owns a partition from a time to another."""

    partition: Partition
    member: str
    start: float
    end: float


@dataclass(frozen=True)
class PushLoad:
    """What pushing does to a member: the most that its buffer held, when it first overran (None:
    never), and the records that it could not take."""

    most: float
    overrun_at: float | None
    overrun: float


LagCurve = list[tuple[float, float]]
"""(time, records): straight between one point and the next."""


def pull(
    spans: Sequence[OwnershipSpan],
    produce: Mapping[Partition, float],
    actors: Mapping[str, ScenarioMember],
    until: float,
) -> dict[Partition, LagCurve]:
    """The lag of every partition over time."""
    curves: dict[Partition, LagCurve] = {partition: [(0.0, 0.0)] for partition in produce}

    def wait(partition: Partition, time: float) -> None:
        """Nobody has read it since its curve ends."""
        since, lag = curves[partition][-1]
        _point(curves[partition], time, lag + produce[partition] * (time - since))

    for stretch in _stretches(spans):
        for partition in stretch.partitions:
            wait(partition, stretch.start)
        _drain(stretch, actors[stretch.member].rate, produce, curves)
    for partition in produce:
        wait(partition, until)
    return curves


def _drain(
    stretch: _Stretch,
    rate: float | None,
    produce: Mapping[Partition, float],
    curves: dict[Partition, LagCurve],
) -> None:
    """One member reads its partitions; their curves go on to the end of the stretch."""
    partitions, now, end = stretch.partitions, stretch.start, stretch.end
    if rate is None:
        for partition in partitions:
            _point(curves[partition], now, 0.0)
            _point(curves[partition], end, 0.0)
        return
    lag = [curves[p][-1][1] for p in partitions]
    while now < end:
        waits = [left > _NOTHING for left in lag]
        read = _shares(rate, [(w, produce[p]) for w, p in zip(waits, partitions, strict=True)])
        slope = [produce[p] - r for p, r in zip(partitions, read, strict=True)]
        empty = [
            now - left / s if w and s < 0 else math.inf
            for w, left, s in zip(waits, lag, slope, strict=True)
        ]
        then = min([end, *empty])
        for at, partition in enumerate(partitions):
            left = lag[at] + slope[at] * (then - now)
            # said empty, and not only found so: late, ``then`` may be ``now`` as far as floats go
            lag[at] = left if left > 1e-6 and empty[at] > then else 0.0
            _point(curves[partition], then, lag[at])
        now = then


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
    spans: Sequence[OwnershipSpan],
    produce: Mapping[Partition, float],
    actors: Mapping[str, ScenarioMember],
    until: float,
) -> dict[str, PushLoad]:
    """What every member would have to bear."""
    sent = dict.fromkeys(produce, 0.0)  # until when
    full = dict.fromkeys(actors, (0.0, 0.0))  # (time, records in the buffer)
    most = dict.fromkeys(actors, 0.0)
    overrun = dict.fromkeys(actors, 0.0)
    first: dict[str, float] = {}
    for stretch in _stretches(spans):
        name, start, end = stretch.member, stretch.start, stretch.end
        actor = actors[name]
        burst = sum(produce[p] * (start - sent[p]) for p in stretch.partitions)
        sent.update(dict.fromkeys(stretch.partitions, end))
        if actor.rate is None:
            continue
        since, held = full[name]
        held = max(held - actor.rate * (start - since), 0.0)
        if held + burst > actor.buffer + _NOTHING:
            overrun[name] += held + burst - actor.buffer
            first.setdefault(name, start)
        held = min(held + burst, actor.buffer)
        rise = sum(produce[p] for p in stretch.partitions) - actor.rate
        level = held + rise * (end - start)
        if level > actor.buffer + _NOTHING:
            overrun[name] += level - actor.buffer
            first.setdefault(name, start + (actor.buffer - held) / rise)
        level = min(max(level, 0.0), actor.buffer)
        most[name] = max(most[name], held, level)
        full[name] = (end, level)
    return {name: PushLoad(most[name], first.get(name), overrun[name]) for name in actors}


def empty_polls(
    spans: Sequence[OwnershipSpan],
    curves: Mapping[Partition, LagCurve],
    produce: Mapping[Partition, float],
    actors: Mapping[str, ScenarioMember],
    until: float,
) -> dict[str, int | None]:
    """Polls of each member that wait in vain; None for a member whose polls do not wait at all and
    so spin. A member that has no lag waits for its next record, one that owns nothing for ever."""
    found: dict[str, float] = dict.fromkeys(actors, 0.0)
    spins: set[str] = set()
    nothing = {a.id: max(min(a.ends_at, until) - a.joins_at, 0.0) for a in actors.values()}
    for stretch in _stretches(spans):
        name, time = stretch.member, stretch.end - stretch.start
        nothing[name] -= time
        actor = actors[name]
        comes = sum(produce[p] for p in stretch.partitions)
        ends = [_at(curves[p], stretch.end) for p in stretch.partitions]
        behind = actor.rate is not None and (comes > actor.rate or any(ends))
        if behind or time <= _NOTHING:
            continue
        if comes == 0:
            nothing[name] += time
        elif actor.poll_timeout_ms == 0:
            spins.add(name)
        else:
            found[name] += math.floor(1000 / comes / actor.poll_timeout_ms) * comes * time
    for name, time in nothing.items():
        if time > _NOTHING and actors[name].poll_timeout_ms == 0:
            spins.add(name)
        elif time > _NOTHING:
            found[name] += time * 1000 / actors[name].poll_timeout_ms
    return {name: None if name in spins else round(found[name]) for name in actors}


def _at(curve: LagCurve, time: float) -> float:
    """Records that wait at a time, to be asked for where the curve bends or is flat."""
    return next((lag for at, lag in reversed(curve) if at <= time + _NOTHING), 0.0)


@dataclass(frozen=True)
class _Stretch:
    """A member owns the same partitions from a time to another."""

    member: str
    start: float
    end: float
    partitions: tuple[Partition, ...]


def _stretches(spans: Sequence[OwnershipSpan]) -> list[_Stretch]:
    """All, in the order in which they begin: whoever had a partition before has ended by then."""
    changes: dict[str, dict[float, list[tuple[bool, Partition]]]] = {}
    for span in spans:
        of_member = changes.setdefault(span.member, {})
        of_member.setdefault(span.start, []).append((True, span.partition))
        of_member.setdefault(span.end, []).append((False, span.partition))
    found: list[_Stretch] = []
    for member, at in changes.items():
        has: dict[Partition, None] = {}
        times = sorted(at)
        for start, end in pairwise(times):
            for comes, partition in sorted(at[start]):  # what goes, goes first
                if comes:
                    has[partition] = None
                else:
                    del has[partition]
            if has:
                found.append(_Stretch(member, start, end, tuple(sorted(has))))
    return sorted(found, key=lambda stretch: (stretch.start, stretch.member))


def _point(curve: LagCurve, time: float, lag: float) -> None:
    """Go on with a curve; a point on the line between its neighbours is left out."""
    if len(curve) > 1 and curve[-1][0] < time:
        (t0, l0), (t1, l1) = curve[-2], curve[-1]
        on_line = t1 > t0 and abs(l0 + (lag - l0) * (t1 - t0) / (time - t0) - l1) < 1e-6
        if on_line:
            curve.pop()
    if not curve or curve[-1] != (time, lag):
        curve.append((time, lag))
