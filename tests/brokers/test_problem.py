"""What the kernel gets of a problem, and capacities as integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import InputError
from partage.brokers.problem import capacity_weights
from tests.brokers.posing.test_resolving import RACKS, problem


def test_items_and_the_kernels_view() -> None:
    found = problem(RACKS, topics="t", add_broker=["9:b"])
    sharing = found.sharing
    assert found.items.tolist() == [0, 1]
    assert sharing.demand.tolist() == [2, 1]
    assert sharing.base.tolist() == [1, 0, 1, 0]  # tt-0 stays on 7 and 1
    assert sharing.zone.tolist() == [0, 1, 2, 1]
    assert found.order == ("load", "moves", "spread")
    assert problem(RACKS, spread="topic").order == ("spread", "load", "moves")
    slots = np.array([[3, 0], [1, -1]])
    assert found.replicas_of(slots).tolist() == [[3, 0], [1, -1], [2, 0]]


# ---------------------------------------------------------------- capacities


@pytest.mark.parametrize(
    ("capacities", "weights"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([2, 2], [1, 1]),
        ([1, 2], [2, 1]),
        ([1, 2, 3], [6, 3, 2]),
        (["0.5", "1.5"], [3, 1]),
        (["0.1", "0.2"], [2, 1]),
    ],
)
def test_capacity_weights(capacities: list[Any], weights: list[int]) -> None:
    found, exact = capacity_weights([Fraction(c) for c in capacities])
    assert (found.tolist(), exact) == (weights, True)


@given(st.lists(st.fractions(min_value="0.001", max_value=1000), min_size=1, max_size=12))
def test_capacity_weights_are_nearly_in_proportion(capacities: list[Fraction]) -> None:
    try:
        found, exact = capacity_weights(capacities)
    except InputError:
        return
    weights = found.tolist()
    assert all(1 <= weight <= 20_000 for weight in weights)
    products = [w * c for w, c in zip(weights, capacities, strict=True)]
    if exact:
        assert len(set(products)) == 1
    else:
        # each is rounded by at most a half
        ideal = [max(capacities) / c for c in capacities]
        finest = int(20_000 / max(ideal))
        assert all(abs(w - i * finest) <= 0.5 for w, i in zip(weights, ideal, strict=True))
    for one, first in zip(capacities, weights, strict=True):
        for other, second in zip(capacities, weights, strict=True):
            if one > other:
                assert first <= second
