"""Target processes by costs per task, against enumeration."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from math import lcm

import numpy as np

from partage.consumers.streams.targets import choose_targets
from partage.consumers.streams.tasks import Tasks
from partage.group.model import NO_MEMBER


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


def measure(
    tasks: Tasks,
    stateful: list[bool],
    tables: list[list[list[int]]],
    first: bool,
    home: list[int | None],
) -> tuple[int, ...]:
    """What is minimised, in order."""
    threads = Counter(tasks.process.tolist())
    weight = {p: lcm(*threads.values()) // n for p, n in threads.items()}
    placed = [(t, p) for t, p in enumerate(home) if p is not None]

    def uneven(label: list[int]) -> int:
        load = Counter((label[t], p) for t, p in placed)
        return sum(weight[p] * n * n for (_, p), n in load.items())

    costs = [sum(table[t][p] for t, p in placed) for table in tables]
    kinds = uneven(tasks.kind.tolist())
    together = uneven([0] * len(home)), uneven([int(s) for s in stateful])
    return (*together, kinds, *costs) if first else (*together, *costs, kinds)


def test_no_placement_costs_less() -> None:
    draw = random.Random(9)
    ways = 0
    for turn in range(400):
        tasks, stateful, tables = small(draw)
        first = turn % 2 == 0
        costs = [np.array(table, dtype=np.int64) for table in tables]
        found = choose_targets(tasks, np.array(stateful), costs, first)
        able: list[list[int | None]] = []
        for kind in tasks.kind.tolist():
            threads = np.flatnonzero(tasks.open_to[kind])
            able.append(sorted(set(tasks.process[threads].tolist())) or [None])
        home = [None if p == NO_MEMBER else p for p in found.tolist()]
        assert all(p in of_task for p, of_task in zip(home, able, strict=True))
        best = min(measure(tasks, stateful, tables, first, list(way)) for way in product(*able))
        assert measure(tasks, stateful, tables, first, home) == best
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
    home = choose_targets(tasks, np.ones(6, dtype=np.bool_), [moves])
    assert home.tolist() == [0, 0, 1, 1, 0, 1]
