"""Threads of the tasks of each process, once the processes are chosen.

*Active tasks* are assigned by one min-cost flow, (subtopology, process) → thread, with two costs:
tasks per thread even, then tasks that change thread. The tasks that stay are read off the flow.

*Standbys* go to the threads that had them, then to the least loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.streams.tasks import Tasks, squares_near
from partage.flow.network import Network, minimise
from partage.group.model import NO_MEMBER


@dataclass(frozen=True, eq=False)
class TaskGroups:
    """G groups of tasks that a process is to run: ``kind``, ``process``, ``count`` [G], and how
    many of the group each thread runs already, ``had`` [G, M]."""

    kind: Ints
    process: Ints
    count: Ints
    had: Ints

    def over_threads(self, tasks: Tasks) -> tuple[Ints, Ints]:
        """[G, M] tasks that stay on each thread, and tasks that come: threads even, then the
        fewest that come."""
        groups, threads = self.had.shape
        open_to = tasks.open_to[self.kind] & (tasks.process == self.process[:, np.newaxis])
        group, thread = np.nonzero(open_to)
        sink = groups + threads
        base = Network(sink + 1, 2)
        base.supply[:groups], base.supply[sink] = self.count, -int(self.count.sum())
        kept = base.arcs(group, groups + thread, self.had[group, thread])
        new = base.arcs(group, groups + thread, self.count[group], {1: 1})
        load = np.bincount(self.process, self.count, minlength=len(tasks.threads))
        even = squares_near(
            (load / tasks.threads)[tasks.process],
            groups + np.arange(threads),
            np.full(threads, sink),
            np.ones(threads, dtype=np.int64),
            np.full(threads, int(self.count.sum())),
        )
        optimum = minimise(base, {0: even}, prove_last=False)
        if optimum is None:
            raise AssertionError("every process has a thread for the tasks that it runs")
        stay, come = np.zeros_like(self.had), np.zeros_like(self.had)
        stay[group, thread], come[group, thread] = optimum.flow[kept], optimum.flow[new]
        return stay, come


def assign_actives(tasks: Tasks, target: Ints) -> Ints:
    """[T] the thread of the process ``target`` [T] that runs each task, ``NO_MEMBER`` where it has
    no process."""
    answer = np.full(len(tasks.kind), NO_MEMBER, dtype=np.int64)
    placed = np.flatnonzero(target != NO_MEMBER)
    code = tasks.kind[placed] * len(tasks.threads) + target[placed]
    named, number, count = np.unique(code, return_inverse=True, return_counts=True)
    kind, process = np.divmod(named, len(tasks.threads))
    owner = tasks.owner[placed]
    had = np.zeros((len(named), len(tasks.process)), dtype=np.int64)
    np.add.at(had, (number.ravel()[owner != NO_MEMBER], owner[owner != NO_MEMBER]), 1)
    stay, come = TaskGroups(kind, process, count, had).over_threads(tasks)
    for group in range(len(named)):
        movers: list[int] = []
        for task in placed[number.ravel() == group].tolist():
            thread = int(tasks.owner[task])
            if thread != NO_MEMBER and stay[group, thread]:
                answer[task] = thread
                stay[group, thread] -= 1
            else:
                movers.append(task)
        # threads take turns, instead of each filling up before the next
        place = np.repeat(np.arange(len(had[group])), come[group])
        turn = np.arange(len(place)) - np.searchsorted(place, place)
        answer[movers] = place[np.lexsort((place, turn))]
    return answer


def assign_standbys(tasks: Tasks, active: Ints, holds: Bools, had: Bools) -> list[tuple[int, int]]:
    """(thread, task) of every standby, ascending; ``holds`` [T, N]: the processes of the standbys;
    ``had`` [T, M]: the threads that held a standby before."""
    threads = len(tasks.process)
    load = np.bincount(active[active != NO_MEMBER], minlength=threads)
    found: list[tuple[int, int]] = []
    for process in range(len(tasks.threads)):
        mine = tasks.process == process
        held = np.flatnonzero(holds[:, process])
        most = -(-(int(load[mine].sum()) + len(held)) // int(mine.sum()))
        later: list[int] = []
        for task in held.tolist():
            before = np.flatnonzero(mine & had[task] & tasks.open_to[tasks.kind[task]])
            if len(before) and load[before[0]] < most:
                found.append((int(before[0]), task))
                load[before[0]] += 1
            else:
                later.append(task)
        for task in later:
            able = np.flatnonzero(mine & tasks.open_to[tasks.kind[task]])
            thread = int(able[load[able].argmin()])
            found.append((thread, task))
            load[thread] += 1
    return sorted(found)
