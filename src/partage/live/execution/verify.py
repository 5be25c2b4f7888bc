"""How far a plan is, according to the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient

from partage.live.admin.connection import alive_brokers
from partage.live.admin.snapshot import read_partitions
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.log_dirs import LogDirs, Unsettled
from partage.live.execution.retrying_admin import RetryingAdmin


def verify(plan: ExecutionPlan, admin: KafkaAdminClient) -> dict[str, Any]:
    """``state``: done, not begun, in progress or differs; ``done``, ``moving``, ``waiting``: how
    many partitions; ``differs``: the replicas of partitions that are elsewhere, by name, None where
    they no longer exist, or their topic was created again; ``leaders``: partitions not led by their
    preferred leader; ``out_of_sync``: partitions with a replica out of sync; ``log_dirs``:
    partitions on their brokers with a replica in another log dir than planned, and which."""
    states = {state.key: state for state in read_partitions(admin, plan.topics)}
    statuses = {key: _status(change, states.get(key)) for key, change in plan.changes.items()}
    elsewhere = _in_other_log_dirs(plan, admin, statuses)
    for key, one in elsewhere.items():
        moves = one.copying or bool(plan.changes[key].adding)
        statuses[key] = MoveStatus.MOVING if moves else MoveStatus.WAITING
    counts = Counter(status.value for status in statuses.values())
    differs = {
        plan.changes[key].name: list(states[key].replicas)
        if status is MoveStatus.ELSEWHERE
        else None
        for key, status in statuses.items()
        if status in (MoveStatus.GONE, MoveStatus.ELSEWHERE)
    }
    changing = [states[key] for key, one in statuses.items() if one is not MoveStatus.GONE]
    lagging = [state.name for state in changing if set(state.isr) < set(state.replicas)]
    leaders = [state.name for state in changing if state.leader != state.replicas[0]]
    if differs:
        state = "differs"
    elif counts["done"] == len(statuses):
        state = "done" if not lagging and not leaders else "in progress"
    else:
        state = "not begun" if counts["waiting"] == len(statuses) else "in progress"
    return {
        "state": state,
        "partitions": len(statuses),
        "done": counts["done"],
        "moving": counts["moving"],
        "waiting": counts["waiting"],
        "differs": differs,
        "leaders": leaders,
        "out_of_sync": lagging,
        "log_dirs": {plan.changes[key].name: one.where for key, one in elsewhere.items()},
    }


def _status(change: Change, state: PartitionState | None) -> MoveStatus:
    """A partition that a rollback moves is moving."""
    status = change.status(state)
    if state is None or status is not MoveStatus.ELSEWHERE:
        return status
    return MoveStatus.MOVING if change.must_be_cancelled_first(state) else status


def _in_other_log_dirs(
    plan: ExecutionPlan, admin: KafkaAdminClient, statuses: Mapping[Key, MoveStatus]
) -> dict[Key, Unsettled]:
    """Of changes whose replicas are on their brokers."""
    placed = [
        change
        for key, change in plan.changes.items()
        if change.placing and statuses[key] is MoveStatus.DONE
    ]
    if not placed:
        return {}
    return LogDirs(RetryingAdmin(admin, 1.0)).unsettled(
        placed, alive_brokers(admin.describe_cluster())
    )
