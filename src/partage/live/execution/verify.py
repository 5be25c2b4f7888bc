"""How far a plan is, according to the cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka import KafkaAdminClient

from partage.live.admin.snapshot import read_partitions
from partage.live.execution.changes import MoveStatus
from partage.live.execution.execution_plan import ExecutionPlan


def verify(plan: ExecutionPlan, admin: KafkaAdminClient) -> dict[str, Any]:
    """``state``: done, not begun, in progress or differs; ``done``, ``moving``, ``waiting``: how
    many partitions; ``differs``: the replicas of partitions that are elsewhere, by name, None where
    they no longer exist; ``leaders``: partitions not led by their preferred leader;
    ``out_of_sync``: partitions with a replica out of sync."""
    states = {state.key: state for state in read_partitions(admin, plan.topics)}
    statuses = {key: change.status(states.get(key)) for key, change in plan.changes.items()}
    counts = Counter(status.value for status in statuses.values())
    differs = {
        plan.changes[key].name: list(states[key].replicas) if key in states else None
        for key, status in statuses.items()
        if status in (MoveStatus.GONE, MoveStatus.ELSEWHERE)
    }
    changing = [states[key] for key in plan.changes if key in states]
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
    }
