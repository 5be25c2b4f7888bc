"""The possible leaders of each partition, for given replica sets."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.brokers.figures import next_live, pair_counts
from partage.brokers.problem import Problem


class Choices(Struct, frozen=True, eq=False):
    """Possible leaders, given the replica sets [P, R] (any order, padded with -1).

    Slots are the usable brokers. ``open`` rows have two or more usable replicas; the others are
    fixed, and their leaders and pairs count as base.

    - ``on`` [I, R]: slots of the usable replicas of open rows, ascending after the padding (-1);
      ``may_lead``, ``may_follow`` [I, R]: those that may lead, and that may come second
    - ``item``, ``slot`` [A]: the arcs (position in ``open``, slot) of possible leaders
    - ``base`` [E], ``pair_base`` [E, E]: leaders and (leader, first follower) pairs of fixed rows
    """

    open: Ints
    on: Ints
    may_lead: Bools
    may_follow: Bools
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
        held = np.append(problem.slot_brokers, -1)[on_open]
        may_lead = problem.may_lead(rows, held)
        item, column = np.nonzero(may_lead)
        fixed = np.flatnonzero(~free)
        leader = problem.broker_slot[lists[fixed, 0]]
        follower = problem.broker_slot[next_live(lists[fixed], problem.cluster.alive)]
        base = np.bincount(leader[leader >= 0], minlength=slots)
        pair = (leader >= 0) & (follower >= 0)
        return cls(
            open=rows,
            on=on_open,
            may_lead=may_lead,
            may_follow=problem.may_follow(rows, held),
            item=item.astype(np.int64),
            slot=on_open[item, column],
            base=base.astype(np.int64),
            pair_base=pair_counts(leader[pair], follower[pair], slots, slots),
        )

    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Ordered pairs of different slots of one item, of which the first may lead and the second
        may follow: (item, leader slot, follower slot) [A2]."""
        # slots ascend, so that the pairs do in the order of their columns
        columns = np.array(list(permutations(range(self.on.shape[1]), 2)), dtype=np.int64)
        first, second = columns.reshape(-1, 2).T
        item, pair = np.nonzero(self.may_lead[:, first] & self.may_follow[:, second])
        item = item.astype(np.int64)
        return item, self.on[item, first[pair]], self.on[item, second[pair]]
