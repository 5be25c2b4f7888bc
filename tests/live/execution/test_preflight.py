"""Every reason not to start a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("kafka")

from partage.live.admin.states import LogDir
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.preflight import preflight
from tests.live.execution.builders import (
    MB,
    errors,
    plan_of,
    three_brokers,
    with_broker,
    with_partition,
)


def test_nothing_to_object(plan: ExecutionPlan) -> None:
    assert errors(plan, three_brokers()) == []


def test_changes_that_are_done(plan: ExecutionPlan) -> None:
    key, change = next((k, c) for k, c in plan.changes.items() if c.adding)
    in_sync = tuple(sorted(change.target))
    cluster = with_partition(key[1], replicas=change.target, isr=in_sync)
    assert errors(plan, cluster) == []
    assert plan.statuses(cluster.partitions)[key] is MoveStatus.DONE


def test_reassignments_of_others() -> None:
    plan = plan_of([Change("t", 1, (1, 2), (1, 3)), Change("t", 2, (1, 2), (3, 2))])
    elsewhere = with_partition(1, replicas=(3, 2), adding=(3,), removing=(1,))
    (state, other) = errors(plan, elsewhere)
    assert state == (
        "the cluster has changed since the plan was made: t-1 is on 3,2, not 1,2; plan again"
    )
    assert other == "someone else is reassigning t-1: wait until it ends, or cancel it"
    unplanned = with_partition(0, replicas=(1, 3), adding=(3,), removing=(2,))
    (error,) = errors(plan, unplanned, resumed=True)
    assert error == "someone else is reassigning t-0: wait until it ends, or cancel it"
    ours = with_partition(1, replicas=(1, 3), adding=(3,), removing=(2,))
    assert errors(plan, ours) == []
    rollback = with_partition(1, replicas=(1, 2), adding=(2,), removing=(3,))
    assert errors(plan, rollback, resumed=True) == []
    assert errors(plan, rollback) == [other]


def test_receivers_that_cannot_receive(plan: ExecutionPlan) -> None:
    assert errors(plan, with_broker(3, alive=False)) == [
        "broker 3 should receive replicas: it does not answer"
    ]
    cordoned = (LogDir("/data", 100 * MB, 20 * MB, cordoned=True),)
    assert errors(plan, with_broker(3, log_dirs=cordoned)) == [
        "broker 3 should receive replicas: it is cordoned"
    ]
    cluster = three_brokers()
    without = replace(cluster, brokers=cluster.brokers[:2])
    assert errors(plan, without) == ["broker 3 should receive replicas: not in the cluster"]


def test_a_dead_receiver_whose_moves_will_be_planned_again(plan: ExecutionPlan) -> None:
    found = preflight(plan, with_broker(3, alive=False), throttle=None, replanned=True)
    assert found.errors == []
    assert found.warnings == ["broker 3 should receive replicas: it does not answer"]


def test_disks(plan: ExecutionPlan) -> None:
    tight = (LogDir("/data", 100 * MB, 20 * MB - 1, cordoned=False),)
    (error,) = errors(plan, with_broker(3, log_dirs=tight))
    assert error == "wave 2 would overfill the disks of broker 3 by 1 bytes"
    unknown = (LogDir("/data", None, None, cordoned=False),)
    assert errors(plan, with_broker(3, log_dirs=unknown)) == []


def test_a_throttle_below_the_write_rate(plan: ExecutionPlan) -> None:
    rates = {key: replace(change, bytes_per_second=500.0) for key, change in plan.changes.items()}
    busy = replace(plan, changes=rates)
    # the leader sends 500 to the new replica, and 500 to the follower that is in sync
    assert errors(busy, three_brokers(), throttle=1001) == []
    (error,) = errors(busy, three_brokers(), throttle=1000)
    assert error == (
        "a throttle of 1,000 bytes per second is too low: in wave 1 broker 1 sends 1,000 bytes per "
        "second of new records alone, so the wave would never finish"
    )
