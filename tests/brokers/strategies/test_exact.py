"""Strategy ``exact`` compared with oracles that implement only the specification: placements
(stages 1 to 3) and orders (stages 4 to 7)."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import InputError
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import BadProblemError, defects, read_problem
from tests.oracles.verify import (
    assert_best_order,
    assert_best_placement,
    assert_true_figures,
    lists_of,
)
from tests.profiles import examples
from tests.strategies import concentrated, jobs


def check_placement(
    cluster: dict[str, Any], options: dict[str, Any], oracle: ModuleType | None = None
) -> None:
    """Without ``oracle``, brute force for small clusters, otherwise the MIP."""
    try:
        job = read_problem(cluster, options)
    except BadProblemError:
        with pytest.raises(InputError):
            plan(Cluster.from_json(cluster), **options)
        return
    planned = plan(Cluster.from_json(cluster), **options)
    oracle = oracle or (brute_force if brute_force.is_small(job) else mip)
    assert_best_placement(job, planned, oracle)
    assert_true_figures(job, planned)


@examples(1200)
@given(jobs(no_moves=False))
def test_placements_of_small_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_placement(*case)


@examples(800)
@given(jobs(min_partitions=4, no_moves=False))
def test_placements_of_more_partitions(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_placement(*case)


@examples(300)
@given(jobs(max_brokers=10, min_partitions=7, max_partitions=24, no_moves=False))
def test_placements_of_larger_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_placement(*case, mip)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"spread": "topic"},
        {"add_broker": ["2000:a", "2001:b"]},
        {"replication_factor": ["2"]},
        {"replication_factor": ["3"], "spread": "topic"},
        {"add_broker": ["2000:d"], "topics": "topic-[02468]"},
        {"no_moves": True},
    ],
    ids=str,
)
def test_a_hundred_partitions(options: dict[str, Any]) -> None:
    cluster = concentrated(1)
    job = read_problem(cluster, options)
    planned = plan(Cluster.from_json(cluster), **options)
    assert_best_placement(job, planned, mip)
    assert_best_order(job, planned, mip)
    assert_true_figures(job, planned)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"spread": "topic"},
        {"replication_factor": ["2"]},
        {"add_broker": ["2000:a", "2001:d"], "replication_factor": ["3"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_replicas_scattered_over_unequal_racks(seed: int, options: dict[str, Any]) -> None:
    """Sixty partitions drawn at random on racks of 5, 3 and 2: most break the rack rule."""
    random = Random(seed)
    rack = "aaaaabbbcc"
    cluster = {
        "brokers": [{"id": i, "rack": r} for i, r in enumerate(rack)],
        "partitions": [
            {"topic": f"t{n % 7}", "partition": n, "replicas": random.sample(range(len(rack)), 3)}
            for n in range(60)
        ],
    }
    check_placement(cluster, options, mip)


def check_order(cluster: dict[str, Any], options: dict[str, Any], oracle: ModuleType) -> None:
    try:
        job = read_problem(cluster, options)
    except BadProblemError:
        assume(False)
    planned = plan(Cluster.from_json(cluster), **options)
    assert not defects(job, lists_of(planned))
    assert_best_order(job, planned, oracle)
    assert_true_figures(job, planned)


@examples(800)
@given(jobs(no_moves=True))
def test_orders_of_small_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, brute_force)


@examples(600)
@given(jobs(min_partitions=4))
def test_orders_after_moves(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, brute_force)


@examples(200)
@given(jobs(max_brokers=9, min_partitions=7, max_partitions=18, no_moves=True))
def test_orders_of_larger_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, mip)


@examples(150)
@given(jobs(max_brokers=9, min_partitions=7, max_partitions=18))
def test_orders_after_moves_of_larger_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, mip)
