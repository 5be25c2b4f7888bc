"""Weighted: the bound, loads close to it, few moves; and the assignor lag."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from partage import Assignment, Group, InputError, Member, assign
from tests.oracles.groups import best, owners, partitions, small_group, value
from tests.profiles import seeds

Json = dict[str, Any]


def weighed(draw: random.Random, largest: int) -> Json:
    group = small_group(draw)
    group.pop("racks", None)
    group["weights"] = {
        topic: [draw.randint(0 if draw.random() < 0.2 else 1, largest) for _ in range(count)]
        for topic, count in group["topics"].items()
    }
    return group


def lightest(group: Json) -> int:
    """The least highest load by weight, by trying everything."""
    reached = {(0,) * len(group["members"])}
    for topic, number in partitions(group):
        weight = group["weights"][topic][number]
        reached = {
            (*loads[:at], loads[at] + weight, *loads[at + 1 :])
            for loads in reached
            for at, member in enumerate(group["members"])
            if topic in member["topics"]
        }
    return min(max(loads) for loads in reached)


def shared(group: Json, **options: Any) -> Assignment:
    return assign(Group.from_json(group, "group"), "weighted", **options)


@pytest.mark.random
@pytest.mark.parametrize("largest", [1, 3, 20, 10**9])
def test_bound_and_search_on_small_groups(largest: int) -> None:
    draw = random.Random(largest)
    perfect = 0
    for _ in seeds(600):
        group = weighed(draw, largest)
        found = shared(group)
        value(group, found.as_dict())  # whole
        highest = int(found.weights.max())
        assert found.bound is not None
        assert found.bound <= lightest(group) <= highest
        perfect += highest == lightest(group)
        assert found.gap == pytest.approx(highest / found.bound - 1 if found.bound else 0)
        # a second run changes nothing
        after = json.loads(json.dumps(group))
        for member in after["members"]:
            member["owned"] = [list(pair) for pair in found.of(member["id"])]
            member["generation"] = 9
        assert shared(after).moves == 0
    assert perfect >= 0.95 * len(seeds(600))


def test_equal_weights_are_exact() -> None:
    draw = random.Random(1)
    for _ in range(200):
        group = small_group(draw)
        group["weights"] = {topic: [7] * count for topic, count in group["topics"].items()}
        found = shared(group)
        loads, far, moved = best(group)
        assert value(group, found.as_dict()) == (loads, far, moved)
        assert found.bound == 7 * loads[0]
        assert found.gap == 0


def test_without_weights_every_partition_weighs_one() -> None:
    found = assign(Group({"t": 5}, [Member("a", ["t"]), Member("b", ["t"])]), "weighted")
    assert found.to_json()["weights"] == {"a": 3, "b": 2}
    assert found.bound == 3


def test_weightless_partitions_are_assigned_by_count() -> None:
    weights = {"t": [9, 0, 0, 0, 0, 0]}
    members = [Member("a", ["t"]), Member("b", ["t"])]
    found = assign(Group({"t": 6}, members, weights=weights), "weighted")
    assert found.loads.tolist() == [3, 3]


def test_a_skew_moves_less() -> None:
    """One member of ten leaves: its partitions move, and few others."""
    draw = np.random.default_rng(3)
    weights = {"t": np.exp(draw.normal(8, 1.5, 500)).astype(np.int64)}
    members = [Member(f"c{n}", ["t"]) for n in range(10)]
    found = assign(Group({"t": 500}, members, weights=weights), "weighted")
    assert found.gap is not None
    assert found.gap < 1e-4
    rest = [
        Member(m.id, ["t"], owned=found.of(m.id), generation=1) for m in found.group.members[1:]
    ]
    group = Group({"t": 500}, rest, weights=weights)
    exactly, nearly = assign(group, "weighted"), assign(group, "weighted", max_skew=0.05)
    assert exactly.gap is not None
    assert nearly.gap is not None
    assert exactly.gap < 1e-4 < nearly.gap <= 0.05
    assert found.loads[0] <= nearly.moves < exactly.moves / 2


@pytest.mark.parametrize("skew", [-0.1, float("nan"), float("inf"), "5%"])
def test_bad_skew(skew: Any) -> None:
    with pytest.raises(InputError, match=r"max_skew .*: expected a fraction from 0"):
        assign(Group({"t": 1}, [Member("a", ["t"])]), "weighted", max_skew=skew)


@pytest.mark.parametrize("weight", [-1, 2**60])
def test_bad_weights(weight: int) -> None:
    group = Group({"t": 1}, [Member("a", ["t"])], weights={"t": [weight]})
    with pytest.raises(InputError, match=r"weights.t: expected whole numbers from 0"):
        assign(group, "weighted")


def test_too_large_a_sum_of_weights() -> None:
    group = Group({"t": 5000}, [Member("a", ["t"])], weights={"t": [2**50] * 5000})
    with pytest.raises(InputError, match="weights: their sum is more than"):
        assign(group, "weighted")


def test_lag_on_the_example_of_its_documentation() -> None:
    """Lags of 100,000, 50,000 and 60,000 on two members."""
    members = [Member("C0", ["t0"]), Member("C1", ["t0"])]
    group = Group({"t0": 3}, members, weights={"t0": [100_000, 50_000, 60_000]})
    for found in (assign(group, "lag"), assign(group, "weighted", "java")):
        assert found.as_dict() == {"C0": [("t0", 0)], "C1": [("t0", 1), ("t0", 2)]}


def test_weighted_is_never_worse_than_lag() -> None:
    draw = random.Random(12)
    for _ in range(300):
        group = weighed(draw, 50)
        assert shared(group).weights.max() <= shared(group, mode="java").weights.max()


def test_partitions_of_equal_weight_stay() -> None:
    """With the same loads, a member keeps its partitions of each weight."""
    draw = random.Random(2)
    for _ in range(100):
        group = weighed(draw, 3)
        found = shared(group)
        had = owners(group)
        for member, held in found.as_dict().items():
            for topic, number in held:
                other = had.get((topic, number))
                if other is None or other == member:
                    continue
                # the rightful owner has none of that topic and weight which was this member's
                weight = group["weights"][topic][number]
                assert not [
                    pair
                    for pair in found.of(other)
                    if pair[0] == topic
                    and group["weights"][topic][pair[1]] == weight > 0
                    and had.get(pair) == member
                ]
