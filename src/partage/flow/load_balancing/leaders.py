"""Search for one leading slot per item, among the slots that hold it, with several loads in bands.

It starts from given leaders. The slot furthest outside a band gives up the leadership of an item,
takes one, or exchanges one with another slot: the step with the highest decrease of the squared
distances is made, until all slots are within their bands or no step helps.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from partage.arrays import Floats, Ints
from partage.flow.assignment import loads_of
from partage.flow.load_balancing.bands import Bands, Penalty
from partage.flow.load_balancing.worst_first import improve_worst_first

_MARGIN = 0.01
_PARTNERS = 12
_LEAST_GAIN, _LEAST_SHARE, _ROUNDING = 1e-15, 1e-6, 1e-12
"""The least decrease of the squared distances, as a share of the slot's, and of the worst."""

_AT_ONCE = 24
"""Changes of single leaders that one step makes at most."""

_Step = tuple[float, list[tuple[int, int]]]
"""The change of the penalty, and (item, new slot) of each change of a leader."""


class LeaderSearch:
    """``sets`` [I, R]: the slots that may lead each item, -1 padded; ``leader`` [I]: one of them;
    ``load`` [K, I]: what leading an item adds; ``base`` [K, E]: loads that stay."""

    def __init__(self, sets: Ints, leader: Ints, load: Ints, base: Ints, bands: Bands) -> None:
        self.sets, self.leader = sets, leader.copy()
        self.penalty = Penalty(bands, _MARGIN)
        unit = self.penalty.unit[:, None]
        self.weight = np.ascontiguousarray((load / unit).T)
        self.load = np.ascontiguousarray((loads_of(leader[:, None], load, base) / unit).T)
        item, column = np.nonzero(sets >= 0)
        slot = sets[item, column]
        order = np.argsort(slot, kind="stable")
        edge = np.searchsorted(slot[order], np.arange(base.shape[1] + 1))
        self.members = [item[order[a:b]] for a, b in pairwise(edge.tolist())]
        self.apart = self.penalty.at(self.load)

    def run(self, stop: Callable[[], bool] = lambda: False) -> Ints:
        """[I] the leading slots."""
        improve_worst_first(lambda: self.apart, self._improve, stop, _LEAST_GAIN)
        return self.leader

    def _lead(self, item: int, there: int) -> None:
        here = int(self.leader[item])
        self.leader[item] = there
        for slot, by in ((here, -1), (there, 1)):
            self.load[slot] += by * self.weight[item]
            self.apart[slot] = self.penalty.at(self.load[slot], slot)

    def _improve(self, slot: int) -> bool:
        """Make the best steps of a slot; False if none helps."""
        before = self.apart[slot]
        items = self.members[slot]
        led = self.leader[items] == slot
        mine, others = items[led], items[~led]
        item, there, change = (
            np.concatenate(pair)
            for pair in zip(self._give(slot, mine), self._take(slot, others), strict=True)
        )
        least = max(_LEAST_GAIN, _LEAST_SHARE * before, _ROUNDING * float(self.apart.max()))
        helps = np.flatnonzero(change < -least)
        best = helps[np.lexsort((there[helps], item[helps], change[helps]))][:_AT_ONCE]
        # an exchange is worth its time only where single changes do little
        if len(mine) and len(others) and (not len(best) or change[best[0]] > -before / 2):
            worth, pair = self._exchange(slot, mine, others)
            if worth < -least and (not len(best) or worth < change[best[0]]):
                for one, to in pair:
                    self._lead(one, to)
                return True
        for at in best.tolist():
            one, to = int(item[at]), int(there[at])
            # earlier changes of this step may have made this one useless
            if self._change(one, to) <= change[at] / 2:
                self._lead(one, to)
        return len(best) > 0

    def _change(self, item: int, there: int) -> float:
        """The change of the penalty if ``there`` leads the item."""
        here, weight = int(self.leader[item]), self.weight[item]
        if here == there:
            return 0.0
        after = self.penalty.at(self.load[here] - weight, here)
        after += self.penalty.at(self.load[there] + weight, there)
        return float(after - self.apart[here] - self.apart[there])

    def _give(self, slot: int, mine: Ints) -> tuple[Ints, Ints, Floats]:
        """(item, new slot, change of the penalty) where another slot leads an item of this one."""
        sets = self.sets[mine]
        row, column = np.nonzero((sets != slot) & (sets >= 0))
        item, there = mine[row], sets[row, column]
        weight = self.weight[item]
        change = self.penalty.at(self.load[slot] - weight, slot) - self.apart[slot]
        change += self.penalty.at(self.load[there] + weight, there) - self.apart[there]
        return item, there, change

    def _take(self, slot: int, others: Ints) -> tuple[Ints, Ints, Floats]:
        """The same where this slot leads an item of another one."""
        weight, of = self.weight[others], self.leader[others]
        change = self.penalty.at(self.load[slot] + weight, slot) - self.apart[slot]
        change += self.penalty.at(self.load[of] - weight, of) - self.apart[of]
        return others, np.full_like(others, slot), change

    def _exchange(self, slot: int, mine: Ints, others: Ints) -> _Step:
        best: _Step = (0.0, [])
        of, sets = self.leader[others], self.sets[mine]
        for other in self._partners(slot, of):
            give, take = mine[(sets == other).any(axis=1)], others[of == other]
            if not len(give) or not len(take):
                continue
            shift = self.weight[give][:, None] - self.weight[take]
            change = self.penalty.at(self.load[slot] - shift, slot) - self.apart[slot]
            change += self.penalty.at(self.load[other] + shift, other) - self.apart[other]
            one, two = divmod(int(change.argmin()), len(take))
            if change[one, two] < best[0]:
                pair = [(int(give[one]), other), (int(take[two]), slot)]
                best = (float(change[one, two]), pair)
        return best

    def _partners(self, slot: int, of: Ints) -> list[int]:
        """Slots that lead items of this one, those with most space for what it has too much of."""
        wrong = np.sign(self.penalty.signed(self.load)[slot])
        low, high = self.penalty.low, self.penalty.high
        middle = (self.load - (low + high) / 2) * self.penalty.scale
        near = np.unique(of)
        space = -(middle[near] * wrong).sum(axis=1)
        return [int(other) for other in near[np.argsort(-space, kind="stable")][:_PARTNERS]]
