"""Target processes by evenness and costs per task, against enumeration."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from math import lcm
from typing import Any, TypeAlias

import numpy as np

from partage.consumers.streams.targets import Even, choose_targets
from partage.consumers.streams.tasks import Tasks
from partage.group.model import NO_MEMBER

Table: TypeAlias = list[list[int]]


def small(draw: random.Random) -> tuple[Tasks, list[bool], list[list[list[int]]]]:
    """Tasks, whether each is stateful, and tables of costs."""
    kinds, processes = draw.randint(1, 3), draw.randint(1, 3)
    process = sorted([*range(processes), *(draw.randrange(processes) for _ in range(2))])
    count = draw.randint(1, 6)
    kind = sorted(draw.randrange(kinds) for _ in range(count))
    open_to = [[draw.random() < 0.9 for _ in process] for _ in range(kinds)]
    owner = []
    for k in kind:
        able = [at for at, is_open in enumerate(open_to[k]) if is_open]
        owner.append(draw.choice(able) if able and draw.random() < 0.6 else NO_MEMBER)
    of_kind = [draw.random() < 0.5 for _ in range(kinds)]
    tables = [
        [[draw.randrange(width) for _ in range(processes)] for _ in kind]
        for width in draw.choices((2, 3, 12), k=draw.randint(1, 3))
    ]
    tasks = Tasks(
        kind=np.array(kind),
        open_to=np.array(open_to),
        owner=np.array(owner),
        holds=np.zeros((count, processes), dtype=np.bool_),
        process=np.array(process),
        tag=np.zeros((0, processes), dtype=np.int64),
    )
    return tasks, [of_kind[k] for k in kind], tables


class Measure:
    """What criteria are worth for processes ``home`` of the tasks, in their order."""

    def __init__(self, tasks: Tasks, stateful: list[bool], criteria: list[Even | Table]) -> None:
        self.criteria, self.stateful = criteria, stateful
        self.kind, self.process = tasks.kind.tolist(), tasks.process.tolist()
        self.open_to = tasks.open_to.tolist()
        self.threads = Counter(self.process)

    def uneven(self, label: list[Any], home: list[int | None]) -> int:
        scale = lcm(*self.threads.values())
        load = Counter((label[t], p) for t, p in enumerate(home) if p is not None)
        return sum(scale // self.threads[p] * n * n for (_, p), n in load.items())

    def on_threads(self, home: list[int | None]) -> int:
        """The least sum of squares of the tasks per thread."""
        reached = {(0,) * len(self.process)}
        for task, place in enumerate(home):
            if place is not None:
                able = [
                    thread
                    for thread, process in enumerate(self.process)
                    if process == place and self.open_to[self.kind[task]][thread]
                ]
                reached = {(*n[:at], n[at] + 1, *n[at + 1 :]) for n in reached for at in able}
        return min(sum(n * n for n in loads) for loads in reached)

    def __call__(self, way: tuple[int | None, ...]) -> tuple[int, ...]:
        home, found = list(way), []
        for criterion in self.criteria:
            if criterion is Even.PROCESSES:
                found.append(self.uneven([0] * len(home), home))
            elif criterion is Even.THREADS:
                found.append(self.on_threads(home))
            elif criterion is Even.SUBTOPOLOGIES:
                found.append(self.uneven(self.kind, home))
            elif criterion is Even.STATE:
                # apart where threads of a process are open to different subtopologies
                label = [
                    (is_stateful, tuple(self.open_to[kind][t] for t in self.of(p)))
                    for is_stateful, kind, p in zip(self.stateful, self.kind, home, strict=True)
                ]
                found.append(self.uneven(label, home))
            else:
                found.append(sum(criterion[t][p] for t, p in enumerate(home) if p is not None))
        return tuple(found)

    def of(self, process: int | None) -> list[int]:
        return [thread for thread, at in enumerate(self.process) if at == process]


def test_no_placement_costs_less() -> None:
    draw = random.Random(9)
    ways = 0
    for _ in range(400):
        tasks, stateful, tables = small(draw)
        evens = draw.sample(list(Even), draw.randint(0, len(Even)))
        criteria: list[Even | Table] = [*evens, *tables]
        if draw.random() < 0.7:
            draw.shuffle(criteria)
        given = [c if isinstance(c, Even) else np.array(c, dtype=np.int64) for c in criteria]
        found = choose_targets(tasks, np.array(stateful), given)
        able: list[list[int | None]] = []
        for kind in tasks.kind.tolist():
            threads = np.flatnonzero(tasks.open_to[kind])
            able.append(sorted(set(tasks.process[threads].tolist())) or [None])
        home = [None if p == NO_MEMBER else p for p in found.tolist()]
        assert all(p in of_task for p, of_task in zip(home, able, strict=True))
        measure = Measure(tasks, stateful, criteria)
        assert measure(tuple(home)) == min(map(measure, product(*able)))
        ways += len(list(product(*able)))
    assert ways > 10_000


def test_the_last_tasks_of_the_fullest_thread_leave() -> None:
    """Six tasks on threads of four and two, and a second process: three go, the last ones."""
    tasks = Tasks(
        kind=np.zeros(6, dtype=np.int64),
        open_to=np.ones((1, 4), dtype=np.bool_),
        owner=np.array([0, 0, 0, 0, 1, 1]),
        holds=np.zeros((6, 2), dtype=np.bool_),
        process=np.array([0, 0, 1, 1]),
        tag=np.zeros((0, 2), dtype=np.int64),
    )
    moves = np.tile([0, 1], (6, 1))
    home = choose_targets(tasks, np.ones(6, dtype=np.bool_), [Even.PROCESSES, moves])
    assert home.tolist() == [0, 0, 1, 1, 0, 1]
