"""Uniform: exact against brute force, and the broker's answer beside it."""

from __future__ import annotations

import random

import pytest

from partage import Group, InputError, assign
from tests.oracles.groups import best, small_group, value
from tests.profiles import seeds


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(4))
def test_optimal_is_the_best(seed: int) -> None:
    """2,000 groups: loads, then racks, then moves. The broker's answer is valid, never better, and
    sometimes moves more."""
    draw = random.Random(8480 + seed)
    moved = 0
    for _ in range(500):
        group = small_group(draw)
        exact = assign(Group.from_json(group, "group"), "uniform", "optimal")
        assert value(group, exact.as_dict()) == best(group), group
        broker = value(group, assign(Group.from_json(group, "group"), "uniform").as_dict())
        assert broker >= best(group)
        moved += broker[:2] == best(group)[:2] and broker[2] > best(group)[2]
    assert moved


def test_the_broker_has_two_for_consumer_groups() -> None:
    group = Group.from_json({"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}]}, "g")
    for name in ("uniform", "range", "UniformAssignor"):
        assert assign(group, name, protocol="consumer").moves == 1
    with pytest.raises(InputError, match=r"assignor sticky: the broker has no such assignor"):
        assign(group, "sticky", protocol="consumer")
    with pytest.raises(InputError, match=r"protocol eager: expected one of classic, consumer"):
        assign(group, "uniform", protocol="eager")
