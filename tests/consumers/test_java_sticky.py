"""The mode java: recorded results of Kafka's classes, and large groups."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Group, Member, assign
from partage.consumers.assignors import ASSIGNORS
from partage.errors import CannotError


def recorded(name: str) -> list[dict[str, Any]]:
    file = Path(__file__).parent / f"{name}.json.gz"
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines()]


def test_equal_to_kafka() -> None:
    """The results of Kafka 4.3.1's classes (benchmarks/consumers/kafka_answers.py)."""
    for case in recorded("kafka_answers"):
        group = Group.from_json(case["group"], "group")
        mode = "java" if ASSIGNORS[case["assignor"]].modes else "optimal"
        found = assign(group, case["assignor"], mode).to_json()["assignment"]
        assert found == case["assignment"], case["group"]


def test_equal_to_kafka_3_7_0() -> None:
    """The results of Kafka 3.7.0's classes, for members that list what they own in any order; null
    where they fail (``kafka_answers.py --kafka 3.7.0`` in the benchmarks)."""
    others = fails = 0
    for case in recorded("kafka_3_7_0_answers"):
        group = Group.from_json(case["group"], "group")
        if case["assignment"] is None:
            fails += 1
            with pytest.raises(CannotError, match=r"Kafka 3\.7\.0's class fails for this group"):
                assign(group, case["assignor"], "java-3.7.0")
            continue
        found = assign(group, case["assignor"], "java-3.7.0").to_json()["assignment"]
        assert found == case["assignment"], case["group"]
        others += assign(group, case["assignor"], "java").to_json()["assignment"] != found
    assert others > 10
    assert fails > 5


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.parametrize(("version", "groups"), [("4.3.1", 160), ("3.7.0", 320)])
def test_equal_to_java(version: str, groups: int) -> None:
    """5,120 groups of each version, compared with Kafka's compiled classes."""
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK")
    program = Path(__file__).parents[2] / "benchmarks" / "consumers" / "kafka_answers.py"
    command = [sys.executable, program, "--kafka", version, "--groups", str(groups)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "5120 groups, 0 with another answer" in run.stderr


def test_kafka_3_7_0_gives_a_partition_to_two_members() -> None:
    """A partition that changes its owner because of its rack is not withheld."""
    members = [
        Member("a", ["t"], owned=[("t", 0), ("t", 1)], generation=1, rack="a"),
        Member("b", ["t"], rack="b"),
    ]
    group = Group({"t": 2}, members, racks={"t": [["a"], ["b"]]})
    at_once = assign(group, "cooperative-sticky", "java-3.7.0")
    assert at_once.of("b") == [("t", 1)]
    assert at_once.revoke_first == []
    later = assign(group, "cooperative-sticky", "java")
    assert later.of("b") == []
    assert later.revoke_first == [("t", 1, "a")]


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
