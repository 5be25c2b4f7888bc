"""Failover: everything to the member of the highest priority."""

from __future__ import annotations

from partage import Group, Member, assign
from tests.consumers.small_groups import short


def test_the_next_in_priority_takes_over() -> None:
    topics = {"A": 2, "B": 1}
    members = [Member("C1", ["A", "B"], priority=10), Member("C2", ["A", "B"], priority=5)]
    assert short(assign(Group(topics, members), "failover")) == {"C1": "A-0 A-1 B-0", "C2": ""}
    assert short(assign(Group(topics, members[1:]), "failover")) == {"C2": "A-0 A-1 B-0"}
