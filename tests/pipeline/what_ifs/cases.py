"""Scenarios and placements for what-ifs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("pyspark")
from partage.brokers.compare import solve_with_each
from partage.brokers.planning import problem_of
from partage.cluster import Cluster
from partage.consumers.scenario import Scenario
from partage.pipeline.what_ifs.placements import Placements
from tests.bundled import bundled, grown

CASES = (("range", "eager"), ("cooperative-sticky", "cooperative"))


def scenario(name: str) -> Scenario:
    return Scenario.from_json(bundled(f"groups/{name}-scenario.json"))


def measured_problem(cluster: Cluster, rates: Any, **options: Any) -> Any:
    """A planning problem with these rates of partitions, None if they are not measured."""
    problem = problem_of(cluster, **options)
    return problem if rates is None else replace(problem, bytes_per_second=np.asarray(rates, float))


def placements(cluster: Cluster, *strategies: str, rates: Any = None, **options: Any) -> Placements:
    problem = measured_problem(cluster, rates, **options)
    return Placements.of(problem, solve_with_each(problem, strategies))


def rates_of(cluster: Cluster) -> Any:
    return np.random.default_rng(1).integers(1, 1000, cluster.partitions).astype(float)


_GROWN = grown()


_TASK = measured_problem(_GROWN, rates_of(_GROWN))


_PLAN: Any = solve_with_each(_TASK, ["exact"])["exact"]


_PLACED = Placements.of(_TASK, {"exact": _PLAN, "mip": "has no time"})
