"""Counts that leave every item a pick.

A level after a failure is what the taker holds anyway and what it takes over. Where the cap is
near, a slot with the higher of its two counts is closed to items that it could take over with the
lower one, and an item is stuck if all its takers are closed. One taker is little, too: items
compete for it. This is a tabu search: some slots with high counts and as many with low ones
exchange them, those that help the most items and those that harm the fewest, and then keep them for
some rounds; first many at a time, fewer when that helps no more. Often the slots with high counts
end up in few zones, so that no item has all its takers among them.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.certificate import Takeovers
from partage.flow.sorting import distinct

_AT_ONCE = 16
"""The part of the high counts that is exchanged at first."""

_HARM: Ints = np.array([64, 1, 0, 0])
"""By how many ways an item has; from two on, it has enough."""

_SAVED: Ints = -np.diff(_HARM, append=0)
"""The harm that one way more saves, by how many an item has."""

_KEPT, _PATIENCE = 6, 40
"""Rounds in which a slot keeps its new count, and after which the search ends without progress."""

_ROUNDS, _PROGRESS = 8, 0.8
"""It ends, too, where so many rounds leave more than this part of the harm, unless it is little:"""

_LITTLE = 20 * int(_HARM[0])


def counts_with_picks(takeovers: Takeovers, counts: Ints, cap: int) -> Ints:
    """[E] counts within their ranges, near to ``counts``, with which as many items as the search
    can help have an option whose level may grow up to the cap, best of all two."""
    return _Search(takeovers, counts, cap).run()


class _Search:
    """``high`` [E]: the slots with their high counts, ``kept`` until a round; ``harm``: of all
    items.

    The ways of items are pairs of an ``item`` and a ``taker``; those that ``close`` are open only
    if the taker has its low count.
    """

    def __init__(self, takeovers: Takeovers, counts: Ints, cap: int) -> None:
        self.takeovers = takeovers
        self.raisable = takeovers.high > takeovers.low
        room = (cap - takeovers.fixed_of - takeovers.low[takeovers.taker])[takeovers.option]
        taker = takeovers.taker[takeovers.option]
        close = (room == 1) & self.raisable[taker]
        way = distinct(((takeovers.item * takeovers.slots + taker) * 2 + close)[room > 0])
        self.item, self.taker = np.divmod(way // 2, takeovers.slots)
        self.close = way % 2 == 1
        self.kept = np.full(takeovers.slots, -1)
        self._take(counts > takeovers.low)

    def _take(self, high: Bools) -> None:
        self.high = high
        self.open = ~(self.close & high[self.taker])
        ways = np.bincount(self.item[self.open], minlength=self.takeovers.items)
        self.ways = np.minimum(ways, len(_HARM) - 1)
        self.harm = int(_HARM[self.ways].sum())

    def run(self) -> Ints:
        if self.ways.all():
            return self._counts(self.high)
        step = max(1, int(self.high.sum()) // _AT_ONCE)
        best, least, idle, before = self.high, self.harm, 0, int(_HARM[0]) * self.takeovers.items
        for number in count():
            if number % _ROUNDS == 0:
                if least > max(_LITTLE, _PROGRESS * before):
                    break
                before = least
            if self.harm == 0 or idle > _PATIENCE:
                break
            self._exchange(step, number)
            if self.harm < least:
                best, least, idle = self.high, self.harm, 0
            else:
                idle, step = idle + 1, max(1, step // 2)
        return self._counts(best)

    def _counts(self, high: Bools) -> Ints:
        return np.where(high, self.takeovers.high, self.takeovers.low)

    def _exchange(self, most: int, number: int) -> None:
        """Exchange up to so many high counts for low ones, those that help most, in this round."""
        slots = self.takeovers.slots
        ways = self.ways[self.item]
        closed, closable = ~self.open, self.open & self.close
        helped = np.bincount(self.taker[closed], _SAVED[ways[closed]], minlength=slots)
        harmed = np.bincount(self.taker[closable], _SAVED[ways[closable] - 1], minlength=slots)
        free = self.kept < number
        high = np.flatnonzero(free & self.high & (helped > 0))
        low = np.flatnonzero(free & self.raisable & ~self.high)
        exchanged = min(most, len(high), len(low))
        fall = high[np.argsort(-helped[high], kind="stable")[:exchanged]]
        rise = low[np.argsort(harmed[low], kind="stable")[:exchanged]]
        changed = self.high.copy()
        changed[fall], changed[rise] = False, True
        self.kept[fall] = self.kept[rise] = number + _KEPT
        self._take(changed)
