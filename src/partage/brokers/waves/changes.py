"""The partitions that a plan reassigns, as the order of the waves needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints

UNLIMITED = 2**62
"""Free bytes of a disk of unknown size."""


class Changes(Struct, frozen=True, eq=False, dict=True):
    """n partitions to reassign, each in one wave, on B brokers.

    - ``free`` [B]: free bytes of each disk before the first wave, below 0 where it overflows
    - ``size`` [n]: bytes of one replica; ``leader`` [n]: the broker that sends it, or -1
    - ``fetching``, ``target``: the (change, broker) of each new replica, ascending by change
    - ``dropping``, ``freed``: the (change, broker) of each replica that is dropped, likewise
    """

    free: Ints
    size: Ints
    leader: Ints
    fetching: Ints
    target: Ints
    dropping: Ints
    freed: Ints

    @cached_property
    def targets(self) -> list[list[int]]:
        """Brokers that fetch a replica, by change."""
        return _by_change(self.fetching, self.target, len(self.size))

    @cached_property
    def drops(self) -> list[list[int]]:
        """Brokers that drop a replica, by change."""
        return _by_change(self.dropping, self.freed, len(self.size))

    @cached_property
    def sizes(self) -> list[int]:
        """``size`` as Python integers."""
        return [int(size) for size in self.size]

    @cached_property
    def leaders(self) -> list[int]:
        """``leader`` as Python integers."""
        return [int(leader) for leader in self.leader]

    @cached_property
    def incoming(self) -> Ints:
        """[B] bytes that each broker fetches in all waves."""
        return self.fetched_by(np.ones(len(self.size), dtype=np.bool_))

    @property
    def short(self) -> Bools:
        """[B] brokers whose free bytes do not hold all that they fetch."""
        return short_of_space(self.free, self.incoming)

    def fetched_by(self, changes: Bools) -> Ints:
        """[B] bytes that each broker fetches in these changes."""
        chosen = changes[self.fetching]
        total = np.zeros(len(self.free), dtype=np.int64)
        np.add.at(total, self.target[chosen], self.size[self.fetching[chosen]])
        return total

    def going_to(self, brokers: Bools) -> Bools:
        """[n] changes in which one of the ``brokers`` [B] fetches a replica."""
        return np.bincount(self.fetching[brokers[self.target]], minlength=len(self.size)) > 0

    def fitting(self, free: Ints) -> Bools:
        """[n] whether each change alone fits into ``free`` [B]."""
        size = self.size[self.fetching]
        lacks = (size > 0) & (size > free[self.target])
        return np.asarray(np.bincount(self.fetching[lacks], minlength=len(self.size)) == 0)

    def overflow(self, wave: Iterable[int], free: Sequence[int]) -> int:
        """Bytes that do not fit into ``free`` [B] if the wave runs now."""
        fetched: Counter[int] = Counter()
        for change in wave:
            for b in self.targets[change]:
                fetched[b] += self.sizes[change]
        return sum(max(n - max(free[b], 0), 0) for b, n in fetched.items())

    def finish(self, wave: Iterable[int], free: list[int]) -> None:
        """Update ``free`` [B] to what it is when the wave has ended."""
        for change in wave:
            for b in self.targets[change]:
                free[b] -= self.sizes[change]
            for b in self.drops[change]:
                free[b] += self.sizes[change]


def short_of_space(free: Ints, incoming: Ints) -> Bools:
    """[B] brokers whose ``free`` bytes do not hold what is still ``incoming``."""
    return np.asarray(incoming > np.maximum(free, 0))


def _by_change(change: Ints, broker: Ints, count: int) -> list[list[int]]:
    """Brokers by change; ``change`` ascends."""
    start = np.searchsorted(change, np.arange(count + 1)).tolist()
    brokers = broker.tolist()
    return [brokers[start[i] : start[i + 1]] for i in range(count)]
