"""``assign``: any assignor on any claims, its arguments and its warnings."""

from __future__ import annotations

import random

import pytest

from partage import Assignment, Group, InputError, Member, assign
from partage.consumers.assignors import ASSIGNORS
from tests.consumers.small_groups import same
from tests.oracles.groups import owners, partitions, small_group, value


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_valid_on_any_claims(mode: str) -> None:
    """Claims beyond a topic's end, of two members, of old generations, of unsubscribed topics."""
    draw = random.Random(8)
    for _ in range(400):
        group = small_group(draw, most=9)
        for member in group["members"]:
            topics = [*group["topics"], "gone"]
            for _ in range(draw.choice([0, 0, 3])):
                member["owned"].append([draw.choice(topics), draw.choice([-1, 0, 1, 2, 2**31 - 1])])
        for name in ("range", "roundrobin", "sticky", "weighted", "lag"):
            if mode == "optimal" or mode in ASSIGNORS[name].modes:
                found = assign(Group.from_json(group, "group"), name, mode)
                value(group, found.as_dict())
        found = assign(Group.from_json(group, "group"), "cooperative-sticky", mode)
        target = Assignment(found.group, found.target, found.target).as_dict()
        value(group, target)
        # no other member claims what is assigned at once, unless its owner keeps it
        claimed = {(tuple(pair), m["id"]) for m in group["members"] for pair in m["owned"]}
        had = owners(group)
        for member, held in found.as_dict().items():
            for partition in held:
                others = {m for p, m in claimed if p == partition and m != member}
                subscribed = {
                    m["id"] for m in group["members"] if partition[0] in m["topics"]
                } & others
                assert not subscribed or had[partition] == member


def test_no_member_subscribes() -> None:
    group = Group({"t": 3}, [Member("C0", [])])
    assert assign(group, "weighted", max_skew=0.5).as_dict() == {"C0": []}
    for name in ("range", "roundrobin", "sticky", "cooperative-sticky", "failover", "weighted"):
        assert assign(group, name).as_dict() == {"C0": []}
        for mode in ASSIGNORS[name].modes:
            assert assign(group, name, mode).as_dict() == {"C0": []}


def test_every_subscribed_partition_is_assigned() -> None:
    """On any subscriptions."""
    draw = random.Random(3)
    for _ in range(300):
        group = small_group(draw)
        for name in ("range", "roundrobin", "failover", "lag"):
            found = assign(Group.from_json(group, "group"), name)
            assert sum(map(len, found.as_dict().values())) == len(partitions(group))


def test_idle_members_are_listed() -> None:
    found = assign(same({"t": 2}, "C0", "C1", "C2"), "roundrobin").to_json()
    assert found["idle"] == ["C2"]
    assert found["loads"]["C2"] == 0


def test_ignored_claims_are_warnings() -> None:
    members = [
        Member("C0", ["t", "gone"], owned=[("t", 7), ("u", 0), ("gone", 1)], generation=1),
        Member("C1", ["t", "u"]),
    ]
    found = assign(Group({"t": 2, "u": 1}, members), "sticky")
    assert found.to_json()["warnings"] == [
        "subscriptions to topics that are not listed are ignored: gone",
        "2 claims to partitions outside of the topics: ignored",
        "1 claim to a topic without a subscription: ignored",
    ]
    assert sorted(found.loads.tolist()) == [1, 2]


def test_invalid_arguments() -> None:
    group = same({"t": 1}, "C0")
    with pytest.raises(InputError, match=r"assignor rnage: expected one of range, .*sticky"):
        assign(group, "rnage")
    with pytest.raises(InputError, match=r"mode fast: expected one of optimal, java"):
        assign(group, "sticky", "fast")
    for name in ("range", "roundrobin", "failover", "lag", "streams", "connect"):
        with pytest.raises(InputError, match=rf"mode java: {name} has no modes: expected opt"):
            assign(group, name, "java")
    with pytest.raises(
        InputError,
        match=r"mode java-3.7.0: weighted does not have it: expected java or optimal, "
        r"or an assignor with it: sticky, cooperative-sticky$",
    ):
        assign(group, "weighted", "java-3.7.0")
    with pytest.raises(InputError, match=r"max_skew: range has no such option: it takes none"):
        assign(group, "range", max_skew=0.1)
    with pytest.raises(InputError, match=r"max_skew: needs `racks_first` with this assignor"):
        assign(group, "sticky", max_skew=0.1)
    with pytest.raises(InputError, match=r"racks_first: needs `mode` optimal with this assignor"):
        assign(group, "uniform", racks_first=True)
    with pytest.raises(InputError, match=r"racks_first: weighted has no such .* takes `max_skew"):
        assign(group, "weighted", racks_first=True)
    with pytest.raises(InputError, match=r"max_skew -1: expected a fraction from 0"):
        assign(group, "sticky", racks_first=True, max_skew=-1)
    with pytest.raises(KeyError):
        assign(group, "sticky").of("C9")


def test_the_registered_assignors() -> None:
    listed = {"range", "roundrobin", "sticky", "cooperative-sticky", "failover"}
    assert {*listed, "weighted", "lag", "streams", "connect"} == set(ASSIGNORS)
