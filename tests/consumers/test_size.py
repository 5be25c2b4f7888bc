"""The fewest members of a group, compared with every assignment."""

from __future__ import annotations

import random
from itertools import product

import pytest

from partage.consumers import size
from partage.consumers.size import GroupSize, fewest_members
from partage.errors import CannotError, InputError
from partage.group import Group, Member
from tests.profiles import seeds


def group_of(weights: list[int], owned: list[int | None], members: int) -> Group:
    """``owned``: the member of each partition."""
    return Group(
        {"t": len(weights)},
        [
            Member(f"m{k}", ["t"], owned=[("t", p) for p, by in enumerate(owned) if by == k])
            for k in range(members)
        ],
        weights={"t": weights},
    )


def every(group: Group, capacity: int) -> tuple[int, int]:
    """The fewest members, and with these the fewest moves: by enumeration."""
    weights, today = group.weight.tolist(), group.owner.tolist()
    most = max(len(group.members), len(weights))
    best = (most + 1, 0)
    for owners in product(range(most), repeat=len(weights)):
        total = [0] * most
        for owner, weight in zip(owners, weights, strict=True):
            total[owner] += weight
        if max(total) <= capacity:
            moves = sum(a != b for a, b in zip(owners, today, strict=True))
            best = min(best, (len(set(owners)), moves))
    return best


def check(found: GroupSize) -> None:
    """It is an assignment of all partitions to at most so many members, none above its rate."""
    assert max(found.loads) <= found.capacity
    assert sum(found.loads) == int(found.group.weight.sum())
    owned = [tuple(p) for own in found.to_json()["assignment"].values() for p in own]
    assert sorted(owned) == [("t", p) for p in range(found.group.partitions)]
    names = [one.id for one in found.group.members]
    now = [names[k] if k >= 0 else None for k in found.group.owner.tolist()]
    then = [found.members[k] for k in found.owner.tolist()]
    assert found.moves == sum(a != b for a, b in zip(now, then, strict=True))
    assert found.lower_bound <= len(found.members)
    assert found.moves_lower_bound <= found.moves


def test_partitions_without_a_weight_are_named() -> None:
    group = Group({"t": 2, "u": 1}, [Member("m", ["t", "u"])], weights={"t": [5, 5]})
    assert fewest_members(group, 10).to_json()["warnings"] == [
        "weights: 1 partition without a weight, counted as 0: u-0"
    ]


def random_group(chance: random.Random, partitions: int, members: int) -> tuple[Group, int]:
    weights = [chance.randint(0, 12) for _ in range(partitions)]
    owned = [chance.choice([None, *range(members)]) for _ in weights]
    return group_of(weights, owned, members), chance.randint(max(weights), 25)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", seeds(60))
def test_against_every_assignment(seed: int, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact:
        monkeypatch.setattr(size, "_MOST_VARIABLES", 0)
    chance = random.Random(seed)
    group, capacity = random_group(chance, chance.randint(1, 6), chance.randint(1, 3))
    found = fewest_members(group, capacity)
    check(found)
    members, moves = every(group, capacity)
    if exact:
        assert (len(found.members), found.lower_bound) == (members, members)
        assert (found.moves, found.moves_lower_bound) == (moves, moves)
    else:
        assert found.lower_bound <= members <= len(found.members)
        if len(found.members) == members:
            assert found.moves_lower_bound <= moves <= found.moves


@pytest.mark.parametrize("seed", seeds(20))
def test_larger_groups(seed: int) -> None:
    """Many small partitions: the bound on members is met, and nearly that on moves."""
    chance = random.Random(seed)
    weights = [round(chance.lognormvariate(5, 1)) for _ in range(2000)]
    group = group_of(weights, [chance.randrange(60) for _ in weights], 60)
    members = chance.randint(20, 55)
    for slack in (1.0, 1.02):
        capacity = max(*weights, round(slack * sum(weights) / members) + 1)
        found = fewest_members(group, capacity)
        check(found)
        assert len(found.members) == found.lower_bound
    assert found.moves <= 1.2 * found.moves_lower_bound  # with some slack


def test_members_that_are_left_over() -> None:
    group = group_of([4, 3, 2, 1], [0, 1, 2, None], 3)
    found = fewest_members(group, 10)
    assert (len(found.members), len(found.removed), found.moves) == (1, 2, 3)
    assert found.to_json()["proven"] is True


def test_more_members_than_today() -> None:
    found = fewest_members(group_of([6, 6, 6], [0, 0, None], 1), 10)
    assert (found.members, found.moves, found.loads) == (("m0", "new-1", "new-2"), 2, [6, 6, 6])


def test_a_group_without_load_keeps_a_member() -> None:
    found = fewest_members(group_of([0, 0], [0, 1], 2), 10)
    assert (len(found.members), found.moves) == (1, 1)


def test_refused() -> None:
    with pytest.raises(CannotError, match="t-1 alone has 11, a member can own 10"):
        fewest_members(group_of([1, 11], [0, 0], 1), 10)
    unequal = Group({"t": 1, "u": 1}, [Member("a", ["t"]), Member("b", ["u"])])
    with pytest.raises(InputError, match="members subscribe to different topics"):
        fewest_members(unequal, 10)
