"""Sticky and cooperative-sticky in both modes: the examples of the articles, and claims."""

from __future__ import annotations

import pytest

from partage import Group, Member, assign
from tests.consumers.small_groups import NESTED, same, short, without


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_nested_subscriptions(mode: str) -> None:
    found = assign(NESTED, "sticky", mode)
    assert short(found) == {"C0": "t0-0", "C1": "t1-0 t1-1", "C2": "t2-0 t2-1 t2-2"}


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_one_of_three_leaves(mode: str) -> None:
    """The article's example: roundrobin moves three partitions, sticky only A-1."""
    group = same({"A": 2, "B": 2}, "C1", "C2", "C3")
    before = assign(group, "roundrobin")
    assert short(before) == {"C1": "A-0 B-1", "C2": "A-1", "C3": "B-0"}
    rest = without(group, before, "C2")
    found = assign(rest, "roundrobin")
    assert short(found) == {"C1": "A-0 B-0", "C3": "A-1 B-1"}
    assert found.moves == 3
    found = assign(rest, "sticky", mode)
    assert short(found) == {"C1": "A-0 B-1", "C3": "A-1 B-0"}
    assert found.moves == 1


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_the_second_of_three_leaves_four_topics(mode: str) -> None:
    group = same({"T0": 2, "T1": 2, "T2": 2, "T3": 2}, "C0", "C1", "C2")
    before = assign(group, "roundrobin")
    rest = without(group, before, "C1")
    assert assign(rest, "roundrobin").moves == 5
    assert assign(rest, "sticky", mode).moves == 3


def test_cooperative_withholds_what_must_be_revoked_first() -> None:
    """Three partitions and one member; a second one joins (KIP-429's two rounds)."""
    first = Member("C0", ["t"], owned=[("t", 0), ("t", 1), ("t", 2)], generation=1)
    found = assign(Group({"t": 3}, [first, Member("C1", ["t"])]), "cooperative-sticky")
    assert sorted(found.loads.tolist()) == [0, 2]
    assert [(number, holder) for _, number, holder in found.revoke_first] == [
        (number, "C0") for number in range(3) if ("t", number) not in found.of("C0")
    ]
    gone = [
        Member("C0", ["t"], owned=found.of("C0"), generation=2),
        Member("C1", ["t"], generation=2),
    ]
    after = assign(Group({"t": 3}, gone), "cooperative-sticky")
    assert sorted(after.loads.tolist()) == [1, 2]
    assert after.revoke_first == []
    assert after.of("C0") == found.of("C0")


def test_a_stale_claim_does_not_take_from_the_owner() -> None:
    members = [
        Member("C0", ["t"], owned=[("t", 0)], generation=2),
        Member("C1", ["t"], owned=[("t", 0), ("t", 1)], generation=1),
    ]
    found = assign(Group({"t": 2}, members), "cooperative-sticky")
    assert short(found) == {"C0": "t-0", "C1": "t-1"}


def test_equal_claims_are_void_and_withheld() -> None:
    members = [Member(m, ["t"], owned=[("t", 0)], generation=1) for m in ("C0", "C1")]
    found = assign(Group({"t": 1}, members), "cooperative-sticky")
    assert found.as_dict() == {"C0": [], "C1": []}
    assert [(topic, number) for topic, number, _ in found.revoke_first] == [("t", 0)]
    assert "claimed by several members" in found.to_json()["warnings"][0]
