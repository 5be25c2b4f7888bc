"""The end of a run: preferred leaders elected, and everything compared with the goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from partage.live.admin.states import Key, PartitionState
from partage.live.execution.asking import Asking
from partage.live.execution.job import Job, Standing
from partage.live.execution.journal import Journal

_TRIES = 20
"""Rounds until brokers have heard who leads now."""


@dataclass
class Outcome:
    """How a run ended. ``state``: done, stopped, or differs; ``problems``: partitions that are not
    where they shall be, or not led by whom they shall be, and why; ``dead``: brokers whose throttle
    could not be put back."""

    state: str = "done"
    problems: dict[str, str] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    still_moving: list[str] = field(default_factory=list)
    waves_left: int = 0


def elect(job: Job, asking: Asking, journal: Journal, pause: Callable[[], None]) -> dict[Key, str]:
    """Have preferred leaders lead where others do, as Kafka leaves leadership where it was
    (KIP-460); gives where that did not come about, and why."""
    why: dict[Key, str] = {}
    asked = False
    for _ in range(_TRIES):
        wrong = _misled(job, asking)
        willing = [key for key, one in wrong.items() if one.replicas[0] in one.isr]
        if not set(willing) - set(why):
            break
        why = asking.elect(willing)
        if not asked:
            journal.write("leaders elected", partitions=len(willing))
        asked = True
        pause()
    else:
        wrong = _misled(job, asking)
    return {
        key: f"is led by {_leader(one)}, not {one.replicas[0]}: {_because(one, why.get(key))}"
        for key, one in wrong.items()
    }


def _misled(job: Job, asking: Asking) -> dict[Key, PartitionState]:
    """Partitions that stand still and are led by another than their preferred leader."""
    return {
        key: one
        for key, one in asking.now(job.changes).items()
        if not one.adding and not one.removing and one.leader != one.replicas[0]
    }


def _leader(one: PartitionState) -> str:
    return "nobody" if one.leader is None else str(one.leader)


def _because(one: PartitionState, refused: str | None) -> str:
    return "that is not in sync" if one.replicas[0] not in one.isr else refused or "not elected yet"


def conclude(
    job: Job, asking: Asking, refused: Mapping[Key, str], misled: Mapping[Key, str], out: Outcome
) -> None:
    """Compare with the goal, replica by replica, and put it into ``out``."""
    now = asking.now(job.changes)
    for key, change in job.changes.items():
        standing = change.standing(now.get(key))
        if standing is Standing.MOVING:
            out.still_moving.append(change.name)
        if standing is not Standing.DONE and out.state != "stopped":
            out.problems[change.name] = refused.get(key, standing.value)
        elif key in misled:
            out.problems[change.name] = misled[key]
    out.problems |= {f"{topic}-{number}": why for (topic, number), why in refused.items()}
    if out.problems and out.state == "done":
        out.state = "differs"
