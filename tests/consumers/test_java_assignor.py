"""The Java module decides like ``assign_exactly``, and no worse on any group."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from benchmarks.consumers.random_groups import changed, random_group, unequal_group

from partage import Group
from partage.consumers.exact_assignment import assign_exactly
from partage.group.model import NO_MEMBER
from partage.java import find_java
from tests.java_module import TARGET, built_jar
from tests.profiles import seeds

Json = dict[str, Any]
Value = tuple[list[int], int, int, int]

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("java module")]


def arrays(group: Group) -> list[Any]:
    """The group as Answers.java reads it."""
    patterns, pattern = np.unique(group.in_rack, axis=0, return_inverse=True)
    return [
        [len(group.members)],
        group.class_of.tolist(),
        [sorted(topics.tolist()) for topics in group.class_topics],
        group.offset.tolist(),
        group.owner.tolist(),
        group.member_rack.tolist(),
        pattern.ravel().tolist(),
        [np.flatnonzero(row).tolist() for row in patterns],
    ]


def java_answers(groups: Sequence[Group]) -> list[list[int]]:
    built_jar()
    java = find_java("the Java module") / "bin" / "java"
    classes = f"{TARGET / 'classes'}:{TARGET / 'test-classes'}"
    run = subprocess.run(
        [java, "-cp", classes, "partage.assignor.Answers"],
        input="".join(json.dumps(arrays(group)) + "\n" for group in groups),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def value(group: Group, owner: Any) -> Value:
    """Loads, partitions without a replica in their member's rack where both are known, moves, and
    the sum of squares per topic and member; recounted partition by partition."""
    loads = [0] * len(group.members)
    held: dict[tuple[str, int], int] = {}
    far = moves = 0
    for partition, member in enumerate(owner):
        topic, number = group.named(partition)
        able = [at for at, one in enumerate(group.members) if topic in one.topics]
        assert member in (able or [NO_MEMBER])
        if able:
            racks, rack = (group.racks or {}).get(topic), group.members[member].rack
            near = racks is None or not racks[number] or rack is None or rack in racks[number]
            loads[member] += 1
            far += not near
            moves += int(group.owner[partition]) != member
            held[topic, member] = held.get((topic, member), 0) + 1
    return sorted(loads), far, moves, sum(count**2 for count in held.values())


def some_group(draw: random.Random) -> Json:
    """Small to middling, alike and unequal, with and without racks, fresh and after a change."""
    if draw.random() < 0.97:
        alike, racks, large = (draw.random() < part for part in (0.3, 0.6, 0.1))
        return random_group(draw, alike=alike, racks=racks, large=large)
    group = unequal_group(draw)
    if draw.random() < 0.5:
        before = Group.from_json(group, "group")
        held: dict[str, list[Any]] = {one.id: [] for one in before.members}
        for partition, member in enumerate(assign_exactly(before).tolist()):
            if member != NO_MEMBER:
                held[before.members[member].id].append(before.named(partition))
        group = changed(draw, group)(held)
    if draw.random() < 0.4:
        for member in group["members"]:
            member["rack"] = draw.choice("abc")
        group["racks"] = {
            topic: [draw.sample("abc", draw.randint(1, 2)) for _ in range(count)]
            for topic, count in group["topics"].items()
        }
    return group


@pytest.mark.random
def test_java_is_as_good_as_python() -> None:
    """Loads, racks, moves and the spread of topics, of 10,000 groups in an exhaustive run."""
    draw = random.Random(1)
    groups = [Group.from_json(some_group(draw), "group") for _ in seeds(10_000)]
    answers = java_answers(groups)
    assert len(answers) == len(groups)
    for number, (group, answer) in enumerate(zip(groups, answers, strict=True)):
        assert value(group, answer) == value(group, assign_exactly(group).tolist()), number
