"""A group's lag as weights, read by the leader before it decides.

A partition's lag is its end offset minus the offset that the group committed. Without a committed
offset it is all records of the partition, or none, depending on where the group's consumers start
reading (``reset``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec

from partage.errors import InputError

RESETS = ("earliest", "latest")


class Lag:
    """``WeightedAssignor(weights=Lag("localhost:9092", "group"))``.

    Call it with partition counts by topic: it returns the lag of every partition, in records. It
    opens a connection per call, because leaders decide rarely. ``timeout`` (seconds, per request)
    limits how long it can delay the group. ``reset``: the consumers' ``auto_offset_reset``;
    ``config``: settings of kafka-python's admin client, whose errors it raises.
    """

    def __init__(
        self,
        bootstrap_servers: str | list[str],
        group_id: str,
        *,
        reset: str = "earliest",
        timeout: float = 5.0,
        **config: Any,
    ) -> None:
        if reset not in RESETS:
            raise InputError("reset", f"{reset!r}: expected one of {', '.join(RESETS)}")
        self._group_id = group_id
        self._reset = reset
        milliseconds = int(timeout * 1000)
        self._config = {
            "bootstrap_servers": bootstrap_servers,
            "request_timeout_ms": milliseconds,
            "bootstrap_timeout_ms": milliseconds,
            **config,
        }

    def __call__(self, topics: Mapping[str, int]) -> dict[str, list[int]]:
        """Lags by topic, in records."""
        partitions = [
            TopicPartition(t, number) for t, count in topics.items() for number in range(count)
        ]
        admin = KafkaAdminClient(**self._config)
        try:
            answer = admin.list_group_offsets(self._group_id)[self._group_id]
            committed = {
                partition: found
                for partition, found in answer.items()
                if found.offset >= 0  # -1: no offset committed
            }
            end = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
            uncommitted = [partition for partition in partitions if partition not in committed]
            start = (
                admin.list_partition_offsets(dict.fromkeys(uncommitted, OffsetSpec.EARLIEST))
                if uncommitted and self._reset == "earliest"
                else {partition: end[partition] for partition in uncommitted}
            )
        finally:
            admin.close()
        lags: dict[str, list[int]] = {topic: [] for topic in topics}
        for partition in partitions:
            since = committed[partition] if partition in committed else start[partition]
            lags[partition.topic].append(max(end[partition].offset - since.offset, 0))
        return lags
