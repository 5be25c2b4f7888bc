"""Create partitions where a placement puts them: a new topic, or more of one that exists."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from kafka import KafkaAdminClient

from partage.errors import PartageError

_PATIENCE = 30
"""Seconds until every broker that may answer should know the new partitions."""
_PAUSE = 0.2


def create_partitions(
    admin: KafkaAdminClient, topic: str, lists: Sequence[Sequence[int]], first: int
) -> None:
    """Create the partitions of ``topic`` from number ``first`` on, each on the brokers of its list
    (one per partition of the topic), the leader first; and wait until the cluster shows them there.

    Raises PartageError if it shows others, and what kafka-python raises.
    """
    new = [list(ids) for ids in lists[first:]]
    if first == 0:
        admin.create_topics({topic: {"assignments": dict(enumerate(new))}})
    else:
        admin.create_partitions({topic: {"count": len(lists), "assignments": new}})
    deadline = time.monotonic() + _PATIENCE
    while (found := _replicas(admin, topic)[first:]) != new:
        if time.monotonic() > deadline:
            made = f"{len(found)} of {len(new)} new partitions"
            raise PartageError(
                f"{topic}: the cluster shows {made}, or on other brokers: look again"
            )
        time.sleep(_PAUSE)


def _replicas(admin: KafkaAdminClient, topic: str) -> list[list[int]]:
    """The replica lists of the topic's partitions, by number, as a broker knows them."""
    found: dict[str, Any] = next(iter(admin.describe_topics([topic])), {})
    partitions = sorted(found.get("partitions", ()), key=lambda one: one["partition_index"])
    return [list(one["replica_nodes"]) for one in partitions]
