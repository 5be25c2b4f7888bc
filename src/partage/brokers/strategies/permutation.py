"""Permutation: match partitions with even lists, generated in advance. No racks.

The method enumerates all ordered lists of distinct brokers, in an order of which every prefix is an
even share. It takes as many lists as there are partitions, starting over when all are used, and
matches them with the current lists so that few replicas move.

*The order.* With brokers 1 to 4 and two replicas::

    (1,2) (2,3) (3,4) (4,1)
    (1,3) (2,4) (3,1) (4,2)
    (1,4) (2,1) (3,2) (4,3)

Within a line each broker appears once at each position of the list; from line to line the distance
of the follower from the leader grows by one. So leader counts differ by at most one, and so does
what each broker takes over when another one fails: after ``brokers - 1`` lines each broker has
followed each other broker once. Replica counts differ by at most the replication factor, and only
within an incomplete line.

The survey gives no order for longer lists. Here the distance of the first follower still grows by
one from line to line, which preserves the properties above, and the other followers come next after
it: (1,2,3) ..., (1,3,4) ..., (1,4,2) .... When all first followers have been used, the other
followers change to the next permutation, in lexicographic order, of the brokers that neither lead
nor follow first, counted from the first follower.

*The matching.* The cost of a partition and a list is the number of replicas that move, then whether
the leader changes, then whether the list changes at all. The cheapest perfect matching
(Kuhn-Munkres) gives each partition its list. Partitions of each replication factor are matched
separately.

The moves are minimal only among lists that were generated without regard to the current ones. With
many brokers there are so many lists that hardly any partition finds one like its own, which is why
the author abandoned the method. A second run generates the same lists and matches each partition
with its own: it changes nothing. The cost matrix is partitions by partitions, hence ``LIMIT``.

Source: the survey "Kafka reassignment 方案" (sayuan.github.io, 2022), an earlier method of its
author.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice, permutations

import numpy as np

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import with_lists
from partage.errors import CannotError

LIMIT = 3_000
"""Partitions of one replication factor: time is cubic, memory quadratic in their number."""


def permutation(problem: Problem) -> Ints:
    """Replica lists [P, R].

    Raises CannotError with ``no_moves``, and with more than ``LIMIT`` partitions of one replication
    factor.
    """
    if problem.options.no_moves:
        raise CannotError("moves replicas by design: it assigns lists generated in advance")
    today, target = problem.cluster.replicas[problem.items], problem.target[problem.items]
    lists: list[list[int]] = [[] for _ in target]
    for factor in np.unique(target).tolist():
        alike = np.flatnonzero(target == factor)
        if len(alike) > LIMIT:
            raise CannotError(
                f"matches at most {LIMIT:,} partitions of one replication factor: "
                f"{len(alike):,} have {factor}"
            )
        taken = islice(cycle(assignments(len(problem.slot_brokers), factor)), len(alike))
        laid_out = problem.slot_brokers[np.array(list(taken), dtype=np.int64)]
        assigned = laid_out[match(today[alike], laid_out, len(problem.usable))]
        for item, replicas in zip(alike.tolist(), assigned.tolist(), strict=True):
            lists[item] = replicas
    return with_lists(problem, lists)


def assignments(brokers: int, factor: int) -> Iterator[tuple[int, ...]]:
    """All lists of ``factor`` distinct brokers, 0 to ``brokers - 1``, in the order above."""
    if factor == 1:
        yield from ((leader,) for leader in range(brokers))
        return
    for others in permutations(range(1, brokers - 1), factor - 2):
        for first in range(1, brokers):
            # positions after the first follower, on the ring of all brokers but the leader
            distances = (0, first, *((first - 1 + other) % (brokers - 1) + 1 for other in others))
            for leader in range(brokers):
                yield tuple((leader + distance) % brokers for distance in distances)


def match(current: Ints, lists: Ints, brokers: int) -> Ints:
    """[N] for each of the ``current`` lists [N, any] (padded with -1), an index into
    ``lists`` [N, R]."""
    # importing scipy.optimize takes a quarter of a second, which other strategies should not pay
    from scipy.optimize import linear_sum_assignment

    count = len(current)
    held = np.zeros((count, brokers + 1), dtype=np.bool_)
    held[np.arange(count)[:, None], current] = True
    moves = np.zeros((count, count), dtype=np.int64)
    for column in lists.T:
        moves += ~held[:, column]
    factor = lists.shape[1]
    same = np.repeat((current >= 0).sum(axis=1)[:, None] == factor, count, axis=1)
    for place in range(min(factor, current.shape[1])):
        same &= current[:, place, None] == lists[:, place]
    leads = current[:, :1] == lists[:, 0]
    # one move outweighs all leader changes, and one leader change all changes of lists
    weight = (moves * (count + 1) + ~leads) * (count + 1) + ~same
    return np.asarray(linear_sum_assignment(weight)[1], dtype=np.int64)
