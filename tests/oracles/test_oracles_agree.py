"""The oracles agree with each other: enumeration, dynamic programming, integer programs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import brute_force, enumeration, mip
from tests.oracles.naive_problem import BadProblemError, Lists, NaiveProblem, defects, read_problem
from tests.profiles import examples
from tests.strategies import jobs


@st.composite
def readable(draw: st.DrawFn, **limits: int) -> NaiveProblem:
    cluster, options = draw(jobs(**limits))
    try:
        return read_problem(cluster, options)
    except BadProblemError:
        assume(False)
        raise


@st.composite
def placed(draw: st.DrawFn, **limits: int) -> tuple[NaiveProblem, Lists]:
    """A job and replica sets whose orders are to be chosen; legal or not does not matter here."""
    job = draw(readable(**limits))
    sets = [
        row.before
        if job.no_moves or not row.chosen
        else draw(st.sampled_from([row.before, *combinations(job.brokers, row.factor)]))
        for row in job.rows
    ]
    return job, sets


@examples(250)
@given(readable(max_brokers=4, max_partitions=4, max_factor=3))
def test_placement_equals_enumeration(job: NaiveProblem) -> None:
    assume(not job.no_moves and enumeration.size_of_placement(job) <= 500)
    assert brute_force.best_placement(job) == enumeration.best_placement(job)


@examples(200)
@given(readable())
def test_placement_equals_mip(job: NaiveProblem) -> None:
    assume(not job.no_moves and brute_force.is_small(job))
    assert brute_force.best_placement(job) == mip.best_placement(job)


@examples(300)
@given(placed(max_brokers=4, max_partitions=4, max_factor=3))
def test_leaders_equal_enumeration(case: tuple[NaiveProblem, Lists]) -> None:
    job, sets = case
    assert brute_force.best_leaders(job, sets) == enumeration.best_leaders(job, sets)
    least = brute_force.best_leaders(job, sets)[0]
    for vector in brute_force.leader_vectors(job, sets):
        if sum(n * n for n in vector) == least:
            led = dict(zip(job.brokers, vector, strict=True))
            value = enumeration.best_order(job, sets, led)
            assert brute_force.best_order(job, sets, led) == (
                value.worst,
                value.failure_squares,
                value.leader_changes,
                value.order_changes,
            )


@examples(250)
@given(placed())
def test_leaders_equal_mip(case: tuple[NaiveProblem, Lists]) -> None:
    job, sets = case
    assert brute_force.best_leaders(job, sets) == mip.best_leaders(job, sets)
    vectors = brute_force.leader_vectors(job, sets)
    vector = min(vectors, key=lambda v: (sum(n * n for n in v), v))
    led = dict(zip(job.brokers, vector, strict=True))
    assert vectors[vector] == mip.fewest_changes(job, sets, led)
    assert brute_force.best_order(job, sets, led) == mip.best_order(job, sets, led)
    worst, squares = brute_force.best_after_failure(job, sets)
    assert (worst, squares) == mip.best_after_failure(job, sets)
    assert mip.is_best_after_failure(job, sets, worst, squares)
    assert not mip.is_best_after_failure(job, sets, worst + 1, squares)
    assert not mip.is_best_after_failure(job, sets, worst, squares + 1)


def _job(racks: dict[int, str], *lists: list[int], **options: object) -> NaiveProblem:
    cluster = {
        "brokers": [{"id": b, "rack": r} for b, r in racks.items()],
        "partitions": [{"topic": "t", "partition": i, "replicas": a} for i, a in enumerate(lists)],
    }
    return read_problem(cluster, options)


@pytest.mark.parametrize(
    ("sizes", "factor", "most"),
    [([1, 3], 3, 2), ([1, 3], 4, 3), ([2, 2], 3, 2), ([2, 2, 1], 4, 2), ([5], 3, 3)],
)
def test_most_per_rack(sizes: list[int], factor: int, most: int) -> None:
    racks = {10 * i + k: "abc"[i] for i, n in enumerate(sizes) for k in range(n)}
    assert _job(racks, [min(racks)]).most_per_rack(factor) == most
    assert mip._share(sorted(sizes), factor) == most


def test_defects_are_found() -> None:
    job = _job({1: "a", 2: "a", 3: "b", 4: "b"}, [1, 2], remove_broker=[4])
    assert defects(job, [[1, 3]]) == []
    for bad in ([1, 2], [1, 4], [1, 1], [1], [1, 2, 3]):
        assert defects(job, [bad])
