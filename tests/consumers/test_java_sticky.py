"""The mode java: recorded results of Kafka's classes, and large groups."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from partage import Group, Member, assign
from partage.consumers.assignors import ASSIGNORS


def test_equal_to_kafka() -> None:
    """The results of Kafka 4.3.1's classes (benchmarks/consumers/kafka_answers.py)."""
    file = Path(__file__).parent / "kafka_answers.json.gz"
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        case = json.loads(line)
        group = Group.from_json(case["group"], "group")
        mode = "java" if ASSIGNORS[case["assignor"]].modes else "optimal"
        found = assign(group, case["assignor"], mode).to_json()["assignment"]
        assert found == case["assignment"], case["group"]


def test_equal_to_kafka_3_7_0() -> None:
    """The results of Kafka 3.7.0's classes, for members that list what they own in any order; from
    RunAssignors.java of the benchmarks."""
    file = Path(__file__).parent / "kafka_3_7_0_answers.json.gz"
    others = 0
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        case = json.loads(line)
        group = Group.from_json(case["group"], "group")
        found = assign(group, case["assignor"], "java-3.7.0").to_json()["assignment"]
        assert found == case["assignment"], case["group"]
        others += assign(group, case["assignor"], "java").to_json()["assignment"] != found
    assert others > 10


def test_names_with_lone_surrogates() -> None:
    """JSON can contain half of a surrogate pair."""
    members = [Member("\ud800", ["\udfff"]), Member("b", ["\udfff", "t"])]
    found = assign(Group({"\udfff": 2, "t": 1}, members), "sticky", "java")
    assert sorted(found.loads.tolist()) == [1, 2]


def test_large_groups_are_balanced() -> None:
    topics = {f"t{n}": 100 for n in range(20)}
    members = [Member(f"c{n:03}", list(topics)) for n in range(77)]
    found = assign(Group(topics, members), "sticky", "java")
    assert np.unique(found.loads).tolist() == [25, 26]
    odd = [*members[1:], Member("c000", ["t0"])]
    found = assign(Group(topics, odd), "sticky", "java")
    assert found.loads.max() - found.loads.min() <= 1
