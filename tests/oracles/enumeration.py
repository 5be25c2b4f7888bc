"""The simplest oracle: enumerate every placement and every order, score each, take the least.

Only for tiny problems; it validates the faster oracles.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

from tests.oracles.naive_problem import (
    LeaderValue,
    Lists,
    NaiveProblem,
    defects,
    in_order,
    leader_counts,
    leader_value,
    placement_value,
)


def size_of_placement(problem: NaiveProblem) -> int:
    """How many placements there are to look at, legal or not."""
    count = 1
    for row in problem.rows:
        if row.chosen:
            count *= sum(1 for _ in combinations(problem.brokers, row.factor))
    return count


def best_placement(problem: NaiveProblem) -> tuple[Fraction, int, int]:
    ways = [
        combinations(problem.brokers, row.factor) if row.chosen else [row.before]
        for row in problem.rows
    ]
    values = (
        placement_value(problem, lists) for lists in product(*ways) if not defects(problem, lists)
    )
    return min(values, key=lambda value: in_order(problem, value))


def _orders(problem: NaiveProblem, sets: Lists) -> Iterator[Lists]:
    ways = []
    for row, replicas in zip(problem.rows, sets, strict=True):
        if row.chosen:
            able = problem.can_lead(row, replicas)
            orders = [a for a in permutations(replicas) if a[0] in able]
            ways.append([a for a in orders if problem.ends_demoted(row, a)])
        else:
            ways.append([row.before])
    return product(*ways)


def best_order(problem: NaiveProblem, sets: Lists, led: dict[int, int]) -> LeaderValue:
    """The best of all orders whose leader counts are ``led``."""
    return min(
        (
            leader_value(problem, lists)
            for lists in _orders(problem, sets)
            if leader_counts(problem, lists) == led
        ),
        key=lambda v: (v.worst, v.failure_squares, v.leader_changes, v.order_changes),
    )


def best_leaders(problem: NaiveProblem, sets: Lists) -> tuple[int, int]:
    """(least sum of squares of leader counts, fewest leader changes among those)."""
    return min(
        (value.squares, value.leader_changes)
        for value in (leader_value(problem, lists) for lists in _orders(problem, sets))
    )
