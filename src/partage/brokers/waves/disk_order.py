"""The order of the waves in which old and new copies fit on every disk.

While a wave runs, a broker holds what it held when the wave began and what it fetches in it; what
it drops is freed when the wave has ended. So what frees a disk must come before what needs the
space. Three ways are tried, each only if the one before fails:

1. *Unchanged.* The waves as they are.
2. *With delays.* The next wave is the one, of the next few, that overflows least; changes that do
   not fit wait. Changes that already wait, or that belong to later waves, take their places if they
   fit, so that the later waves have space for those that wait.
3. *In a safe order.* Way 2 may run into a dead end, where nothing that is left fits. Then the waves
   follow a safe order of single changes (``safe_order.py``), filled up with harmless ones.

Changes that fetch nothing and only free a disk that is short of space come before all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.waves.changes import Changes, short_of_space
from partage.brokers.waves.safe_order import safe_order

_LOOKAHEAD = 32
"""Waves among which the next one is chosen if the first of them does not fit."""


class WaveLimits(Struct, frozen=True):
    """``concurrency``: new replicas of a wave per broker, in and out; ``batch``: changes of a wave,
    None without a limit."""

    concurrency: int
    batch: int | None


def order_waves(changes: Changes, waves: Sequence[Ints], limits: WaveLimits) -> list[list[int]]:
    """The waves (changes each), reordered until every disk holds; they keep the limits.

    Raises DeadEndError.
    """
    moving = [wave.tolist() for wave in waves]
    if _fits(changes, moving):
        return moving
    freeing = _only_freeing(changes)
    step = limits.batch or max(len(freeing), 1)
    first = [freeing[i : i + step] for i in range(0, len(freeing), step)]
    ordered = _Delays(changes, moving, limits).run(first)
    if ordered is None:
        order = safe_order(changes, freeing, [change for wave in moving for change in wave])
        ordered = _along(changes, first, order, limits)
    assert _fits(changes, ordered)
    return ordered


def _only_freeing(changes: Changes) -> list[int]:
    """The changes that fetch nothing and free bytes on a disk that is short of space."""
    helps = np.zeros(len(changes.size), dtype=np.bool_)
    sized = changes.size[changes.dropping] > 0
    helps[changes.dropping[changes.short[changes.freed] & sized]] = True
    helps[changes.fetching] = False
    return [int(change) for change in np.flatnonzero(helps)]


def _fits(changes: Changes, waves: Iterable[Sequence[int]]) -> bool:
    """Whether every disk holds, wave by wave."""
    if not changes.short.any():
        return True
    free = changes.free.tolist()
    for wave in waves:
        if changes.overflow(wave, free):
            return False
        changes.finish(wave, free)
    return True


class _Wave:
    """A wave being filled; ``free`` [B]: the free bytes when it begins."""

    def __init__(self, changes: Changes, free: Sequence[int], limits: WaveLimits) -> None:
        self.changes, self.free, self.limits = changes, free, limits
        self.members: list[int] = []
        self.replicas_in: Counter[int] = Counter()
        self.replicas_out: Counter[int] = Counter()
        self.bytes_in: Counter[int] = Counter()

    def add(self, change: int) -> bool:
        """Add the change if it keeps the limits and fits on the disks."""
        changes, concurrency = self.changes, self.limits.concurrency
        targets, leader = changes.targets[change], changes.leaders[change]
        size = changes.sizes[change]
        # a partition with more new replicas than allowed has its leader to itself
        sent = min(len(targets), concurrency)
        if len(self.members) == self.limits.batch:
            return False
        if leader >= 0 and self.replicas_out[leader] + sent > concurrency:
            return False
        if not all(self._accepts(b, size) for b in targets):
            return False
        for b in targets:
            self.replicas_in[b] += 1
            self.bytes_in[b] += size
        if leader >= 0:
            self.replicas_out[leader] += sent
        self.members.append(change)
        return True

    def _accepts(self, broker: int, size: int) -> bool:
        if self.replicas_in[broker] == self.limits.concurrency:
            return False
        return not size or self.bytes_in[broker] + size <= self.free[broker]

    def add_fitting(self, candidates: Bools, order: tuple[Ints | Bools, ...]) -> None:
        """Add those of the ``candidates`` [n] that fit, in the lexicographic ``order`` (keys [n],
        the last one first)."""
        changes, brokers = self.changes, len(self.free)
        receiving = np.zeros(brokers, dtype=np.bool_)
        receiving[self._full(self.replicas_in)] = True
        sending = np.zeros(brokers + 1, dtype=np.bool_)  # one more for no leader
        sending[self._full(self.replicas_out)] = True
        may = candidates & changes.fitting(np.array(self.free)) & ~sending[changes.leader]
        may[changes.fetching[receiving[changes.target]]] = False
        rows = np.flatnonzero(may)
        for change in rows[np.lexsort(tuple(key[rows] for key in order))].tolist():
            self.add(change)

    def _full(self, replicas: Counter[int]) -> list[int]:
        return [b for b, n in replicas.items() if n == self.limits.concurrency]


class _Delays:
    """The second way. ``todo`` [n]: not yet in a wave; ``waits`` [n]: of those, its wave is over;
    ``left``: the waves not yet run."""

    def __init__(self, changes: Changes, waves: list[list[int]], limits: WaveLimits) -> None:
        self.changes, self.limits = changes, limits
        self.free = changes.free.tolist()
        self.left = [list(members) for members in waves]
        count = len(changes.size)
        self.wave_of = np.full(count, -1, dtype=np.int64)
        self.place = np.zeros(count, dtype=np.int64)
        for number, members in enumerate(waves):
            self.wave_of[members] = number
            self.place[members] = np.arange(len(members))
        self.todo = self.wave_of >= 0
        self.waits = np.zeros(count, dtype=np.bool_)

    def run(self, first: list[list[int]]) -> list[list[int]] | None:
        """The waves after those that come ``first``; None at a dead end."""
        done = [*first]
        for members in done:
            self.changes.finish(members, self.free)
        while self.todo.any():
            members = self._next_wave()
            if not members:
                return None
            self.changes.finish(members, self.free)
            done.append(members)
        return done

    def _next_wave(self) -> list[int]:
        wave = _Wave(self.changes, self.free, self.limits)
        for change in self._pop_planned():
            self.waits[change] = not wave.add(change)
        self.todo[wave.members] = False
        if self.waits.any():
            wave.add_fitting(self.todo, (self.place, self.wave_of, ~self.waits))
            self.todo[wave.members] = self.waits[wave.members] = False
        return wave.members

    def _pop_planned(self) -> list[int]:
        """The members of the next planned wave: the first, or the one that overflows least."""
        changes, free = self.changes, self.free
        near = ([change for change in wave if self.todo[change]] for wave in self.left[:_LOOKAHEAD])
        self.left[:_LOOKAHEAD] = [members for members in near if members]
        if not self.left:
            return []
        overflow = [changes.overflow(self.left[0], free)]
        if overflow[0]:
            overflow += [changes.overflow(members, free) for members in self.left[1:_LOOKAHEAD]]
        return self.left.pop(overflow.index(min(overflow)))


def _along(
    changes: Changes, first: list[list[int]], order: list[int], limits: WaveLimits
) -> list[list[int]]:
    """Waves along a safe order; where a wave cannot take the next change, harmless ones fill it."""
    free = changes.free.tolist()
    done = [*first]
    for members in done:
        changes.finish(members, free)
    left = np.array(order, dtype=np.int64)
    todo = np.zeros(len(changes.size), dtype=np.bool_)
    todo[left] = True
    incoming = changes.incoming.copy()
    while len(left):
        wave = _Wave(changes, free, limits)
        along = 0
        while along < len(left) and wave.add(int(left[along])):
            along += 1
        harmless = ~changes.going_to(short_of_space(np.array(free), incoming))
        behind = left[along + 1 :]
        for change in behind[harmless[behind]].tolist():
            wave.add(change)
        for change in wave.members:
            incoming[changes.targets[change]] -= changes.sizes[change]
        todo[wave.members] = False
        left = left[todo[left]]
        changes.finish(wave.members, free)
        done.append(wave.members)
    return done
