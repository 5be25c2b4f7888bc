"""How far a wave is, in bytes: read from those brokers that still have something to receive, and
from the leaders that they fetch from, no more often than a small part of the time allows.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka import KafkaAdminClient

from partage.live.admin.states import Key, PartitionState
from partage.live.execution.job import Change, Standing
from partage.live.execution.measuring import Growth, Sizes, needs, read_sizes
from partage.live.execution.pacing import floor_of

WINDOW_SECONDS = 10.0
"""Rates are those of the last seconds."""

SILENT_SECONDS = 60.0
"""How long a broker that did not tell its sizes is left alone: to ask it may take long."""

_SHARE = 0.1
_STEADY = 0.7


class Sparing:
    """Says when to do again what costs the cluster something: after ``seconds``, and so that it
    takes no more than a tenth of the time."""

    def __init__(self, clock: Callable[[], float], seconds: float = 0.0) -> None:
        self._clock, self._seconds = clock, seconds
        self._next = float("-inf")

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def did(self, began: float) -> None:
        """It was done, and began then."""
        now = self._clock()
        self._next = now + max(self._seconds, (now - began) * (1 / _SHARE - 1))


class Meter:
    """The bytes of one wave. ``rates``: what is known already of how partitions grow."""

    def __init__(
        self,
        admin: KafkaAdminClient,
        changes: Sequence[Change],
        rates: Mapping[Key, float],
        clock: Callable[[], float],
    ) -> None:
        self._admin, self._clock = admin, clock
        self._changes = [change for change in changes if change.adding]
        self._rates = dict(rates)
        self._growth = Growth()
        self._size = {change.key: change.size_bytes or 0 for change in self._changes}
        self._has: dict[tuple[int, Key], int] = {}
        self._samples: deque[tuple[float, int, dict[tuple[int, Key], int]]] = deque()
        self._leaders: dict[Key, int | None] = {}
        self._sparing = Sparing(clock)
        self._silent: dict[int, float] = {}
        self._floor = 0

    def look(
        self, now: Mapping[Key, PartitionState], left: Iterable[Change], alive: Iterable[int]
    ) -> None:
        """Take in what has arrived; ``left`` are the changes that are not in place yet."""
        if not self._sparing.due:
            return
        began = self._clock()
        moving = {change.key for change in left}
        self._leaders |= {key: one.leader for key, one in now.items()}
        receivers: dict[int, list[Key]] = defaultdict(list)
        sources: dict[int, list[Key]] = defaultdict(list)
        for change in self._changes:
            leader = self._leaders.get(change.key)
            if change.key in moving:
                for broker in change.adding:
                    receivers[broker].append(change.key)
                if leader is not None and leader not in change.adding:
                    sources[leader].append(change.key)
        told = self._told({*receivers, *sources} & set(alive), receivers, sources)
        there = {b: {k: own[k] for k in sources[b] if k in own} for b, own in told.items()}
        self._growth.look(self._clock(), there)
        for own in there.values():
            self._size |= own
        for broker, own in told.items():
            for key in receivers[broker]:
                self._has[broker, key] = max(own.get(key, 0), 0)
        for change in self._changes:
            if change.key not in moving:
                for broker in change.adding:
                    self._has[broker, change.key] = self._size[change.key]
        self._samples.append((self._clock(), self.done, dict(self._has)))
        while self._samples[-1][0] - self._samples[0][0] > WINDOW_SECONDS:
            self._samples.popleft()
        self._sparing.did(began)

    def _told(
        self,
        brokers: Iterable[int],
        receivers: Mapping[int, list[Key]],
        sources: Mapping[int, list[Key]],
    ) -> Sizes:
        found: Sizes = {}
        for broker in sorted(brokers):
            if self._clock() < self._silent.get(broker, float("-inf")):
                continue
            wanted = {*receivers.get(broker, ()), *sources.get(broker, ())}
            told = read_sizes(self._admin, {broker: wanted})
            found |= told
            if not told:
                self._silent[broker] = self._clock() + SILENT_SECONDS
        return found

    # ------------------------------------------------------------------ what it has seen

    @property
    def total(self) -> int:
        """Bytes that the new replicas of the wave shall have."""
        return sum(self._size[change.key] * len(change.adding) for change in self._changes)

    @property
    def done(self) -> int:
        """Bytes that they have."""
        return sum(min(size, self._size[key]) for (_, key), size in self._has.items())

    @property
    def rate(self) -> float | None:
        """Bytes per second that all new replicas together have got."""
        if len(self._samples) < 2:
            return None
        (first, before, _), (last, after, _) = self._samples[0], self._samples[-1]
        return (after - before) / (last - first) if last > first and after > before else None

    @property
    def eta_seconds(self) -> float | None:
        rate = self.rate
        return (self.total - self.done) / rate if rate else None

    def floor(self, left: Sequence[Change]) -> int:
        """The lowest rate at which these end."""
        sends, fetches = needs(left, self._known(), self._leaders)
        fresh = floor_of(max((*sends.values(), *fetches.values()), default=0.0))
        if not _STEADY * self._floor <= fresh <= self._floor:
            # with some room, so that not every breath of the producers makes it another one
            self._floor = round(fresh / math.sqrt(_STEADY)) if self._floor else fresh
        return self._floor

    def copied(self, left: Sequence[Change]) -> float | None:
        """Bytes per second of throttled partitions that the busiest broker sends or fetches."""
        if len(self._samples) < 2:
            return None
        (first, _, before), (last, _, after) = self._samples[0], self._samples[-1]
        if last <= first:
            return None
        sends: dict[int, float] = defaultdict(float)
        fetches: dict[int, float] = defaultdict(float)
        for change in left:
            leader = self._leaders.get(change.key)
            in_sync = self._known().get(change.key, 0.0) * (len(change.origin) - 1)
            for broker in change.adding:
                at = broker, change.key
                got = max(after.get(at, 0) - before.get(at, 0), 0) / (last - first)
                fetches[broker] += got
                if leader is not None:
                    sends[leader] += got
            if leader is not None:
                sends[leader] += in_sync
        return max((*sends.values(), *fetches.values()), default=None)

    def _known(self) -> dict[Key, float]:
        """What was measured on the way goes before what was known."""
        return self._rates | self._growth.rates()


def arrived(change: Change, now: PartitionState | None) -> bool:
    """Whether a partition is where it shall be, with its new replicas in sync."""
    done = now is not None and change.standing(now) is Standing.DONE
    return done and now is not None and set(change.adding) <= set(now.isr)
