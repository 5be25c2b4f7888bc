"""Range: the examples of the articles, and KIP-881."""

from __future__ import annotations

import pytest

from partage import Group, Member, assign
from tests.consumers.small_groups import same, short


def test_ten_over_three() -> None:
    found = assign(same({"t": 10}, "C1", "C2", "C3"), "range")
    assert found.as_dict() == {
        "C1": [("t", n) for n in (0, 1, 2, 3)],
        "C2": [("t", n) for n in (4, 5, 6)],
        "C3": [("t", n) for n in (7, 8, 9)],
    }


@pytest.mark.parametrize("topics", [1, 2, 7])
def test_the_first_member_has_more_of_every_topic(topics: int) -> None:
    group = same({f"t{n}": 10 for n in range(topics)}, "C1", "C2", "C3")
    assert assign(group, "range").loads.tolist() == [4 * topics, 3 * topics, 3 * topics]


def test_keeps_numbers_together_and_members_idle() -> None:
    found = assign(same({"A": 2, "B": 2}, "C1", "C2", "C3"), "range")
    assert short(found) == {"C1": "A-0 B-0", "C2": "A-1 B-1", "C3": ""}


def test_two_topics_of_four_over_three() -> None:
    found = assign(same({"T0": 4, "T1": 4}, "C0", "C1", "C2"), "range")
    assert short(found) == {"C0": "T0-0 T0-1 T1-0 T1-1", "C1": "T0-2 T1-2", "C2": "T0-3 T1-3"}


def test_static_members_come_first() -> None:
    members = [
        Member("a", ["t"]),
        Member("b", ["t"], instance_id="z"),
        Member("c", ["t"], instance_id="y"),
    ]
    for name in ("range", "roundrobin"):
        found = assign(Group({"t": 3}, members), name)
        assert short(found) == {"c": "t-0", "b": "t-1", "a": "t-2"}


def test_prefers_the_rack_within_the_shares() -> None:
    """KIP-881: every partition is in one rack; the shares stay the same."""
    members = [Member(f"C{n}", ["t"], rack=rack) for n, rack in enumerate("ab")]
    racks = {"t": [["b"], ["b"], ["a"], ["a"]]}
    found = assign(Group({"t": 4}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-2 t-3", "C1": "t-0 t-1"}


def test_matches_equal_topics_together() -> None:
    members = [Member(f"C{n}", ["t", "u"], rack=rack) for n, rack in enumerate("ab")]
    racks = {"t": [["b"], ["a"]], "u": [["b"], ["a"]]}
    found = assign(Group({"t": 2, "u": 2}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-1 u-1", "C1": "t-0 u-0"}
    # no rack has both: the same number still goes to one member
    racks = {"t": [["b"], ["a"]], "u": [["a"], ["b"]]}
    found = assign(Group({"t": 2, "u": 2}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-0 u-0", "C1": "t-1 u-1"}


def test_racks_do_not_count_where_all_partitions_are_everywhere() -> None:
    members = [Member("C0", ["t"], rack="b"), Member("C1", ["t"], rack="a")]
    racks = {"t": [["a", "b"], ["a", "b"]]}
    assert short(assign(Group({"t": 2}, members, racks=racks), "range")) == {
        "C0": "t-0",
        "C1": "t-1",
    }
