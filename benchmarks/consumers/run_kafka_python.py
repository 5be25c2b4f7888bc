"""kafka-python's sticky assignor, with the protocol of ``runners.py``."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import defaultdict
from typing import Any, NamedTuple

from kafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyAssignorUserData,
    StickyPartitionAssignor,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

Json = dict[str, Any]


class Topics:
    """The part of kafka-python's ClusterMetadata that an assignor uses."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._partitions = {name: set(range(count)) for name, count in topics.items()}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


class Joined(NamedTuple):
    """A member as the coordinator passes it to the assignor."""

    member_id: str
    group_instance_id: str | None
    metadata: ConsumerProtocolSubscription


def joined(member: Json) -> Joined:
    """A member with its claims encoded as user data."""
    owned = defaultdict(list)
    for topic, number in member.get("owned") or ():
        owned[topic].append(number)
    generation = member.get("generation", -1)
    data = StickyAssignorUserData(list(owned.items()), generation).encode() if owned else b""
    metadata = ConsumerProtocolSubscription(0, list(member["topics"]), data)
    return Joined(member["id"], member.get("instance_id"), metadata)


def answer(group: Json) -> Json:
    """The assignment and the seconds of the fastest run."""
    cluster = Topics(group["topics"])
    seconds = float("inf")
    found: Json = {}
    try:
        for _ in range(group.get("repeat", 1)):
            members = [joined(member) for member in group["members"]]
            began = time.perf_counter()
            found = StickyPartitionAssignor().assign(cluster, members)
            seconds = min(seconds, time.perf_counter() - began)
    except Exception as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    assignment = {
        member: [[t, number] for t, numbers in given.assigned_partitions for number in numbers]
        for member, given in found.items()
    }
    return {"seconds": seconds, "assignment": assignment}


if __name__ == "__main__":
    logging.disable()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
