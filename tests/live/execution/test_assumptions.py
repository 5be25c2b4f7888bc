"""What differs between a plan and the cluster is refused or named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.live.admin.states import PartitionState, Snapshot
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.preflight import preflight
from tests.live.execution.builders import (
    errors,
    plan_of,
    three_brokers,
    with_partition,
)


def test_another_cluster(plan: ExecutionPlan) -> None:
    other = replace(three_brokers(), cluster_id="other")
    assert errors(plan, other) == ["the plan was made for cluster id, this is other"]


def test_a_partition_elsewhere(plan: ExecutionPlan) -> None:
    elsewhere = tuple(reversed(plan.changes["t", 0].target))
    (error,) = errors(plan, with_partition(0, replicas=elsewhere))
    listed = ",".join(map(str, elsewhere))
    assert error.startswith(
        f"the cluster has changed since the plan was made: t-0 is on {listed}, not 1,2"
    )


def test_a_deleted_partition(plan: ExecutionPlan) -> None:
    cluster = three_brokers()
    cluster = replace(cluster, partitions=cluster.partitions[1:])
    (error,) = errors(plan, cluster)
    assert "t-0 does not exist" in error
    resumed = preflight(plan, cluster, throttle=None, submitted=[("t", 1)])
    assert resumed.errors == []
    assert resumed.warnings == ["deleted since the plan was begun: t-0 does not exist"]


def test_new_topics_and_partitions_are_only_mentioned(plan: ExecutionPlan) -> None:
    cluster = three_brokers()
    new = PartitionState("new", 0, (1,), 1, (1,)), PartitionState("t", 3, (1, 2), 1, (1, 2))
    found = preflight(plan, replace(cluster, partitions=(*cluster.partitions, *new)), throttle=None)
    assert found.errors == []
    assert found.warnings == [
        "topics that are not in the plan: new",
        "partitions that are not in the plan: t-3",
    ]


OTHER_ID = {"topic_id": "another"}
DIFFERENCES: dict[str, tuple[Callable[[Snapshot], Snapshot], str, str]] = {
    "cluster id": (lambda live: replace(live, cluster_id="other"), "this is other", "error"),
    "a broker's rack": (
        lambda live: broker(live, 1, rack="c"),
        "1 is in rack c, not rack a",
        "error",
    ),
    "no racks": (lambda live: broker(live, 1, rack=None), "1 is in no rack, not rack a", "error"),
    "a receiver is gone": (lambda live: without(live, 3), "3 should receive", "error"),
    "a receiver is dead": (lambda live: broker(live, 3, alive=False), "3 should receive", "error"),
    "another is dead": (
        lambda live: broker(live, 2, alive=False),
        "brokers that do not answer: 2",
        "warning",
    ),
    "a new broker": (
        lambda live: replace(live, brokers=(*live.brokers, replace(live.brokers[0], id=9))),
        "brokers that are not in the plan: 9",
        "warning",
    ),
    "a moved partition": (lambda live: state(live, replicas=(2, 1)), "is on 2,1, not 1,2", "error"),
    "another factor": (lambda live: state(live, replicas=(1,)), "is on 1, not 1,2", "error"),
    "a topic created again": (
        lambda live: replace(
            live, partitions=tuple(replace(one, **OTHER_ID) for one in live.partitions)
        ),
        "t-0 was deleted and created again",
        "error",
    ),
    "another leader": (
        lambda live: replace(
            live, partitions=tuple(replace(one, leader=2) for one in live.partitions)
        ),
        "by 2, not 1",
        "warning",
    ),
    "no leader": (
        lambda live: replace(
            live, partitions=tuple(replace(one, leader=None) for one in live.partitions)
        ),
        "nothing can be copied",
        "warning",
    ),
}


def racked() -> Snapshot:
    """``three_brokers`` in racks a, b and a, with topic ids, and disks of unknown size."""
    live = three_brokers()
    brokers = (
        replace(b, rack=rack, log_dirs=()) for b, rack in zip(live.brokers, "aba", strict=True)
    )
    states = (replace(one, topic_id="first") for one in live.partitions)
    return replace(live, brokers=tuple(brokers), partitions=tuple(states))


def broker(live: Snapshot, number: int, **changed: object) -> Snapshot:
    brokers = (
        replace(one, **changed) if one.id == number else one  # type: ignore[arg-type]
        for one in live.brokers
    )
    return replace(live, brokers=tuple(brokers))


def without(live: Snapshot, number: int) -> Snapshot:
    return replace(live, brokers=tuple(one for one in live.brokers if one.id != number))


def state(live: Snapshot, **changed: object) -> Snapshot:
    """The cluster with another state of t-0."""
    first, *others = live.partitions
    return replace(live, partitions=(replace(first, **changed), *others))  # type: ignore[arg-type]


@pytest.mark.parametrize("what", DIFFERENCES)
def test_each_difference(tmp_path: Path, what: str) -> None:
    live = racked()
    partage.plan(live.cluster()).write(tmp_path / "plan")
    plan = ExecutionPlan.read(tmp_path / "plan")
    same = preflight(plan, live, throttle=None)
    assert (same.errors, same.warnings) == ([], [])
    change, expected, kind = DIFFERENCES[what]
    found = preflight(plan, change(live), throttle=None)
    named = found.errors if kind == "error" else found.warnings
    assert any(expected in line for line in named), (found.errors, found.warnings)
    if kind == "warning":
        assert found.errors == []


def test_a_rollback_only_names_other_racks(tmp_path: Path) -> None:
    live = racked()
    partage.plan(live.cluster()).write(tmp_path / "plan")
    plan = ExecutionPlan.read(tmp_path / "plan").reversed()
    found = preflight(plan, broker(live, 1, rack="c"), throttle=None)
    assert found.errors == []
    assert found.warnings == ["the plan assumed other racks: broker 1 is in rack c, not rack a"]


def test_a_plan_that_knows_no_racks() -> None:
    found = preflight(plan_of([Change("t", 0, (1, 2), (1, 3))]), racked(), throttle=None)
    assert found.warnings[1] == "the plan knows no racks, and leaves fewer: t-0 in 1 instead of 2"


def test_a_replan_on_a_broker_that_the_plan_does_not_know() -> None:
    """Broker 9 came later, into the rack of broker 1."""
    live = racked()
    live = replace(live, brokers=(*live.brokers, replace(live.brokers[0], id=9)))
    change = Change("t", 0, (1, 2), (1, 9))
    plan = replace(plan_of([change]), racks={1: "a", 2: "b", 3: "a"})
    found = preflight(plan, live, throttle=None)
    assert "the plan knows not all racks, and leaves fewer: t-0 in 1 instead of 2" in found.warnings
    apart = replace(plan, changes={change.key: replace(change, target=(9, 2))})
    assert not any("racks" in line for line in preflight(apart, live, throttle=None).warnings)


def test_a_topic_created_again_since_the_plan_was_begun() -> None:
    plan = plan_of([Change("t", 0, (1, 2), (1, 3))]).with_topic_ids({"t": "first"})
    live = state(racked(), **OTHER_ID)
    for direction in (plan, plan.reversed()):
        found = preflight(direction, live, throttle=None, submitted=[("t", 0)])
        assert found.errors == []
        assert (
            "deleted since the plan was begun: t-0 was deleted and created again" in found.warnings
        )


def test_min_insync_replicas() -> None:
    plan = plan_of([Change("t", 0, (1, 2), (1,)), Change("t", 1, (1, 2), (2,))])
    live = racked()
    assert preflight(plan, live, throttle=None, min_isr={"t": 1}).errors == []
    assert preflight(plan, live, throttle=None, min_isr={"t": 2}).errors == [
        "fewer replicas than min.insync.replicas: t-0 would have 1 of 2, t-1 would have 1 of 2; "
        "producers with acks=all could not write: lower min.insync.replicas first, or plan again"
    ]
    # they cannot write now either
    assert preflight(plan, live, throttle=None, min_isr={"t": 3}).errors == []
    assert preflight(plan.reversed(), live, throttle=None, min_isr={"t": 2}).errors == []


def test_leaders_of_partitions_that_the_plan_does_not_change(plan: ExecutionPlan) -> None:
    """The leader counts of the plan are those of preferred leaders."""
    (kept,) = (key for key in plan.original_replicas if key not in plan.changes)
    named = f"{kept[0]}-{kept[1]} by 2, not 1"
    found = preflight(plan, with_partition(kept[1], leader=2), throttle=None)
    assert found.errors == []
    assert found.warnings == [
        f"not led by the preferred leader, and the plan does not change them: {named}; "
        "kafka-leader-election.sh elects it"
    ]
    cannot = with_partition(kept[1], leader=2, isr=(2,))
    assert preflight(plan, cannot, throttle=None).warnings == []
