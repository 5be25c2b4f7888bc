"""How a run ended: every partition compared with its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from partage.errors import PartageError
from partage.live.admin.states import Key, PartitionState
from partage.live.execution.changes import MoveStatus, why_gone
from partage.live.execution.execution_plan import ExecutionPlan
from partage.units import plural


@dataclass(repr=False)
class Outcome:
    """How a run of ``apply`` or ``rollback`` ended.

    - ``state``: ``done``: the cluster is as planned; ``stopped``: waves are left, run it again;
      ``differs``: all waves ended, but not every partition is as planned
    - ``problems``: partitions that are not on their target, or not led by their preferred leader,
      with the reason; ``still_moving``: those of them that are being reassigned
    - ``dead``: brokers whose throttle could not be restored; ``waves_left``: that have not ended
    - ``resumable``: False where another run would leave all problems as they are: partitions that
      someone else moved, or that no longer exist
    """

    state: str = "done"
    problems: dict[str, str] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    still_moving: list[str] = field(default_factory=list)
    waves_left: int = 0
    resumable: bool = True

    def raise_unless_done(self) -> None:
        """Raise PartageError, with what is wrong, unless the cluster is as planned and no throttle
        is left: for a job that must fail then."""
        if self.state != "done" or self.dead:
            raise PartageError(self._summary())

    def __repr__(self) -> str:
        return f"<Outcome: {self._summary()}>"

    def _summary(self) -> str:
        parts = []
        if self.problems:
            name, why = next(iter(self.problems.items()))
            several = plural(len(self.problems), "partition")
            parts.append(f"{several} not on the target (first: {name}, {why})")
        if self.dead:
            parts.append(f"throttle not restored on brokers {', '.join(map(str, self.dead))}")
        if self.still_moving:
            parts.append(f"{plural(len(self.still_moving), 'partition')} still moving")
        if self.waves_left:
            parts.append(f"{plural(self.waves_left, 'wave')} left")
        return "; ".join([self.state, *parts])

    def compare(
        self,
        plan: ExecutionPlan,
        states: Mapping[Key, PartitionState],
        skipped: Mapping[Key, str],
        wrong_leaders: Mapping[Key, str],
    ) -> None:
        """Fill in the problems from the cluster's ``states``. A run that was stopped reports only
        partitions that were skipped or have the wrong leader."""
        given_up = set()
        for key, change in plan.changes.items():
            state = states.get(key)
            status = change.status(state)
            if state is None or status is MoveStatus.GONE or change.is_left(state):
                given_up.add(change.name)
            if status is MoveStatus.MOVING:
                self.still_moving.append(change.name)
            if status is not MoveStatus.DONE and self.state != "stopped":
                why = why_gone(state) if status is MoveStatus.GONE else status.value
                self.problems[change.name] = skipped.get(key, why)
            elif key in wrong_leaders:
                self.problems[change.name] = wrong_leaders[key]
        self.problems |= {f"{topic}-{number}": why for (topic, number), why in skipped.items()}
        if self.problems and self.state == "done":
            self.state = "differs"
            self.resumable = not self.problems.keys() <= given_up
