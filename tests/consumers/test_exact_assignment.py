"""Exact assignments against brute force, against linear programming, and at size."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import Assignment, Group, Member, assign
from partage.consumers import exact_assignment
from tests.oracles.groups import (
    again,
    best,
    evenest,
    is_far,
    partitions,
    relaxed,
    small_group,
    unevenness,
    value,
)
from tests.profiles import seeds

Json = dict[str, Any]


def shared(group: Json, assignor: str = "sticky", **options: Any) -> Assignment:
    return assign(Group.from_json(group, "group"), assignor, **options)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(13))
def test_no_assignment_is_better(seed: int) -> None:
    """6,500 groups: loads, then racks, then moves."""
    draw = random.Random(seed)
    for _ in range(500):
        group = small_group(draw)
        found = shared(group)
        assert value(group, found.as_dict()) == best(group), group
        assert found.moves == best(group)[2]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
def test_of_the_best_assignments_the_one_with_the_most_even_topics(seed: int) -> None:
    draw = random.Random(100 + seed)
    for _ in seeds(400):
        group = small_group(draw, most=6 + seed % 2)
        found = shared(group).as_dict()
        assert value(group, found) == best(group)
        assert unevenness(found) == evenest(group), group


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(40))
def test_as_good_as_linear_programming(seed: int) -> None:
    group = small_group(random.Random(1000 + seed), most=60)
    grown = random.Random(seed)
    for number in range(6):
        group["members"].append(
            {
                "id": f"d{number}",
                "topics": grown.sample(
                    list(group["topics"]), grown.randint(1, len(group["topics"]))
                ),
                "rack": grown.choice([None, "a", "b"]),
            }
        )
    loads, far, moved = value(group, shared(group).as_dict())
    count = len(partitions(group))
    got = sum(load * load for load in loads) * (count + 1) ** 2 + far * (count + 1) + moved
    assert got == pytest.approx(relaxed(group, is_far, ((count + 1) ** 2, count + 1)), rel=1e-9)


def test_a_second_run_changes_nothing() -> None:
    draw = random.Random(5)
    for _ in range(300):
        group = small_group(draw)
        assert shared(again(group, shared(group).as_dict())).moves == 0


def test_the_order_of_the_input_does_not_matter() -> None:
    draw = random.Random(6)
    for _ in range(200):
        group = small_group(draw)
        turned = {**group, "topics": dict(reversed(group["topics"].items()))}
        turned["members"] = [
            {**m, "topics": m["topics"][::-1], "owned": m["owned"][::-1]}
            for m in group["members"][::-1]
        ]
        assert shared(turned).as_dict() == shared(group).as_dict()


def large(members: int, topics: int, count: int, subscribes: float, seed: int) -> Group:
    draw = random.Random(seed)
    names = [f"t{number}" for number in range(topics)]
    return Group(
        dict.fromkeys(names, count),
        [
            Member(f"c{number:04}", [n for n in names if draw.random() < subscribes] or names[:1])
            for number in range(members)
        ],
    )


@pytest.mark.parametrize(("members", "subscribes"), [(97, 1.0), (97, 0.2), (40, 0.05)])
def test_large_groups_are_assigned_completely_and_stay(members: int, subscribes: float) -> None:
    group = large(members, 40, 50, subscribes, 1)
    found = assign(group, "sticky")
    wanted = group.subscribes.any(axis=0)[group.topic]
    assert ((found.owner >= 0) == wanted).all()
    assert group.subscribes[group.class_of[found.owner[wanted]], group.topic[wanted]].all()
    if subscribes == 1.0:
        assert found.loads.max() - found.loads.min() <= 1
    rejoin = [
        Member(m.id, m.topics, owned=found.partitions_of(at), generation=1)
        for at, m in enumerate(group.members)
    ]
    assert assign(Group(group.topics, rejoin), "sticky").moves == 0
    # one leaves: no more moves than what it had, where all subscribe alike
    left = assign(Group(group.topics, rejoin[1:]), "sticky")
    if subscribes == 1.0:
        assert left.moves == found.loads[0]


def test_too_many_pairs_only_skip_the_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    group = large(40, 12, 30, 0.4, 3)
    found = assign(group, "sticky")
    monkeypatch.setattr(exact_assignment, "_MAX_PAIRS", 10)
    dealt = assign(group, "sticky")
    assert sorted(dealt.loads.tolist()) == sorted(found.loads.tolist())
    assert unevenness(dealt.as_dict()) > unevenness(found.as_dict())


def test_topics_are_spread_over_the_members() -> None:
    """Ten topics of as many partitions as there are members: every member has one of each."""
    found = assign(large(10, 10, 10, 1.0, 1), "sticky")
    topics = [[topic for topic, _ in held] for held in found.as_dict().values()]
    assert all(len(set(held)) == 10 for held in topics)
