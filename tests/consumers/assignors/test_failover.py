"""Failover: everything to the member of the highest priority."""

from __future__ import annotations

import pytest

from partage import Group, InputError, Member, assign
from partage.consumers.assignors.failover import CONFIG, parse_priority
from tests.consumers.small_groups import short


def test_the_next_in_priority_takes_over() -> None:
    topics = {"A": 2, "B": 1}
    members = [Member("C1", ["A", "B"], priority=10), Member("C2", ["A", "B"], priority=5)]
    assert short(assign(Group(topics, members), "failover")) == {"C1": "A-0 A-1 B-0", "C2": ""}
    assert short(assign(Group(topics, members[1:]), "failover")) == {"C2": "A-0 A-1 B-0"}


def test_a_configured_priority_is_any_number_of_32_bits() -> None:
    for number in (-(2**31), 2**31 - 1):
        assert parse_priority(CONFIG, str(number)) == number
        members = [Member("C1", ["A"], config={CONFIG: number}), Member("C2", ["A"], priority=0)]
        first = "C1" if number > 0 else "C2"
        assert assign(Group({"A": 1}, members), "failover").of(first) == [("A", 0)]
    for wrong in (-(2**31) - 1, 2**31, "1.5", None):
        with pytest.raises(InputError, match="expected a whole number of 32 bits"):
            parse_priority(CONFIG, wrong)
