"""Racks before loads, against brute force and linear programming; what is read across racks."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from partage import Assignment, Group, Member, assign
from partage.consumers import exact_assignment
from partage.flow import group_assignment
from tests.oracles.groups import (
    again,
    best_racks_first,
    crosses,
    partitions,
    relaxed,
    small_group,
    value,
)
from tests.profiles import seeds

Json = dict[str, Any]

SKEWS = [None, 0.0, 0.07, 0.5, 1.0]


def weighted(draw: random.Random, group: Json) -> Json:
    """The group, two times of three with weights."""
    if draw.random() < 2 / 3:
        group["weights"] = {
            topic: [draw.choice([0, 1, 2, 5, 9]) for _ in range(count)]
            for topic, count in group["topics"].items()
            if draw.random() < 0.9
        }
    return group


def nearest(group: Json, max_skew: float | None, **options: Any) -> Assignment:
    options = {"assignor": "sticky"} | options
    return assign(Group.from_json(group, "group"), racks_first=True, max_skew=max_skew, **options)


def measured(group: Json, found: Assignment) -> tuple[int, list[int], int]:
    """(weight across racks, loads, moves) of an assignment, which is checked for being one."""
    loads, _, moved = value(group, found.as_dict())
    members = {member["id"]: member for member in group["members"]}
    held = found.as_dict().items()
    across = sum(crosses(group, members[name], at) for name, own in held for at in own)
    return across, loads, moved


@pytest.mark.random
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("seed", seeds(30))
def test_no_assignment_is_better(seed: int, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weight across racks, then loads within the limit, then moves; with few pairs laid out at
    first, too."""
    if few:
        for name, number in (("_ALL_PAIRS", 0), ("_INITIAL", 1), ("_ADDED", 1)):
            monkeypatch.setattr(group_assignment, name, number)
    draw = random.Random(seed)
    for _ in range(120):
        group = weighted(draw, small_group(draw))
        skew = draw.choice(SKEWS)
        found = nearest(group, skew)
        exact = None if skew is None else Fraction(str(skew))
        assert measured(group, found) == best_racks_first(group, exact), (group, skew)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(20))
def test_as_good_as_linear_programming(seed: int) -> None:
    draw = random.Random(2000 + seed)
    group = small_group(draw, most=60)
    for number in range(6):
        topics = draw.sample(list(group["topics"]), draw.randint(1, len(group["topics"])))
        rack = draw.choice([None, "a", "b"])
        group["members"].append({"id": f"d{number}", "topics": topics, "rack": rack})
    weighted(draw, group)
    skew = draw.choice([None, 0.2, 1.0])
    highest = int(assign(Group.from_json(group, "group"), "sticky").loads.max(initial=0))
    limit = None if skew is None else int(highest * (1 + Fraction(str(skew))))
    across, loads, moved = measured(group, nearest(group, skew))
    unit = len(partitions(group)) + 1
    got = across * unit**3 + sum(load * load for load in loads) * unit + moved
    assert got == pytest.approx(relaxed(group, crosses, (unit, unit**3), limit), rel=1e-9)


def test_a_second_run_changes_nothing() -> None:
    draw = random.Random(5)
    for _ in range(100):
        group = weighted(draw, small_group(draw))
        skew = draw.choice(SKEWS)
        after = again(group, nearest(group, skew).as_dict())
        assert nearest(after, skew).moves == 0


def zoned(partitions: int, members: int, *, seed: int) -> Group:
    """Replicas in two of three racks, rates over three orders of magnitude, the members uneven over
    the racks."""
    draw = np.random.default_rng(seed)
    racks = [[f"r{rack}" for rack in draw.choice(3, 2, replace=False)] for _ in range(partitions)]
    weights = (10 ** draw.uniform(4, 7, partitions)).astype(np.int64)
    joined = [
        Member(f"c{n:03}", ["t"], rack=f"r{draw.choice(3, p=[0.9, 0.05, 0.05])}")
        for n in range(members)
    ]
    return Group({"t": partitions}, joined, racks={"t": racks}, weights={"t": weights})


def test_skew_is_paid_for_with_bytes_across_racks() -> None:
    group = zoned(600, 30, seed=1)
    across, highest = [], []
    for skew in (0.0, 0.2, 0.5, None):
        found = assign(group, "sticky", racks_first=True, max_skew=skew)
        after = found.reads[1]
        assert after is not None
        assert after.weight is not None
        across.append(after.weight[1])
        highest.append(int(found.loads.max()))
    assert across == sorted(across, reverse=True)
    assert across[0] > across[1] > across[-1] == 0
    assert highest[:3] == [20, 24, 30]
    fair = assign(group, "sticky").reads[1]
    assert fair is not None
    assert fair.weight is not None
    # without racks first, racks count per partition
    assert fair.weight[1] > across[0]


def test_rounded_weights_are_nearly_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    group = zoned(600, 30, seed=2)
    exactly = assign(group, "sticky", racks_first=True, max_skew=0.1).reads[1]
    monkeypatch.setattr(exact_assignment, "_MAX_PAIRS", 1)
    nearly = assign(group, "sticky", racks_first=True, max_skew=0.1).reads[1]
    for reads in (exactly, nearly):
        assert reads is not None
        assert reads.weight is not None
    assert exactly.weight[1] <= nearly.weight[1] <= 1.1 * exactly.weight[1]


def test_large_weights_do_not_overflow() -> None:
    racks = {"t": [["a"], ["b"], ["a"], ["b"]]}
    members = [Member("c0", ["t"], rack="a"), Member("c1", ["t"], rack="b")]
    heavy = Group({"t": 4}, members, racks=racks, weights={"t": [2**50] * 4})
    assert assign(heavy, "sticky", racks_first=True).loads.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("assignor", "mode"), [("cooperative-sticky", None), ("uniform", "optimal")]
)
def test_other_assignors_decide_alike(assignor: str, mode: str | None) -> None:
    group = weighted(random.Random(3), small_group(random.Random(8), most=30))
    found = nearest(group, 0.2, assignor=assignor, mode=mode)
    assert found.target.tolist() == nearest(group, 0.2).target.tolist()


def test_notes_about_unknown_racks() -> None:
    members = [Member("c0", ["t"], rack="a"), Member("c1", ["t"]), Member("c2", ["t"])]
    group = Group({"t": 2}, members, racks={"t": [["a"], ["b"]]})
    [note] = assign(group, "sticky", racks_first=True).notes
    assert note == "members without a rack count as reading across racks: c1, c2"
    [note] = assign(Group({"t": 2}, members), "sticky", racks_first=True).notes
    assert note.startswith("racks_first has no effect: no rack of a member or no rack of a part")


def test_reads_before_and_after() -> None:
    members = [
        Member("c0", ["t", "u"], rack="a", owned=[("t", 1), ("u", 0)], generation=1),
        Member("c1", ["t", "u"], rack="b"),
    ]
    racks = {"t": [["a"], ["b"]]}
    weights = {"t": {0: 1_000, 1: 3_000}, "u": {0: 5_000}}
    group = Group({"t": 2, "u": 1}, members, racks=racks).with_weights(weights, byte_rates=True)
    reads = assign(group, "sticky").to_json()["reads"]
    assert reads["before"] == {
        "within_rack": 0,
        "across_racks": 1,
        "unknown": 1,
        "bytes_per_second": {"within_rack": 0.0, "across_racks": 3.0, "unknown": 5.0},
    }
    assert reads["after"] == {
        "within_rack": 2,
        "across_racks": 0,
        "unknown": 1,
        "bytes_per_second": {"within_rack": 4.0, "across_racks": 0.0, "unknown": 5.0},
    }
    lags = assign(group.with_weights(weights), "sticky").to_json()["reads"]["after"]
    assert lags["weight"] == {"within_rack": 4_000, "across_racks": 0, "unknown": 5_000}
    assert "reads" not in assign(Group({"t": 1}, [Member("c", ["t"])]), "sticky").to_json()
