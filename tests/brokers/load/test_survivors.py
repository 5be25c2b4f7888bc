"""The order of followers, by what survivors carry after a failure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.brokers import load
from partage.brokers.plan import Plan
from tests.brokers.load.test_plans import a_large_cluster, is_sound


@pytest.fixture(scope="module")
def plans() -> tuple[Plan, Plan]:
    """Without the search, and with it."""
    cluster = Cluster.from_json(a_large_cluster(7, brokers=9, partitions=240))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "relieve_survivors", lambda _problem, led: led)
        before = partage.plan(cluster, balance="load", tolerance="10%")
    return before, partage.plan(cluster, balance="load", tolerance="10%")


def worst(plan: Plan) -> float:
    resources = plan.figures["resources"]
    return max(
        resources[name]["after_failure"]["max"] / resources[name]["fair"]
        for name in ("out", "leader_in")
    )


def test_survivors_carry_less(plans: tuple[Plan, Plan], tmp_path: Path) -> None:
    before, after = plans
    assert worst(after) < worst(before)
    assert after.settled
    assert is_sound(after, tmp_path)


def test_nothing_that_counts_more_changes(plans: tuple[Plan, Plan]) -> None:
    before, after = plans
    lists = [plan.after.replicas for plan in plans]
    assert (np.sort(lists[0]) == np.sort(lists[1])).all()
    assert (lists[0][:, 0] == lists[1][:, 0]).all()
    for key in ("leaders_after_failure", "moves", "leader_changes"):
        assert after.figures[key] == before.figures[key]
    racks = [plan.figures["leaders_after_rack_failure"]["max"] for plan in plans]
    assert racks[1] <= racks[0]
