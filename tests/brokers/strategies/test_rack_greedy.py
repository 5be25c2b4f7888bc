"""Strategy ``rack-greedy`` against lists that the tool's own class gave, the promises of its own
tests, and properties on random clusters."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

from partage.brokers.compare import Comparison, solve_with_each
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.strategies.rack_greedy import java_hash, rack_greedy
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.matrices import decided, partitions, problem_of, text

lists_of = partial(decided, rack_greedy)


@pytest.mark.parametrize(
    ("before", "brokers", "options", "after"),
    [
        pytest.param(
            "test: 10,11 11,12 12,10 10,12",
            "10:a 11:b 12:c",
            {"add_broker": ["13:a", "14:b"]},
            "10,11 11,12 12,13 14,10",
            id="expansion with racks",
        ),
        pytest.param(
            "test: 10,11 11,12 12,10 10,12",
            "10 11 12",
            {"add_broker": ["13"]},
            "10,11 11,12 12,13 13,10",
            id="expansion",
        ),
        pytest.param(
            "test: 10,11 11,12 12,13 13,10",
            "10 11 12 13",
            {"remove_broker": [12]},
            "10,11 11,13 13,10 10,13",
            id="decommission",
        ),
        pytest.param(
            "test: 10,11 11,12 12,10 10,12",
            "10 11 12",
            {"replace_broker": ["12=13"]},
            "10,11 11,13 13,10 10,13",
            id="replacement",
        ),
        pytest.param(
            "logs: 1,2,3 2,3,1 3,1,2 1,2,3",
            "1:a 2:b 3:c",
            {"add_broker": ["4:a", "5:b", "6:c"]},
            "2,6,1 3,4,2 4,5,3 5,1,6",
            id="racks of two",
        ),
        pytest.param("1,2 2,3 3,4 4,1", "1 2 3 4", {"replication_factor": "1"}, "1 2 3 4"),
        pytest.param(
            "1,2 2,3 3,4 4,1",
            "1:a 2:a 3:b 4:b",
            {},
            "1,4 2,3 3,2 4,1",
            id="a rack that has two gives one up",
        ),
    ],
)
def test_same_as_the_tool(before: str, brokers: str, options: dict[str, Any], after: str) -> None:
    assert text(lists_of(problem_of(before, brokers, **options))) == after


@pytest.mark.parametrize(
    ("before", "brokers", "options", "why"),
    [
        pytest.param(
            "1,3 2,3 1,3 2,3",
            "1:a 2:a 3:b",
            {},
            r"no place for 1 of the 2 replicas of t-3: .* in a rack that has none$",
            id="unequal racks",
        ),
        pytest.param(
            "1,2 2,3 3,4 4,1",
            "1 2 3 4",
            {"replication_factor": "3"},
            r"no place for 1 of the 3 replicas of t-3: no broker with free capacity is left$",
            id="no way back",
        ),
        pytest.param(
            "1,2 1,2", "1:a 2:a", {}, r"no place for 1 of the 2 replicas of t-0", id="too few racks"
        ),
        pytest.param(
            "1,2 2,3 3,4",
            "1 2 3 4",
            {"replication_factor": "1"},
            r"capacity: t-2 would have 2 replicas, not 1$",
            id="factor down",
        ),
        pytest.param("1 1,2", "1 2", {}, r"the partitions of t need 1 and 2$", id="mixed"),
        pytest.param("1,2", "1 2", {"no_moves": True}, r"moves replicas by design", id="no moves"),
    ],
)
def test_unsupported_problems(before: str, brokers: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(CannotError, match=why):
        rack_greedy(problem_of(before, brokers, **options))


def test_the_position_continues_from_topic_to_topic() -> None:
    """Topics of one partition, always on brokers 1 and 2: they take turns in leading."""
    lists = lists_of(problem_of("aa: 1,2 ab: 1,2 ac: 1,2 ad: 1,2", "1 2"))
    assert Counter(row[0] for row in lists) == {1: 2, 2: 2}


def test_topics_left_out_stay() -> None:
    problem = problem_of("t: 1,2 1,2 u: 2,1 2,1", "1 2 3 4", topics="u")
    assert text(lists_of(problem)[:2]) == "1,2 1,2"
    assert {b for row in lists_of(problem)[2:] for b in row} == {1, 2, 3, 4}


def test_dead_brokers_are_left() -> None:
    assert text(lists_of(problem_of("1,2 2,3 3,1", "1 2 3!"))) == "1,2 2,1 1,2"


@pytest.mark.parametrize(
    ("topic", "value"), [("a", 97), ("test", 3556498), ("__consumer_offsets", -970371369)]
)
def test_java_hash(topic: str, value: int) -> None:
    assert java_hash(topic) == value


def random_value(seed: int) -> dict[str, Any]:
    """Three racks of equal size, brokers added to each; some topics lie badly."""
    draw = random.Random(seed)
    size = 3 * draw.randint(1, 4)
    brokers = [{"id": b, "rack": "abc"[b % 3]} for b in range(size)]
    rows = []
    for topic in "tuv":
        factor = draw.randint(1, 3)
        lists = [draw.sample(range(size), factor) for _ in range(draw.randint(1, 12))]
        rows += partitions(lists, topic=topic)
    return {"brokers": brokers, "partitions": rows}


def test_promises_on_random_clusters() -> None:
    answered = 0
    for seed in range(200):
        value = random_value(seed)
        problem = resolve(
            Cluster.from_json(value), PlanOptions(add_broker=["20:a", "21:b", "22:c"])
        )
        try:
            lists = lists_of(problem)
        except CannotError:
            continue
        answered += 1
        rack = {b.id: b.rack for b in problem.cluster.brokers}
        topics: dict[str, list[list[int]]] = {}
        for entry, after in zip(problem.cluster.to_json()["partitions"], lists, strict=True):
            assert len(after) == len(set(after)) == len(entry["replicas"])
            assert len({rack[b] for b in after}) == len(after)
            topics.setdefault(entry["topic"], []).append(after)
        for rows in topics.values():
            replicas = Counter(b for row in rows for b in row)
            assert max(replicas.values()) <= -(-sum(replicas.values()) // len(rack))

        again = problem.again(problem.cluster.with_replicas(rack_greedy(problem)))
        assert lists_of(again) == lists, "a second run changes something"
        value["brokers"].reverse()
        value["partitions"].reverse()
        other = resolve(Cluster.from_json(value), problem.options)
        assert lists_of(other) == lists
    assert answered > 100


def test_compare_shows_it() -> None:
    problem = problem_of("1,2 2,3 3,4 4,1", "1 2 3 4", remove_broker=[2])
    found = Comparison(solve_with_each(problem, ["rack-greedy"])).to_json()["strategies"][
        "rack-greedy"
    ]
    assert (found["replicas_per_broker"], found["settled"]) == ([2, 3], True)
    cannot = Comparison(solve_with_each(problem_of("1,2", "1:a 2:a"), ["rack-greedy"])).to_json()
    assert "finds no place" in cannot["strategies"]["rack-greedy"]["cannot"]
