"""Which broker takes over each leader, so that no survivor of a failure sends too much.

First each partition chooses its next replica among its followers, those that send most first: the
follower whose broker then uses the smallest share of its limit after the failure (the rule of
longest processing time first). Then, as long as a survivor exceeds its limit, one of the partitions
that it takes over or leads changes: the order of its list, or the broker of its next replica, for
another one in the same rack with space for it. The change with the least excess afterwards is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.problem import Problem
from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import Resource
from partage.cluster import Cluster

_ROWS, _OTHERS = 8, 6
"""Partitions and other brokers that are tried in a step: those that send most, and use least."""
_STEPS = 20
"""Steps per broker at most."""
_LEAST = 1e-9


def spread_takeovers(
    problem: Problem, after: Cluster, resources: Sequence[Resource], asked: Requirement
) -> Cluster:
    """The placement with other followers, and leaders where that helps. One of the resources is
    what leaders send."""
    search = _Takeovers(problem, after, resources, asked)
    search.order()
    search.relieve()
    return after.with_replicas(search.replicas())


class _Takeovers:
    """``lists``: broker positions, leader first. ``taken`` [B + racks, B]: what each broker takes
    over when a broker fails, or a rack. ``sent``, ``limit`` [B]: of what leaders send. ``held``:
    what each replica adds, the limits and the loads of the other resources. ``led``,
    ``taken_over``: the rows that a broker leads, and takes over from what fails."""

    def __init__(
        self, problem: Problem, after: Cluster, resources: Sequence[Resource], asked: Requirement
    ) -> None:
        self.racks_fail = asked.racks_fail
        self.width = after.replicas.shape[1]
        self.lists = [[b for b in row if b >= 0] for row in after.replicas.tolist()]
        self.rack = after.rack.tolist()
        self.usable = problem.slot_brokers
        brokers = len(after.brokers)
        self.taken: Floats = np.zeros((brokers + len(after.rack_names), brokers))
        sent = next(one for one in resources if one.led)
        self.limit = _limits(sent, after)
        self.each = sent.each.astype(np.float64)
        self.sent: Floats = np.zeros(brokers)
        np.add.at(self.sent, after.replicas[:, 0], self.each)
        self.held = [
            (one.each.astype(np.float64), _limits(one, after), np.zeros(brokers))
            for one in resources
            if not one.led
        ]
        self.led: defaultdict[int, set[int]] = defaultdict(set)
        self.taken_over: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        row, column = np.nonzero(after.replicas >= 0)
        for each, _, load in self.held:
            np.add.at(load, after.replicas[row, column], each[row])

    def replicas(self) -> Ints:
        """[P, R] the lists, -1 after the last."""
        rows = [row + [-1] * (self.width - len(row)) for row in self.lists]
        return np.array(rows, dtype=np.int64)

    def order(self) -> None:
        """Let partitions choose their next replica, one after the other."""
        for row in np.lexsort((np.arange(len(self.each)), -self.each)).tolist():
            leader, *followers = self.lists[row]
            orders = [[leader, b, *(c for c in followers if c != b)] for b in followers]
            if orders:
                self.lists[row] = min(orders, key=lambda order: self._worst(row, order))
                self._take(row, self.lists[row], 1)

    def relieve(self) -> None:
        """Make changes while a survivor exceeds its limit and a change helps."""
        for row, order in enumerate(self.lists):
            self._index(row, order)
        stuck = np.zeros(len(self.sent), dtype=np.bool_)
        for _ in range(_STEPS * len(self.usable)):
            most = np.where(stuck, 0, self._after() / self.limit)
            worst = int(most.argmax())
            if most[worst] <= 1:
                return
            stuck[worst] = not self._improve(worst)
            if not stuck[worst]:
                stuck[:] = False

    def _takers(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """(what fails, the broker that takes over) if the leader of a list fails."""
        if len(order) > 1:
            yield order[0], order[1]
        if self.racks_fail:
            home = self.rack[order[0]]
            for b in order:
                if self.rack[b] != home:
                    yield len(self.rack) + home, b
                    break

    def _worst(self, row: int, order: Sequence[int]) -> float:
        """The largest share that a broker uses which takes the partition over."""
        return max(
            float((self.sent[b] + self.taken[fails, b] + self.each[row]) / self.limit[b])
            for fails, b in self._takers(order)
        )

    def _take(self, row: int, order: Sequence[int], sign: int) -> None:
        for fails, b in self._takers(order):
            self.taken[fails, b] += sign * self.each[row]

    def _after(self) -> Floats:
        """[B] what each sends after its worst failure."""
        return np.asarray(self.sent + self.taken.max(axis=0))

    def _improve(self, broker: int) -> bool:
        """Make the best change for a broker. Returns whether there was one."""
        fails = int(self.taken[:, broker].argmax())
        rows = [
            row
            for some in (self.led[broker], self.taken_over[fails, broker])
            for row in sorted(some, key=lambda row: (-self.each[row], row))[:_ROWS]
        ]
        others = self.usable[np.argsort((self._after() / self.limit)[self.usable], kind="stable")]
        best = (-_LEAST, -1, list[int]())
        for row in rows:
            for order in self._changes(row, others.tolist()):
                best = min(best, (self._change(row, order), row, order))
        if best[1] < 0:
            return False
        self._index(best[1], self.lists[best[1]], gone=True)
        self._make(best[1], best[2])
        self._index(best[1], best[2])
        return True

    def _index(self, row: int, order: list[int], *, gone: bool = False) -> None:
        places = [self.led[order[0]], *(self.taken_over[one] for one in self._takers(order))]
        for rows in places:
            if gone:
                rows.discard(row)
            else:
                rows.add(row)

    def _changes(self, row: int, others: Sequence[int]) -> Iterator[list[int]]:
        """Other orders of a list, and other brokers for its next replica."""
        order = self.lists[row]
        for first, second in permutations(order, 2):
            if [first, second] != order[:2]:
                yield [first, second, *(b for b in order if b not in (first, second))]
        if len(order) < 2:
            return
        rack = self.rack[order[1]]
        near = (b for b in others if self.rack[b] == rack and b not in order)
        able = [b for b in near if self._holds(row, b)]
        for b in able[:_OTHERS]:
            yield [order[0], b, *order[2:]]

    def _holds(self, row: int, broker: int) -> bool:
        return all(load[broker] + each[row] <= limit[broker] for each, limit, load in self.held)

    def _change(self, row: int, order: list[int]) -> float:
        """By how much the excess of all brokers grows if a partition has this list."""
        old = self.lists[row]
        brokers = sorted({*old, *order})
        before = self._excess(brokers)
        self._make(row, order)
        after = self._excess(brokers)
        self._make(row, old)
        return after - before

    def _excess(self, brokers: list[int]) -> float:
        most = self.sent[brokers] + self.taken[:, brokers].max(axis=0)
        return float(np.maximum(most / self.limit[brokers] - 1, 0).sum())

    def _make(self, row: int, order: list[int]) -> None:
        old, self.lists[row] = self.lists[row], order
        for one, sign in ((old, -1), (order, 1)):
            self._take(row, one, sign)
            self.sent[one[0]] += sign * self.each[row]
            for each, _, load in self.held:
                load[one] += sign * each[row]


def _limits(resource: Resource, cluster: Cluster) -> Floats:
    return np.array([max(1, resource.limit(broker)) for broker in cluster.brokers], dtype=float)
