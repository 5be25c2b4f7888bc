"""Strategy ``greedy``: cases worked out by hand, and properties on random clusters."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from partage.brokers.compare import Comparison, solve_with_each
from partage.brokers.options import PlanOptions
from partage.brokers.planning import plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.strategies.greedy import greedy
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.matrices import decided, problem_of, text
from tests.profiles import seeds

lists_of = partial(decided, greedy)

README = "1,2 2,4 2,4 3,1"
"""The topic of the examples in the tool's README, its brokers shortened."""


@pytest.mark.parametrize(
    ("before", "brokers", "options", "after"),
    [
        pytest.param(
            README,
            "1 2 3 4",
            {"replication_factor": "3"},
            # p0: 3 has one replica. p1: 1 and 3 have two, 1 is named first; 4 leads none yet
            "1,2,3 4,2,1 2,4,3 3,1,4",
            id="factor up: the broker with the fewest",
        ),
        pytest.param(
            README,
            "1 2 3 4",
            {"replication_factor": "1"},
            # p0 drops 2 of three; p1 drops 2 of two, named before 4; p2 drops 4
            "1 4 2 3",
            id="factor down: the broker with the most",
        ),
        pytest.param(
            README, "1 2 3 4", {"remove_broker": [4]}, "1,2 2,3 2,1 3,1", id="a broker goes"
        ),
        pytest.param(README, "1 2 3 4!", {}, "1,2 2,3 2,1 3,1", id="a broker is dead"),
        pytest.param(
            "2,1,3", "1 2 3 4", {"remove_broker": [2]}, "1,3,4", id="the next in the list leads"
        ),
        pytest.param(
            "1,2 1,2 2,1 2,1", "1 2", {"add_broker": ["3"]}, "1,2 1,2 2,1 2,1", id="nothing to do"
        ),
        pytest.param(
            "1,2 1,3 1,2 1,3 2,3 3,2", "1 2 3", {}, "2,1 3,1 1,2 1,3 2,3 3,2", id="leaders"
        ),
        pytest.param(
            "1,2,3 1,2,3", "1 2 3", {}, "1,2,3 1,2,3", id="fewer partitions than brokers: no leader"
        ),
        pytest.param(
            "1,2 1,2 1,2 u: 3,4 3,4",
            "1 2 3 4",
            {"replication_factor": "3"},
            "1,2,3 1,2,4 1,2,3 3,4,1 3,4,2",
            id="each topic counts for itself",
        ),
        pytest.param(
            "1,2 1,2 u: 1 1",
            "1 2 3",
            {"topics": "u", "replication_factor": "2"},
            "1,2 1,2 1,2 1,3",
            id="topics left out stay",
        ),
    ],
)
def test_by_hand(before: str, brokers: str, options: dict[str, Any], after: str) -> None:
    assert text(lists_of(problem_of(before, brokers, **options))) == after


def test_new_brokers_get_only_what_has_to_be_placed() -> None:
    problem = problem_of("1,2 1,2 1,2 1,2 1,3", "1 2 3", remove_broker=[3], add_broker=["4"])
    assert text(lists_of(problem)) == "2,1 1,2 1,2 1,2 4,1"


def test_a_second_run_may_hand_leaderships_back() -> None:
    """Brokers 1 and 2 lead fewer than the others: whoever leads none gets the first partition."""
    problem = problem_of("1,2 3 3", "1 2 3")
    assert text(lists_of(problem)) == "2,1 3 3"
    again = problem.again(problem.cluster.with_replicas(greedy(problem)))
    assert text(lists_of(again)) == "1,2 3 3"
    assert plan(problem.cluster, strategy="greedy").figures["settled"] is False


def test_no_moves_orders_lists_only() -> None:
    assert text(lists_of(problem_of("1,2 1,2", "1 2", no_moves=True))) == "2,1 1,2"
    why = r"^`no_moves` forbids .*: t-1 has a replica on broker 3, which is dead$"
    with pytest.raises(CannotError, match=why):
        greedy(problem_of("1,2 1,3", "1 2 3!", no_moves=True))
    # also where fewer brokers are left than the list is long
    with pytest.raises(CannotError, match=r"t-0 has a replica on broker 3, which is dead$"):
        greedy(problem_of("1,2,3", "1 2 3!", no_moves=True))


def random_value(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    size = draw.randint(5, 9)
    partitions = [
        {
            "topic": draw.choice("tuv"),
            "partition": number,
            "replicas": draw.sample(range(size), draw.randint(1, 4)),
        }
        for number in range(draw.randint(1, 40))
    ]
    return {"brokers": [{"id": b, "alive": b != 1} for b in range(size)], "partitions": partitions}


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(60))
def test_rules_hold_and_nothing_moves_without_need(seed: int) -> None:
    value = random_value(seed)
    options: dict[str, Any] = {"add_broker": ["20"]}
    if seed % 3:
        options["replication_factor"] = str(seed % 3)
    problem = resolve(Cluster.from_json(value), PlanOptions(remove_broker=[0], **options))
    for before, after, factor in zip(
        problem.cluster.replica_lists(), lists_of(problem), problem.target.tolist(), strict=True
    ):
        assert len(after) == len(set(after)) == factor
        assert not {0, 1} & set(after)
        kept = len(set(before) - {0, 1})
        assert len(set(after) - set(before)) == max(factor - kept, 0)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(10))
def test_same_input_in_another_order_gives_the_same(seed: int) -> None:
    value = random_value(seed)
    once = lists_of(resolve(Cluster.from_json(value), PlanOptions()))
    value["brokers"].reverse()
    value["partitions"].reverse()
    assert lists_of(resolve(Cluster.from_json(value), PlanOptions())) == once


def test_compare_shows_it() -> None:
    found = Comparison(
        solve_with_each(problem_of(README, "1 2 3 4", remove_broker=[4]), ["greedy"])
    ).to_json()
    figures = found["strategies"]["greedy"]
    assert (figures["moves"], figures["replicas_per_broker"]) == (2, [2, 3])
