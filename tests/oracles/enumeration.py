"""The most naive oracle: write down every placement and every order, score each, take the least.

Only for the tiniest jobs; it is there to keep the cleverer oracles honest.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

from tests.oracles.job import (
    Job,
    LeaderValue,
    Lists,
    defects,
    in_order,
    leader_counts,
    leader_value,
    placement_value,
)


def size_of_placement(job: Job) -> int:
    """How many placements there are to look at, legal or not."""
    count = 1
    for row in job.rows:
        if row.chosen:
            count *= sum(1 for _ in combinations(job.brokers, row.factor))
    return count


def best_placement(job: Job) -> tuple[Fraction, int, int]:
    ways = [
        combinations(job.brokers, row.factor) if row.chosen else [row.before] for row in job.rows
    ]
    values = (placement_value(job, lists) for lists in product(*ways) if not defects(job, lists))
    return min(values, key=lambda value: in_order(job, value))


def _orders(job: Job, sets: Lists) -> Iterator[Lists]:
    ways = []
    for row, replicas in zip(job.rows, sets, strict=True):
        if row.chosen:
            able = job.can_lead(replicas)
            ways.append([a for a in permutations(replicas) if a[0] in able])
        else:
            ways.append([row.before])
    return product(*ways)


def best_order(job: Job, sets: Lists, led: dict[int, int]) -> LeaderValue:
    """The best of all orders whose leader counts are ``led``."""
    return min(
        (
            leader_value(job, lists)
            for lists in _orders(job, sets)
            if leader_counts(job, lists) == led
        ),
        key=lambda v: (v.worst, v.failure_squares, v.leader_changes, v.order_changes),
    )


def best_leaders(job: Job, sets: Lists) -> tuple[int, int]:
    """(least sum of squares of leader counts, fewest leader changes among those)."""
    return min(
        (value.squares, value.leader_changes)
        for value in (leader_value(job, lists) for lists in _orders(job, sets))
    )
