"""The counts kept while items move, against counting again."""

from __future__ import annotations

import numpy as np
import pytest

from partage.flow.load_balancing.overlap import Overlap
from tests.flow.load_balancing.test_load_balancing import a_problem
from tests.profiles import seeds


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(40))
def test_counts_follow_the_moves(seed: int) -> None:
    problem, _, _ = a_problem(seed, items=12, slots=7)
    rng = np.random.default_rng(seed)
    slots = problem.own.copy()
    kept = Overlap(problem, slots)
    for _ in range(30):
        item = int(rng.integers(problem.items))
        column = int(rng.choice(np.flatnonzero(slots[item] >= 0)))
        free = [slot for slot in range(problem.slots) if slot not in slots[item]]
        there = int(rng.choice(free))
        kept.move(item, slots[item], int(slots[item, column]), there)
        slots[item, column] = there
    fresh = Overlap(problem, slots)
    assert (kept.shared == fresh.shared).all()
    assert (kept.held == fresh.held).all()
    pairs = sum(len({*row} - {-1}) * (len({*row} - {-1}) - 1) for row in slots.tolist())
    assert kept.shared.sum() == pairs
    assert (np.diag(kept.shared) == 0).all()


def test_an_item_adds_more_where_slots_share_more() -> None:
    problem, _, _ = a_problem(1, items=12, slots=7)
    slots = np.array([[0, 1], [0, 1], [0, 1], [2, 3]] * 3)
    overlap = Overlap(problem, slots)
    # items on (1, 4) and (3, 4), if slot 4 gave them to slot 0: it shares items with 1, none with 3
    near, far = overlap.added(np.array([0, 1]), np.array([[1, 4], [3, 4]]), 4, 0).tolist()
    assert near > far
