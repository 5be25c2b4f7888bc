"""Strategy ``mip``: the scenarios of kafka-reassign-optimizer, brute force over its formulation on
tiny clusters, and the bounds of ``exact`` where both ask for the same."""

from __future__ import annotations

import importlib
from collections import Counter
from functools import partial
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies.mip import mip, window
from partage.cluster import Cluster
from partage.errors import CannotError, InputError
from tests.bundled import grown
from tests.matrices import Json, cluster_of, decided, loads, moves, partitions, problem_of
from tests.profiles import examples
from tests.strategies import jobs, shuffled

lists_of = partial(decided, mip)


# ------------------------------------------------------------------ the tool's own scenarios


@pytest.mark.parametrize(
    ("matrix", "brokers", "options", "fetched", "after"),
    [
        pytest.param(
            "3,1,2 1,2,3",
            "1 2 3",
            {"add_broker": ["4", "5"]},
            2,
            None,
            id="expand by two",
        ),
        pytest.param(
            "1,2,3 2,3,1",
            "1 2 3",
            {"add_broker": ["4", "5", "6"]},
            3,
            [1, 1, 1, 1, 1, 1],
            id="expand by three",
        ),
        pytest.param(
            "2,5,4 3,1,2",
            "1 2 3 4 5",
            {"remove_broker": [4, 5]},
            2,
            [2, 2, 2, 0, 0],
            id="shrink, leaders stay",
        ),
        pytest.param(
            "2,5,4 3,1,2",
            "1 2 3 4 5",
            {"remove_broker": [2, 3]},
            3,
            [2, 0, 0, 2, 2],
            id="shrink, leaders go",
        ),
    ],
)
def test_scenario(
    matrix: str, brokers: str, options: Json, fetched: int, after: list[int] | None
) -> None:
    problem = problem_of(matrix, brokers, **options)
    lists = lists_of(problem)
    assert moves(problem, lists) == fetched
    assert after is None or loads(lists, problem) == after
    assert max(loads(lists, problem)) <= 2
    usable = set(problem.cluster.broker_ids[problem.usable].tolist())
    for old, new in zip(problem.cluster.replica_lists(), lists, strict=True):
        assert len(set(new)) == len(old)
        assert new[0] == old[0] or old[0] not in usable


@pytest.mark.parametrize(
    ("replicas", "brokers", "expected"),
    [(6, 5, (1, 2)), (6, 6, (0, 1)), (60, 3, (18, 20)), (61, 3, (18, 21)), (20, 3, (6, 7))],
)
def test_window(replicas: int, brokers: int, expected: tuple[int, int]) -> None:
    assert window(replicas, brokers) == expected


# ------------------------------------------------------------------ named cases


def test_loads_within_the_window_do_not_change() -> None:
    """19 is below the average of 61 / 3, yet above its nine tenths; ``exact`` moves one to it."""
    matrix = " ".join(["1"] + ["1,2"] * 11 + ["3,1"] * 9 + ["2,3"] * 10)
    problem = problem_of(matrix, "1 2 3")
    assert loads(lists_of(problem), problem) == [21, 21, 19]
    assert partage.plan(cluster_of(matrix, "1 2 3")).moves == 1


def test_followers_keep_their_order_and_new_ones_come_last() -> None:
    problem = problem_of("4,3,1 3,4,1", "1 2 3 4", remove_broker=[1])
    assert lists_of(problem) == [[4, 3, 2], [3, 4, 2]]


def test_partitions_without_a_move_keep_their_replica_list() -> None:
    matrix = "2,1,3 3,2,1 1,3,2"
    assert lists_of(problem_of(matrix, "1 2 3")) == [[2, 1, 3], [3, 2, 1], [1, 3, 2]]


def test_leaders_that_go_are_spread_by_a_shuffle() -> None:
    problem = problem_of(" ".join(["1,2,3"] * 12), "1 2 3 4", remove_broker=[1])
    leaders = Counter(row[0] for row in lists_of(problem))
    assert set(leaders) == {2, 3, 4}, "4 fetches everything, and may lead all the same"
    assert lists_of(problem) == lists_of(problem)


def test_a_dead_broker_is_left_as_a_removed_one_is() -> None:
    lists = lists_of(problem_of("1,2 2,1", "1! 2 3"))
    assert sorted(lists[0]) == [2, 3]
    assert lists[1] == [2, 3]


def test_topics_left_out_stay_and_do_not_count() -> None:
    problem = problem_of("1,2 2,1 u: 3 3 3 3", "1 2 3 4", topics="t")
    lists = lists_of(problem)
    assert lists[2:] == [[3], [3], [3], [3]]
    assert loads(lists[:2], problem) == [1, 1, 1, 1]


def test_the_same_job_again_changes_nothing() -> None:
    plan = partage.plan(cluster_of("1,2 2,1 3,1 2,1", "1 2 3"), strategy="mip", add_broker=["4"])
    assert plan.settled


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("matrix", "options", "why"),
    [
        ("1,2 2,1", {"no_moves": True}, "balances by moving replicas"),
        ("1,2 2,1", {"replication_factor": "3"}, "t-0 has 2 replicas and needs 3"),
        ("1 1 1", {}, "leaders, 0 to 3 per broker, and gives every broker 0 to 1 replicas"),
        ("1 1 2 2", {}, "leaders, 0 to 2 per broker, and gives every broker 1 to 2 replicas"),
    ],
)
def test_unsupported_problems(matrix: str, options: Json, why: str) -> None:
    with pytest.raises(CannotError, match=why):
        mip(problem_of(matrix, "1 2 3", **options))


@pytest.mark.parametrize(
    ("limit", "value", "why"),
    [
        ("MOST_VARIABLES", 1457, "162 partitions on 9 brokers make 1458 variables, more than the"),
        ("SECONDS", 0.0, "not finished after 0 s with 1458 variables"),
    ],
)
def test_limits(limit: str, value: float, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("partage.brokers.strategies.mip"), limit, value)
    with pytest.raises(CannotError, match=why):
        mip(resolve(grown(), PlanOptions()))


# ------------------------------------------------------------------ random jobs


def fewest_moves(problem: Problem) -> int | None:
    """The least number of moves over all placements that keep the leaders and the window: every
    load vector that partitions one after the other can reach, with the fewest moves to it."""
    brokers = problem.cluster.broker_ids[problem.usable].tolist()
    lists = [
        row for row, c in zip(problem.cluster.replica_lists(), problem.chosen, strict=True) if c
    ]
    table = {(0,) * len(brokers): 0}
    for old in lists:
        grown: dict[tuple[int, ...], int] = {}
        for new in combinations(brokers, len(old)):
            if old[0] in brokers and old[0] not in new:
                continue
            cost = len(set(new) - set(old))
            for vector, so_far in table.items():
                key = tuple(n + (b in new) for n, b in zip(vector, brokers, strict=True))
                grown[key] = min(grown.get(key, so_far + cost), so_far + cost)
        table = grown
    average = sum(map(len, lists)) / len(brokers)
    fits = [m for v, m in table.items() if all(0.9 * average - 1 < n < average + 1 for n in v)]
    return min(fits, default=None)


def resolved(value: Json, options: Json) -> Problem | None:
    try:
        return resolve(Cluster.from_json(value), PlanOptions(**options))
    except InputError:
        return None


def movable(job: tuple[Json, Json]) -> tuple[Json, Json]:
    value, options = job
    return value, {k: v for k, v in options.items() if k not in ("no_moves", "replication_factor")}


@examples(300)
@given(jobs(max_brokers=5, max_partitions=6, max_factor=3).map(movable))
def test_as_few_moves_as_brute_force(job: tuple[Json, Json]) -> None:
    problem = resolved(*job)
    if problem is None:
        return
    best = fewest_moves(problem)
    try:
        lists = lists_of(problem)
    except CannotError:
        assert best is None
        return
    assert moves(problem, lists) == best
    usable = set(problem.cluster.broker_ids[problem.usable].tolist())
    before = problem.cluster.replica_lists()
    for old, new, chosen in zip(before, lists, problem.chosen.tolist(), strict=True):
        if not chosen:
            assert new == old
            continue
        assert len(new) == len(old) == len(set(new))
        assert set(new) <= usable
        assert new[0] == old[0] or old[0] not in usable
        assert new == old or set(new) != set(old)


@examples(100)
@given(jobs().map(movable), st.data())
def test_same_input_in_another_order_gives_the_same(
    job: tuple[Json, Json], data: st.DataObject
) -> None:
    problem = resolved(*job)
    other = resolved(data.draw(shuffled(job[0])), job[1])
    if problem is None or other is None:
        return
    try:
        assert lists_of(problem) == lists_of(other)
    except CannotError:
        with pytest.raises(CannotError):
            lists_of(other)


@examples(200)
@given(st.integers(2, 6), st.integers(1, 3), st.data())
def test_no_fewer_moves_than_the_bound_where_both_ask_for_the_same_loads(
    brokers: int, factor: int, data: st.DataObject
) -> None:
    """Without racks, and with a window from floor to ceil. The leaders may make it more."""
    ids = list(range(brokers))
    order = st.permutations(ids).map(lambda ids: ids[:factor])
    lists = data.draw(st.lists(order, min_size=1, max_size=9))
    low, high = window(sum(map(len, lists)), brokers)
    assume(high - low <= 1 and low == sum(map(len, lists)) // brokers)
    cluster = Cluster.from_json(
        {"brokers": [{"id": b} for b in ids], "partitions": partitions(lists)}
    )
    try:
        plan = partage.plan(cluster, strategy="mip")
    except CannotError:
        return
    exact = partage.plan(cluster)
    assert plan.moves >= plan.lower_bound == exact.moves
    assert plan.figures["replicas_per_broker"] == exact.figures["replicas_per_broker"]
    if len({row[0] for row in lists}) == len(lists) and factor > 1:
        assert plan.moves == exact.moves, "no broker leads two: a follower can always go instead"
