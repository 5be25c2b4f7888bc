"""Sorting with packed positions gives what NumPy's slower functions give."""

from __future__ import annotations

import numpy as np
import pytest

from partage.flow.sorting import counted, distinct, numbered, stable_order


@pytest.mark.parametrize("largest", [0, 3, 50, 10**6, 2**62])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 100])
def test_it_agrees_with_numpy(count: int, largest: int) -> None:
    values = np.random.default_rng(count).integers(-largest, largest + 1, count)
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert distinct(values).tolist() == np.unique(values).tolist()
    expected = np.unique(values, return_counts=True)
    assert [part.tolist() for part in counted(values)] == [part.tolist() for part in expected]
    expected = np.unique(values, return_index=True, return_inverse=True)
    assert [part.tolist() for part in numbered(values)] == [part.tolist() for part in expected]
