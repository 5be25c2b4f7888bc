"""The events of ``watch --apply`` as JSON values: ``apply`` with its ``state``, and ``progress``.

States: ``would`` (a dry run), ``started``, ``resumed``, ``ended``, ``stopped`` between two waves,
``failed``, ``rolled back`` by a person, and ``refused``. ``at`` is the time of the event.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from partage.auto_apply.ledger import Run
from partage.auto_apply.policy import Refusal

Event = dict[str, Any]


def about(
    run: Run, plan: str, state: str, now: datetime, bytes_left: int | None, **more: Any
) -> Event:
    """What happens with a plan. ``bytes_left``: of the budget, once the plan is counted."""
    return {
        "event": "apply",
        "state": state,
        "at": shown(now),
        "plan": plan,
        "moves": run.moves,
        "leader_changes": run.leader_changes,
        "bytes": run.bytes,
        "bytes_left": bytes_left,
        "fairness": run.fairness,
        "fairness_after": run.fairness_after,
        **more,
    }


def refused(found: Refusal, now: datetime, plan: str | None) -> Event:
    """Nothing is done, for this reason. ``plan``: the plan that is not applied, if there is one."""
    return {
        "event": "apply",
        "state": "refused",
        "at": shown(now),
        "plan": plan,
        "reason": found.reason.value,
        "problem": found.text,
    }


def progress(plan: str, update: Any) -> Event:
    """Progress of a run, as ``partage apply --json`` reports it."""
    return {"event": "progress", "plan": plan, **vars(update)}


def shown(moment: datetime) -> str:
    """ISO 8601 in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
