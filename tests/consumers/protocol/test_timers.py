"""Timers give the same as a search through all times."""

from __future__ import annotations

import math
import random

import pytest

from partage.consumers.protocol.timers import Timers
from tests.profiles import seeds


@pytest.mark.parametrize("seed", seeds(40))
def test_random_changes(seed: int) -> None:
    chance = random.Random(seed)
    timers, times = Timers(), dict.fromkeys("abcdef", math.inf)
    for _ in range(300):
        key = chance.choice(list(times))
        times[key] = chance.choice((math.inf, *map(float, range(20))))
        timers.put(key, times[key])
        if chance.random() < 0.5:
            assert timers.first() == min(times.values())
        if chance.random() < 0.2:
            now = float(chance.randrange(20))
            assert timers.due(now) == {key for key, time in times.items() if time <= now}
    assert timers.first() == min(times.values())


def test_renewals_do_not_fill_the_heap() -> None:
    timers = Timers()
    for now in range(10_000):
        timers.put("a", now + 45.0)
        assert timers.first() == now + 45.0
    assert len(timers._heap) == 1
