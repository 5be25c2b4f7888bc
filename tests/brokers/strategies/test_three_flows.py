"""Strategy ``three-flows``: the figures of its source, named cases, and the rules on random jobs.

What it does not reach where ``exact`` does is in ``test_open_problems.py``.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies.three_flows import followed, three_flows
from partage.cluster import Cluster
from partage.errors import CannotError, InputError
from tests.matrices import Lists, cluster_of, decided, loads, moves, problem_of
from tests.oracles.naive_problem import BadProblemError, defects, read_problem
from tests.profiles import examples
from tests.strategies import jobs, plain_clusters, shuffled

lists_of = partial(decided, three_flows)


def led(lists: Lists, problem: Problem) -> list[int]:
    return loads([row[:1] for row in lists], problem)


# ------------------------------------------------------------------ the figures of the source


def test_the_figure_of_the_partitions() -> None:
    problem = problem_of("1,2,3 2,1,4 1,2,4 2,1,3", "1 2 3 4")
    lists = lists_of(problem)
    assert loads(problem.cluster.replica_lists(), problem) == [4, 4, 2, 2]
    assert loads(lists, problem) == [3, 3, 3, 3]
    assert moves(problem, lists) == 2
    assert led(lists, problem) == [1, 1, 1, 1]


def test_the_figure_of_the_leaders() -> None:
    problem = problem_of("1,2,3 2,3,4 1,2,3 2,1,3", "1 2 3 4", no_moves=True)
    lists = lists_of(problem)
    assert led(problem.cluster.replica_lists(), problem) == [2, 2, 0, 0]
    assert led(lists, problem) == [1, 1, 1, 1]
    assert moves(problem, lists) == 0


def test_the_figure_of_the_first_followers() -> None:
    """Leaders and sets stay, and no pair remains that two partitions share."""
    problem = problem_of("1,2,3 2,1,4 1,2,4 2,1,3", "1 2 3 4")
    before = problem.cluster.replica_lists()
    lists = problem.cluster.with_replicas(
        followed(problem, problem.cluster.replicas)
    ).replica_lists()
    assert [(row[0], set(row)) for row in lists] == [(row[0], set(row)) for row in before]
    assert max(Counter(tuple(row[:2]) for row in before).values()) == 2
    assert max(Counter(tuple(row[:2]) for row in lists).values()) == 1


def test_the_figure_of_a_higher_replication_factor() -> None:
    problem = problem_of("1,2 2,1 1,2 2,1", "1 2 3 4", replication_factor="3")
    lists = lists_of(problem)
    assert loads(lists, problem) == [3, 3, 3, 3]
    assert moves(problem, lists) == 6, "four that are new, and two from each of 1 and 2"


# ------------------------------------------------------------------ replicas


def test_an_even_cluster_does_not_change() -> None:
    """2, 2, 1 and 1: the residue nodes would carry one unit, and a replica would move."""
    problem = problem_of("1,2 3,1 2,4", "1 2 3 4")
    assert [set(row) for row in lists_of(problem)] == [{1, 2}, {3, 1}, {2, 4}]


@pytest.mark.parametrize(
    ("matrix", "brokers", "options", "after"),
    [
        pytest.param("1,2 2,1 1,2", "1 2", {"add_broker": ["3"]}, [2, 2, 2], id="added"),
        pytest.param("1,2 2,3 3,1", "1 2 3", {"remove_broker": [3]}, [3, 3, 0], id="removed"),
        pytest.param("1,2 2,3 3,1", "1 2 3!", {}, [3, 3, 0], id="dead"),
        pytest.param(
            "1,2 2,3 3,1", "1 2 3", {"replace_broker": ["3=7"]}, [2, 2, 0, 2], id="replaced"
        ),
        pytest.param("1,2 3 3", "1 2 3", {"remove_broker": [1]}, [0, 2, 2], id="by a chain"),
        pytest.param("1,2,3 2,3,1", "1 2 3", {"replication_factor": "1"}, [1, 0, 1], id="lower"),
        pytest.param(
            "3,4 1,2 1,2 1,2 1,2", "1 2 3 4", {"replication_factor": "1"}, [2, 1, 1, 1], id="below"
        ),
    ],
)
def test_loads(matrix: str, brokers: str, options: dict[str, Any], after: Sequence[int]) -> None:
    """``by a chain``: of 1's replica broker 2 has one already, so 3 takes it and gives another.
    ``below``: brokers 3 and 4 are below the average, yet one must give its replica up."""
    problem = problem_of(matrix, brokers, **options)
    lists = lists_of(problem)
    assert sorted(loads(lists, problem)) == sorted(after)
    assert [len(row) for row in lists] == problem.target.tolist()
    usable = problem.cluster.broker_ids[problem.usable].tolist()
    assert all(len(set(row)) == len(row) and set(row) <= set(usable) for row in lists)


def test_direct_ways_come_before_chains() -> None:
    """4 moves are enough; a flow that may chain at once takes 5."""
    problem = problem_of("1,5,2 1,2,3 5,1,2 1,2,3 5,1,2 1,2,3", "1 2 3 4 5")
    lists = lists_of(problem)
    assert sorted(loads(lists, problem)) == [3, 3, 4, 4, 4]
    assert moves(problem, lists) == 4


def test_a_lower_factor_goes_through_a_chain() -> None:
    """t-2 is on brokers too little above the average to give it up; one gets another for it."""
    problem = problem_of("3,5 3,5 2,4 3,5", "1 2 3 4 5", replication_factor="1")
    lists = lists_of(problem)
    assert sorted(loads(lists, problem)) == [0, 1, 1, 1, 1]
    assert moves(problem, lists) == 1


def test_a_list_keeps_its_order_and_new_replicas_come_last() -> None:
    problem = problem_of("4,3,1 3,4,1", "1 2 3 4", remove_broker=[4])
    assert lists_of(problem)[1] in ([3, 1, 2], [1, 3, 2])


def test_topics_left_out_stay_and_count() -> None:
    problem = problem_of("1,2 1,2 1,2 1,2 u: 3 3", "1 2 3 4", topics="t")
    lists = lists_of(problem)
    assert lists[4:] == [[3], [3]]
    assert sorted(loads(lists, problem)) == [2, 2, 3, 3]


def test_unevenness_of_excluded_topics_is_reduced_as_far_as_possible() -> None:
    """Broker 3 is 2 above the average and gives nothing, 1 is 1 above and gives that."""
    problem = problem_of("1 1 1 1 1 2 u: 3 3 3 3 3 3", "1 2 3", topics="t")
    assert loads(lists_of(problem), problem) == [4, 2, 6]


def test_a_flow_that_does_not_help_is_not_taken() -> None:
    """u keeps broker 1 above the average; t-0 could move to 4, and all be as uneven."""
    problem = problem_of("3 u: 1 1 1", "1:b 2:a 3:a 4:b", topics="t")
    assert lists_of(problem) == [[3], [1], [1], [1]]


def test_rules_come_before_even_loads() -> None:
    """t-0 has to leave three brokers. Broker 0 holds most of u, so that 2 and 3 are below the
    average: they could give it up for another replica only, and there is none."""
    problem = problem_of(
        "0,1,2,3 u: 0,1,2,3 0 0,5 0,1 0", "0 1 2 3 5", topics="t", replication_factor="1"
    )
    assert lists_of(problem)[0] in ([2], [3])


# ------------------------------------------------------------------ racks


def test_topics_left_out_count_in_the_average_of_their_rack() -> None:
    problem = problem_of("2 2 2 2 2 2 u: 1 1 1 1 1 1 1 1 1", "1:a 2:b 3:c", topics="t")
    assert loads(lists_of(problem), problem) == [9, 3, 3]


def test_a_rack_filled_by_the_rule_has_its_own_average() -> None:
    """Every partition needs broker 3, the only one in its rack: 4, and 4 / 3 for the others."""
    problem = problem_of("1,3 1,3 1,3 1,3", "1:a 2:a 3:b 4:a")
    lists = lists_of(problem)
    assert sorted(loads(lists, problem)) == [1, 1, 2, 4]
    assert moves(problem, lists) == 2
    assert all(3 in row for row in lists)


@pytest.mark.parametrize(
    ("matrix", "brokers", "options"),
    [
        pytest.param("1,2 1,2", "1:a 2:a 3:b 4:b", {}, id="two replicas in a rack"),
        pytest.param("1,2,3", "1:a 2:a 3:a 4:b", {}, id="a rack that has none"),
        pytest.param("1,3 1,3", "1:a 2:a 3:b", {"add_broker": ["4:c"]}, id="a new rack"),
        pytest.param("1,3 2,3", "1:a 2:a 3:b 4:a", {"remove_broker": [3]}, id="a rack that goes"),
        pytest.param("1 2", "1:a 2:a 3:b 4:c", {"replication_factor": "3"}, id="more replicas"),
        pytest.param("1,2,3 2,3,1", "1:a 2:a 3:b", {"replication_factor": "2"}, id="fewer"),
        pytest.param(
            "0,2,3,5 u: 0,3,5,1 0,1,2,3 0,1,2,3 0,1,2,3 0,1,2,3",
            "0:a 1:b 2:a 3:b 5:a",
            {"topics": "t"},
            id="an average out of reach",
        ),
        pytest.param(
            "0 0 0 0,1 u: 0,1,2 0",
            "0:a 1:b 2:c 3:d 5:a 7:b 10:c",
            {"remove_broker": [0], "replication_factor": "t=4"},
            id="several out of reach",
        ),
    ],
)
def test_the_rack_rule_is_restored(matrix: str, brokers: str, options: dict[str, Any]) -> None:
    problem = problem_of(matrix, brokers, **options)
    plan = partage.plan(cluster_of(matrix, brokers), strategy="three-flows", **options)
    assert plan.figures["rack_violations"] == 0
    assert [len(row) for row in plan.after.replica_lists()] == problem.target.tolist()


# ------------------------------------------------------------------ leaders and first followers


def test_without_moves_only_orders_change() -> None:
    problem = problem_of("1,2,3 1,2,3 1,2,3", "1 2 3 4", no_moves=True)
    lists = lists_of(problem)
    assert [sorted(row) for row in lists] == [[1, 2, 3]] * 3
    assert led(lists, problem) == [1, 1, 1, 0]


def test_a_dead_leader_hands_over_without_moves() -> None:
    problem = problem_of("1,2 1,3 1,2 1", "1! 2 3", no_moves=True)
    lists = lists_of(problem)
    assert sorted(led(lists, problem)) == [1, 1, 2], "the last one has nobody else"
    assert lists[3] == [1]


def test_two_replicas_have_no_other_first_follower() -> None:
    problem = problem_of("1,2 1,2 2,1 2,1 u: 1,2,3 1,2,3", "1 2 3", no_moves=True)
    lists = problem.cluster.with_replicas(
        followed(problem, problem.cluster.replicas)
    ).replica_lists()
    assert lists[:4] == problem.cluster.replica_lists()[:4]
    assert [row[:2] for row in lists[4:]] == [[1, 3], [1, 3]]


def test_topics_left_out_keep_their_order_and_count_in_the_pairs() -> None:
    problem = problem_of("1,2,3 u: 1,2,3", "1 2 3", topics="t", no_moves=True)
    lists = problem.cluster.with_replicas(
        followed(problem, problem.cluster.replicas)
    ).replica_lists()
    assert lists == [[1, 3, 2], [1, 2, 3]]


def test_a_cluster_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("partage.brokers.strategies.three_flows")
    monkeypatch.setattr(module, "MOST_CELLS", 11)
    with pytest.raises(CannotError, match="4 partitions on 3 brokers make 12 pairs, more than"):
        three_flows(problem_of("1 1 1 1", "1 2 3"))


# ------------------------------------------------------------------ random jobs


@examples(300)
@given(jobs(), st.data())
def test_rules_hold_and_the_order_of_the_input_does_not_matter(
    job: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    value, options = job
    try:
        asked = read_problem(value, options)
    except BadProblemError:
        return
    problem = resolve(Cluster.from_json(value), PlanOptions(**options))
    lists = lists_of(problem)
    assert defects(asked, lists) == []
    again = resolve(Cluster.from_json(data.draw(shuffled(value))), PlanOptions(**options))
    assert lists_of(again) == lists


@examples(300)
@given(plain_clusters(), st.integers(0, 3), st.booleans())
def test_without_racks_and_topics_loads_are_even(value: Any, factor: int, remove: bool) -> None:
    options: dict[str, Any] = {"replication_factor": [str(factor)]} if factor else {}
    if remove:
        options["remove_broker"] = [1]
    try:
        problem = resolve(Cluster.from_json(value), PlanOptions(**options))
    except InputError:
        return  # more replicas than brokers
    count = [
        n
        for n, usable in zip(loads(lists_of(problem), problem), problem.usable, strict=True)
        if usable
    ]
    assert max(count) - min(count) <= 1
    again = problem.again(problem.cluster.with_replicas(three_flows(problem)))
    assert moves(again, lists_of(again)) == 0
    if not options:
        before = loads(problem.cluster.replica_lists(), problem)
        mean = Fraction(sum(before), len(before))
        surplus = floor(sum(max(n - mean, Fraction(0)) for n in before))
        assert moves(problem, lists_of(problem)) in (0, surplus)
