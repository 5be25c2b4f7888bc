"""Streams: tasks stay together, actives and standbys against enumeration, standbys apart."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, product
from math import lcm

from partage import Assignment, Group, Member, assign
from tests.consumers.streams_groups import STREAMS, THREADS, TOPICS, thread


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
    assert found["warnings"] == ["too few processes: 6 of 6 standbys not placed"]


def test_topics_in_no_subtopology_are_a_warning() -> None:
    streams = {"subtopologies": [{"topics": ["a"]}]}
    found = assign(Group(TOPICS, THREADS, streams=streams), "streams").to_json()
    assert found["warnings"] == ["topics of no subtopology are ignored: 7 partitions"]
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
        self.at_home: dict[str | None, set[tuple[str, int]]] = {p: set() for p in self.processes}
        for member in group.members:
            self.at_home[member.process] |= {tuple(x) for x in (*member.owned, *member.standbys)}

    def active_cost(self, runs: dict[tuple[str, int], str]) -> tuple[int, ...]:
        process = Counter(self.members[m].process for m in runs.values())
        of_kind = Counter((t[0], self.members[m].process) for t, m in runs.items())
        moved = sum(self.owner.get(t) != m for t, m in runs.items())
        left = sum(
            t not in self.owner or self.members[self.owner[t]].process != self.members[m].process
            for t, m in runs.items()
        )
        cold = sum(
            t in self.stateful and t not in self.at_home[self.members[m].process]
            for t, m in runs.items()
        )
        return (
            sum(self.scale[p] * n * n for p, n in process.items()),
            sum(n * n for n in Counter(runs.values()).values()),
            sum(self.scale[p] * n * n for (_, p), n in of_kind.items()),
            cold,
            left,
            moved,
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
        tags = {m.process: m.tags for m in self.members.values()}
        shared = [0] * len(self.tag_keys)
        new = 0
        for task, processes in held.items():
            load.update(processes)
            new += sum(task not in self.at_home[p] for p in processes)
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


def test_no_subtopologies_no_tasks() -> None:
    found = assign(Group(TOPICS, THREADS, streams={"subtopologies": []}), "streams")
    assert not any(found.as_dict().values())
