"""How members keep up with the records of their partitions: lag, pushed load, empty polls.

All are computed exactly, as flows of records between the moments at which something changes.

*Pull*, as Kafka works: records wait on the broker, and their number is the lag. A member processes
records at its rate, divided equally among its partitions with a lag; from a partition without a lag
it takes at most what is produced. A poll that finds no records waits for ``poll_timeout_ms`` and
then returns empty.

*Push*, for comparison: the broker sends what is produced and, after a time without an owner, at
once all that has accumulated. What a member cannot process waits in its buffer, and what does not
fit into the buffer overruns it. Nothing slows the broker down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from partage.consumers.protocol.messages import Partition
from partage.consumers.scenario import ScenarioMember

_TOLERANCE = 1e-9
"""Records and seconds up to this count as none."""
_LAG_TOLERANCE = 1e-6
_ALWAYS: Mapping[Partition, tuple[float, float]] = {}


@dataclass(frozen=True)
class OwnershipSpan:
    """A member owns a partition from ``start`` to ``end``, in seconds."""

    partition: Partition
    member: str
    start: float
    end: float


@dataclass(frozen=True)
class PushLoad:
    """What pushing does to a member, in records.

    - ``most``: the most that its buffer held
    - ``overrun_at``: when its buffer first overran, in seconds; None: never
    - ``overrun``: records that did not fit
    """

    most: float
    overrun_at: float | None
    overrun: float


LagCurve = list[tuple[float, float]]
"""(seconds, records): linear between one point and the next."""


def pull(
    spans: Sequence[OwnershipSpan],
    produce: Mapping[Partition, float],
    members: Mapping[str, ScenarioMember],
    until: float,
    lifetimes: Mapping[Partition, tuple[float, float]] = _ALWAYS,
) -> dict[Partition, LagCurve]:
    """The lag of every partition over time. ``produce``: records per second; ``lifetimes``: from
    when until when a partition exists, by default always."""
    always = (0.0, until)
    curves: dict[Partition, LagCurve] = {p: [(lifetimes.get(p, always)[0], 0.0)] for p in produce}

    def accumulate(partition: Partition, time: float) -> None:
        """No member has read the partition since the end of its curve."""
        since, lag = curves[partition][-1]
        _add_point(curves[partition], time, lag + produce[partition] * (time - since))

    for stretch in _stretches(spans):
        for partition in stretch.partitions:
            accumulate(partition, stretch.start)
        _drain(stretch, members[stretch.member].rate, produce, curves)
    for partition in produce:
        end = lifetimes.get(partition, always)[1]
        accumulate(partition, end)
        if end < until:
            _add_point(curves[partition], end, 0.0)
    return curves


def _drain(
    stretch: _Stretch,
    rate: float | None,
    produce: Mapping[Partition, float],
    curves: dict[Partition, LagCurve],
) -> None:
    """Continue the curves of a member's partitions to the end of the stretch."""
    partitions, now, end = stretch.partitions, stretch.start, stretch.end
    if rate is None:
        for partition in partitions:
            _add_point(curves[partition], now, 0.0)
            _add_point(curves[partition], end, 0.0)
        return
    produced = [produce[p] for p in partitions]
    lag = [curves[p][-1][1] for p in partitions]
    while now < end:
        now = drain_step(produced, lag, rate, now, end)
        for partition, left in zip(partitions, lag, strict=True):
            _add_point(curves[partition], now, left)


def drain_step(
    produced: Sequence[float], lag: list[float], rate: float, now: float, end: float
) -> float:
    """Update ``lag`` to the next moment at which a partition has no lag any more, at most ``end``.
    Returns that moment."""
    lagging = [left > _TOLERANCE for left in lag]
    read = _read_rates(rate, lagging, produced)
    slope = [comes - r for comes, r in zip(produced, read, strict=True)]
    empty = [
        now - left / s if behind and s < 0 else math.inf
        for behind, left, s in zip(lagging, lag, slope, strict=True)
    ]
    then = min([end, *empty])
    for at, left in enumerate(lag):
        left += slope[at] * (then - now)
        # Set to 0 explicitly: at large times ``then`` can equal ``now`` in floating point.
        lag[at] = left if left > _LAG_TOLERANCE and empty[at] > then else 0.0
    return then


def _read_rates(rate: float, lagging: Sequence[bool], produced: Sequence[float]) -> list[float]:
    """Records per second that a member reads from each partition: equal shares of its rate, but at
    most what is produced where the partition has no lag."""
    limits = [
        math.inf if behind else comes for behind, comes in zip(lagging, produced, strict=True)
    ]
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
    members: Mapping[str, ScenarioMember],
    lifetimes: Mapping[Partition, tuple[float, float]] = _ALWAYS,
) -> dict[str, PushLoad]:
    """The load of every member if the broker pushed records. ``lifetimes``: as for ``pull``."""
    sent_until = {p: lifetimes[p][0] if p in lifetimes else 0.0 for p in produce}
    buffers = {name: _Buffer(member) for name, member in members.items()}
    for stretch in _stretches(spans):
        burst = sum(produce[p] * (stretch.start - sent_until[p]) for p in stretch.partitions)
        sent_until.update(dict.fromkeys(stretch.partitions, stretch.end))
        comes = sum(produce[p] for p in stretch.partitions)
        buffers[stretch.member].fill(stretch.start, stretch.end, burst, comes)
    return {
        name: PushLoad(buffer.most, buffer.overrun_at, buffer.overrun)
        for name, buffer in buffers.items()
    }


class _Buffer:
    """The records in a member's buffer over time."""

    def __init__(self, member: ScenarioMember) -> None:
        self.rate, self.size = member.rate, member.buffer
        self.most = self.overrun = 0.0
        self.overrun_at: float | None = None
        self._time = self._level = 0.0

    def fill(self, start: float, end: float, burst: float, comes: float) -> None:
        """A burst of records at ``start``, then ``comes`` records per second until ``end``."""
        if self.rate is None:
            return
        level = max(self._level - self.rate * (start - self._time), 0.0) + burst
        if level > self.size + _TOLERANCE:
            self._overrun(level - self.size, start)
        held = min(level, self.size)
        rise = comes - self.rate
        level = held + rise * (end - start)
        if level > self.size + _TOLERANCE:
            self._overrun(level - self.size, start + (self.size - held) / rise)
        level = min(max(level, 0.0), self.size)
        self.most = max(self.most, held, level)
        self._time, self._level = end, level

    def _overrun(self, records: float, at: float) -> None:
        self.overrun += records
        self.overrun_at = at if self.overrun_at is None else self.overrun_at


def empty_polls(
    spans: Sequence[OwnershipSpan],
    curves: Mapping[Partition, LagCurve],
    produce: Mapping[Partition, float],
    members: Mapping[str, ScenarioMember],
    until: float,
) -> dict[str, int | None]:
    """The number of polls of each member that return empty; None for a member whose polls do not
    wait at all, so that it polls in a busy loop. A member without lag waits for its next record, a
    member without partitions until its end."""
    found: dict[str, float] = dict.fromkeys(members, 0.0)
    busy_loop: set[str] = set()
    # seconds of each member without a record to read
    idle = {m.id: max(min(m.ends_at, until) - m.joins_at, 0.0) for m in members.values()}
    for stretch in _stretches(spans):
        name, time = stretch.member, stretch.end - stretch.start
        idle[name] -= time
        comes = sum(produce[p] for p in stretch.partitions)
        if time <= _TOLERANCE or _is_behind(stretch, members[name], curves, comes):
            continue
        timeout = members[name].poll_timeout_ms
        if comes == 0:
            idle[name] += time
        elif timeout == 0:
            busy_loop.add(name)
        else:
            found[name] += math.floor(1000 / comes / timeout) * comes * time
    for name, time in idle.items():
        if time > _TOLERANCE and members[name].poll_timeout_ms == 0:
            busy_loop.add(name)
        elif time > _TOLERANCE:
            found[name] += time * 1000 / members[name].poll_timeout_ms
    return {name: None if name in busy_loop else round(found[name]) for name in members}


def _is_behind(
    stretch: _Stretch,
    member: ScenarioMember,
    curves: Mapping[Partition, LagCurve],
    comes: float,
) -> bool:
    """Whether the member still has a lag at the end of the stretch, so that no poll is empty."""
    if member.rate is None:
        return False
    return comes > member.rate or any(_lag_at(curves[p], stretch.end) for p in stretch.partitions)


def _lag_at(curve: LagCurve, time: float) -> float:
    """The lag at a time that is a point of the curve, or where the curve is flat."""
    return next((lag for at, lag in reversed(curve) if at <= time + _TOLERANCE), 0.0)


@dataclass(frozen=True)
class _Stretch:
    """A time during which a member owns the same partitions."""

    member: str
    start: float
    end: float
    partitions: tuple[Partition, ...]


def _stretches(spans: Sequence[OwnershipSpan]) -> list[_Stretch]:
    """All stretches by start time: the previous owner's stretch has ended by then."""
    changes: dict[str, dict[float, list[tuple[bool, Partition]]]] = {}
    for span in spans:
        of_member = changes.setdefault(span.member, {})
        of_member.setdefault(span.start, []).append((True, span.partition))
        of_member.setdefault(span.end, []).append((False, span.partition))
    found: list[_Stretch] = []
    for member, at in changes.items():
        owned: dict[Partition, None] = {}
        times = sorted(at)
        for start, end in pairwise(times):
            for begins, partition in sorted(at[start]):  # False first: spans that end
                if begins:
                    owned[partition] = None
                else:
                    del owned[partition]
            if owned:
                found.append(_Stretch(member, start, end, tuple(sorted(owned))))
    return sorted(found, key=lambda stretch: (stretch.start, stretch.member))


def _add_point(curve: LagCurve, time: float, lag: float) -> None:
    """Extend a curve; a point on the line between its neighbours is removed."""
    if len(curve) > 1 and curve[-1][0] < time:
        (t0, l0), (t1, l1) = curve[-2], curve[-1]
        on_line = t1 > t0 and abs(l0 + (lag - l0) * (t1 - t0) / (time - t0) - l1) < _LAG_TOLERANCE
        if on_line:
            curve.pop()
    if not curve or curve[-1] != (time, lag):
        curve.append((time, lag))
