"""Kafka's assignors of the group coordinator, run by BrokerAssignors.java on a batch of groups.

As a program it writes broker_answers.json.gz, with which the tests compare without Java:

    python -m tests.consumers.broker_assignors
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from partage.java import find_java
from partage.live.sandbox.jars import kafka_jars

Json = dict[str, Any]
SOURCE = Path(__file__).with_name("BrokerAssignors.java")
RECORDED = Path(__file__).with_name("broker_answers.json.gz")
NAMES = ("range", "uniform", "share")


def kafka_answers(cases: Sequence[tuple[str, Json]]) -> list[Json]:
    """The answer to each (assignor, group): ``{"assignment": {id: pairs}}`` or ``{"error": text}``.

    Skips the test where there is no JDK: a Java runtime cannot compile the source.
    """
    home = find_java("the assignors of the broker")
    if not (home / "bin" / "javac").exists():
        pytest.skip("needs a JDK")
    lines = "".join(json.dumps({"assignor": name, **group}) + "\n" for name, group in cases)
    command = [home / "bin" / "java", "-cp", f"{kafka_jars()}/*", SOURCE]
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def recorded_answers() -> list[Json]:
    """Cases with ``assignor``, ``group`` and ``assignment``, of Kafka 4.3.0."""
    lines = gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def random_cases(seed: int, of_each: int) -> list[tuple[str, Json]]:
    """(assignor, group) pairs."""
    draw = random.Random(seed)
    return [
        (name, random_broker_group(draw, shared=name == "share"))
        for name in NAMES
        for _ in range(of_each)
    ]


def random_broker_group(draw: random.Random, *, shared: bool = False) -> Json:
    """A group as a coordinator has it: claims are to partitions that exist, of topics that the
    member subscribes to; one member each, unless they are ``shared``. Sometimes with racks."""
    most = draw.choice([4, 12, 40, 90])
    names = sorted(
        draw.sample(["t", "a.b", "x-1", "orders", "Z", "b2", "_c", "m"], draw.randint(1, 6))
    )
    topics = {name: draw.randint(0 if draw.random() < 0.1 else 1, most) for name in names}
    alike = draw.random() < 0.4
    members: list[Json] = []
    for number in range(draw.choice([1, 2, 3, 5, 8, 14, 30])):
        some = names if alike else draw.sample(names, draw.randint(1, len(names)))
        member: Json = {
            "id": f"{draw.choice('abcxyz')}{draw.randint(0, 9999)}-{number}",
            "topics": some,
            "owned": [],
            "generation": 5,
        }
        if draw.random() < 0.3:
            member["instance_id"] = f"i{draw.randint(0, 99)}-{number}"
        if draw.random() < 0.2:
            member["rack"] = draw.choice("ab")
        members.append(member)
    stays, greed = draw.random(), draw.random()
    for topic, count in topics.items():
        able = [member for member in members if topic in member["topics"]]
        for number in range(count if able else 0):
            most_owners = draw.randint(0, min(len(able), 4)) if shared else 1
            for owner in draw.sample(able, most_owners if draw.random() < stays else 0):
                first = able[0] if draw.random() < greed / 2 and not shared else owner
                first["owned"].append([topic, number])
    group: Json = {"topics": topics, "members": members}
    if draw.random() < 0.2:
        group["racks"] = {t: [draw.sample("ab", 1) for _ in range(n)] for t, n in topics.items()}
    return group


def main() -> None:
    cases = random_cases(1, 40)
    lines = (
        json.dumps({"assignor": name, "group": group, **answer}, separators=(",", ":")) + "\n"
        for (name, group), answer in zip(cases, kafka_answers(cases), strict=True)
    )
    RECORDED.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    main()
