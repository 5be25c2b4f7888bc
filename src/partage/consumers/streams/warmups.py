"""Warm-ups: tasks stay where their state is until their home has it too (KIP-441).

A process is *caught up* with a task where its lag is acceptable. A stateful task may run where it
is caught up; where nobody is, on whoever lags least. If its home is none of these, it waits:

- It runs where it ran, if it may; else where the load by then is least (a flow), rather where it
  has a standby.
- If a standby of it was where it now runs, the home gets that standby in exchange. If not, the home
  gets a *warm-up*, a standby beyond the number asked for, as long as there are some: first for the
  home that lags least, so that what has begun goes on, then for the task that fewest are caught up
  with.

A standby whose place is not caught up waits likewise: another process that lags less and has
nothing of the task keeps one for it, a caught-up one of little load if there is, else the one that
lags least; and its place gets a warm-up if one is left.

In a later round what has caught up is no longer in the way. As homes are chosen to have fewest that
are not caught up, a round that finds w more of them caught up has at least w less that wait. (Costs
of racks come before that; there it is so where nobody has left.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from partage.consumers.streams.tasks import Tasks, squares_near
from partage.flow.network import Network, minimise_squares
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StateLags:
    """``lag`` [T, N], where T tasks may run at all ``able`` [T, N], and which lag is
    ``acceptable``."""

    lag: Ints
    able: Bools
    acceptable: int

    @property
    def caught_up(self) -> Bools:
        """[T, N]"""
        return self.able & (self.lag <= self.acceptable)

    @property
    def may_run(self) -> Bools:
        """[T, N] caught up, or where nobody is, least behind."""
        ready = self.caught_up
        lag = np.where(self.able, self.lag, np.iinfo(np.int64).max)
        least = self.able & (lag == lag.min(axis=1, keepdims=True))
        return np.where(ready.any(axis=1, keepdims=True), ready, least)

    def by_need(self, task: Ints, place: Ints) -> Ints:
        """Order of (task, place) pairs: what lags least there, then what is caught up in fewest
        places."""
        return np.lexsort((place, task, self.caught_up.sum(axis=1)[task], self.lag[task, place]))


@dataclass(frozen=True, eq=False)
class WarmupPlan:
    """What is done in a round.

    - ``active`` [T]: the process of each task; ``standby``, ``warmup`` [T, N]
    - ``waiting``: how many actives and standbys are not where they belong
    """

    active: Ints
    standby: Bools
    warmup: Bools
    waiting: int

    @classmethod
    def at_rest(cls, home: Ints, standby: Bools) -> WarmupPlan:
        """All where it belongs."""
        return cls(home, standby, np.zeros_like(standby), 0)


def plan_round(
    tasks: Tasks, rest: WarmupPlan, stateful: Bools, lags: StateLags, most: int
) -> WarmupPlan:
    """This round on the way to ``rest``, with at most ``most`` warm-ups; ``stateful`` [T]."""
    home, may_run = rest.active, lags.may_run
    waits = stateful & (home != NOBODY)
    waits[waits] = ~may_run[waits, home[waits]]
    active = _while_waiting(tasks, home, waits, rest.standby, may_run)
    now = WarmupPlan(active, rest.standby.copy(), np.zeros_like(rest.standby), int(waits.sum()))
    left = most - _warm_up_homes(now, np.flatnonzero(waits), home, lags, most)
    kept = _keep_hot_standbys(tasks, now, lags, left)
    return replace(now, waiting=now.waiting + kept)


def _warm_up_homes(now: WarmupPlan, waits: Ints, home: Ints, lags: StateLags, most: int) -> int:
    """Something for the homes of tasks that wait: the standby that became active, or a warm-up; how
    many of these."""
    swaps = waits[now.standby[waits, now.active[waits]]]
    now.standby[swaps, now.active[swaps]] = False
    now.standby[swaps, home[swaps]] = True
    rest = np.setdiff1d(waits, swaps)
    begun = rest[lags.by_need(rest, home[rest])][:most]
    now.warmup[begun, home[begun]] = True
    return len(begun)


def _keep_hot_standbys(tasks: Tasks, now: WarmupPlan, lags: StateLags, left: int) -> int:
    """Standbys whose place is not caught up to whoever is more so, and warm-ups in their places as
    long as there are some ``left``; how many such standbys."""
    runs = np.flatnonzero(now.active != NOBODY)
    copies = now.standby | now.warmup
    copies[runs, now.active[runs]] = True
    load = np.bincount(now.active[runs], minlength=len(tasks.threads)) + now.standby.sum(axis=0)
    task, place = np.nonzero(now.standby & ~lags.caught_up)
    order = lags.by_need(task, place)
    kept = 0
    for at, to in zip(task[order].tolist(), place[order].tolist(), strict=True):
        free = lags.able[at] & ~copies[at] & (lags.lag[at] < lags.lag[at, to])
        hot = free & lags.caught_up[at]
        if not free.any():
            continue
        weight = load * tasks.scale if hot.any() else lags.lag[at]
        able = np.flatnonzero(hot if hot.any() else free)
        keeper = int(able[weight[able].argmin()])
        now.standby[at, keeper], now.standby[at, to] = True, False
        now.warmup[at, to] = kept < left
        copies[at, keeper], copies[at, to] = True, kept < left
        load[keeper] += 1
        load[to] -= 1
        kept += 1
    return kept


def _while_waiting(tasks: Tasks, home: Ints, waits: Bools, standby: Bools, may_run: Bools) -> Ints:
    """[T] the process of each task this round."""
    active = home.copy()
    rows = np.flatnonzero(waits)
    ran_on = tasks.process_of(tasks.owner[rows])
    stays = (ran_on != NOBODY) & may_run[rows, ran_on]
    active[rows[stays]] = ran_on[stays]
    rows = rows[~stays]
    if len(rows) == 0:
        return active
    processes = len(tasks.threads)
    active[rows] = NOBODY
    load = np.bincount(active[active != NOBODY], minlength=processes).astype(np.int64)
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
    optimum = minimise_squares(base, {0: even})
    if optimum is None:
        raise AssertionError("whoever lags least may run it")
    found = optimum.flow[taken] > 0
    active[rows[row[found]]] = proc[found]
    return active
