"""Strategy ``leader-flow``: the example of the field, named cases, and random clusters against a
maximum flow of another form by another library."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import networkx as nx
import pytest

from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies.leader_flow import leader_flow
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.matrices import decided, partitions, problem_of, text
from tests.profiles import seeds

led = partial(decided, leader_flow)


def counts(lists: Sequence[Sequence[int]], problem: Problem) -> list[int]:
    leaders = Counter(row[0] for row in lists)
    return [leaders[b] for b in problem.cluster.broker_ids[problem.usable].tolist()]


# ------------------------------------------------------------------ named cases


def test_the_example_of_the_field() -> None:
    """Brokers 1 and 2 lead two partitions each, 3 and 4 none: one each afterwards."""
    problem = problem_of("1,2,3 2,3,4 1,2,3 2,1,3", "1 2 3 4")
    lists = led(problem)
    assert counts(problem.cluster.replica_lists(), problem) == [2, 2, 0, 0]
    assert counts(lists, problem) == [1, 1, 1, 1]
    assert [sorted(row) for row in lists] == [[1, 2, 3], [2, 3, 4], [1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize(
    ("before", "brokers", "after"),
    [
        pytest.param("1,2 1,2", "1 2", {1}, id="one handover"),
        pytest.param("1,2 1,2 2,3", "1 2 3", {1}, id="a chain over broker 2"),
        pytest.param("1,2 1,2 1,2", "1 2", {2, 1}, id="an average that is no whole number"),
        pytest.param(
            "1,2 1,2 1,2 3,4 3,4 2,1", "1 2 3 4", {2, 1}, id="down to the lower, up to the higher"
        ),
    ],
)
def test_even(before: str, brokers: str, after: set[int]) -> None:
    problem = problem_of(before, brokers)
    assert set(counts(led(problem), problem)) == after


def test_one_goes_up_where_another_comes_down() -> None:
    """3, 2, 1, 0 leaders where 1 can hand over to 3 only, 2 to 4 only: through both residues."""
    problem = problem_of("1,3 1,3 1,3 2,4 2,4 3", "1 2 3 4")
    assert counts(led(problem), problem) == [2, 1, 2, 1]


def test_old_and_new_leader_exchange_their_places() -> None:
    assert text(led(problem_of("1,2,3 1,2 2", "1 2 3"))) == "3,2,1 1,2 2"


@pytest.mark.parametrize(
    ("matrix", "brokers"),
    [
        pytest.param("1,2,3 2,3,1 3,1,2", "1 2 3", id="all the same"),
        pytest.param("1,2,3 2,3,1 3,1,2 1,2,3 2,1,3", "1 2 3", id="two have one more"),
        pytest.param("1 1 2", "1 2", id="single replicas"),
        pytest.param("1,2", "1 2", id="one partition"),
    ],
)
def test_an_even_cluster_does_not_change(matrix: str, brokers: str) -> None:
    assert text(led(problem_of(matrix, brokers))) == matrix


def test_new_brokers_stay_empty_and_do_not_count() -> None:
    problem = problem_of("1,2 1,2 1,2 2,1", "1 2", add_broker=["3", "4"])
    assert counts(led(problem), problem) == [2, 2, 0, 0]


def test_where_no_even_share_exists_it_is_not_the_fairest() -> None:
    """Broker 3 can lead one partition only. Brokers 1 and 2 could lead 4 each, but 3 is the average
    and 2 leads 3 already: to the method it is not underloaded."""
    uneven = "1,2 1,2 1,2 1,2 1,2 2,1 2,1 2,1 3"
    assert counts(led(problem_of(uneven, "1 2 3")), problem_of(uneven, "1 2 3")) == [5, 3, 1]


def test_topics_left_out_stay_and_count() -> None:
    problem = problem_of("1,2 1,2 2,1 2,1 u: 1,2 1,2", "1 2", topics="t")
    lists = led(problem)
    assert text(lists[4:]) == "1,2 1,2"
    assert counts(lists, problem) == [3, 3]


def test_no_moves_changes_nothing_about_it() -> None:
    matrix = "1,2,3 2,3,4 1,2,3 2,1,3"
    assert led(problem_of(matrix, "1 2 3 4", no_moves=True)) == led(problem_of(matrix, "1 2 3 4"))


@pytest.mark.parametrize(
    ("matrix", "brokers", "options", "why"),
    [
        ("1,2 1,2", "1 2 3", {"replication_factor": "3"}, "t-0 has 2 replicas and needs 3"),
        (
            "1,2 2,1",
            "1 2 3",
            {"remove_broker": [2]},
            "on broker 2, which is removed",
        ),
        ("1,2 3,1", "1 2 3!", {}, "t-1 has a replica on broker 3, which is dead"),
        ("1,2 1,2", "1 2", {"replace_broker": ["1=9"]}, "on broker 1, which is removed"),
    ],
)
def test_problems_that_need_moves_are_refused(
    matrix: str, brokers: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(CannotError, match=why):
        leader_flow(problem_of(matrix, brokers, **options))


def test_brokers_that_are_away_and_hold_nothing_do_not_matter() -> None:
    problem = problem_of("1,2 1,2", "1 2 3! 4", remove_broker=[4])
    assert counts(led(problem), problem) == [1, 1]


# ------------------------------------------------------------------ random clusters


def random_cluster(seed: int) -> dict[str, Any]:
    """Up to 10 brokers, replicas and leaders crowded on some of them, factors 1 to 4."""
    draw = random.Random(seed)
    size = draw.randint(2, 10)
    weight = [draw.random() ** draw.choice((0, 1, 4)) for _ in range(size)]
    sorted_lists = draw.random() < 0.4
    lists = []
    for _ in range(draw.randint(1, 40)):
        keys = sorted(range(size), key=lambda b: draw.random() ** (1 / (weight[b] + 1e-3)))
        replicas = keys[::-1][: draw.randint(1, min(4, size))]
        if sorted_lists:
            replicas.sort()
        lists.append(replicas)
    return {"brokers": [{"id": b} for b in range(size)], "partitions": partitions(lists)}


def evenly_led(lists: Sequence[Sequence[int]], size: int) -> int:
    """Leaders that fit an even share: up to floor each, and one more for as many as remain."""
    low, extra = divmod(len(lists), size)
    leaders = Counter(row[0] for row in lists)
    full = sum(count > low for count in leaders.values())
    return sum(min(count, low) for count in leaders.values()) + min(extra, full)


def most_evenly_led(lists: Sequence[Sequence[int]], brokers: Sequence[int]) -> int:
    """The most that any choice of leaders fits: partition -> broker -> (floor | one more)."""
    low, extra = divmod(len(lists), len(brokers))
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_edge("more", "sink", capacity=extra)
    for broker in brokers:
        graph.add_edge(broker, "sink", capacity=low)
        graph.add_edge(broker, "more", capacity=1)
    for i, row in enumerate(lists):
        graph.add_edge("source", ("p", i), capacity=1)
        for broker in row:
            graph.add_edge(("p", i), broker, capacity=1)
    return int(nx.maximum_flow_value(graph, "source", "sink"))


@pytest.mark.random
@pytest.mark.parametrize("block", seeds(10))
def test_no_choice_of_leaders_is_nearer_to_an_even_share(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        value = random_cluster(seed)
        problem = resolve(Cluster.from_json(value), PlanOptions())
        before = problem.cluster.replica_lists()
        after = led(problem)
        holders = sorted({b for row in before for b in row})

        assert [sorted(row) for row in after] == [sorted(row) for row in before]
        best = most_evenly_led(before, holders)
        assert evenly_led(after, len(holders)) == best
        had, has = counts(before, problem), counts(after, problem)
        if best == len(before):
            assert max(has) - min(has[b] for b in holders) <= 1
        if after == before:
            assert evenly_led(before, len(holders)) == best
        else:
            assert sum(c * c for c in has) < sum(c * c for c in had)

        again = problem.again(problem.cluster.with_replicas(leader_flow(problem)))
        assert led(again) == after, "a second run changes something"


def test_same_input_in_another_order_gives_the_same() -> None:
    for seed in range(20):
        value = random_cluster(seed)
        once = led(resolve(Cluster.from_json(value), PlanOptions()))
        value["brokers"].reverse()
        value["partitions"].reverse()
        assert led(resolve(Cluster.from_json(value), PlanOptions())) == once
