"""Tasks of Kafka Streams on threads: active tasks, and standbys apart from them.

A *task* is one partition number of a subtopology: that partition of each of its topics. Threads
(members) belong to processes. A process has the state of the tasks that its threads ran or held a
standby of.

*Active tasks* are placed by one min-cost flow, subtopology → process → thread → process load,
whose costs are minimised one after the other: tasks per process even, in proportion to its threads;
tasks per thread even; tasks that change process; tasks that change thread; the tasks of each
subtopology per process even. The tasks that stay are then read off the flow. A task without an
owner goes to a process with a standby of it, for as many tasks as possible (a bipartite matching).

*Standbys* are placed by another flow, task → tag values → process, with costs in this order:
standbys without a process left for them, apart from the active task's; copies, active task
included, that share a value of the first tag, then of the first two tags, and so on; copies per
process even, active tasks included, in proportion to its threads; standbys on processes without the
state. Then each process distributes its standbys over its threads, evenly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from partage.flow.network import Network, Squares, minimise_squares
from partage.group.model import NO_MEMBER

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MAX_SCALE = 5040
"""Largest common multiple of the thread counts that processes are scaled by; beyond it, scales are
rounded."""
_MARGIN = 2
"""How far from the guess the squares of a flow are exact arcs."""


@dataclass(frozen=True, eq=False)
class Tasks:
    """T tasks of K subtopologies, M threads in N processes, G tags.

    - ``kind`` [T]; ``open_to`` [K, M]: which threads may run a subtopology
    - ``owner`` [T]: the thread that runs it, or ``NO_MEMBER``
    - ``holds`` [T, N]: whether a process has its state
    - ``process`` [M] of each thread; ``tag`` [G, N]: values of the tags of each process
    """

    kind: Ints
    open_to: Bools
    owner: Ints
    holds: Bools
    process: Ints
    tag: Ints

    @property
    def threads(self) -> Ints:
        """[N] number of threads of each process."""
        return np.bincount(self.process).astype(np.int64)

    @property
    def scale(self) -> Ints:
        """[N] the weight of one task on a process: the more threads, the smaller."""
        common = math.lcm(*np.unique(self.threads).tolist())
        return np.asarray(np.rint(min(common, _MAX_SCALE) / self.threads), dtype=np.int64)

    def process_of(self, thread: Ints) -> Ints:
        """[T] the process of the thread of each task, ``NO_MEMBER`` where it has none."""
        return np.where(thread == NO_MEMBER, NO_MEMBER, self.process[thread])

    @property
    def open_process(self) -> Bools:
        """[K, N] processes with a thread that may run the subtopology."""
        table = np.zeros((len(self.open_to), len(self.threads)), dtype=np.bool_)
        kind, thread = np.nonzero(self.open_to)
        table[kind, self.process[thread]] = True
        return table

    def pinned(self, target: Ints) -> Tasks:
        """The same tasks, each open only to the threads of its process in ``target`` [T]."""
        width = len(self.threads) + 1
        named, kind = np.unique(self.kind * width + target + 1, return_inverse=True)
        on_target = self.process == (named % width - 1)[:, np.newaxis]
        open_to = self.open_to[named // width] & on_target
        return replace(self, kind=kind.ravel().astype(np.int64), open_to=open_to)


# -- actives


def assign_actives(tasks: Tasks) -> Ints:
    """[T] the thread that runs each task, ``NO_MEMBER`` where no thread may."""
    runs = _active_counts(tasks)
    answer = np.full(len(tasks.kind), NO_MEMBER, dtype=np.int64)
    for kind in range(len(runs)):
        need = runs[kind].copy()
        of_kind = np.flatnonzero(tasks.kind == kind)
        for task in of_kind.tolist():  # stay on the thread
            at = int(tasks.owner[task])
            if at != NO_MEMBER and need[at]:
                answer[task] = at
                need[at] -= 1
        for task in of_kind[answer[of_kind] == NO_MEMBER].tolist():  # stay in the process
            if tasks.owner[task] != NO_MEMBER:
                in_process = tasks.process == tasks.process[tasks.owner[task]]
                wanting = np.flatnonzero(in_process & (need > 0))
                if len(wanting):
                    answer[task] = wanting[0]
                    need[wanting[0]] -= 1
        free = of_kind[answer[of_kind] == NO_MEMBER]
        _fill(tasks, free, need, answer)
    return answer


def _fill(tasks: Tasks, free: Ints, need: Ints, answer: Ints) -> None:
    """Assign ``free`` tasks to the threads that still ``need`` some, where their state is if
    possible."""
    # threads take turns, instead of each filling up before the next
    thread = np.repeat(np.arange(len(need)), need)
    turn = np.arange(len(thread)) - np.searchsorted(thread, thread)
    place = thread[np.lexsort((thread, turn))]
    free = free[: len(place)] if len(free) > len(place) else free
    matched = np.full(len(free), NO_MEMBER, dtype=np.int64)
    known = np.flatnonzero(tasks.holds[free].any(axis=1))
    if len(known) and len(place):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        has_state = csr_array(tasks.holds[free[known]][:, tasks.process[place]])
        matched[known] = maximum_bipartite_matching(has_state, perm_type="column")
    used = np.zeros(len(place), dtype=np.bool_)
    used[matched[matched >= 0]] = True
    matched[matched < 0] = np.flatnonzero(~used)
    answer[free] = place[matched]


def _active_counts(tasks: Tasks) -> Ints:
    """[K, M] number of tasks of each subtopology that each thread runs."""
    kinds, threads = tasks.open_to.shape
    processes = len(tasks.threads)
    count = np.bincount(tasks.kind, minlength=kinds)
    count[~tasks.open_to.any(axis=1)] = 0
    total = int(count.sum())
    had = np.flatnonzero(tasks.owner != NO_MEMBER)
    sits = np.zeros((kinds, threads), dtype=np.int64)
    np.add.at(sits, (tasks.kind[had], tasks.owner[had]), 1)
    sits_in = np.zeros((kinds, processes), dtype=np.int64)
    np.add.at(sits_in, (tasks.kind[had], tasks.process[tasks.owner[had]]), 1)

    kind_p, proc = np.nonzero(tasks.open_process)
    pairs = len(kind_p)
    number = np.full((kinds, processes), NO_MEMBER)
    number[kind_p, proc] = np.arange(pairs)
    kind_t, thread = np.nonzero(tasks.open_to)
    enters, leaves = kinds + np.arange(pairs), kinds + pairs + np.arange(pairs)
    threads_at = kinds + 2 * pairs
    processes_at, sink = threads_at + threads, threads_at + threads + processes

    base = Network(sink + 1, 5)
    base.supply[:kinds], base.supply[sink] = count, -total
    base.arcs(kind_p, enters, sits_in[kind_p, proc])
    base.arcs(kind_p, enters, count[kind_p], {2: 1})
    tail = leaves[number[kind_t, tasks.process[thread]]]
    stays = base.arcs(tail, threads_at + thread, sits[kind_t, thread])
    comes = base.arcs(tail, threads_at + thread, count[kind_t], {3: 1})
    even = count[kind_p] * tasks.threads[proc] / max(threads, 1)
    squares = {
        4: squares_near(even, enters, leaves, tasks.scale[proc], count[kind_p]),
        1: squares_near(
            np.full(threads, total / max(threads, 1)),
            threads_at + np.arange(threads),
            processes_at + tasks.process,
            np.ones(threads, dtype=np.int64),
            np.full(threads, total),
        ),
        0: squares_near(
            total * tasks.threads / max(threads, 1),
            processes_at + np.arange(processes),
            np.full(processes, sink),
            tasks.scale,
            np.full(processes, total),
        ),
    }
    optimum = minimise_squares(base, squares)
    if optimum is None:
        raise AssertionError("every subtopology counted has an open thread")
    runs = np.zeros((kinds, threads), dtype=np.int64)
    runs[kind_t, thread] = optimum.flow[stays] + optimum.flow[comes]
    return runs


def squares_near(
    guess: npt.NDArray[np.float64], tail: Ints, head: Ints, weight: Ints, capacity: Ints
) -> Squares:
    """Squares of flows that are probably close to ``guess``."""
    return Squares(
        tail=tail,
        head=head,
        capacity=capacity,
        weight=weight,
        base=np.zeros(len(tail), dtype=np.int64),
        low=np.floor(guess).astype(np.int64) - _MARGIN,
        high=np.ceil(guess).astype(np.int64) + _MARGIN,
    )


# -- standbys


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
    for level, convex in enumerate(parts):
        convex.add_to(base, 1 + level)
    runs = np.bincount(active[active != NO_MEMBER], minlength=processes)
    wanted = min(copies, processes - 1) * len(chosen)
    guess = (int(runs.sum()) + wanted) * tasks.threads / len(tasks.process) - runs
    load = Squares(
        tail=processes_at + np.arange(processes),
        head=np.full(processes, sink),
        capacity=np.full(processes, len(chosen)),
        weight=tasks.scale,
        base=runs.astype(np.int64),
        low=np.floor(guess).astype(np.int64) - _MARGIN,
        high=np.ceil(guess).astype(np.int64) + _MARGIN,
    )
    optimum = minimise_squares(base, {levels + 1: load})
    if optimum is None:
        raise AssertionError("a standby without a process has its own arc to the sink")
    held = optimum.flow[taken] > 0
    holds[chosen[row[held]], proc[held]] = True
    return holds


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
