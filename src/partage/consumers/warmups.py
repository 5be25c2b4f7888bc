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

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.consumers.tasks import Tasks, around
from partage.flow.network import Network, minimise
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Lags:
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


@dataclass(frozen=True, eq=False)
class Round:
    """What is done while something waits.

    - ``active`` [T]: the process of each task; ``standby``, ``warmup`` [T, N]
    - ``waiting``: how many actives and standbys are not where they belong
    """

    active: Ints
    standby: Bools
    warmup: Bools
    waiting: int


def plan_round(
    tasks: Tasks, home: Ints, standby: Bools, stateful: Bools, lags: Lags, most: int
) -> Round:
    """This round on the way to ``home`` [T] and ``standby`` [T, N], with at most ``most`` warm-ups;
    ``stateful`` [T]."""
    places = np.arange(len(tasks.threads))
    may_run = lags.may_run
    waits = stateful & (home != NOBODY)
    waits[waits] = ~may_run[waits, home[waits]]
    active = _while_waiting(tasks, home, waits, standby, may_run)
    standby, warmup = standby.copy(), np.zeros_like(standby)
    moved = np.flatnonzero(waits)
    swapped = standby[moved, active[moved]]
    standby[moved[swapped], active[moved[swapped]]] = False
    standby[moved[swapped], home[moved[swapped]]] = True
    rest = moved[~swapped]
    ready = lags.caught_up.sum(axis=1)
    rest = rest[np.lexsort((rest, ready[rest], lags.lag[rest, home[rest]]))]
    warmup[rest[:most], home[rest[:most]]] = True
    left = most - min(most, len(rest))
    # standbys: those that lag least first, too
    load = np.bincount(active[active != NOBODY], minlength=len(places)) + standby.sum(axis=0)
    copies = standby | warmup
    runs = np.flatnonzero(active != NOBODY)
    copies[runs, active[runs]] = True
    task, place = np.nonzero(standby & ~lags.caught_up)
    order = np.lexsort((place, task, ready[task], lags.lag[task, place]))
    waiting = len(moved)
    for at, to in zip(task[order].tolist(), place[order].tolist(), strict=True):
        free = lags.able[at] & ~copies[at] & (lags.lag[at] < lags.lag[at, to])
        if not free.any():
            continue
        hot = free & lags.caught_up[at]
        weight = load * tasks.scale if hot.any() else lags.lag[at]
        keeps = np.flatnonzero(hot if hot.any() else free)
        keeper = int(keeps[weight[keeps].argmin()])
        standby[at, keeper], standby[at, to] = True, False
        copies[at, keeper], copies[at, to] = True, left > 0
        warmup[at, to] = left > 0
        load[keeper] += 1
        load[to] -= 1
        left -= min(left, 1)
        waiting += 1
    return Round(active, standby, warmup, waiting)


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
    even = around(
        len(rows) * tasks.threads / tasks.threads.sum(),
        processes_at,
        np.full(processes, sink),
        tasks.scale,
        np.full(processes, len(rows)),
    )
    even.base = load
    while True:
        network = base.copy()
        arcs = even.add_to(network, 0)
        optimum = minimise(network)
        if optimum is None:
            raise AssertionError("whoever lags least may run it")
        if not even.widen(optimum.face[0, arcs]):
            break
    found = optimum.flow[taken] > 0
    active[rows[row[found]]] = proc[found]
    return active
