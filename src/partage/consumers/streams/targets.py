"""Target processes of tasks, where a task costs more on one process than on another.

Tasks with the same costs everywhere form a class, and classes are the items of a min-cost flow:
class → (subtopology, process) → (stateful or not, process) → process. Its costs are minimised one
after the other:

1. tasks per process even, in proportion to its threads; then stateful and stateless tasks each, so
   that state is as even as load;
2. with ``subtopologies_first``, the tasks of each subtopology per process even;
3. the given costs, in their order;
4. without ``subtopologies_first``, the tasks of each subtopology per process even.

All of it is exact. The flow leaves open which tasks of a class go to which process: the tasks that
stay on their process are those listed first on each of its threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from partage.consumers.streams.tasks import Tasks, squares_near
from partage.flow.network import Network, minimise_squares
from partage.group.model import NO_MEMBER

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def choose_targets(
    tasks: Tasks, stateful: Bools, costs: Sequence[Ints], subtopologies_first: bool = False
) -> Ints:
    """[T] the target process of each task, ``NO_MEMBER`` where no process may run it.

    ``stateful`` [T]; ``costs``: tables [T, N] of whole numbers from 0, minimised one after the
    other.
    """
    target = np.full(len(tasks.kind), NO_MEMBER, dtype=np.int64)
    able = np.flatnonzero(tasks.open_process[tasks.kind].any(axis=1))
    if len(able) == 0:
        return target
    table = np.stack([cost[able] for cost in costs], axis=1)  # [tasks, costs, N]
    key = np.concatenate((tasks.kind[able, np.newaxis], table.reshape(len(able), -1)), axis=1)
    _, first, of, count = np.unique(
        key, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    kind, part = tasks.kind[able[first]], stateful[able[first]].astype(np.int64)
    flow = _flow(tasks, kind, part, count, table[first], subtopologies_first)
    _pick_tasks(tasks, able, of.ravel(), flow, target)
    return target


def _flow(
    tasks: Tasks,
    kind: Ints,
    part: Ints,
    count: Ints,
    table: Ints,
    subtopologies_first: bool,
) -> Ints:
    """[C, N] tasks of each class on each process; ``part`` [C]: 1 stateful, 0 stateless; ``table``
    [C, costs, N]."""
    classes, processes = len(kind), len(tasks.threads)
    share = tasks.threads / tasks.threads.sum()
    layers = 3 + table.shape[1]
    by_kind = 2 if subtopologies_first else layers - 1
    row, proc = np.nonzero(tasks.open_process[kind])
    # nodes: classes, (subtopology, process), (stateful or not, process), processes, sink
    code, one, at = np.unique(kind[row] * processes + proc, return_index=True, return_inverse=True)
    process = proc[one]
    kinds_at = classes + np.arange(len(code))
    parts_at = classes + len(code)
    processes_at = parts_at + 2 * processes
    sink = processes_at + processes
    of_kind = np.bincount(kind, count).astype(np.int64)[kind[row[one]]]
    of_part = np.bincount(part, count, minlength=2).astype(np.int64)
    every = np.arange(processes)

    base = Network(sink + 1, layers)
    base.supply[:classes], base.supply[sink] = count, -int(count.sum())
    first_cost = 3 if subtopologies_first else 2
    taken = base.arcs(
        row,
        classes + at.ravel(),
        count[row],
        {first_cost + number: table[row, number, proc] for number in range(table.shape[1])},
    )
    squares = {
        by_kind: squares_near(
            of_kind * share[process],
            kinds_at,
            parts_at + 2 * process + part[row[one]],
            tasks.scale[process],
            of_kind,
        ),
        1: squares_near(
            (of_part * share[:, np.newaxis]).ravel(),
            parts_at + np.arange(2 * processes),
            processes_at + np.repeat(every, 2),
            np.repeat(tasks.scale, 2),
            np.tile(of_part, processes),
        ),
        0: squares_near(
            count.sum() * share,
            processes_at + every,
            np.full(processes, sink),
            tasks.scale,
            np.full(processes, count.sum()),
        ),
    }
    optimum = minimise_squares(base, squares)
    if optimum is None:
        raise AssertionError("every class has an open process")
    found = np.zeros((classes, processes), dtype=np.int64)
    found[row, proc] = optimum.flow[taken]
    return found


def _pick_tasks(tasks: Tasks, able: Ints, of: Ints, flow: Ints, target: Ints) -> None:
    """Choose the tasks of each class for each process. First the tasks that stay, in the order of
    their rank on their thread, so that the last tasks of the fullest threads leave."""
    owner = tasks.owner[able]
    ran_on = tasks.process_of(owner)
    by_thread = np.lexsort((able, owner))
    position = np.arange(len(able)) - np.searchsorted(owner[by_thread], owner[by_thread])
    rank = np.empty(len(able), dtype=np.int64)
    rank[by_thread] = position
    for number in range(len(flow)):
        left = flow[number].copy()
        members = np.flatnonzero(of == number)
        members = members[np.lexsort((able[members], rank[members]))]
        leaves: list[int] = []
        for task in members.tolist():
            at = int(ran_on[task])
            if at != NO_MEMBER and left[at]:
                target[able[task]] = at
                left[at] -= 1
            else:
                leaves.append(task)
        target[able[sorted(leaves)]] = np.repeat(np.arange(len(left)), left)
