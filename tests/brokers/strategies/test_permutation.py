"""Strategy ``permutation``: the table of the survey that describes it, its promises, and the
matching against every way to deal the lists out."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import islice, pairwise, permutations
from math import perm

import pytest

from partage.brokers.compare import Comparison, solve_with_each
from partage.brokers.posing.resolving import resolve
from partage.brokers.strategies.permutation import LIMIT, assignments, permutation
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.matrices import decided, matrix, problem_of, text
from tests.profiles import seeds

SURVEY = """
1,2 2,3 3,4 4,1
1,3 2,4 3,1 4,2
1,4 2,1 3,2 4,3
"""


def laid_out(brokers: int, factor: int, count: int | None = None) -> list[list[int]]:
    """The first lists, brokers numbered from 1."""
    return [[b + 1 for b in row] for row in islice(assignments(brokers, factor), count)]


lists_of = partial(decided, permutation)


# ------------------------------------------------------------------ the order


def test_the_table_of_the_survey() -> None:
    assert laid_out(4, 2) == matrix(SURVEY)


def test_three_partitions_take_the_first_three() -> None:
    problem = problem_of("3,4 1,2 2,3", "1 2 3 4")
    assert sorted(lists_of(problem)) == [[1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize(
    ("brokers", "factor", "expected"),
    [
        (1, 1, "1"),
        (3, 1, "1 2 3"),
        (2, 2, "1,2 2,1"),
        (3, 3, "1,2,3 2,3,1 3,1,2 1,3,2 2,1,3 3,2,1"),
        (4, 3, "1,2,3 2,3,4 3,4,1 4,1,2 1,3,4 2,4,1 3,1,2 4,2,3 1,4,2 2,1,3 3,2,4 4,3,1 1,2,4"),
    ],
)
def test_other_factors(brokers: int, factor: int, expected: str) -> None:
    lists = matrix(expected)
    assert laid_out(brokers, factor, len(lists)) == lists


@pytest.mark.parametrize("brokers", range(1, 7))
def test_every_list_once(brokers: int) -> None:
    for factor in range(1, brokers + 1):
        lists = [tuple(row) for row in laid_out(brokers, factor)]
        assert len(lists) == perm(brokers, factor)
        assert set(lists) == set(permutations(range(1, brokers + 1), factor))


@pytest.mark.parametrize(("brokers", "factor"), [(4, 2), (5, 3), (7, 3), (6, 4)])
def test_however_many_are_taken_they_are_even(brokers: int, factor: int) -> None:
    everyone = range(1, brokers + 1)
    lists = laid_out(brokers, factor, 3 * brokers * (brokers - 1))
    for count in range(1, len(lists) + 1):
        rows = lists[:count]
        leaders = Counter(row[0] for row in rows)
        replicas = Counter(b for row in rows for b in row)
        pairs = Counter((row[0], row[1]) for row in rows)
        assert max(leaders.values()) - min(leaders[b] for b in everyone) <= 1
        assert max(replicas.values()) - min(replicas[b] for b in everyone) <= factor
        assert max(pairs.values()) - min(pairs[p] for p in permutations(everyone, 2)) <= 1


# ------------------------------------------------------------------ the matching


def cost(before: list[int], after: list[int]) -> tuple[int, int, int]:
    return len(set(after) - set(before)), int(before[0] != after[0]), int(before != after)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(40))
def test_no_way_to_deal_them_out_costs_less(seed: int) -> None:
    draw = random.Random(seed)
    size = draw.randint(2, 5)
    had, factor = draw.randint(1, size), draw.randint(1, size)
    before = [draw.sample(range(1, size + 1), had) for _ in range(draw.randint(1, 6))]
    brokers = " ".join(map(str, range(1, size + 1)))
    lists = lists_of(problem_of(text(before), brokers, replication_factor=str(factor)))

    table = laid_out(size, factor)
    dealt = [table[i % len(table)] for i in range(len(before))]
    assert sorted(lists) == sorted(dealt)

    def total(after: list[list[int]]) -> tuple[int, ...]:
        costs = [cost(b, a) for b, a in zip(before, after, strict=True)]
        return tuple(map(sum, zip(*costs, strict=True)))

    assert total(lists) == min(total(list(way)) for way in permutations(dealt))


def test_a_second_run_changes_nothing() -> None:
    problem = problem_of("1,2,3 " * 9 + "u: 4,1 4,2 4,3", "1 2 3 4", add_broker=["9"])
    again = problem.again(problem.cluster.with_replicas(permutation(problem)))
    assert lists_of(again) == lists_of(problem)


def test_each_factor_is_dealt_by_itself() -> None:
    lists = lists_of(problem_of("1,2 1,2 u: 1 1 1", "1 2 3"))
    assert sorted(lists[:2]) == [[1, 2], [2, 3]]
    assert sorted(lists[2:]) == [[1], [2], [3]]


def test_starts_over_when_all_are_taken() -> None:
    lists = lists_of(problem_of("1,2 " * 5, "1 2"))
    assert Counter(map(tuple, lists)) == {(1, 2): 3, (2, 1): 2}


def test_removed_and_dead_brokers_are_not_in_the_lists() -> None:
    lists = lists_of(problem_of("1,2 2,3 3,4 4,1", "1 2 3! 4", remove_broker=[1], add_broker=["7"]))
    assert sorted(lists) == [[2, 4], [2, 7], [4, 7], [7, 2]]


def test_topics_left_out_stay() -> None:
    lists = lists_of(problem_of("1,2,3 1,2,3 u: 1 1", "1 2 3", topics="u"))
    assert lists[:2] == [[1, 2, 3]] * 2
    assert sorted(lists[2:]) == [[1], [2]]


def test_same_input_in_another_order_gives_the_same() -> None:
    problem = problem_of("1,2 " * 7 + "u: 3,2 1,3", "1 2 3 4")
    value = problem.cluster.to_json()
    value["brokers"].reverse()
    value["partitions"].reverse()
    assert lists_of(resolve(Cluster.from_json(value), problem.options)) == lists_of(problem)


def test_its_limit_counts_the_chosen_of_one_factor() -> None:
    before = "1 " * (LIMIT + 1) + "u: 1,2 1,2"
    with pytest.raises(CannotError, match=r"at most 3,000 partitions .*: 3,001 have 1$"):
        permutation(problem_of(before, "1 2"))
    assert sorted(lists_of(problem_of(before, "1 2", topics="u"))[LIMIT + 1 :]) == [[1, 2], [2, 1]]


def test_no_moves_is_refused() -> None:
    with pytest.raises(CannotError, match="moves replicas by design"):
        permutation(problem_of("1,2", "1 2", no_moves=True))


def test_compare_shows_what_it_is_for() -> None:
    """Leaders are even, and remain so whoever fails."""
    problem = problem_of("1,2,3 " * 12, "1 2 3", add_broker=["4"])
    figures = Comparison(solve_with_each(problem, ["permutation"])).to_json()["strategies"][
        "permutation"
    ]
    assert figures["leaders_per_broker"] == [3, 3]
    assert figures["leaders_after_failure"]["max"] == 4
    assert figures["settled"] is True


def test_the_solver_is_loaded_only_when_needed() -> None:
    code = "import sys, partage.brokers.strategies as s; print('scipy.optimize' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_lines_go_round() -> None:
    lists = laid_out(6, 3)
    for begin in range(0, len(lists), 6):
        line = lists[begin : begin + 6]
        for one, other in pairwise(line):
            assert other == [b % 6 + 1 for b in one]
