"""What a member owns, as columns and as pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from partage import Group, Member
from partage.group.owned import OwnedPartitions

NAMES = ("a", "b", "c")

Form = Callable[[Sequence[tuple[str, int]]], Any]


def columns(pairs: Sequence[tuple[str, int]], names: tuple[str, ...] = NAMES) -> OwnedPartitions:
    ordered = sorted((names.index(topic), number) for topic, number in pairs)
    rows = np.array(ordered, dtype=np.int64).reshape(-1, 2)
    return OwnedPartitions(names, rows[:, 0], rows[:, 1])


def test_it_is_a_mapping() -> None:
    owned = columns([("c", 1), ("a", 4), ("a", 0)])
    assert {topic: numbers.tolist() for topic, numbers in owned.items()} == {"a": [0, 4], "c": [1]}
    assert len(owned) == 2
    assert "b" not in owned
    with pytest.raises(KeyError):
        owned["b"]
    assert not columns([])


@pytest.mark.parametrize("seed", range(4))
def test_a_group_reads_the_same_claims_in_each_form(seed: int) -> None:
    """Claims of one partition by several members, of several generations, to unknown partitions,
    and to topics that are not listed or not subscribed to."""
    draw = random.Random(seed)
    for _ in range(100):
        claims = {
            f"m{at}": [
                pair
                for pair in ((topic, number) for topic in "abc" for number in range(-1, 5))
                if draw.random() < 0.4
            ]
            for at in range(5)
        }
        generations = {member: draw.randint(1, 3) for member in claims}
        topics = {topic: draw.randint(0, 4) for topic in draw.sample("abd", 3)}
        subscriptions = {member: draw.sample("abd", draw.randint(1, 3)) for member in claims}
        # in pairs, in a mapping, in columns, and a mix of these
        forms = (
            list,
            _mapping,
            columns,
            lambda pairs: draw.choice((list, _mapping, columns))(pairs),
        )
        found = [
            Group(
                topics,
                [
                    Member(m, subscriptions[m], owned=form(pairs), generation=generations[m])
                    for m, pairs in claims.items()
                ],
            )
            for form in forms
        ]
        first = found[0]
        assert {m.id: m.owned_count for m in first.members} == {
            m: len(pairs) for m, pairs in claims.items()
        }
        for group in found[1:]:
            assert group.owner.tolist() == first.owner.tolist()
            assert group.contested.tolist() == first.contested.tolist()
            assert group.warnings == first.warnings
            assert [m.owned_count for m in group.members] == [m.owned_count for m in first.members]


def _any_form(draw: random.Random) -> Form:
    return lambda pairs: draw.choice((list, _mapping, columns))(pairs)


def _mapping(pairs: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in pairs:
        found.setdefault(topic, []).append(number)
    return found
