"""Streams with rack costs (KIP-925), against enumeration."""

from __future__ import annotations

import random
from collections import Counter
from importlib.resources import files
from itertools import product
from math import lcm
from typing import Any

import pytest

from partage import Assignment, Group, Member, assign

GROUPS = files("partage") / "data" / "groups"


def with_racks(draw: random.Random) -> Group:
    """A small group in which every process and every partition has racks."""
    names = "abc"[: draw.randint(1, 2)]
    topics = {name: draw.randint(1, 4) for name in names}
    processes = "pqr"[: draw.randint(2, 3)]
    racks = {p: draw.choice("xyz") for p in processes}
    members = [
        (f"m{number}", process)
        for number, process in enumerate([*processes, *draw.choices(processes, k=1)])
    ]
    together = draw.random() < 0.3
    owner: dict[tuple[str, int], str] = {}
    for topic, count in topics.items():
        for number in range(count):
            if draw.random() < 0.6:
                owner[topic, number] = draw.choice(members)[0]
            if together and ("a", number) in owner:  # a task has one owner
                owner[topic, number] = owner["a", number]
    streams: dict[str, Any] = {
        "subtopologies": [{"topics": list(names), "stateful": draw.random() < 0.6}]
        if together
        else [{"topics": [name], "stateful": draw.random() < 0.6} for name in names],
        "rack_aware": {"strategy": draw.choice(("min_traffic", "balance_subtopology"))},
    }
    if draw.random() < 0.5:
        streams["rack_aware"] |= {"traffic_cost": 1, "non_overlap_cost": 10}
    return Group(
        topics,
        [
            Member(
                i, list(names), process=p, rack=racks[p], owned=[x for x in owner if owner[x] == i]
            )
            for i, p in members
        ],
        racks={
            t: [draw.sample("xyz", draw.randint(1, 2)) for _ in range(topics[t])] for t in names
        },
        streams=streams,
    )


class RackCase:
    """The costs of KIP-925 for a group."""

    def __init__(self, group: Group) -> None:
        assert group.streams is not None
        assert group.racks is not None
        said = group.streams["rack_aware"]
        self.weights = said.get("traffic_cost", 10), said.get("non_overlap_cost", 1)
        self.balance = said["strategy"] == "balance_subtopology"
        self.rack = {str(m.process): m.rack for m in group.members}
        self.threads = Counter(str(m.process) for m in group.members)
        process = {m.id: str(m.process) for m in group.members}
        owner = {tuple(pair): process[m.id] for m in group.members for pair in m.owned}
        self.tasks: list[list[tuple[str, int]]] = []
        self.kind: list[int] = []
        self.stateful: list[bool] = []
        self.before: list[str | None] = []
        for kind, entry in enumerate(group.streams["subtopologies"]):
            for number in range(max(group.topics[t] for t in entry["topics"])):
                pairs = [(t, number) for t in entry["topics"] if number < group.topics[t]]
                self.tasks.append(pairs)
                self.kind.append(kind)
                self.stateful.append(entry["stateful"])
                self.before.append(next((owner[pair] for pair in pairs if pair in owner), None))
        self.replicas = group.racks

    def cross(self, way: tuple[str, ...]) -> list[int]:
        return [
            sum(self.rack[process] not in self.replicas[t][n] for t, n in pairs)
            for pairs, process in zip(self.tasks, way, strict=True)
        ]

    def cost(self, way: tuple[str, ...]) -> int:
        traffic, move = self.weights
        return sum(
            traffic * far + move * (before != process) if stateful else far
            for far, before, process, stateful in zip(
                self.cross(way), self.before, way, self.stateful, strict=True
            )
        )

    def uneven(self, way: tuple[str, ...], label: list[Any]) -> float:
        load = Counter(zip(label, way, strict=True))
        scale = lcm(*self.threads.values())
        return sum(scale // self.threads[p] * n * n for (_, p), n in load.items())

    def measure(self, way: tuple[str, ...]) -> tuple[float, ...]:
        by_kind = [self.uneven(way, self.kind)] if self.balance else []
        found = [self.uneven(way, [0] * len(way)), *by_kind, self.uneven(way, self.stateful)]
        moved = sum(a != b for a, b in zip(self.before, way, strict=True))
        return (*found, self.cost(way), moved)

    def loads(self, way: tuple[str, ...]) -> Counter[tuple[bool, str]]:
        return Counter(zip(self.stateful, way, strict=True))


def test_no_placement_with_these_loads_has_less_traffic() -> None:
    draw = random.Random(12)
    for _ in range(300):
        group = with_racks(draw)
        case = RackCase(group)
        found = assign(group, "streams")
        process = {m.id: str(m.process) for m in group.members}
        target = Assignment(group, found.target, found.target).as_dict()
        at = {pair: process[member] for member, held in target.items() for pair in held}
        way = tuple(at[pairs[0]] for pairs in case.tasks)
        assert all(
            at[pair] == w for pairs, w in zip(case.tasks, way, strict=True) for pair in pairs
        )
        assert found.to_json()["cross_rack"] == sum(case.cross(way))
        ways = list(product(case.threads, repeat=len(case.tasks)))
        assert case.measure(way) == min(map(case.measure, ways))
        # as in Kafka: every process keeps its numbers of stateful and of stateless tasks
        if not case.balance:
            same = [w for w in ways if case.loads(w) == case.loads(way)]
            assert case.cost(way) == min(map(case.cost, same))


def near_and_far(**rack_aware: Any) -> Group:
    """The partitions of x are in rack b and those of y in a: x is in a and y in b."""
    return Group(
        {"a": 4},
        [
            Member("x", ["a"], rack="a", owned=[("a", 0), ("a", 1)]),
            Member("y", ["a"], rack="b", owned=[("a", 2), ("a", 3)]),
        ],
        racks={"a": [["b"], ["b"], ["a"], ["a"]]},
        streams={
            "subtopologies": [{"topics": ["a"], "stateful": True}],
            "rack_aware": rack_aware,
        },
    )


def test_traffic_is_weighed_against_moves() -> None:
    assert assign(near_and_far(strategy="none"), "streams").moves == 0
    found = assign(near_and_far(strategy="min_traffic"), "streams")
    assert found.moves == 4
    assert found.to_json()["cross_rack"] == 0
    # the weights of Kafka's StickyTaskAssignor
    sticky = near_and_far(strategy="min_traffic", traffic_cost=1, non_overlap_cost=10)
    found = assign(sticky, "streams")
    assert found.moves == 0
    assert found.to_json()["cross_rack"] == 4


def test_stateless_tasks_go_by_traffic_alone() -> None:
    group = near_and_far(strategy="min_traffic", traffic_cost=0, non_overlap_cost=1_000)
    assert group.streams is not None
    stateless = {**group.streams, "subtopologies": [{"topics": ["a"]}]}
    found = assign(
        Group(group.topics, group.members, racks=group.racks, streams=stateless), "streams"
    )
    assert found.to_json()["cross_rack"] == 0


def test_subtopologies_balanced_or_near() -> None:
    """Each of two subtopologies has all its partitions in one rack of its own."""
    members = [Member(m, ["a", "b"], rack=rack) for m, rack in (("x", "a"), ("y", "b"))]
    for strategy, far in (("min_traffic", 0), ("balance_subtopology", 4)):
        streams = {
            "subtopologies": [{"topics": [t], "stateful": True} for t in "ab"],
            "rack_aware": {"strategy": strategy},
        }
        racks = {t: [[t]] * 4 for t in "ab"}
        group = Group({"a": 4, "b": 4}, members, racks=racks, streams=streams)
        found = assign(group, "streams")
        assert found.loads.tolist() == [4, 4]
        assert found.to_json()["cross_rack"] == far


def test_the_example_of_the_documentation_on_racks() -> None:
    group = Group.read(str(GROUPS / "streams-racks.json"))
    found = assign(group, "streams")
    target = Assignment(group, found.target, found.target).as_dict()
    numbers = {member: [n for _, n in held] for member, held in target.items()}
    assert numbers == {"A": [0, 2], "B": [3, 4], "C": [1, 5]}
    assert group.streams is not None
    plain = {"subtopologies": group.streams["subtopologies"]}
    before = assign(Group(group.topics, group.members, racks=group.racks, streams=plain), "streams")
    assert before.moves == 0


@pytest.mark.parametrize(
    ("members", "racks", "problem"),
    [
        ([Member("x", ["a"])], {"a": [["a"]]}, "process 'x' has no rack"),
        (
            [Member(m, ["a"], rack=m, process="p") for m in "xy"],
            {"a": [["a"]]},
            "process 'p' has several racks",
        ),
        ([Member("x", ["a"], rack="a")], None, "racks does not contain a-0"),
        ([Member("x", ["a"], rack="a")], {"a": [[]]}, "racks does not contain a-0"),
    ],
)
def test_unknown_racks_switch_their_costs_off(
    members: list[Member], racks: dict[str, list[list[str]]] | None, problem: str
) -> None:
    streams = {
        "subtopologies": [{"topics": ["a"], "stateful": True}],
        "rack_aware": {"strategy": "min_traffic"},
    }
    found = assign(Group({"a": 1}, members, racks=racks, streams=streams), "streams").to_json()
    assert found["warnings"] == [f"{problem}: rack costs are ignored"]
    assert "cross_rack" not in found
