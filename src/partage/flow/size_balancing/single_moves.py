"""Use what is left of a limit on moves: single moves that make the loads more even.

Bands as narrow as the limit allows are found for all slots together, which may leave a few moves.
Each of these brings the slot that is furthest outside its band closer, or lowers the highest load
by weight, and makes neither of the two worse.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.assignment.problem import AssignmentProblem
from partage.flow.size_balancing.band_search import BandSearch
from partage.flow.size_balancing.bands import BalancedSizes, Bands

_STEPS = 1_000
_LEAST = 1e-3
"""The part of the distance or of the load that a move must gain: less is not worth a copy."""


class Limit(Struct, frozen=True):
    """The most moves, and the most bytes moved; None: any number."""

    moves: int | None
    bytes: int | None


def with_single_moves(
    problem: AssignmentProblem, bands: Bands, tolerance: float, slots: Ints, limit: Limit
) -> BalancedSizes:
    """``slots`` [I, any], and single moves within the limit until all loads are within the bands of
    ``tolerance`` or no move helps."""
    search = _SingleMoves(problem, bands, slots)
    for _ in range(_STEPS):
        if not search.step(tolerance, limit):
            break
    return BalancedSizes(search.arrangement(), bands.holding(search.load))


class _SingleMoves(BandSearch):
    """An assignment under change, one move at a time; ``moves``, ``bytes``: what it moves."""

    def __init__(self, problem: AssignmentProblem, bands: Bands, slots: Ints) -> None:
        super().__init__(problem, *bands.at(0.0), slots)
        self.bands, self.weight = bands, problem.weight.astype(np.float64)
        item, _ = self._moved()
        self.moves, self.bytes = len(item), int(self.copied[item].sum())

    def step(self, tolerance: float, limit: Limit) -> bool:
        """Make the best move within the limit; False where none helps."""
        away, height = self._spread(self.load, np.arange(self.problem.slots))
        if away.max() <= tolerance:
            return False
        item, here, there = self._candidates(int(away.argmax()), int(height.argmax()), limit)
        new_here = self._spread(self.load[here] - self.size[item], here)
        new_there = self._spread(self.load[there] + self.size[item], there)
        better, no_worse, after = np.zeros_like(item, np.bool_), np.ones_like(item, np.bool_), []
        for now, one, other in zip((away, height), new_here, new_there, strict=True):
            highest = np.maximum(_of_others(now, here, there), np.maximum(one, other))
            better |= highest < now.max() * (1 - _LEAST)
            no_worse &= highest <= now.max()
            after.append(highest)
        copied = self._added(item, here, there) * self.copied[item]
        order = np.lexsort((there, here, item, copied, after[1], after[0]))
        order = order[(better & no_worse)[order]]
        if not len(order):
            return False
        self._make(*(int(column[order[0]]) for column in (item, here, there)))
        return True

    def _spread(self, load: Ints, slot: Ints) -> tuple[Floats, Floats]:
        """[n] twice: how far loads are from the shares of the slots, and loads by weight."""
        return self.bands.away(load, slot), np.asarray(load * self.weight[slot])

    def _candidates(self, far: int, top: int, limit: Limit) -> tuple[Ints, Ints, Ints]:
        """(item, from, to): moves within the limit that the rules allow, off ``top``, and off or
        onto ``far``, whichever brings it closer to its share."""
        held = self.holds & (self.size > 0)
        assert self.bands.share is not None, "only a share has a distance"
        below = self.load[far] < self.bands.share[far]
        off = np.array([top] if below else sorted({top, far}))
        slot, item = np.nonzero(held[off])
        every = np.arange(self.problem.slots)
        here, there = np.repeat(off[slot], len(every)), np.tile(every, len(item))
        item = np.repeat(item, len(every))
        if below:
            slot, onto = np.nonzero(held)
            item, here = np.concatenate((item, onto)), np.concatenate((here, slot))
            there = np.concatenate((there, np.full(len(onto), far)))
        some = self._allowed(item, here, there)
        some &= self.load[there] + self.size[item] <= self.bands.ceiling[there]
        added = self._added(item, here, there)
        if limit.moves is not None:
            some &= self.moves + added <= limit.moves
        if limit.bytes is not None:
            some &= self.bytes + added * self.copied[item] <= limit.bytes
        return item[some], here[some], there[some]

    def _make(self, item: int, here: int, there: int) -> None:
        added = int(self._added(np.array([item]), here, there)[0])
        self.moves += added
        self.bytes += added * int(self.copied[item])
        self._relocate(item, here, there)


def _of_others(value: Floats, here: Ints, there: Ints) -> Floats:
    """[n] the highest value [E] of all slots but the two."""
    found = np.zeros(len(here))
    for slot in np.argsort(value, kind="stable")[-3:].tolist():
        found = np.where((here != slot) & (there != slot), value[slot], found)
    return found
