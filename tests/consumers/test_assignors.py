"""The assignors on the articles' examples, on Kafka's own answers, and on claims of any kind."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Assignment, Group, InputError, Member, assign
from partage.consumers.assignors import ASSIGNORS
from tests.oracles.sharing_groups import owners, partitions, small_group, value

Json = dict[str, Any]


def short(found: Assignment) -> dict[str, str]:
    """``{"C0": "t0-0 t1-2"}``."""
    return {
        member: " ".join(f"{topic}-{number}" for topic, number in held)
        for member, held in found.as_dict().items()
    }


def same(topics: dict[str, int], *ids: str) -> Group:
    """All subscribe to all."""
    return Group(topics, [Member(member, list(topics)) for member in ids])


def without(group: Group, found: Assignment, *gone: str) -> Group:
    """Some leave, the others join with what they had."""
    return Group(
        group.topics,
        [
            Member(m.id, m.topics, owned=found.of(m.id), generation=1)
            for m in group.members
            if m.id not in gone
        ],
    )


# -- range


def test_range_ten_over_three() -> None:
    found = assign(same({"t": 10}, "C1", "C2", "C3"), "range")
    assert found.as_dict() == {
        "C1": [("t", n) for n in (0, 1, 2, 3)],
        "C2": [("t", n) for n in (4, 5, 6)],
        "C3": [("t", n) for n in (7, 8, 9)],
    }


@pytest.mark.parametrize("topics", [1, 2, 7])
def test_range_burdens_the_first_with_every_topic(topics: int) -> None:
    group = same({f"t{n}": 10 for n in range(topics)}, "C1", "C2", "C3")
    assert assign(group, "range").loads.tolist() == [4 * topics, 3 * topics, 3 * topics]


def test_range_keeps_numbers_together_and_members_idle() -> None:
    found = assign(same({"A": 2, "B": 2}, "C1", "C2", "C3"), "range")
    assert short(found) == {"C1": "A-0 B-0", "C2": "A-1 B-1", "C3": ""}


def test_range_two_topics_of_four_over_three() -> None:
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


def test_range_prefers_near_racks_within_the_shares() -> None:
    """KIP-881: every partition lies in one rack; the shares stay as they are."""
    members = [Member(f"C{n}", ["t"], rack=rack) for n, rack in enumerate("ab")]
    racks = {"t": [["b"], ["b"], ["a"], ["a"]]}
    found = assign(Group({"t": 4}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-2 t-3", "C1": "t-0 t-1"}


def test_range_matches_topics_alike_together() -> None:
    members = [Member(f"C{n}", ["t", "u"], rack=rack) for n, rack in enumerate("ab")]
    racks = {"t": [["b"], ["a"]], "u": [["b"], ["a"]]}
    found = assign(Group({"t": 2, "u": 2}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-1 u-1", "C1": "t-0 u-0"}
    # no rack has both: the numbers still stay together
    racks = {"t": [["b"], ["a"]], "u": [["a"], ["b"]]}
    found = assign(Group({"t": 2, "u": 2}, members, racks=racks), "range")
    assert short(found) == {"C0": "t-0 u-0", "C1": "t-1 u-1"}


def test_range_leaves_racks_alone_where_every_partition_is_everywhere() -> None:
    members = [Member("C0", ["t"], rack="b"), Member("C1", ["t"], rack="a")]
    racks = {"t": [["a", "b"], ["a", "b"]]}
    assert short(assign(Group({"t": 2}, members, racks=racks), "range")) == {
        "C0": "t-0",
        "C1": "t-1",
    }


# -- roundrobin and sticky


def test_roundrobin_two_topics_of_three_over_three() -> None:
    found = assign(same({"t0": 3, "t1": 3}, "C0", "C1", "C2"), "roundrobin")
    assert short(found) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C2": "t0-2 t1-2"}


NESTED = Group(
    {"t0": 1, "t1": 2, "t2": 3},
    [
        Member("C0", ["t0"]),
        Member("C1", ["t0", "t1"]),
        Member("C2", ["t0", "t1", "t2"]),
    ],
)


def test_roundrobin_on_nested_subscriptions() -> None:
    found = assign(NESTED, "roundrobin")
    assert short(found) == {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"}


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_sticky_on_nested_subscriptions(mode: str) -> None:
    found = assign(NESTED, "sticky", mode)
    assert short(found) == {"C0": "t0-0", "C1": "t1-0 t1-1", "C2": "t2-0 t2-1 t2-2"}


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_one_of_three_leaves(mode: str) -> None:
    """The article's: roundrobin changes both of A-1's neighbours, sticky moves A-1 alone."""
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


def test_idle_members_are_told() -> None:
    found = assign(same({"t": 2}, "C0", "C1", "C2"), "roundrobin").to_json()
    assert found["idle"] == ["C2"]
    assert found["loads"]["C2"] == 0


def test_cooperative_sticky_withholds_what_must_be_given_up() -> None:
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


def test_a_stale_claim_takes_nothing_from_the_rightful_owner() -> None:
    members = [
        Member("C0", ["t"], owned=[("t", 0)], generation=2),
        Member("C1", ["t"], owned=[("t", 0), ("t", 1)], generation=1),
    ]
    found = assign(Group({"t": 2}, members), "cooperative-sticky")
    assert short(found) == {"C0": "t-0", "C1": "t-1"}


def test_an_equal_claim_of_two_is_void_and_withheld() -> None:
    members = [Member(m, ["t"], owned=[("t", 0)], generation=1) for m in ("C0", "C1")]
    found = assign(Group({"t": 1}, members), "cooperative-sticky")
    assert found.as_dict() == {"C0": [], "C1": []}
    assert [(topic, number) for topic, number, _ in found.revoke_first] == [("t", 0)]
    assert "claimed by several members" in found.to_json()["warnings"][0]


# -- failover


def test_failover_goes_to_the_next_in_priority() -> None:
    topics = {"A": 2, "B": 1}
    members = [Member("C1", ["A", "B"], priority=10), Member("C2", ["A", "B"], priority=5)]
    assert short(assign(Group(topics, members), "failover")) == {"C1": "A-0 A-1 B-0", "C2": ""}
    assert short(assign(Group(topics, members[1:]), "failover")) == {"C2": "A-0 A-1 B-0"}


# -- Kafka's own answers


def test_kafka_says_the_same() -> None:
    """What Kafka 4.3.1's classes answered (benchmarks/consumers/kafka_answers.py)."""
    file = Path(__file__).parent / "kafka_answers.json.gz"
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        case = json.loads(line)
        group = Group.from_json(case["group"], "group")
        mode = "java" if ASSIGNORS[case["assignor"]].modes else "optimal"
        found = assign(group, case["assignor"], mode).to_json()["assignment"]
        assert found == case["assignment"], case["group"]


# -- any claims


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_whole_on_any_claims(mode: str) -> None:
    """Beyond the topic's end, of two members, of older generations, of topics not subscribed to."""
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
        # what is given at once, nobody else holds, unless its rightful owner keeps it
        claimed = {(tuple(pair), m["id"]) for m in group["members"] for pair in m["owned"]}
        had = owners(group)
        for member, held in found.as_dict().items():
            for partition in held:
                others = {m for p, m in claimed if p == partition and m != member}
                subscribed = {
                    m["id"] for m in group["members"] if partition[0] in m["topics"]
                } & others
                assert not subscribed or had[partition] == member


def test_what_is_left_aside_is_told() -> None:
    members = [
        Member("C0", ["t", "gone"], owned=[("t", 7), ("u", 0), ("gone", 1)], generation=1),
        Member("C1", ["t", "u"]),
    ]
    found = assign(Group({"t": 2, "u": 1}, members), "sticky")
    assert found.to_json()["warnings"] == [
        "1 topics that are subscribed to are not listed (gone): ignored",
        "2 claims to partitions that do not exist: ignored",
        "1 claims to topics not subscribed to: ignored",
    ]
    assert sorted(found.loads.tolist()) == [1, 2]


def test_nobody_subscribes() -> None:
    group = Group({"t": 3}, [Member("C0", [])])
    assert assign(group, "weighted", max_skew=0.5).as_dict() == {"C0": []}
    for name in ("range", "roundrobin", "sticky", "cooperative-sticky", "failover", "weighted"):
        assert assign(group, name).as_dict() == {"C0": []}
        for mode in ASSIGNORS[name].modes:
            assert assign(group, name, mode).as_dict() == {"C0": []}


def test_roundrobin_and_range_differ_only_in_order() -> None:
    """Both leave no partition behind on any subscriptions."""
    draw = random.Random(3)
    for _ in range(300):
        group = small_group(draw)
        for name in ("range", "roundrobin", "failover", "lag"):
            found = assign(Group.from_json(group, "group"), name)
            assert sum(map(len, found.as_dict().values())) == len(partitions(group))


# -- asking


def test_what_is_asked_wrongly() -> None:
    group = same({"t": 1}, "C0")
    with pytest.raises(InputError, match=r"--assignor: 'rnage': expected one of range, .*sticky"):
        assign(group, "rnage")
    with pytest.raises(InputError, match=r"--mode: 'fast': expected one of optimal, java"):
        assign(group, "sticky", "fast")
    for name in ("range", "roundrobin", "failover", "lag", "streams", "connect"):
        with pytest.raises(InputError, match=rf"--mode: 'java': {name} has no modes: expected opt"):
            assign(group, name, "java")
    with pytest.raises(InputError, match=r"sticky: has no option 'max_skew': expected none"):
        assign(group, "sticky", max_skew=0.1)
    with pytest.raises(KeyError):
        assign(group, "sticky").of("C9")


def test_the_registry_has_what_the_design_lists() -> None:
    listed = {"range", "roundrobin", "sticky", "cooperative-sticky", "failover"}
    assert {*listed, "weighted", "lag", "streams", "connect"} == set(ASSIGNORS)


def test_names_that_are_no_text() -> None:
    """JSON can spell half a character."""
    members = [Member("\ud800", ["\udfff"]), Member("b", ["\udfff", "t"])]
    found = assign(Group({"\udfff": 2, "t": 1}, members), "sticky", "java")
    assert sorted(found.loads.tolist()) == [1, 2]


def test_large_java_mode_is_balanced() -> None:
    topics = {f"t{n}": 100 for n in range(20)}
    members = [Member(f"c{n:03}", list(topics)) for n in range(77)]
    found = assign(Group(topics, members), "sticky", "java")
    assert np.unique(found.loads).tolist() == [25, 26]
    odd = [*members[1:], Member("c000", ["t0"])]
    found = assign(Group(topics, odd), "sticky", "java")
    assert found.loads.max() - found.loads.min() <= 1
