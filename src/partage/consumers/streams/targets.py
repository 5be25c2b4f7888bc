"""Target processes of active tasks: even loads and least costs, decided together.

The *criteria* are given in their order of importance, and each is minimised among what is optimal
for those before it. A criterion is a kind of evenness (a sum of squares, in proportion to the
threads of a process) or a table of costs per task and process. All of it is one min-cost flow:

    class → (subtopology, process) → (stateful or not, process) → thread → process

Tasks of a subtopology with the same costs everywhere form a class. Evenness is a convex cost on the
nodes of this chain; costs are on its first arcs. Most processes cost a class the same and the most:
they are reached through a hub of its subtopology, so the network has a few arcs per class instead
of one per class and process. The hub forgets which class a task was of, but behind it
the class no longer matters.

Where threads of a process subscribe to different topics, (stateful or not, process) is divided by
the threads that are open.

The flow leaves open which tasks of a class go to which process: as many stay as can stay on their
thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.streams.tasks import Tasks, squares_near
from partage.consumers.streams.threads import TaskGroups
from partage.flow.network import Network, Squares, minimise
from partage.group.model import NO_MEMBER


class Even(Enum):
    """What is even over the processes or threads."""

    PROCESSES = "tasks per process"
    THREADS = "tasks per thread"
    SUBTOPOLOGIES = "tasks of each subtopology per process"
    STATE = "stateful tasks, and stateless ones, per process"


Criterion: TypeAlias = Even | Ints
"""A kind of evenness, or a table [T, N] of costs: whole numbers from 0."""


def choose_targets(tasks: Tasks, stateful: Bools, criteria: Sequence[Criterion]) -> Ints:
    """[T] the target process of each task, ``NO_MEMBER`` where no process may run it; ``stateful``
    [T]."""
    target = np.full(len(tasks.kind), NO_MEMBER, dtype=np.int64)
    able = np.flatnonzero(tasks.open_process[tasks.kind].any(axis=1))
    if len(able) == 0:
        return target
    classes = _Classes.by_costs(tasks, able, [c for c in criteria if not isinstance(c, Even)])
    network = _TaskNetwork.of(tasks, stateful, classes)
    direct, through_hub = network.solve(criteria)
    _pick_tasks(tasks, network, direct, through_hub, target)
    return target


@dataclass(frozen=True, eq=False)
class _Classes:
    """C classes of tasks.

    - ``able``, ``number`` [A]: the tasks and their classes
    - ``kind``, ``count``, ``first`` [C]: the subtopology, how many tasks, and one of them
    - ``dearest`` [costs, C]: what most processes cost; ``row``, ``process`` [D]: the cheaper ones
    """

    able: Ints
    number: Ints
    kind: Ints
    count: Ints
    first: Ints
    dearest: Ints
    row: Ints
    process: Ints

    @classmethod
    def by_costs(cls, tasks: Tasks, able: Ints, costs: Sequence[Ints]) -> _Classes:
        """The classes of the tasks ``able`` for ``costs`` in their order of importance."""
        known: dict[tuple[int | bytes, ...], int] = {}
        of = np.zeros(len(able), dtype=np.int64)
        for at, task in enumerate(able.tolist()):
            key = (int(tasks.kind[task]), *(table[task].tobytes() for table in costs))
            of[at] = known.setdefault(key, len(known))
        _, first = np.unique(of, return_index=True)
        first = able[first]
        open_to = tasks.open_process[tasks.kind[first]]
        most = open_to.copy()
        dearest = np.zeros((len(costs), len(first)), dtype=np.int64)
        for at, table in enumerate(costs):
            dearest[at] = np.where(most, table[first], -1).max(axis=1)
            most &= table[first] == dearest[at][:, np.newaxis]
        row, process = np.nonzero(open_to & ~most)
        return cls(able, of, tasks.kind[first], np.bincount(of), first, dearest, row, process)


@dataclass(frozen=True, eq=False)
class _TaskNetwork:
    """The nodes of the network, in the order of the chain.

    - ``pair`` [K, N] of (subtopology, process), or -1; then ``kind``, ``process``, ``total`` (tasks
      of the subtopology), ``group`` of each pair
    - ``group_process``, ``group_total``: process of each group and tasks of its subtopologies
    - ``group_of``, ``thread``: the open threads of the groups
    """

    tasks: Tasks
    classes: _Classes
    pair: Ints
    kind: Ints
    process: Ints
    total: Ints
    group: Ints
    group_process: Ints
    group_total: Ints
    group_of: Ints
    thread: Ints

    @classmethod
    def of(cls, tasks: Tasks, stateful: Bools, classes: _Classes) -> _TaskNetwork:
        """The network for the tasks of ``classes``."""
        kinds = len(tasks.open_to)
        of_kind = np.bincount(classes.kind, classes.count, minlength=kinds).astype(np.int64)
        part = np.zeros(kinds, dtype=np.bool_)
        part[tasks.kind] = stateful
        kind, process = np.nonzero(tasks.open_process & (of_kind > 0)[:, np.newaxis])
        pair = np.full(tasks.open_process.shape, -1, dtype=np.int64)
        pair[kind, process] = np.arange(len(kind))
        # subtopologies that are alike for the threads of a process
        open_to = tasks.open_to[kind] & (tasks.process == process[:, np.newaxis])
        key = np.column_stack((process, part[kind], np.packbits(open_to, axis=1)))
        _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
        group = group.ravel().astype(np.int64)
        group_of, thread = np.nonzero(open_to[first])
        total = of_kind[kind]
        group_total = np.bincount(group, total, minlength=len(first)).astype(np.int64)
        return cls(
            tasks,
            classes,
            pair,
            kind,
            process,
            total,
            group,
            process[first],
            group_total,
            group_of,
            thread,
        )

    def solve(self, criteria: Sequence[Criterion]) -> tuple[Ints, Ints]:
        """[D] tasks of each class on its cheaper processes, and [pairs] those through the hubs."""
        classes = self.classes
        hubs_at = len(classes.count)
        pairs_at = hubs_at + len(self.pair)
        groups_at = pairs_at + len(self.kind)
        threads_at = groups_at + 2 * len(self.group_process)
        processes_at = threads_at + len(self.tasks.process)
        sink = processes_at + len(self.tasks.threads)
        base = Network(sink + 1, len(criteria))
        base.supply[:hubs_at], base.supply[sink] = classes.count, -int(classes.count.sum())
        costs = {at: table for at, table in enumerate(criteria) if not isinstance(table, Even)}
        layer = {even: at for at, even in enumerate(criteria) if isinstance(even, Even)}
        row, process = classes.row, classes.process
        direct = base.arcs(
            row,
            pairs_at + self.pair[classes.kind[row], process],
            classes.count[row],
            {at: table[classes.first[row], process] for at, table in costs.items()},
        )
        base.arcs(
            np.arange(hubs_at),
            hubs_at + classes.kind,
            classes.count,
            dict(zip(costs, classes.dearest, strict=True)),
        )
        hub = base.arcs(hubs_at + self.kind, pairs_at + np.arange(len(self.kind)), self.total)
        base.arcs(
            groups_at + len(self.group_process) + self.group_of,
            threads_at + self.thread,
            self.group_total[self.group_of],
        )
        squares: dict[int, Squares] = {}
        for even, arcs in self._evenness(pairs_at, groups_at, threads_at, processes_at).items():
            if even in layer:
                squares[layer[even]] = arcs
            else:
                base.arcs(arcs.tail, arcs.head, arcs.capacity)
        prove_last = isinstance(criteria[-1], Even)  # whether it is inside its windows
        optimum = minimise(base, squares, prove_last=prove_last)
        if optimum is None:
            raise AssertionError("every class has an open process")
        return optimum.flow[direct], optimum.flow[hub]

    def _evenness(
        self, pairs_at: int, groups_at: int, threads_at: int, processes_at: int
    ) -> dict[Even, Squares]:
        """The arcs of the chain behind the hubs, one kind of evenness each."""
        tasks, groups, sizes = self.tasks, len(self.group_process), self.tasks.threads
        share = sizes / sizes.sum()
        total = int(self.classes.count.sum())
        thread, process = np.arange(len(tasks.process)), np.arange(len(sizes))
        every = np.full(len(process), total)
        return {
            Even.SUBTOPOLOGIES: squares_near(
                self.total * share[self.process],
                pairs_at + np.arange(len(self.kind)),
                groups_at + self.group,
                tasks.scale[self.process],
                self.total,
            ),
            Even.STATE: squares_near(
                self.group_total * share[self.group_process],
                groups_at + np.arange(groups),
                groups_at + groups + np.arange(groups),
                tasks.scale[self.group_process],
                self.group_total,
            ),
            Even.THREADS: squares_near(
                np.full(len(thread), total / len(thread)),
                threads_at + thread,
                processes_at + tasks.process,
                np.ones(len(thread), dtype=np.int64),
                np.full(len(thread), total),
            ),
            Even.PROCESSES: squares_near(
                total * share,
                processes_at + process,
                np.full(len(process), processes_at + len(process)),
                tasks.scale,
                every,
            ),
        }


def _pick_tasks(
    tasks: Tasks, network: _TaskNetwork, direct: Ints, through_hub: Ints, target: Ints
) -> None:
    """Choose the tasks of each class for each process. First those that can stay on their thread,
    then others that stay in their process."""
    classes = network.classes
    used, hubs = np.flatnonzero(direct), np.flatnonzero(through_hub)
    row, process = classes.row[used], classes.process[used]
    had = np.zeros((len(classes.count) + 1, len(tasks.process)), dtype=np.int64)
    owner = tasks.owner[classes.able]
    np.add.at(had, (classes.number[owner != NO_MEMBER], owner[owner != NO_MEMBER]), 1)
    stay, _ = TaskGroups(
        np.concatenate((classes.kind[row], network.kind[hubs])),
        np.concatenate((process, network.process[hubs])),
        np.concatenate((direct[used], through_hub[hubs])),
        had[np.concatenate((row, np.full(len(hubs), -1)))],
    ).over_threads(tasks)
    on_thread = {
        (int(row[at]), int(thread)): int(stay[at, thread])
        for at, thread in zip(*np.nonzero(stay), strict=True)
    }
    share = dict(
        zip(zip(row.tolist(), process.tolist(), strict=True), direct[used].tolist(), strict=True)
    )
    places: dict[int, list[int]] = {}
    left: list[tuple[int, int]] = []
    for task, number in zip(classes.able.tolist(), classes.number.tolist(), strict=True):
        thread = int(tasks.owner[task])
        if on_thread.get((number, thread), 0):
            target[task] = tasks.process[thread]
            on_thread[number, thread] -= 1
            share[number, int(target[task])] -= 1
        else:
            left.append((task, number))
    ran_on = tasks.process_of(tasks.owner)
    leaving: list[tuple[int, int]] = []
    for task, number in left:
        if share.get((number, int(ran_on[task])), 0):
            target[task] = ran_on[task]
            share[number, int(ran_on[task])] -= 1
        else:
            leaving.append((task, number))
    for (number, to), count in share.items():
        places.setdefault(number, []).extend([to] * count)
    elsewhere: dict[int, list[int]] = {}
    for task, number in leaving:
        if places.get(number):
            target[task] = places[number].pop(0)
        else:
            elsewhere.setdefault(int(tasks.kind[task]), []).append(task)
    for kind, moving in elsewhere.items():
        of_kind = np.flatnonzero(network.kind == kind)
        target[moving] = np.repeat(network.process[of_kind], through_hub[of_kind])
