"""Followers in another order, and other ones: less on the worst survivor."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from partage.brokers.figures import Placement
from partage.brokers.options import PlanOptions
from partage.brokers.posing import posed
from partage.brokers.sizing import Requirement
from partage.brokers.sizing.resources import resources_of
from partage.brokers.sizing.takeovers import spread_takeovers
from partage.brokers.sizing.usage import usage_of
from partage.cluster import Cluster
from tests.brokers.sizing.test_bounds import cluster
from tests.profiles import seeds


@pytest.mark.parametrize("survive", ["broker", "rack"])
@pytest.mark.parametrize("seed", seeds(40))
def test_less_on_the_worst_survivor(seed: int, survive: str) -> None:
    """All followers are in one order at first, so that one broker takes over most. No limit is
    exceeded, so leaders and sets stay."""
    chance = random.Random(seed)
    value = cluster(9, [(3, 1, chance.randint(1, 9), chance.randint(1, 30)) for _ in range(90)], 3)
    for part in value["partitions"]:
        homes = [chance.choice([k for k in range(9) if k % 3 == z]) for z in range(3)]
        leader = chance.choice(homes)
        part["replicas"] = [leader, *sorted(set(homes) - {leader})]
    asked = Requirement(Fraction(0), survive)
    problem = posed(Cluster.from_json(value), PlanOptions(balance="load"))
    resources, _ = resources_of(problem, asked.headroom)
    before = problem.cluster
    after = spread_takeovers(problem, before, resources, asked)
    assert (after.replicas[:, 0] == before.replicas[:, 0]).all()
    assert (np.sort(after.replicas) == np.sort(before.replicas)).all()
    was, now = (usage_of(problem, one, resources, asked) for one in (before, after))
    assert max(now.uses[2].after) < max(was.uses[2].after)
    assert now.uses[2].load == was.uses[2].load


def test_one_replica_has_no_order() -> None:
    value = cluster(3, [(1, 1, 1, 1), (2, 1, 1, 1)])
    problem = posed(Cluster.from_json(value), PlanOptions(balance="load"))
    asked = Requirement(Fraction(0))
    resources, _ = resources_of(problem, asked.headroom)
    after = spread_takeovers(problem, problem.cluster, resources, asked)
    assert after.replica_lists() == problem.cluster.replica_lists()
    assert usage_of(problem, after, resources, asked).offline == 1


@pytest.mark.parametrize("survive", ["broker", "rack"])
@pytest.mark.parametrize("seed", seeds(40))
def test_changes_where_limits_are_exceeded(seed: int, survive: str) -> None:
    """Two replicas: no order helps, but other leaders and followers do, within the other limits
    and in the same racks."""
    chance = random.Random(seed)
    loads = [(2, chance.randint(1, 9), chance.randint(1, 9), chance.randint(1, 30))] * 120
    disk, received, sent = (sum(load[k] for load in loads) for k in (1, 2, 3))
    sent = (sent + received) // 9
    value = cluster(9, loads, 3, (disk * 2 // 6, received * 2 // 6, sent * 9 // 5))
    for p, part in enumerate(value["partitions"]):
        part["replicas"] = [p % 9, (p % 9 + 1) % 9]  # one broker takes over everything of another
    asked = Requirement(Fraction(0), survive)
    problem = posed(Cluster.from_json(value), PlanOptions(balance="load"))
    resources, _ = resources_of(problem, asked.headroom)
    before = problem.cluster
    after = spread_takeovers(problem, before, resources, asked)
    assert not usage_of(problem, before, resources, asked).fits
    assert usage_of(problem, after, resources, asked).fits
    assert Placement(after, problem.usable).rack_violations() == 0
    racks = [np.sort(one.rack[one.replicas]) for one in (before, after)]
    assert (racks[0] == racks[1]).all()
