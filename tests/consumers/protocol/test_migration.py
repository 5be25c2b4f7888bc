"""Groups whose members change between the classic and the consumer protocol."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import InputError
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds

CONSUMER = {"group.protocol": "consumer"}


def member(name: str, *restarts: tuple[float, float, str], **more: Any) -> dict[str, Any]:
    """A member that restarts: (at, back at, its protocol then)."""
    again = [
        {"at": at, "back_at": back, "config": {"group.protocol": spoken}}
        for at, back, spoken in restarts
    ]
    return {"id": name, "topics": ["t"], "restarts": again, **more}


def played(
    *members: dict[str, Any], assignor: str = "cooperative-sticky", **options: Any
) -> Simulation:
    value = {"topics": {"t": 6}, "members": members, "until": 200, **options}
    return simulate(Scenario.from_json(value), assignor)


def held(found: Simulation, at: float) -> dict[str, int]:
    """How many partitions each member holds at a time."""
    now = [span.member for span in found.spans if span.start <= at < span.end]
    return {name: now.count(name) for name in sorted(set(now))}


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_rolling_restart_converts_the_group(assignor: str) -> None:
    found = played(
        member("a", (60, 62, "consumer")), member("b", (90, 92, "consumer")), assignor=assignor
    )
    assert found.violations == ()
    assert [one.assignor for one in found.rounds] == [assignor, "uniform", "uniform"]
    assert found.protocols["a"] != found.protocols["a-2"] == "consumer"
    assert held(found, 80) == {"a-2": 3, "b": 3}
    assert held(found, 199) == {"a-2": 3, "b-2": 3}


def test_an_eager_member_of_a_consumer_group_waits_for_nobody() -> None:
    """b, which is eager, gives up everything at its next heartbeat, at 63 s, and gets its part at
    once; c waits only for what b had."""
    found = played(
        member("a"),
        member("b"),
        member("c", joins_at=61, config=CONSUMER),
        assignor="range",
    )
    revoked = [(at, who) for at, who, call in found.callbacks if call.kind == "revoked"]
    assert [who for _, who in revoked] == ["a", "b"]
    for at, who in revoked:
        spans = [span for span in found.spans if span.member == who and span.end > at]
        assert min(span.start for span in spans) == at
    assert found.unowned > 0
    assert held(found, 199) == {"a": 2, "b": 2, "c": 2}


def test_without_members_of_the_consumer_protocol_the_group_is_classic_again() -> None:
    found = played(member("a"), member("b", (60, 62, "consumer"), (100, 102, "classic")))
    assert found.violations == ()
    assert [one.assignor for one in found.rounds[-2:]] == ["cooperative-sticky"] * 2
    generations = [one.generation for one in found.rounds]
    assert generations == sorted(set(generations))
    assert held(found, 199) == {"a": 3, "b-3": 3}


def test_a_static_member_changes_its_protocol_without_a_rebalance() -> None:
    members = [
        member(name, (at, at + 2, "consumer"), (at + 60, at + 62, "classic"), instance_id=name)
        for name, at in (("a", 60), ("b", 70))
    ]
    found = played(*members)
    assert found.violations == ()
    assert found.moved == 0
    assert {one.generation for one in found.rounds} == {1}


def test_a_member_of_the_consumer_protocol_begins() -> None:
    found = played(member("a", config=CONSUMER), member("b", joins_at=10))
    assert found.rounds[0].assignor == "uniform"
    assert held(found, 199) == {"a": 3, "b": 3}
    alone = played(member("a", config=CONSUMER), assignor="uniform")
    assert alone.protocol == "consumer"


def test_rounds_may_begin_with_an_empty_group() -> None:
    found = played(
        member("a", leaves_at=20),
        member("b", joins_at=30, leaves_at=40, config=CONSUMER),
        member("c", joins_at=50),
    )
    assert [one.assignor for one in found.rounds if one.assignment] == [
        "cooperative-sticky",
        "uniform",
        "cooperative-sticky",
    ]
    assert held(found, 199) == {"c": 6}


def test_a_classic_member_must_list_an_assignor_of_the_others() -> None:
    found = played(
        member("a"),
        member("b", config=CONSUMER),
        member("c", joins_at=20, assignors=["range"]),
    )
    assert list(found.refused) == ["c"]
    assert found.refused["c"].startswith("INCONSISTENT_GROUP_PROTOCOL")


def test_the_broker_does_not_convert_librdkafkas_cooperative_groups() -> None:
    """From the second rebalance on, the assignments have user data. The last member to restart
    finds the group empty and gets everything; those before it have stopped."""
    members = [
        member(name, (at, at + 2, "consumer"), client="librdkafka", joins_at=joins)
        for name, joins, at in (("a", 0, 60), ("b", 10, 90))
    ]
    found = played(*members)
    assert list(found.refused) == ["a-2"]
    assert found.refused["a-2"].startswith("GROUP_ID_NOT_FOUND")
    assert held(found, 199) == {"b-2": 6}
    assert not played(*members, assignor="range").refused


def test_impossible_protocols() -> None:
    with pytest.raises(InputError, match=r"members\[0\]: config: group.protocol new: expected"):
        played(member("a", (1, 2, "new")))
    connect = {"tasks": [["s", 0]]}
    with pytest.raises(
        InputError, match=r"assignor connect: members with group\.protocol=consumer"
    ):
        played(member("a"), member("b", config=CONSUMER), assignor="connect", connect=connect)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(200))
def test_random_migrations(seed: int) -> None:
    """No partition has two owners, and at the end each has one."""
    draw = random.Random(seed)
    members = []
    for number in range(draw.randint(1, 6)):
        at = joins = round(draw.choice([0, 0, draw.uniform(0, 60)]), 2)
        restarts = []
        for _ in range(draw.randint(0, 3)):
            at = round(at + draw.uniform(0.5, 60), 2)
            back = round(at + draw.uniform(0.1, 20), 2)
            restarts.append((at, back, draw.choice(["classic", "consumer", "consumer"])))
            at = back
        more: dict[str, Any] = {"joins_at": joins}
        if draw.random() < 0.3:
            more["config"] = CONSUMER
        if draw.random() < 0.3:
            more[draw.choice(["leaves_at", "crashes_at"])] = round(at + draw.uniform(0, 40), 2)
        members.append(member(f"c{number}", *restarts, **more))
    found = played(
        *members,
        member("classic", leaves_at=5),
        assignor=draw.choice(["range", "sticky", "cooperative-sticky"]),
        until=500,
        latency=draw.choice([0, 0, 0.02, 0.4]),
        in_step=draw.random() < 0.3,
        assignment_interval=draw.choice([0, 1, 7]),
    )
    assert found.violations == ()
    here = [m for m in found.scenario.members if m.ends_at > 500 and m.id not in found.refused]
    if here:
        assert sum(held(found, 499.9).values()) == 6
        assert set(held(found, 499.9)) <= {m.id for m in here}
