"""Processes of standbys: apart from the active task, spread by tags, even, where the state is.

One min-cost flow, task → tag values → process, with costs in this order: standbys without a process
left for them, apart from the active task's; copies, active task included, that share a value of the
first tag, then of the first two tags, and so on; copies per process even, active tasks included, in
proportion to its threads; the given cost, by default standbys on processes without the state.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.streams.tasks import MARGIN, Tasks
from partage.flow.network import Network, Squares, minimise
from partage.group.model import NO_MEMBER


def place_standbys(
    tasks: Tasks, active: Ints, stateful: Bools, copies: int, placement_cost: Ints | None = None
) -> Bools:
    """[T, N] the processes that hold a standby of each task: ``copies`` standbys of each task that
    is ``stateful`` [T] and runs, as far as there are processes.

    ``active`` [T]: the process that runs each task, or ``NO_MEMBER``. ``placement_cost`` [T, N]:
    the cost of a standby on a process, by default 1 where the process does not have the state.
    """
    processes = len(tasks.threads)
    holds = np.zeros((len(tasks.kind), processes), dtype=np.bool_)
    chosen = np.flatnonzero(stateful & (active != NO_MEMBER))
    if copies == 0 or len(chosen) == 0:
        return holds
    runs_on = active[chosen]
    able = tasks.open_process[tasks.kind[chosen]].copy()
    able[np.arange(len(chosen)), runs_on] = False
    row, proc = np.nonzero(able)
    levels = len(tasks.tag)
    # a node per task, then on each level a node per task and combination of tag values so far
    above = row.copy()
    nodes = len(chosen)
    layers = levels + 3
    parts: list[Squares] = []
    shared = np.zeros(processes, dtype=np.int64)
    for level in range(levels):
        _, shared = np.unique(np.stack((shared, tasks.tag[level])), axis=1, return_inverse=True)
        shared = shared.ravel()
        width = int(shared.max()) + 1
        named, first, of = np.unique(
            row * width + shared[proc], return_index=True, return_inverse=True
        )
        head = nodes + np.arange(len(named))
        same_value = shared[runs_on[row[first]]] == named % width
        parts.append(
            Squares(
                tail=above[first],
                head=head,
                capacity=np.full(len(named), copies),
                weight=np.ones(len(named), dtype=np.int64),
                base=same_value.astype(np.int64),
                low=np.zeros(len(named), dtype=np.int64),
                high=np.full(len(named), copies),
            )
        )
        above = head[of.ravel()]
        nodes += len(named)
    processes_at, sink = nodes, nodes + processes
    base = Network(sink + 1, layers)
    base.supply[: len(chosen)], base.supply[sink] = copies, -copies * len(chosen)
    base.arcs(np.arange(len(chosen)), np.full(len(chosen), sink), copies, {0: 1})
    cost = (~tasks.holds).astype(np.int64) if placement_cost is None else placement_cost
    taken = base.arcs(above, processes_at + proc, 1, {layers - 1: cost[chosen][row, proc]})
    runs = np.bincount(active[active != NO_MEMBER], minlength=processes)
    wanted = min(copies, processes - 1) * len(chosen)
    guess = (int(runs.sum()) + wanted) * tasks.threads / len(tasks.process) - runs
    load = Squares(
        tail=processes_at + np.arange(processes),
        head=np.full(processes, sink),
        capacity=np.full(processes, len(chosen)),
        weight=tasks.scale,
        base=runs.astype(np.int64),
        low=np.floor(guess).astype(np.int64) - MARGIN,
        high=np.ceil(guess).astype(np.int64) + MARGIN,
    )
    optimum = minimise(base, dict(enumerate((*parts, load), start=1)))
    if optimum is None:
        raise AssertionError("a standby without a process has its own arc to the sink")
    held = optimum.flow[taken] > 0
    holds[chosen[row[held]], proc[held]] = True
    return holds
