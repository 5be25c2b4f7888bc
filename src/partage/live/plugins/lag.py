"""What a group has not read yet, as weights: what its leader asks for before it decides.

A partition's lag is its end less the offset that the group committed. Where nothing was committed
it is all that the partition holds, or nothing, as the group's consumers begin (``reset``).
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

    Called with the partition counts by topic it gives the lag of every partition, in records. It
    connects for the call and is done: a leader decides rarely, and ``timeout`` (seconds, per
    request) keeps it from holding the group up. ``config`` is for kafka-python's admin client.
    Raises what that client raises.
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
        """Lags by topic."""
        partitions = [
            TopicPartition(t, number) for t, count in topics.items() for number in range(count)
        ]
        admin = KafkaAdminClient(**self._config)
        try:
            committed = {
                partition: found
                for partition, found in admin.list_group_offsets(self._group_id)[
                    self._group_id
                ].items()
                if found.offset >= 0  # -1: nothing was committed
            }
            end = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
            fresh = [partition for partition in partitions if partition not in committed]
            start = (
                admin.list_partition_offsets(dict.fromkeys(fresh, OffsetSpec.EARLIEST))
                if fresh and self._reset == "earliest"
                else {partition: end[partition] for partition in fresh}
            )
        finally:
            admin.close()
        lags: dict[str, list[int]] = {topic: [] for topic in topics}
        for partition in partitions:
            since = committed[partition] if partition in committed else start[partition]
            lags[partition.topic].append(max(end[partition].offset - since.offset, 0))
        return lags
