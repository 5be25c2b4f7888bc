"""Search over replica sets and leaders together, for what neither reaches alone.

A replica that leads its item carries the loads of leading with it. Besides moving and exchanging
replicas, as ``replicas`` does, a slot gives up the leadership of an item to another holder or takes
it from one, which moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partage.arrays import Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.load_balancing.bands import Bands
from partage.flow.load_balancing.replicas import LEAST_GAIN, LEAST_SHARE, ReplicaSearch
from partage.flow.load_balancing.worst_first import improve_worst_first


class JointSearch(ReplicaSearch):
    """Replicas whose first column leads. ``held``, ``led`` [K, I]: what each replica adds, and what
    the leader adds besides; bases and bands [K, E] are of both, one after the other."""

    def __init__(
        self,
        problem: AssignmentProblem,
        held: Ints,
        led: Ints,
        base: Ints,
        bands: Bands,
        start: Ints,
    ) -> None:
        super().__init__(problem, np.concatenate((held, np.zeros_like(led))), base, bands, start)
        self.extra = np.zeros((problem.items, len(base)))
        self.extra[:, len(held) :] = (led / self.penalty.unit[len(held) :, None]).T
        leader = np.arange(problem.items) * self.width
        self.leader = leader.copy()
        self.weight[leader] += self.extra
        for k in range(len(base)):
            np.add.at(self.load[:, k], start[:, 0], self.extra[:, k])
        self.leads = np.zeros(len(self.weight), dtype=np.bool_)
        self.leads[leader] = True

    def run(self, stop: Callable[[], bool]) -> None:
        """Repair; ``stop``: asked between steps whether to end."""
        improve_worst_first(
            lambda: self.bands.at(self.load),
            lambda slot: (
                self._lead_better(slot) or self._improve(slot, 1) or self._improve(slot, 3)
            ),
            stop,
        )

    def rows(self) -> Ints:
        """[I, max demand] slots of each item, the leader first, the others ascending, -1 padded."""
        item = np.arange(self.problem.items)
        leader = self.leader % self.width
        first = self.slots[item, leader]
        far = self.problem.slots
        rest = np.where(self.slots < 0, far, self.slots)
        rest[item, leader] = -1
        rest = np.sort(rest, axis=1)
        rest[:, 0] = first
        return np.where(rest == far, -1, rest)

    def _lead_better(self, slot: int) -> bool:
        """Make the best change of one leader that this slot is part of, if any helps."""
        mine = self._on(slot)
        given = mine[self.leads[mine]]
        takers = (given // self.width)[:, None] * self.width + np.arange(self.width)
        row, column = np.nonzero((self.slots.ravel()[takers] >= 0) & ~self.leads[takers])
        taken = mine[~self.leads[mine]]
        old = np.concatenate((given[row], self.leader[taken // self.width]))
        new = np.concatenate((takers[row, column], taken))
        if not len(old):
            return False
        flat = self.slots.ravel()
        here, there, extra = flat[old], flat[new], self.extra[old // self.width]
        penalty, load = self.penalty, self.load
        before = penalty.at(load[here], here) + penalty.at(load[there], there)
        after = penalty.at(load[here] - extra, here) + penalty.at(load[there] + extra, there)
        gain = before - after
        best = int(gain.argmax())
        if gain[best] <= max(LEAST_GAIN, LEAST_SHARE * before[best]):
            return False
        self._hand_over(int(old[best]), int(new[best]))
        return True

    def _hand_over(self, old: int, new: int) -> None:
        extra = self.extra[old // self.width]
        for replica, sign in ((old, -1), (new, 1)):
            self.weight[replica] += sign * extra
            self.load[self.slots.flat[replica]] += sign * extra
            self.leads[replica] = sign > 0
        self.leader[old // self.width] = new
