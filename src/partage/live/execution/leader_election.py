"""Preferred leaders elected after the last wave: Kafka leaves leadership where it was (KIP-460)."""

from __future__ import annotations

from collections.abc import Callable

from partage.live.admin.states import Key, PartitionState
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.journal import Journal
from partage.live.execution.retrying_admin import RetryingAdmin

_ROUNDS = 20
"""How often to look until brokers have learned of the new leaders."""


def elect_preferred_leaders(
    plan: ExecutionPlan, admin: RetryingAdmin, journal: Journal, pause: Callable[[], None]
) -> dict[Key, str]:
    """Elect the preferred leader of every partition that has another; returns the partitions where
    that failed, with the reason."""
    refused: dict[Key, str] = {}
    recorded = False
    for _ in range(_ROUNDS):
        wrong = _wrongly_led(plan, admin)
        electable = [key for key, state in wrong.items() if state.replicas[0] in state.isr]
        if not set(electable) - set(refused):
            break
        refused = admin.elect_preferred_leaders(electable)
        if not recorded:
            journal.write("leaders elected", partitions=len(electable))
        recorded = True
        pause()
    else:
        wrong = _wrongly_led(plan, admin)
    return {key: _problem(state, refused.get(key)) for key, state in wrong.items()}


def _wrongly_led(plan: ExecutionPlan, admin: RetryingAdmin) -> dict[Key, PartitionState]:
    """Partitions that are not being reassigned and have another leader than the preferred one."""
    return {
        key: state
        for key, state in admin.states(plan.changes).items()
        if not state.adding
        and not state.removing
        and state.leader != state.replicas[0]
        and not state.is_other_topic(plan.changes[key].topic_id)
    }


def _problem(state: PartitionState, refused: str | None) -> str:
    preferred = state.replicas[0]
    if preferred not in state.isr:
        why = f"broker {preferred} is not in sync"
    else:
        why = refused or "not elected yet"
    leader = "has no leader" if state.leader is None else f"is led by broker {state.leader}"
    return f"{leader} instead of {preferred}: {why}"
