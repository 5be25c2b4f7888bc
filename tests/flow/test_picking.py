"""Cheapest picks against enumeration."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import network
from partage.flow.picking import cheapest_picks
from tests.profiles import examples


@st.composite
def cases(
    draw: st.DrawFn,
) -> tuple[list[dict[int, int]], list[int], list[tuple[int, int]], list[int]]:
    """The cost of each option for each item; the group and the range of each option; the picks of
    each group, which some choice may make."""
    options = draw(st.integers(1, 5))
    costs = st.dictionaries(st.integers(0, options - 1), st.integers(0, 3), min_size=1, max_size=4)
    items = draw(st.lists(costs, max_size=5))
    group = [draw(st.integers(0, 2)) for _ in range(options)]
    ranges = [tuple(sorted(draw(st.tuples(*[st.integers(0, 4)] * 2)))) for _ in range(options)]
    groups = [group[draw(st.sampled_from(sorted(item)))] for item in items]
    return items, group, ranges, [groups.count(g) for g in range(3)]


@pytest.mark.parametrize("large", [0, network._LARGE])
@given(case=cases())
@examples(500)
def test_the_cheapest_of_all_picks_or_none(
    large: int,
    case: tuple[list[dict[int, int]], list[int], list[tuple[int, int]], list[int]],
) -> None:
    items, group, ranges, quota = case

    def fits(choice: tuple[int, ...]) -> bool:
        counts = [choice.count(option) for option in range(len(group))]
        of_group = [sum(n for n, g in zip(counts, group, strict=True) if g == k) for k in range(3)]
        within = all(a <= n <= b for n, (a, b) in zip(counts, ranges, strict=True))
        return within and of_group == quota

    def total(choice: tuple[int, ...]) -> int:
        return sum(item[option] for item, option in zip(items, choice, strict=True))

    best = min(map(total, filter(fits, itertools.product(*items))), default=None)
    arcs = [(i, option) for i, item in enumerate(items) for option in sorted(item)]
    item, option = (np.array([arc[k] for arc in arcs], dtype=np.int64) for k in (0, 1))
    with patch.multiple(network, _LARGE=large, _VERY_LARGE=large):
        picked = cheapest_picks(
            item,
            option,
            len(items),
            np.array(group),
            *(np.array([one[k] for one in ranges]) for k in (0, 1)),
            np.array(quota),
            np.array([items[i][o] for i, o in arcs], dtype=np.int64),
        )
    assert (picked is None) == (best is None)
    if picked is not None:
        assert item[picked].tolist() == list(range(len(items)))
        choice = tuple(option[picked].tolist())
        assert fits(choice)
        assert total(choice) == best
