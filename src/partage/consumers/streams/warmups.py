"""Warm-ups: tasks stay where their state is until their target has it too (KIP-441).

A process has *caught up* with a task where its lag is acceptable. A stateful task may run where a
process has caught up or, where none has, on the processes with the smallest lag. A task whose
target is none of these waits:

- It runs where it ran before, if it may. Otherwise it runs where the load is then the least (a
  min-cost flow), preferably where it has a standby.
- If it now runs where a standby of it was planned, the target gets that standby in exchange.
  Otherwise the target gets a *warm-up*, an additional standby, while ``max_warmup_replicas``
  allows: first the targets with the smallest lag, so that a warm-up that has begun continues, then
  the tasks that the fewest processes have caught up with.

A standby whose process has not caught up waits in the same way. Another process with a smaller lag
and without a copy of the task keeps a standby for it: a process that has caught up, the least
loaded first; if there is none, the process with the smallest lag. The planned process gets a
warm-up if one is left.

In later rounds, tasks that have caught up no longer wait. Targets are chosen so that the fewest of
them have not caught up: a round in which w more targets have caught up has at least w fewer tasks
that wait. (Rack costs come before that; with them it holds as long as no process has left.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.streams.tasks import Tasks, squares_near
from partage.flow.network import Network, minimise
from partage.group.model import NO_MEMBER


@dataclass(frozen=True, eq=False)
class StateLags:
    """How far the state of T tasks is behind on N processes.

    - ``lag`` [T, N] records; ``able`` [T, N]: whether the process may run the task at all
    - ``acceptable``: the largest lag of a process that has caught up
    """

    lag: Ints
    able: Bools
    acceptable: int

    @property
    def caught_up(self) -> Bools:
        """[T, N] whether the process may run the task and its lag is acceptable."""
        return self.able & (self.lag <= self.acceptable)

    @property
    def may_run(self) -> Bools:
        """[T, N] processes that have caught up; where none has, those with the smallest lag."""
        ready = self.caught_up
        lag = np.where(self.able, self.lag, np.iinfo(np.int64).max)
        least = self.able & (lag == lag.min(axis=1, keepdims=True))
        return np.where(ready.any(axis=1, keepdims=True), ready, least)

    def by_need(self, task: Ints, process: Ints) -> Ints:
        """Order of (task, process) pairs: the smallest lag first, then the tasks that the fewest
        processes have caught up with."""
        return np.lexsort(
            (process, task, self.caught_up.sum(axis=1)[task], self.lag[task, process])
        )


@dataclass(frozen=True, eq=False)
class WarmupPlan:
    """The copies of all tasks in one round.

    - ``active`` [T]: the process of each task; ``standby``, ``warmup`` [T, N]
    - ``waiting``: number of active tasks and standbys that are not on their target
    """

    active: Ints
    standby: Bools
    warmup: Bools
    waiting: int

    @classmethod
    def without_waiting(cls, target: Ints, standby: Bools) -> WarmupPlan:
        """Every copy on its target."""
        return cls(target, standby, np.zeros_like(standby), 0)


def plan_round(
    tasks: Tasks, planned: WarmupPlan, stateful: Bools, lags: StateLags, max_warmups: int
) -> WarmupPlan:
    """This round on the way to ``planned``, with at most ``max_warmups``; ``stateful`` [T]."""
    target, may_run = planned.active, lags.may_run
    waits = stateful & (target != NO_MEMBER)
    waits[waits] = ~may_run[waits, target[waits]]
    active = _while_waiting(tasks, target, waits, planned.standby, may_run)
    now = WarmupPlan(
        active, planned.standby.copy(), np.zeros_like(planned.standby), int(waits.sum())
    )
    left = max_warmups - _warm_up_targets(now, np.flatnonzero(waits), target, lags, max_warmups)
    kept = _keep_standbys_caught_up(tasks, now, lags, left)
    return replace(now, waiting=now.waiting + kept)


def _warm_up_targets(
    now: WarmupPlan, waits: Ints, target: Ints, lags: StateLags, max_warmups: int
) -> int:
    """Give the target of each waiting task the standby that became active, or a warm-up. Returns
    the number of warm-ups."""
    swaps = waits[now.standby[waits, now.active[waits]]]
    now.standby[swaps, now.active[swaps]] = False
    now.standby[swaps, target[swaps]] = True
    others = np.setdiff1d(waits, swaps)
    begun = others[lags.by_need(others, target[others])][:max_warmups]
    now.warmup[begun, target[begun]] = True
    return len(begun)


def _keep_standbys_caught_up(tasks: Tasks, now: WarmupPlan, lags: StateLags, left: int) -> int:
    """Move standbys whose process has not caught up to a process with a smaller lag, and put
    warm-ups in their places while some are ``left``. Returns the number of moved standbys."""
    runs = np.flatnonzero(now.active != NO_MEMBER)
    copies = now.standby | now.warmup
    copies[runs, now.active[runs]] = True
    load = np.bincount(now.active[runs], minlength=len(tasks.threads)) + now.standby.sum(axis=0)
    caught_up = lags.caught_up
    task, process = np.nonzero(now.standby & ~caught_up)
    order = lags.by_need(task, process)
    kept = 0
    for at, to in zip(task[order].tolist(), process[order].tolist(), strict=True):
        free = lags.able[at] & ~copies[at] & (lags.lag[at] < lags.lag[at, to])
        ready = free & caught_up[at]
        if not free.any():
            continue
        weight = load * tasks.scale if ready.any() else lags.lag[at]
        able = np.flatnonzero(ready if ready.any() else free)
        keeper = int(able[weight[able].argmin()])
        now.standby[at, keeper], now.standby[at, to] = True, False
        now.warmup[at, to] = kept < left
        copies[at, keeper], copies[at, to] = True, kept < left
        load[keeper] += 1
        load[to] -= 1
        kept += 1
    return kept


def _while_waiting(
    tasks: Tasks, target: Ints, waits: Bools, standby: Bools, may_run: Bools
) -> Ints:
    """[T] the process that runs each task this round; ``waits`` [T]."""
    active = target.copy()
    rows = np.flatnonzero(waits)
    ran_on = tasks.process_of(tasks.owner[rows])
    stays = (ran_on != NO_MEMBER) & may_run[rows, ran_on]
    active[rows[stays]] = ran_on[stays]
    rows = rows[~stays]
    if len(rows) == 0:
        return active
    processes = len(tasks.threads)
    active[rows] = NO_MEMBER
    load = np.bincount(active[active != NO_MEMBER], minlength=processes).astype(np.int64)
    row, proc = np.nonzero(may_run[rows])
    processes_at, sink = len(rows) + np.arange(processes), len(rows) + processes
    base = Network(sink + 1, 2)
    base.supply[: len(rows)], base.supply[sink] = 1, -len(rows)
    taken = base.arcs(row, len(rows) + proc, 1, {1: (~standby[rows])[row, proc]})
    even = squares_near(
        len(rows) * tasks.threads / tasks.threads.sum(),
        processes_at,
        np.full(processes, sink),
        tasks.scale,
        np.full(processes, len(rows)),
    )
    even.base = load
    optimum = minimise(base, {0: even})
    if optimum is None:
        raise AssertionError("the process with the smallest lag may run the task")
    found = optimum.flow[taken] > 0
    active[rows[row[found]]] = proc[found]
    return active
