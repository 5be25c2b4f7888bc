"""Streams: tasks stay together, actives and standbys against enumeration, standbys apart."""

from __future__ import annotations

import random
from collections import Counter
from importlib.resources import files
from itertools import combinations, product
from math import lcm
from typing import Any

import pytest

from partage import Assignment, Group, InputError, Member, assign

GROUPS = files("partage") / "data" / "groups"
TOPICS = {"a": 6, "b": 4, "c": 3}
STREAMS = {
    "subtopologies": [{"topics": ["a", "b"], "stateful": True}, {"topics": ["c"]}],
    "standbys": 1,
}


def thread(member: str, process: str, zone: str | None = None, **more: Any) -> Member:
    tags = {} if zone is None else {"zone": zone}
    return Member(member, ["a", "b", "c"], process=process, tags=tags, **more)


THREADS = [
    thread("x1", "x", "1"),
    thread("x2", "x", "1"),
    thread("y1", "y", "1"),
    thread("z1", "z", "2"),
]


def rejoin(group: Group, found: Assignment, *gone: str) -> Group:
    members = [
        Member(
            m.id,
            m.topics,
            owned=found.of(m.id),
            standbys=found.standbys_by_id[m.id],
            generation=1,
            process=m.process,
            tags=m.tags,
        )
        for m in group.members
        if m.id not in gone
    ]
    return Group(group.topics, members, streams=group.streams)


def test_partitions_of_a_task_stay_together() -> None:
    found = assign(Group(TOPICS, THREADS, streams=STREAMS), "streams")
    at = {pair: member for member, held in found.as_dict().items() for pair in held}
    assert len(at) == 13
    assert all(at["a", n] == at["b", n] for n in range(4))


def test_standbys_are_on_other_processes_and_in_other_zones() -> None:
    group = Group(TOPICS, THREADS, streams=STREAMS)
    found = assign(group, "streams")
    process = {m.id: m.process for m in THREADS}
    zone = {m.id: m.tags["zone"] for m in THREADS}
    at = {pair: member for member, held in found.as_dict().items() for pair in held}
    standby = {p: m for m, held in found.standbys_by_id.items() for p in held}
    assert set(standby) == {(t, n) for t in "ab" for n in range(TOPICS[t])}
    for pair, member in standby.items():
        assert process[member] != process[at[pair]]
        assert zone[member] != zone[at[pair]]
    assert found.to_json()["standbys"]["z1"]


def test_a_second_round_changes_nothing_and_a_standby_takes_over() -> None:
    group = Group(TOPICS, THREADS, streams=STREAMS)
    found = assign(group, "streams")
    after = assign(rejoin(group, found), "streams")
    assert after.moves == 0
    assert after.standbys_by_id == found.standbys_by_id
    left = assign(rejoin(group, found, "z1"), "streams")
    before = {p: m for m, held in found.standbys_by_id.items() for p in held}
    process = {m.id: m.process for m in THREADS}
    for pair in found.of("z1"):
        if pair in before:
            (now,) = (m for m, held in left.as_dict().items() if pair in held)
            assert process[now] == process[before[pair]]


def test_actives_are_revoked_before_they_move() -> None:
    one = [thread("x1", "x", owned=[(t, n) for t in TOPICS for n in range(TOPICS[t])])]
    found = assign(Group(TOPICS, [*one, thread("y1", "y")], streams=STREAMS), "streams")
    assert found.of("y1") == []
    assert {holder for _, _, holder in found.revoke_first} == {"x1"}


def test_processes_are_even_by_their_threads() -> None:
    """9 tasks on 3 + 3 threads: 5 and 4, though threads of one could all have two."""
    members = [thread(f"{p}{n}", p) for p in "xy" for n in range(3)]
    found = assign(Group({"a": 6, "b": 4, "c": 3}, members, streams=STREAMS), "streams")
    tasks = Counter(
        m[0] for m, held in found.as_dict().items() for topic, _ in held if topic != "b"
    )
    assert sorted(tasks.values()) == [4, 5]


def test_one_process_has_no_standbys() -> None:
    found = assign(Group(TOPICS, THREADS[:2], streams=STREAMS), "streams").to_json()
    assert found["warnings"] == ["6 of 6 standbys have no process left for them"]


def test_topics_in_no_subtopology_are_a_warning() -> None:
    streams = {"subtopologies": [{"topics": ["a"]}]}
    found = assign(Group(TOPICS, THREADS, streams=streams), "streams").to_json()
    assert found["warnings"] == ["7 partitions belong to topics of no subtopology: ignored"]
    assert sum(found["loads"].values()) == 6


def test_racks_are_used_without_tags() -> None:
    members = [Member(f"p{n}", ["a"], process=f"p{n}", rack=rack) for n, rack in enumerate("aabb")]
    streams = {"subtopologies": [{"topics": ["a"], "stateful": True}], "standbys": 1}
    found = assign(Group({"a": 8}, members, streams=streams), "streams")
    rack = {m.id: m.rack for m in members}
    at = {pair: member for member, held in found.as_dict().items() for pair in held}
    for member, held in found.standbys_by_id.items():
        assert len(held) == 2
        assert all(rack[member] != rack[at[pair]] for pair in held)


def small(draw: random.Random) -> Group:
    topics = {name: draw.randint(1, 3) for name in draw.sample("abc", draw.randint(1, 2))}
    names = list(topics)
    streams = {
        "subtopologies": [{"topics": [n], "stateful": draw.random() < 0.7} for n in names],
        "standbys": draw.randint(0, 2),
    }
    processes = "pqrs"[: draw.randint(1, 4)]
    tags = {
        p: {k: draw.choice("12") for k in ("zone", "rack")[: draw.randint(0, 2)]} for p in "pqrs"
    }
    keys = draw.randint(0, 2)
    tags = {p: {k: draw.choice("12") for k in ("cluster", "zone")[:keys]} for p in "pqrs"}
    members = []
    for number in range(draw.randint(1, 5)):
        process = draw.choice(processes)
        subscribes = names if draw.random() < 0.9 else names[:1]
        members.append((f"m{number}", subscribes, process))
    claims: dict[str, list[tuple[str, int]]] = {m[0]: [] for m in members}
    copies: dict[str, list[tuple[str, int]]] = {m[0]: [] for m in members}
    for topic, count in topics.items():
        for number in range(count):
            able = [m[0] for m in members if topic in m[1]]
            if able and draw.random() < 0.7:
                claims[draw.choice(able)].append((topic, number))
            if able and draw.random() < 0.5:
                copies[draw.choice(able)].append((topic, number))
    return Group(
        topics,
        [
            Member(i, s, process=p, tags=tags[p], owned=claims[i], standbys=copies[i])
            for i, s, p in members
        ],
        streams=streams,
    )


class Case:
    """The specification, by task (topic, number) and member id."""

    def __init__(self, group: Group) -> None:
        self.members = {m.id: m for m in group.members}
        self.processes = sorted({m.process or m.id for m in group.members})
        self.threads = Counter(m.process for m in group.members)
        assert group.streams is not None
        self.copies = group.streams["standbys"]
        self.tasks: list[tuple[str, int]] = []
        self.stateful: set[tuple[str, int]] = set()
        for entry in group.streams["subtopologies"]:
            (topic,) = entry["topics"]
            for number in range(group.topics[topic]):
                if any(topic in m.topics for m in group.members):
                    self.tasks.append((topic, number))
                    if entry["stateful"]:
                        self.stateful.add((topic, number))
        self.owner = {tuple(pair): m.id for m in group.members for pair in m.owned}
        common = lcm(*self.threads.values())
        self.scale = {p: common // n for p, n in self.threads.items()}
        self.tag_keys = sorted({key for m in group.members for key in m.tags})

    def active_cost(self, runs: dict[tuple[str, int], str]) -> tuple[int, ...]:
        process = Counter(self.members[m].process for m in runs.values())
        of_kind = Counter((t[0], self.members[m].process) for t, m in runs.items())
        moved = sum(self.owner.get(t) != m for t, m in runs.items())
        left = sum(
            t not in self.owner or self.members[self.owner[t]].process != self.members[m].process
            for t, m in runs.items()
        )
        return (
            sum(self.scale[p] * n * n for p, n in process.items()),
            sum(n * n for n in Counter(runs.values()).values()),
            left,
            moved,
            sum(self.scale[p] * n * n for (_, p), n in of_kind.items()),
        )

    def best_actives(self) -> tuple[int, ...]:
        able = [[m for m, x in self.members.items() if t[0] in x.topics] for t in self.tasks]
        return min(
            self.active_cost(dict(zip(self.tasks, chosen, strict=True)))
            for chosen in product(*able)
        )

    def standby_cost(
        self, runs: dict[tuple[str, int], str], held: dict[tuple[str, int], tuple[str, ...]]
    ) -> tuple[int, ...]:
        load = Counter(self.members[m].process for m in runs.values())
        at_home: dict[str, set[tuple[str, int]]] = {p: set() for p in self.processes}
        for member in self.members.values():
            assert member.process is not None
            at_home[member.process] |= {tuple(x) for x in (*member.owned, *member.standbys)}
        tags = {m.process: m.tags for m in self.members.values()}
        shared = [0] * len(self.tag_keys)
        new = 0
        for task, processes in held.items():
            load.update(processes)
            new += sum(task not in at_home[p] for p in processes)
            everywhere = [self.members[runs[task]].process, *processes]
            for level in range(len(shared)):
                keys = self.tag_keys[: level + 1]
                values = Counter(tuple(tags[p][k] for k in keys) for p in everywhere)
                shared[level] += sum(n * n for n in values.values())
        missing = sum(self.copies - len(processes) for processes in held.values())
        even = sum(self.scale[p] * n * n for p, n in load.items())
        return (missing, *shared, even, new)

    def best_standbys(self, runs: dict[tuple[str, int], str]) -> tuple[int, ...]:
        chosen = [t for t in self.tasks if t in self.stateful]
        ways = []
        for task in chosen:
            able = sorted(
                {
                    str(m.process)
                    for m in self.members.values()
                    if task[0] in m.topics and m.process != self.members[runs[task]].process
                }
            )
            ways.append(list(combinations(able, min(self.copies, len(able)))))
        return min(
            self.standby_cost(runs, dict(zip(chosen, held, strict=True))) for held in product(*ways)
        )


def test_no_placement_is_better() -> None:
    draw = random.Random(4)
    for _ in range(250):
        group = small(draw)
        case = Case(group)
        found = assign(group, "streams")
        target = Assignment(group, found.target, found.target).as_dict()
        runs = {pair: member for member, held in target.items() for pair in held}
        assert set(runs) == set(case.tasks)
        assert all(task[0] in case.members[m].topics for task, m in runs.items())
        assert case.active_cost(runs) == case.best_actives()
        held: dict[tuple[str, int], tuple[str, ...]] = {
            t: () for t in case.tasks if t in case.stateful
        }
        for member, pairs in found.standbys_by_id.items():
            for pair in pairs:
                assert pair[0] in case.members[member].topics
                held[pair] = (*held[pair], str(case.members[member].process))
        for task, processes in held.items():
            assert len(set(processes)) == len(processes)
            assert case.members[runs[task]].process not in processes
        assert case.standby_cost(runs, held) == case.best_standbys(runs)


# -- racks


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
            Member(i, names, process=p, rack=racks[p], owned=[x for x in owner if owner[x] == i])
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
        found = [self.uneven(way, [0] * len(way)), self.uneven(way, self.stateful)]
        if self.balance:
            found.append(self.uneven(way, self.kind))
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
    assert numbers == {"A": [0, 4], "B": [1, 3], "C": [2, 5]}
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


@pytest.mark.parametrize(
    ("streams", "problem"),
    [
        (None, "streams: expected"),
        ({"subtopologies": [], "tasks": []}, "streams.tasks: unknown key, expected one of sub"),
        ({"subtopologies": {}}, "streams.subtopologies: expected a list"),
        ({"subtopologies": [{"topics": []}]}, r"streams.subtopologies\[0\].topics: expected"),
        ({"subtopologies": [{"topics": ["q"]}]}, "'q' is not listed under topics"),
        ({"subtopologies": [{"topics": ["a", "a"]}]}, "'a' is listed twice"),
        ({"subtopologies": [{"topics": ["a"], "stateful": 1}]}, "stateful: expected true or false"),
        ({"subtopologies": [{"name": 1}]}, r"streams.subtopologies\[0\].topics: missing"),
        ({"subtopologies": [], "standbys": -1}, "streams.standbys: expected a whole number from 0"),
        ([], "streams: expected an object"),
        ({**STREAMS, "lags": []}, "streams.lags: expected an object"),
        ({**STREAMS, "lags": {"w": {}}}, "streams.lags.w: no member is a thread of process 'w'"),
        ({**STREAMS, "lags": {"x": 3}}, "streams.lags.x: expected an object, got 3"),
        ({**STREAMS, "lags": {"x": {"0_6": 1}}}, "'0_6': expected a stateful task, such as 0_3"),
        ({**STREAMS, "lags": {"x": {"1_0": 1}}}, "'1_0': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"2_0": 1}}}, "'2_0': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"0_01": 1}}}, "'0_01': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"a": 1}}}, "streams.lags.x: 'a': expected a stateful task"),
        ({**STREAMS, "lags": {"x": {"0_1": -1}}}, "streams.lags.x.0_1: expected a number"),
        ({**STREAMS, "lags": {"x": {"0_1": True}}}, "streams.lags.x.0_1: expected a number"),
        ({**STREAMS, "acceptable_recovery_lag": -1}, "acceptable_recovery_lag: expected"),
        (
            {**STREAMS, "max_warmup_replicas": 0},
            "streams.max_warmup_replicas: expected a whole number from 1",
        ),
        (
            {**STREAMS, "probing_rebalance_interval_ms": 5},
            "interval_ms: expected a whole number from 6",
        ),
        ({**STREAMS, "rack_aware": "none"}, "streams.rack_aware: expected an object"),
        ({**STREAMS, "rack_aware": {"cost": 1}}, "streams.rack_aware.cost: unknown key"),
        (
            {**STREAMS, "rack_aware": {"strategy": "near"}},
            'strategy: expected "none" or "min_traffic" or .*, got "near"',
        ),
        (
            {**STREAMS, "rack_aware": {"traffic_cost": 1.5}},
            "rack_aware.traffic_cost: expected a whole number.*, got 1.5",
        ),
        (
            {**STREAMS, "rack_aware": {"non_overlap_cost": 2**31}},
            "non_overlap_cost: .*, got 2147483648",
        ),
    ],
)
def test_bad_settings(streams: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        assign(Group(TOPICS, THREADS, streams=streams), "streams")


def test_no_subtopologies_no_tasks() -> None:
    found = assign(Group(TOPICS, THREADS, streams={"subtopologies": []}), "streams")
    assert not any(found.as_dict().values())
