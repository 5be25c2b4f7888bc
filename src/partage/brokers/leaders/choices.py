"""The possible leaders of each partition, for given replica sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import next_live
from partage.brokers.problem import Problem

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Choices:
    """Possible leaders, given the replica sets [P, R] (any order, padded with -1).

    Slots are the usable brokers. ``open`` rows have two or more usable replicas; the others are
    fixed, and their leaders and pairs count as base.

    - ``on`` [I, R]: slots of the usable replicas of open rows, ascending after the padding (-1);
      ``may_lead`` [I, R]: those that may lead
    - ``item``, ``slot`` [A]: the arcs (position in ``open``, slot) of possible leaders
    - ``base`` [E], ``pair_base`` [E, E]: leaders and (leader, first follower) pairs of fixed rows
    """

    open: Ints
    on: Ints
    may_lead: Bools
    item: Ints
    slot: Ints
    base: Ints
    pair_base: Ints

    @classmethod
    def of(cls, problem: Problem, replicas: Ints, lists: Ints) -> Choices:
        """Choices among the sets ``replicas``; fixed rows keep the order of ``lists``."""
        slots = len(problem.slot_brokers)
        on = problem.broker_slot[replicas]
        free = problem.chosen & ((on >= 0).sum(axis=1) >= 2)
        rows = np.flatnonzero(free)
        # ascending slots, so that the result does not depend on the order of the sets
        on_open = np.sort(on[rows], axis=1)
        may_lead = problem.may_lead(rows, np.append(problem.slot_brokers, -1)[on_open])
        item, column = np.nonzero(may_lead)
        fixed = np.flatnonzero(~free)
        leader = problem.broker_slot[lists[fixed, 0]]
        follower = problem.broker_slot[next_live(lists[fixed], problem.cluster.alive)]
        base = np.bincount(leader[leader >= 0], minlength=slots)
        pair = (leader >= 0) & (follower >= 0)
        pair_base = np.bincount(leader[pair] * slots + follower[pair], minlength=slots**2)
        return cls(
            open=rows,
            on=on_open,
            may_lead=may_lead,
            item=item.astype(np.int64),
            slot=on_open[item, column],
            base=base.astype(np.int64),
            pair_base=pair_base.reshape(slots, slots).astype(np.int64),
        )

    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Ordered pairs of different slots of one item, of which the first may lead: (item, leader
        slot, follower slot) [A2]."""
        width = self.on.shape[1]
        parts = []
        for i in range(width):
            for j in range(width):
                if i != j:
                    rows = np.flatnonzero(self.may_lead[:, i] & (self.on[:, j] >= 0))
                    parts.append((rows, self.on[rows, i], self.on[rows, j]))
        if not parts:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty
        item, leader, follower = (np.concatenate(part) for part in zip(*parts, strict=True))
        slots = len(self.base)
        item, pair = np.divmod(np.sort((item * slots + leader) * slots + follower), slots**2)
        return item, pair // slots, pair % slots
