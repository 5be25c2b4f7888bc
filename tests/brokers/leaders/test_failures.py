"""Leader counts and first followers chosen together, so that a failure does least harm."""

from __future__ import annotations

import random
from unittest.mock import patch

import numpy as np
import pytest
from benchmarks.clusters import cluster_json

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.cluster import Cluster
from partage.flow import counts_below_cap, open_picks, takeover_counts
from tests.bundled import uneven_racks
from tests.matrices import cluster_of, text
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import leader_value, read_problem

MORE_THAN_ONE_CHOICE = (
    "2,5 3,4 5,1 5,1 4,3 5,2 2,4 5,4 4,2 2,5 5,4 1,5 2,1 3,1 3,4 5,4 4,5 5,4 2,3 1,5 2,4"
)
"""Four brokers of five lead four partitions, one leads five: the worst survivor has 8 leaders or 7,
depending on which."""


def bounds(plan: Plan) -> dict[str, tuple[int, int]]:
    """Value and bound of each stage of the leaders."""
    return {stage.name.value: (stage.value, stage.bound) for stage in plan.stages}


def test_which_broker_leads_one_more_lowers_the_worst_survivor() -> None:
    cluster = cluster_of(MORE_THAN_ONE_CHOICE, "1 2 3 4 5")
    plan = partage.plan(cluster, no_moves=True)
    assert plan.figures["leaders_per_broker"] == [4, 5]
    assert plan.figures["leaders_after_failure"] == {"max": 7, "ideal": 7}
    job = read_problem(cluster.to_json(), {"no_moves": True})
    sets = cluster.replica_lists()
    of_counts = {
        vector: brute_force.best_order(job, sets, dict(zip(job.brokers, vector, strict=True)))[0]
        for vector in brute_force.leader_vectors(job, sets)
        if sorted(vector) == [4, 4, 4, 4, 5]
    }
    assert set(of_counts.values()) == {7, 8}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("brokers", "partitions", "worst"), [(50, 1010, 21), (50, 1015, 21), (60, 1330, 23)]
)
def test_counts_leave_every_partition_a_pair(brokers: int, partitions: int, worst: int) -> None:
    """A fifth of the brokers leads one partition more; those with three of these brokers exceed the
    counting bound, unless these brokers are in few racks."""
    cluster = Cluster.from_json(
        cluster_json(brokers=brokers, racks=5, partitions=partitions, topics=40, misplaced=0.1)
    )
    plan = partage.plan(cluster)
    assert plan.figures["leaders_after_failure"] == {"max": worst, "ideal": worst}
    assert not plan.gaps
    with (
        patch.object(open_picks, "counts_with_picks", side_effect=lambda _, counts, cap: counts),
        patch.object(counts_below_cap, "EFFORT", -1),
    ):
        other = partage.plan(cluster)
    assert other.figures["leaders_after_failure"] == {"max": worst + 1, "ideal": worst}
    again = partage.plan(plan.after)
    assert again.moves == 0
    assert not len(again.changed)


@pytest.mark.parametrize(
    "block", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 26))]
)
def test_the_worst_survivor_is_the_least_of_all_fair_leader_counts(block: int) -> None:
    """Forty random clusters per block, compared with an integer program over all orders."""
    for seed in range(40 * block, 40 * (block + 1)):
        draw = random.Random(seed)
        brokers = range(1, draw.randint(3, 9) + 1)
        factor = min(draw.choice((2, 2, 3)), len(brokers))
        racks = draw.choice((0, 0, 2, 3))
        lists = [
            draw.sample(brokers, factor if draw.random() < 0.9 else draw.randint(1, len(brokers)))
            for _ in range(draw.randint(4, 24))
        ]
        ids = " ".join(f"{b}:{'abc'[b % racks]}" if racks else str(b) for b in brokers)
        cluster = cluster_of(text(lists), ids)
        plan = partage.plan(cluster, no_moves=True)
        job = read_problem(cluster.to_json(), {"no_moves": True})
        after = plan.after.replica_lists()
        value, found = leader_value(job, after), bounds(plan)
        worst, squares = mip.best_after_failure(job, after)
        assert found["failure"] == (value.worst, worst) == (worst, worst), seed
        assert found["joint failure balance"][0] == value.failure_squares
        assert found["joint failure balance"] == (squares, squares), seed
        again = partage.plan(plan.after, no_moves=True)
        assert again.after.replica_lists() == after, seed


def test_a_cluster_with_uneven_racks_gains_from_other_leader_counts() -> None:
    """The squares of the counts with the fewest leader changes are 30,170."""
    plan = partage.plan(uneven_racks())
    assert bounds(plan)["joint failure balance"] == (30_160, 30_160)
    assert plan.optimal
    assert plan.settled


def test_leaders_by_rate_keep_their_counts() -> None:
    """Rates decide who leads, so the worst survivor is compared with other followers only."""
    cluster = cluster_of(MORE_THAN_ONE_CHOICE, "1 2 3 4 5")
    rates = np.arange(1.0, 22.0)
    made = solve(resolve(cluster, PlanOptions(leaders="rate", no_moves=True), rates))
    assert "joint failure balance" not in bounds(made)
    job = read_problem(cluster.to_json(), {"no_moves": True})
    lists = made.after.replica_lists()
    assert leader_value(job, lists).worst == made.figures["leaders_after_failure"]["ideal"]


def test_a_search_cut_short_states_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a search the first leader counts stay, and the plan does not claim to be optimal."""
    monkeypatch.setattr(counts_below_cap, "EFFORT", -1)
    monkeypatch.setattr(takeover_counts, "MAX_COLUMNS", 0)
    plan = partage.plan(cluster_of(MORE_THAN_ONE_CHOICE, "1 2 3 4 5"), no_moves=True)
    assert bounds(plan)["failure"] == (8, 6)
    assert plan.gaps["failure"] == round(8 / 6 - 1, 6)
    assert not plan.optimal
    assert partage.plan(plan.after, no_moves=True).after.replica_lists() == (
        plan.after.replica_lists()
    )
