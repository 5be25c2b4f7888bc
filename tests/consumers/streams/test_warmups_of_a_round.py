"""One random round of warm-ups, against enumeration."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import lcm

import numpy as np

from partage.consumers.streams.tasks import Tasks
from partage.consumers.streams.warmups import StateLags, WarmupPlan, plan_round


@dataclass
class Snapshot:
    """A random round; a lag up to 10 is acceptable."""

    process: list[int]
    lag: list[list[int]]
    home: list[int]
    owner: list[int]
    standby: list[list[bool]]

    @classmethod
    def draw(cls, draw: random.Random) -> Snapshot:
        places, count = draw.randint(2, 4), draw.randint(1, 6)
        process = sorted([*range(places), *draw.choices(range(places), k=2)])
        home = [draw.randrange(places) for _ in range(count)]
        return cls(
            process,
            [[draw.choice((0, 5, 50, 80, 80)) for _ in range(places)] for _ in home],
            home,
            [draw.choice((-1, *range(len(process)))) if draw.random() < 0.5 else -1 for _ in home],
            [[p != at and draw.random() < 0.4 for p in range(places)] for at in home],
        )

    def may_run(self, task: int) -> list[int]:
        lag = self.lag[task]
        ready = [p for p, behind in enumerate(lag) if behind <= 10]
        return ready or [p for p, behind in enumerate(lag) if behind == min(lag)]

    def ways(self) -> list[list[int]]:
        """Where each task may run this round: its target, where it ran, or wherever it may run."""
        found = []
        for task, at in enumerate(self.home):
            may = self.may_run(task)
            ran_on = self.process[self.owner[task]] if self.owner[task] >= 0 else None
            if at in may:
                found.append([at])
            else:
                found.append([ran_on] if ran_on in may else may)
        return found

    def measure(self, way: tuple[int, ...]) -> tuple[int, int]:
        """How uneven it is, and how many waiting tasks are not where they have a standby."""
        size = Counter(self.process)
        even = sum(lcm(*size.values()) // size[p] * n * n for p, n in Counter(way).items())
        waits = [t for t, at in enumerate(self.home) if at not in self.may_run(t)]
        return even, sum(not self.standby[t][way[t]] for t in waits)


def test_no_round_is_more_even_and_none_loses_a_copy() -> None:
    draw = random.Random(3)
    open_ = 0
    for _ in range(300):
        case, most = Snapshot.draw(draw), draw.randint(1, 3)
        count, places = np.shape(case.lag)
        tasks = Tasks(
            kind=np.zeros(count, dtype=np.int64),
            open_to=np.ones((1, len(case.process)), dtype=np.bool_),
            owner=np.array(case.owner),
            holds=np.zeros((count, places), dtype=np.bool_),
            process=np.array(case.process),
            tag=np.zeros((0, places), dtype=np.int64),
        )
        lags = StateLags(np.array(case.lag), np.ones((count, places), dtype=np.bool_), 10)
        every = np.ones(count, dtype=np.bool_)
        planned = WarmupPlan.without_waiting(np.array(case.home), np.array(case.standby))
        found = plan_round(tasks, planned, every, lags, most)

        active, ways = tuple(found.active.tolist()), case.ways()
        assert all(place in of for place, of in zip(active, ways, strict=True))
        assert case.measure(active) == min(map(case.measure, product(*ways)))
        open_ += sum(len(of) > 1 for of in ways)

        assert found.standby.sum(axis=1).tolist() == [sum(row) for row in case.standby]
        copies = found.standby.astype(np.int64) + found.warmup
        copies[np.arange(count), active] += 1
        assert copies.max() == 1
        assert found.warmup.sum() <= most
        for task, place in np.argwhere(found.standby).tolist():
            better = [lag for lag, n in zip(case.lag[task], copies[task], strict=True) if n == 0]
            assert case.lag[task][place] <= max(10, min(better, default=99))
        empty = [t for t, at in enumerate(case.home) if copies[t, at] == 0]
        assert not empty or found.warmup.sum() == most
    assert open_ > 100
