"""Spans, moves and time without an owner, counted from what members hold."""

from __future__ import annotations

from partage.consumers.protocol import Partition
from partage.consumers.record_flow import OwnershipSpan
from partage.consumers.simulation.ownership import Ownership

ZERO, ONE = ("t", 0), ("t", 1)
TOPICS = {"t": 2, "u": 3}


class Clock:
    now = 0.0


def holding(*partitions: Partition) -> frozenset[Partition]:
    return frozenset(partitions)


def ownership(clock: Clock, twice: list[str], **instances: str | None) -> Ownership:
    return Ownership({"a": None, "b": None, **instances}, lambda: clock.now, twice)


def test_spans_moves_and_time_without_an_owner() -> None:
    clock = Clock()
    found = ownership(clock, [])
    found.add_subscriber(["t", "t"], 1, TOPICS)
    assert found.without_owner == 2
    clock.now = 3.0
    found.count_unowned()
    found.update({"a": holding(ZERO, ONE)})
    assert (found.unowned, found.without_owner) == (6.0, 0)
    clock.now = 5.0
    found.count_unowned()
    found.update({"a": holding(ZERO)})
    clock.now = 7.0
    found.count_unowned()
    found.update({"b": holding(ONE)})
    assert found.owners() == {ZERO: "a", ONE: "b"}
    assert (found.unowned, found.moved, found.changes) == (8.0, 1, 4)
    clock.now = 9.0
    found.end()
    assert found.spans == [
        OwnershipSpan(ZERO, "a", 3.0, 9.0),
        OwnershipSpan(ONE, "a", 3.0, 5.0),
        OwnershipSpan(ONE, "b", 7.0, 9.0),
    ]


def test_two_owners_at_once_are_named_and_the_second_follows() -> None:
    clock, twice = Clock(), list[str]()
    found = ownership(clock, twice)
    found.update({"a": holding(ZERO)})
    clock.now = 2.0
    found.update({"b": holding(ZERO)})
    assert twice == ["at 2 s t-0 is owned by a and b"]
    assert found.owners() == {ZERO: "a"}
    clock.now = 3.0
    found.update({"a": holding()})
    clock.now = 4.0
    found.end()
    assert found.spans == [OwnershipSpan(ZERO, "a", 0.0, 3.0), OwnershipSpan(ZERO, "b", 3.0, 4.0)]


def test_a_static_member_that_returns_gets_its_own() -> None:
    found = ownership(Clock(), [], a="seat", b="seat")
    found.update({"a": holding(ZERO)})
    found.update({"a": holding(), "b": holding(ZERO)})
    assert (found.moved, found.changes) == (0, 3)


def test_topics_count_while_a_running_member_subscribes() -> None:
    found = ownership(Clock(), [])
    found.add_subscriber(["t"], 1, TOPICS)
    found.add_subscriber(["t", "u"], 1, TOPICS)
    assert found.without_owner == 5
    found.add_subscriber(["t", "u"], -1, TOPICS)
    assert found.without_owner == 2
    found.replace_subscribers([["u"], ["u", "gone"]], TOPICS)
    assert found.without_owner == 3
