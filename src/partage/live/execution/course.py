"""How far a job has come while it is carried out: its waves, the one under way, what is refused.

Nothing here asks the cluster for anything: what it says is handed in. Two things change the waves
that are left: another concurrency, by which they are cut anew (``recutting.py``), and a broker that
died, without which what it holds up is planned anew (``replanning.py``), in waves behind the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from partage.live.admin.states import Key, PartitionState, Snapshot
from partage.live.execution.job import Change, Job, Standing
from partage.live.execution.recutting import recut
from partage.live.execution.replanning import plan_without, to_plan_anew
from partage.live.execution.watching import arrived


class Course:
    """The course of a ``job``. ``number``: the wave under way, from 1; ``refused``: partitions that
    are left as they are, and why."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.concurrency = job.concurrency
        self.number = 0
        self.refused: dict[Key, str] = {}
        self._waves = list(job.waves)

    @property
    def waves(self) -> int:
        """How many there are, those that are done included."""
        return len(self._waves)

    @property
    def later(self) -> list[tuple[Key, ...]]:
        """The waves that have not begun."""
        return self._waves[self.number :]

    def begin_next(self) -> Sequence[Key]:
        """The partitions of the next wave, which is under way from now on."""
        self.number += 1
        return self._waves[self.number - 1]

    def open(self, keys: Iterable[Key], now: Mapping[Key, PartitionState]) -> list[Change]:
        """The changes that are not done yet and can be; what cannot be is refused."""
        found = []
        for key in keys:
            change = self.job.changes[key]
            standing = change.standing(now.get(key))
            if standing is Standing.GONE:
                self.refused[key] = "it is gone"
            elif standing is Standing.ELSEWHERE and not turns(now[key], change):
                self.refused[key] = f"others moved it to {list(now[key].replicas)}"
            elif standing is not Standing.DONE and key not in self.refused:
                found.append(change)
        return found

    def under_way(
        self, changes: Iterable[Change], now: Mapping[Key, PartitionState]
    ) -> list[Change]:
        """Those of a wave's changes that are still to be waited for."""
        found = []
        for change in changes:
            if change.key in self.refused:
                continue
            if change.key not in now:
                self.refused[change.key] = "it is gone"
            elif not arrived(change, now[change.key]):
                found.append(change)
        return found

    def cut_anew(self, now: Snapshot, concurrency: int) -> int:
        """Cut the later waves anew; gives how many they are. Raises CannotError where no order of
        waves fits the disks: they stay as they were, and are not tried again."""
        self.concurrency = concurrency
        left = [key for wave in self.later for key in wave if key not in self.refused]
        self._waves[self.number :] = recut(self.job, now, concurrency, left).waves
        return len(self.later)

    def plan_anew(
        self, now: Snapshot, dead: Collection[int], held_up: Iterable[Change]
    ) -> tuple[set[Key], int, Path] | None:
        """Plan all that dead brokers hold up, in later waves too, without them: which partitions
        that is, how many replicas they move, and the file. None where nothing can be planned anew;
        raises CannotError where there is no such plan."""
        changes = {key: c for key, c in self.job.changes.items() if key not in self.refused}
        ahead = [c for wave in self.later for key in wave if (c := changes.get(key)) and c.adding]
        job = replace(self.job, changes=changes)
        hit = to_plan_anew(job, now, dead, [*held_up, *ahead])
        if not hit:
            return None
        file, moves = plan_without(job, now, dead, hit, self.concurrency)
        self.job = self.job.again()
        rest = (tuple(key for key in wave if key not in hit) for wave in self.later)
        anew = (tuple(key for key in wave if key in hit) for wave in self.job.waves)
        self._waves[self.number :] = [*filter(None, rest), *filter(None, anew)]
        return hit, moves, file


def turns(now: PartitionState, change: Change) -> bool:
    """Whether it is on the way that this job undoes, as in a rollback in the middle of a move, or
    stuck on it."""
    on_its_way = bool(now.adding or now.removing)
    stuck = bool(set(now.adding) & set(now.removing))
    return stuck or (on_its_way and now.replicas == change.origin)
