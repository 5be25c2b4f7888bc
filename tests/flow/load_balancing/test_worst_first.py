"""The order of the slots that a search improves, and its end."""

from __future__ import annotations

import numpy as np
import pytest

from partage.flow.load_balancing.worst_first import improve_worst_first


class Slots:
    """Slots whose distances fall by a share at each step, but for some that nothing helps."""

    def __init__(self, apart: list[float], by: float, stuck: tuple[int, ...] = ()) -> None:
        self.apart, self.by, self.stuck = np.array(apart), by, stuck
        self.turns: list[int] = []

    def improve(self, slot: int) -> bool:
        self.turns.append(slot)
        if slot in self.stuck:
            return False
        self.apart[slot] *= 1 - self.by
        return True

    def run(self, most: int = 10_000) -> list[int]:
        improve_worst_first(lambda: self.apart, self.improve, lambda: len(self.turns) >= most, 1e-9)
        return self.turns


def test_the_worst_comes_first_and_all_become_even() -> None:
    slots = Slots([1.0, 4.0, 2.0], 0.5)
    assert slots.run()[:3] == [1, 1, 2]
    assert (slots.apart <= 1e-9).all()


def test_a_slot_that_nothing_helps_waits_for_the_others() -> None:
    slots = Slots([9.0, 1.0, 1.0], 1.0, stuck=(0,))
    assert slots.run() == [0, 1, 2, 0]


@pytest.mark.parametrize("count", [3, 100])
def test_steps_that_help_little_end_the_search(count: int) -> None:
    slots = Slots([1.0] * count, 1e-6)
    assert len(slots.run()) == max(100, 4 * count)


def test_it_may_be_stopped() -> None:
    assert len(Slots([1.0], 0.01).run(most=7)) == 7
