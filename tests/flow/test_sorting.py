"""Sorting by counting gives what NumPy's slower functions give."""

from __future__ import annotations

import numpy as np
import pytest

from partage.flow.sorting import counted, distinct, numbered, scrambled_order, stable_order


@pytest.mark.parametrize("largest", [0, 3, 50, 2**15 - 1, 2**15, 10**6, 2**31, 2**45, 2**63 - 1])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 100, 20_000])
def test_it_agrees_with_numpy(count: int, largest: int) -> None:
    values = np.random.default_rng(count).integers(-largest, largest, count, endpoint=True)
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert distinct(values).tolist() == np.unique(values).tolist()
    expected = np.unique(values, return_counts=True)
    assert [part.tolist() for part in counted(values)] == [part.tolist() for part in expected]
    expected = np.unique(values, return_index=True, return_inverse=True)
    assert [part.tolist() for part in numbered(values)] == [part.tolist() for part in expected]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 100, 1000])
def test_equal_values_are_scrambled(count: int) -> None:
    values = np.random.default_rng(count).integers(0, 3, count)
    order = scrambled_order(values)
    assert sorted(order.tolist()) == list(range(count))
    assert values[order].tolist() == np.sort(values).tolist()
    if count >= 100:
        assert order.tolist() != stable_order(values).tolist()
        near = np.diff(scrambled_order(np.zeros(count, dtype=np.int64)))
        assert np.count_nonzero(near == 1) < count / 4
