"""The assignors of the broker against Kafka's own classes: uniform, range and share."""

from __future__ import annotations

from typing import Any

import pytest

from partage import Group, Member, assign
from tests.consumers.broker_assignors import kafka_answers, random_cases, recorded_answers
from tests.consumers.small_groups import short

Json = dict[str, Any]


def ours(name: str, group: Json) -> Json:
    found = assign(Group.from_json(group, "group"), name, protocol="consumer")
    return dict(found.to_json()["assignment"])


def test_equal_to_recorded_answers() -> None:
    for case in recorded_answers():
        assert ours(case["assignor"], case["group"]) == case["assignment"], case["group"]


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.random
def test_equal_to_kafka() -> None:
    """6,000 groups, a third of them for each assignor."""
    cases = random_cases(848, 2_000)
    for (name, group), answer in zip(cases, kafka_answers(cases), strict=True):
        assert ours(name, group) == answer["assignment"], (name, group)


def test_members_keep_what_they_own_up_to_their_share() -> None:
    """The one that owns three of five keeps them."""
    members = [Member("a", ["t"]), Member("b", ["t"], owned=[("t", 0), ("t", 2), ("t", 4)])]
    assert short(assign(Group({"t": 5}, members), "uniform")) == {
        "a": "t-1 t-3",
        "b": "t-0 t-2 t-4",
    }


def test_different_subscriptions_may_end_unfair() -> None:
    """Each topic's subscribers differ by one, and so the members by two (9, 10, 11)."""
    owned = {
        "a": [("x", n) for n in range(9)],
        "b": [("x", n) for n in range(9, 14)] + [("y", n) for n in range(5)],
        "c": [("y", n) for n in range(5, 16)],
    }
    topics = {"a": ["x"], "b": ["x", "y"], "c": ["y"]}
    members = [Member(one, topics[one], owned=owned[one], generation=1) for one in "abc"]
    group = Group({"x": 14, "y": 16}, members)
    assert assign(group, "uniform").loads.tolist() == [9, 10, 11]
    assert assign(group, "uniform").moves == 0
    assert assign(group, "uniform", "optimal").loads.tolist() == [10, 10, 10]
