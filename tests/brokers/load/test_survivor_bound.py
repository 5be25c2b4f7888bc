"""The bound on the worst survivor's share, against every way to lead and take over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest

from partage.brokers.load.survivor_bound import least_share

RACKS = {
    "two racks": ([0, 0, 1, 1], [1, 1, 1, 1]),
    "unequal brokers": ([0, 0, 1, 1], [2, 1, 1, 2]),
    "uneven racks": ([0, 0, 0, 1], [1, 1, 1, 1]),
    "single brokers": ([0, 1, 2], [1, 1, 1]),
    "three racks": ([0, 0, 1, 2], [3, 1, 2, 2]),
}


def best_worst_share(loads: Sequence[int], rack: Sequence[int], fair: Sequence[int]) -> Fraction:
    """The least worst share over every choice of a leader and a taker in another rack."""
    pairs = [(a, b) for a, b in permutations(range(len(rack)), 2) if rack[a] != rack[b]]
    return min(_worst(chosen, loads, fair) for chosen in _choices(pairs, loads))


def _choices(
    pairs: Sequence[tuple[int, int]], loads: Sequence[int]
) -> Iterator[tuple[tuple[int, int], ...]]:
    if len(set(loads)) == 1:  # which of equal partitions is where does not matter
        return combinations_with_replacement(pairs, len(loads))
    return product(pairs, repeat=len(loads))


def _worst(
    chosen: Sequence[tuple[int, int]], loads: Sequence[int], fair: Sequence[int]
) -> Fraction:
    led, taken = Counter[int](), Counter[tuple[int, int]]()
    for (leader, taker), load in zip(chosen, loads, strict=True):
        led[leader] += load
        taken[leader, taker] += load
    return max(
        Fraction(led[b] + taken[failed, b], fair[b])
        for failed, b in permutations(range(len(fair)), 2)
    )


@pytest.mark.parametrize("name", RACKS)
@pytest.mark.parametrize("loads", [(1,) * 5, (3, 2, 1), (5, 1, 1), (4, 3, 3)], ids=str)
def test_no_choice_is_better(name: str, loads: tuple[int, ...]) -> None:
    rack, fair = RACKS[name]
    bound = least_share(sum(loads), sum(loads), fair, rack)
    assert bound <= best_worst_share(loads, rack, fair)
    assert bound >= least_share(sum(loads), 0, fair, rack)


def test_it_is_met_where_loads_divide() -> None:
    """Two leaders each; the two of a broker that fails go to the two brokers of the other rack."""
    rack, fair = RACKS["two racks"]
    assert best_worst_share((1,) * 8, rack, fair) == 3
    assert least_share(8, 8, fair, rack) == 3
    assert least_share(8, 0, fair, rack) == Fraction(8, 3)


def test_small_brokers_cannot_lead_for_large_ones() -> None:
    """Equal totals of racks: with all brokers alike the bound is lower."""
    rack = [0] * 3 + [1] * 3
    assert least_share(12, 12, [4, 1, 1] * 2, rack) > least_share(12, 12, [2] * 6, rack)


def test_partitions_of_which_nothing_is_known_may_go_anywhere() -> None:
    rack, fair = RACKS["two racks"]
    assert least_share(16, 0, fair, rack) < least_share(16, 15, fair, rack) < 6
