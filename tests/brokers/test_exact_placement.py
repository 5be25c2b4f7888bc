"""Strategy ``exact``, stages 0 to 3, against oracles that know only the specification."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import InputError
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.oracles.verify import assert_best_order, assert_best_placement, assert_true_figures
from tests.profiles import examples
from tests.strategies import concentrated, jobs


def check(
    cluster: dict[str, Any], options: dict[str, Any], oracle: ModuleType | None = None
) -> None:
    """``oracle`` None: the fast one wherever it is fast."""
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
def test_small_placements(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case)


@examples(800)
@given(jobs(min_partitions=4, no_moves=False))
def test_fuller_placements(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case)


@examples(300)
@given(jobs(max_brokers=10, min_partitions=7, max_partitions=24, no_moves=False))
def test_larger_placements(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check(*case, mip)


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
@pytest.mark.parametrize("seed", [0, 1])
def test_a_hundred_partitions(seed: int, options: dict[str, Any]) -> None:
    cluster = concentrated(seed)
    job = read_problem(cluster, options)
    planned = plan(Cluster.from_json(cluster), **options)
    assert_best_placement(job, planned, mip)
    assert_best_order(job, planned, mip)
    assert_true_figures(job, planned)


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
    check(cluster, options, mip)
