"""The lag of a group whose rates and members change, moment by moment.

The rules are those of ``record_flow``: a member shares its rate among its partitions with a lag.
Between two calls of ``advance`` rates and owners are constant. Then the lag of each member's
partitions together rises evenly, or falls evenly to nothing: the highest total lag is at one of
these moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partage.consumers.protocol.messages import Partition
from partage.consumers.record_flow import drain_step

COMMIT_INTERVAL = 5.0
"""Seconds between commits: Kafka's default of ``auto.commit.interval.ms``."""


class Backlog:
    """``rate``: what a member processes per second; ``produce``: what comes in per second, by
    partition. ``now``: until when the lag is known, ``most``: the highest total until then."""

    def __init__(self, rate: float, partitions: Iterable[Partition]) -> None:
        self.rate = rate
        self._lag = dict.fromkeys(partitions, 0.0)
        self.produce: Mapping[Partition, float] = dict(self._lag)
        self.now = self.most = 0.0
        self._held: list[list[Partition]] = []
        self._unowned = list(self._lag)

    def own(self, owners: Mapping[Partition, str]) -> None:
        """From now on these members own the partitions."""
        held: dict[str, list[Partition]] = {}
        for partition in sorted(owners):
            held.setdefault(owners[partition], []).append(partition)
        self._held = list(held.values())
        self._unowned = [one for one in self._lag if one not in owners]

    @property
    def total(self) -> float:
        """The lag of all partitions."""
        return sum(self._lag.values())

    @property
    def reported(self) -> float:
        """The lag that committed offsets show: what was read since the last commit, on average half
        an interval ago, counts too."""
        return self.total + sum(map(self._read, self._held)) * COMMIT_INTERVAL / 2

    def _read(self, held: Sequence[Partition]) -> float:
        """What a member reads per second."""
        behind = any(self._lag[one] > 0 for one in held)
        return self.rate if behind else min(self.rate, sum(self.produce[one] for one in held))

    def advance(self, until: float) -> None:
        """Let time pass."""
        if until <= self.now:
            return
        for held in self._held:
            produced = [self.produce[one] for one in held]
            lag = [self._lag[one] for one in held]
            now = self.now
            while now < until and (any(lag) or sum(produced) > self.rate):
                now = drain_step(produced, lag, self.rate, now, until)
            self._lag.update(zip(held, lag, strict=True))
        for one in self._unowned:
            self._lag[one] += self.produce[one] * (until - self.now)
        self.now = until
        self.most = max(self.most, self.total)
