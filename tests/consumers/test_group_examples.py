"""The bundled groups: the worked examples of articles.

Sources: "Kafka 分区策略" (producer-partitioner-and-assignors), "Apache Kafka - Comprendre et
implémenter des stratégies d'assignation des partitions" (custom-assignor-failover), the Russian
article on pull mode and assignors, and KnowStreaming's page on KIP-415 and KIP-429.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import pytest

from partage.consumers.assign import assign
from partage.consumers.assignors import ASSIGNORS
from partage.consumers.protocol import Partition
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from partage.group import Group

GROUPS = files("partage") / "data" / "groups"
Pairs = Sequence[tuple[str, int]]


def group(name: str) -> Group:
    return Group.read(str(GROUPS / f"{name}.json"))


def scenario(name: str) -> Scenario:
    return Scenario.read(str(GROUPS / f"{name}.json"))


def spelled(text: str) -> list[tuple[str, int]]:
    """``T0P0 T0P1`` or ``A-0 B-0``."""
    found = []
    for word in text.split():
        topic, _, number = word.rpartition("-" if "-" in word else "P")
        found.append((topic, int(number)))
    return found


def test_range_ten_over_three() -> None:
    found = assign(group("ten-over-three"), "range").as_dict()
    assert found == {
        "C1-0": [("t", n) for n in (0, 1, 2, 3)],
        "C2-0": [("t", n) for n in (4, 5, 6)],
        "C3-0": [("t", n) for n in (7, 8, 9)],
    }


def test_range_with_every_topic_the_first_member_has_one_more() -> None:
    loads = assign(group("five-topics"), "range").loads.tolist()
    assert loads == [20, 15, 15]
    assert sorted(assign(group("five-topics"), "sticky").loads.tolist()) == [16, 17, 17]


def test_range_two_topics_of_two_over_three() -> None:
    """Co-located: partition 0 of both on one member, and the third idle."""
    found = assign(group("two-topics"), "range")
    assert found.as_dict() == {
        "C1": spelled("A-0 B-0"),
        "C2": spelled("A-1 B-1"),
        "C3": [],
    }


def test_roundrobin_two_topics_of_two_over_three() -> None:
    found = assign(group("two-topics"), "roundrobin").as_dict()
    assert found == {"C1": spelled("A-0 B-1"), "C2": spelled("A-1"), "C3": spelled("B-0")}


def test_the_second_member_leaves() -> None:
    """Roundrobin swaps B-0 and B-1 between the two that stay; sticky moves A-1 alone."""
    left = group("member-left")
    found = assign(left, "roundrobin")
    assert found.as_dict() == {"C1": spelled("A-0 B-0"), "C3": spelled("A-1 B-1")}
    assert found.moves == 3
    for mode in ("optimal", "java"):
        found = assign(left, "sticky", mode=mode)
        assert found.as_dict() == {"C1": spelled("A-0 B-1"), "C3": spelled("A-1 B-0")}
        assert found.moves == 1


def test_range_two_topics_of_four_over_three() -> None:
    found = assign(group("two-by-four"), "range").as_dict()
    assert found == {
        "C0": spelled("T0P0 T0P1 T1P0 T1P1"),
        "C1": spelled("T0P2 T1P2"),
        "C2": spelled("T0P3 T1P3"),
    }
    assert assign(group("two-by-four"), "roundrobin").loads.tolist() == [3, 3, 2]


def test_roundrobin_equal_subscriptions() -> None:
    found = assign(group("two-by-three"), "roundrobin").as_dict()
    assert found == {f"C{n}": [("t0", n), ("t1", n)] for n in range(3)}


def test_unequal_subscriptions() -> None:
    """Roundrobin gives 1, 1, 4; T1P1 to C1, as the Russian article asks, gives 1, 2, 3."""
    found = assign(group("unequal"), "roundrobin").as_dict()
    assert found == {
        "C0": [("t0", 0)],
        "C1": [("t1", 0)],
        "C2": [("t1", 1), ("t2", 0), ("t2", 1), ("t2", 2)],
    }
    for mode in ("optimal", "java"):
        found = assign(group("unequal"), "sticky", mode=mode).as_dict()
        assert found["C1"] == [("t1", 0), ("t1", 1)]
        assert [len(held) for held in found.values()] == [1, 2, 3]


def test_four_topics_and_a_member_that_leaves() -> None:
    found = assign(group("four-topics"), "roundrobin").as_dict()
    assert found["C0"] == spelled("T0P0 T1P1 T3P0")
    assert found["C1"] == spelled("T0P1 T2P0 T3P1")
    assert found["C2"] == spelled("T1P0 T2P1")
    left = group("four-topics-left")
    assert assign(left, "sticky").moves == 3  # what C1 had, and nothing else
    assert assign(left, "sticky").loads.tolist() == [4, 4]
    assert assign(left, "roundrobin").moves > 3


def test_failover() -> None:
    found = assign(group("failover"), "failover").as_dict()
    assert found == {"C1": spelled("A-0 A-1 B-0 B-1"), "C2": [], "C3": []}


def test_failover_when_the_first_crashes() -> None:
    found = simulate(scenario("failover-scenario"), "failover")
    assert [sorted(r.assignment) for r in found.rounds] == [["C1", "C2", "C3"], ["C2", "C3"]]
    assert len(found.rounds[-1].assignment["C2"]) == 4
    assert (
        found.rounds[-1].at == 105.0
    )  # its session expires at 103 s, and C3 learns of that at 105 s
    assert found.unowned == 4 * 45


def test_static_members_go_by_instance_id_and_come_first() -> None:
    """The articles sort by member id; Kafka's range and roundrobin put static members first."""
    found = assign(group("static-members"), "range").as_dict()
    assert found == {"C3": [("t", 0)], "C1": [("t", 1)], "C2": [("t", 2)]}


# ---------------------------------------------------------------------- the log of KIP-429

K = "kmo_community"


def rounds_of(found: Simulation) -> list[Any]:
    """(generation, assignment, added, revoked) with partition numbers alone."""

    def numbers(held: Mapping[str, Sequence[Partition]]) -> dict[str, list[int]]:
        return {member: [number for _, number in held[member]] for member in sorted(held)}

    return [
        (r.generation, numbers(r.assignment), numbers(r.added), numbers(r.revoked))
        for r in found.rounds
    ]


def test_the_log_of_kip_429() -> None:
    """Generations 9, 10 and 11; in the second round partition 0 has no owner."""
    found = simulate(scenario("kip-429-scenario"), "cooperative-sticky", mode="java-3.7.0")
    one, two = "consumer-1", "consumer-2"
    assert rounds_of(found) == [
        (9, {one: [0, 1, 2]}, {one: [0, 1, 2]}, {}),
        (10, {one: [1, 2], two: []}, {}, {one: [0]}),
        (11, {one: [1, 2], two: [0]}, {two: [0]}, {}),
    ]
    # the log has 20:18:26.431 and 20:18:29.548: a heartbeat interval apart
    assert found.rounds[2].at - found.rounds[1].at == 3.0
    owners = {(s.partition[1], s.member) for s in found.spans}
    assert owners == {(0, one), (0, two), (1, one), (2, one)}
    assert found.unowned == 3.0
    assert found.violations == ()


@pytest.mark.parametrize("mode", ["optimal", "java"])
def test_today_another_partition_goes(mode: str) -> None:
    """Kafka's assignor since KAFKA-16277 keeps the lowest partitions of a member, ours too."""
    found = simulate(scenario("kip-429-scenario"), "cooperative-sticky", mode=mode)
    one, two = "consumer-1", "consumer-2"
    assert rounds_of(found)[1:] == [
        (10, {one: [0, 1], two: []}, {}, {one: [2]}),
        (11, {one: [0, 1], two: [2]}, {two: [2]}, {}),
    ]


def test_one_round_of_the_log_as_a_group() -> None:
    found = assign(group("kip-429"), "cooperative-sticky")
    assert found.revoke_first == [(K, 2, "consumer-1")]
    assert found.as_dict() == {"consumer-1": [(K, 0), (K, 1)], "consumer-2": []}


# ---------------------------------------------------------------------- whatever is shipped


def shipped() -> list[str]:
    return sorted(f.name.removesuffix(".json") for f in GROUPS.glob("*.json"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [n for n in shipped() if n.endswith("-scenario")])
@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
def test_every_scenario_runs_with_every_assignor(name: str, protocol: str) -> None:
    for assignor in ASSIGNORS:
        if assignor in ("streams", "connect"):
            continue  # they need more than topics
        found = simulate(scenario(name), assignor, protocol)
        assert found.violations == ()
        assert found.rounds


@pytest.mark.parametrize("name", [n for n in shipped() if not n.endswith("-scenario")])
def test_every_group_is_assigned(name: str) -> None:
    for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky", "failover"):
        found = assign(group(name), assignor)
        assert (found.target >= 0).all()
