"""How far a run is: its waves, the current one, and the partitions that were skipped.

Nothing here talks to the cluster: its state is passed in. Two things change the remaining waves:
another concurrency, for which they are scheduled again (``rescheduling.py``), and a broker that
died, without which the changes that it blocks are planned again (``replanning.py``), in waves
after the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from partage.live.admin.states import Key, PartitionState, Snapshot
from partage.live.execution.changes import Change, MoveStatus, why_gone
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.replanning import replan_without, replannable
from partage.live.execution.rescheduling import reschedule

TAKEN_AWAY_ROUNDS = 5
"""How many times in a row a partition must be seen without the requested reassignment."""


@dataclass(frozen=True)
class ProgressUpdate:
    """What a run reports every round. ``bytes_done`` and ``bytes_total`` are the current wave's,
    without partitions that are left where they are; ``bytes_later`` are those of the waves after
    it. Rates are in bytes per second; ``throttle`` is what a broker may send and receive, None
    without a throttle. None where something cannot be known yet."""

    wave: int
    waves: int
    moving: int
    bytes_done: int
    bytes_total: int
    bytes_per_second: float | None = None
    eta_seconds: float | None = None
    note: str | None = None
    throttle: int | None = None
    bytes_later: int | None = None


class Progress:
    """The progress of a ``plan``. ``wave``: the current wave, from 1; ``skipped``: partitions that
    are left where they are, with the reason."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.concurrency = plan.concurrency
        self.wave = 0
        self.skipped: dict[Key, str] = {}
        self._waves = list(plan.waves)
        self._done: set[Key] = set()
        self._strayed = Counter[Key]()

    @property
    def waves(self) -> int:
        """How many waves there are, finished ones included."""
        return len(self._waves)

    @property
    def remaining_waves(self) -> list[tuple[Key, ...]]:
        """The waves that have not begun."""
        return self._waves[self.wave :]

    @property
    def bytes_later(self) -> int | None:
        """Bytes to copy in the waves that have not begun; None where a size is unknown."""
        keys = {key for wave in self.remaining_waves for key in wave}
        changes = [self.plan.changes[key] for key in keys - self._done - self.skipped.keys()]
        sizes = [change.bytes_to_copy for change in changes]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def begin(self, states: Mapping[Key, PartitionState]) -> None:
        """Take the states before the run: what is done already is not copied."""
        self._done = {
            key
            for key, change in self.plan.changes.items()
            if change.status(states.get(key)) is MoveStatus.DONE and not change.between_log_dirs
        }

    def begin_next_wave(self) -> Sequence[Key]:
        """The partitions of the next wave, which becomes the current one."""
        self.wave += 1
        return self._waves[self.wave - 1]

    def pending(self, keys: Iterable[Key], states: Mapping[Key, PartitionState]) -> list[Change]:
        """The changes that are still to do. Partitions that no longer exist, or that someone else
        moved, are skipped."""
        found = []
        for key in keys:
            change = self.plan.changes[key]
            status = change.status(states.get(key))
            if status is MoveStatus.GONE:
                self._skip_gone(key, states)
            elif change.is_left(states[key]):
                self.skipped[key] = f"someone else moved it to {list(states[key].replicas)}"
            elif status is not MoveStatus.DONE and key not in self.skipped:
                found.append(change)
        return found

    def incomplete(
        self, changes: Iterable[Change], states: Mapping[Key, PartitionState]
    ) -> list[Change]:
        """Those of the current wave's changes that the run still has to wait for."""
        found = []
        for change in changes:
            if change.key in self.skipped:
                continue
            state = states.get(change.key)
            if state is None or change.status(state) is MoveStatus.GONE:
                self._skip_gone(change.key, states)
            elif self._is_taken_away(change, state):
                back = change.status(state) is MoveStatus.WAITING
                other = "cancelled it" if back else f"moved it to {list(state.replicas)}"
                self.skipped[change.key] = f"someone else {other}"
            elif not change.is_complete(state):
                found.append(change)
        return found

    def _is_taken_away(self, change: Change, state: PartitionState) -> bool:
        """Whether the requested reassignment is no longer in progress, or is another one. Brokers
        learn of a request, or of its end, a moment later: only what stays so counts."""
        if change.status(state) in (MoveStatus.MOVING, MoveStatus.DONE):
            del self._strayed[change.key]
        else:
            self._strayed[change.key] += 1
        return self._strayed[change.key] >= TAKEN_AWAY_ROUNDS

    def _skip_gone(self, key: Key, states: Mapping[Key, PartitionState]) -> None:
        self.skipped[key] = why_gone(states.get(key))

    def reschedule(self, cluster: Snapshot, concurrency: int) -> int:
        """Schedule the remaining waves again; returns how many there are. Raises CannotError where
        no schedule fits the disks: the waves stay, and this concurrency is not tried again."""
        self.concurrency = concurrency
        left = [key for wave in self.remaining_waves for key in wave if key not in self.skipped]
        self._waves[self.wave :] = reschedule(self.plan, cluster, concurrency, left).waves
        return len(self.remaining_waves)

    def replan(
        self, cluster: Snapshot, dead: Collection[int], blocked: Iterable[Change]
    ) -> tuple[set[Key], int, Path] | None:
        """Plan everything that dead brokers block without them, in the remaining waves too.

        Returns the partitions, how many replicas they move, and the replan file; None where nothing
        can be planned again. Raises CannotError where there is no such plan.
        """
        changes = {key: c for key, c in self.plan.changes.items() if key not in self.skipped}
        ahead = [
            change
            for wave in self.remaining_waves
            for key in wave
            if (change := changes.get(key)) and change.adding
        ]
        plan = replace(self.plan, changes=changes)
        chosen = replannable(plan, cluster, dead, [*blocked, *ahead])
        if not chosen:
            return None
        file, moves = replan_without(plan, cluster, dead, chosen, self.concurrency)
        self.plan = self.plan.with_replan(file)
        kept = (tuple(key for key in wave if key not in chosen) for wave in self.remaining_waves)
        new = (tuple(key for key in wave if key in chosen) for wave in self.plan.waves)
        self._waves[self.wave :] = [*filter(None, kept), *filter(None, new)]
        return chosen, moves, file
