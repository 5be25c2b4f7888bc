"""How far a plan is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.verify import verify
from partage.testing import FakeCluster


def test_a_topic_that_was_created_again_is_not_shown_where_the_new_one_is(tmp_path: Path) -> None:
    """The new one may be on the original brokers: that would look as if nothing had begun."""
    cluster = FakeCluster({("t", n): (1, 2) for n in range(2)}, range(1, 5))
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write(tmp_path)
    plan = ExecutionPlan.read(tmp_path)
    assert verify(plan, cluster.admin)["state"] == "not begun"
    cluster.delete_topic("t")
    cluster.create_topic("t", [(1, 2), (1, 2)])
    found = verify(plan, cluster.admin)
    assert (found["state"], found["leaders"]) == ("differs", [])
    assert found["differs"] == {change.name: None for change in plan.changes.values()}


def test_partitions_that_a_rollback_moves_are_moving(tmp_path: Path) -> None:
    """Not moved by someone else, for which a new plan would be the answer."""
    cluster = FakeCluster({("t", n): (1, 2) for n in range(2)}, range(1, 5))
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write(tmp_path)
    plan = ExecutionPlan.read(tmp_path)
    partage.apply(tmp_path, admin=cluster.admin, clock=cluster.clock, sleep=cluster.sleep)
    change = next(iter(plan.changes.values()))
    cluster.reassign(change.key, change.origin)
    found = verify(plan, cluster.admin)
    assert (found["state"], found["moving"], found["differs"]) == ("in progress", 1, {})
