"""The lower bound on bins, compared with the exact number of them."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from partage.flow.bin_packing import fewest_bins, fewest_bins_each
from tests.profiles import seeds


def exact(items: list[int], capacity: int) -> int:
    """By enumeration of subsets: the fewest bins, and the least of the last one."""
    full = (1 << len(items)) - 1

    @cache
    def best(packed: int) -> tuple[int, int]:
        if not packed:
            return (0, capacity)
        found = (len(items) + 1, 0)
        for item, size in enumerate(items):
            if packed >> item & 1:
                bins, used = best(packed & ~(1 << item))
                found = min(
                    found, (bins, used + size) if used + size <= capacity else (bins + 1, size)
                )
        return found

    return best(full)[0]


def test_items() -> None:
    assert fewest_bins(np.array([], dtype=np.int64), 5) == 0
    assert fewest_bins(np.array([0, 0]), 5) == 0
    assert fewest_bins(np.array([5, 5, 5]), 5) == 3
    # each needs a bin, though together they would fill two thirds of them
    assert fewest_bins(np.array([6, 6, 6]), 10) == 3
    # what 6 leaves free is too little for the 5s, 3 and more after them
    assert fewest_bins(np.array([6, 6, 5, 5, 5]), 10) == 4


@pytest.mark.parametrize("seed", seeds(400))
def test_never_more_than_the_exact_number(seed: int) -> None:
    chance = random.Random(seed)
    capacity = chance.randint(1, 30)
    items = [chance.randint(0, capacity) for _ in range(chance.randint(1, 9))]
    bound = fewest_bins(np.array(items), capacity)
    assert -(-sum(items) // capacity) <= bound <= exact(items, capacity)


@pytest.mark.parametrize("seed", seeds(40))
def test_several_sets_at_once(seed: int) -> None:
    chance = np.random.default_rng(seed)
    capacity = int(chance.integers(1, 30))
    size = np.unique(chance.integers(1, capacity + 1, 5))
    count = chance.integers(0, 6, (4, len(size)))
    alone = [fewest_bins(np.repeat(size, row), capacity) for row in count]
    assert fewest_bins_each(size, count, capacity).tolist() == alone


def test_it_is_mostly_the_exact_number() -> None:
    chance = random.Random(1)
    cases = [[chance.randint(1, 20) for _ in range(8)] for _ in range(100)]
    met = [fewest_bins(np.array(case), 20) == exact(case, 20) for case in cases]
    assert sum(met) >= 90
