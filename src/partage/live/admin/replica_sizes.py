"""The sizes of some replicas on some brokers, from their log dirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from partage.live.admin.states import Key

ReplicaSizes = dict[int, dict[Key, int]]
"""Bytes of a replica, by broker and partition."""


def read_sizes(
    admin: KafkaAdminClient, keys: Mapping[int, Iterable[Key]], future: bool = False
) -> ReplicaSizes:
    """The sizes of these replicas, with ``future`` of their copies in other log dirs of their
    broker; brokers that do not answer are left out."""
    found: ReplicaSizes = {}
    for broker, wanted in sorted(keys.items()):
        partitions: dict[str, list[int]] = {}
        for topic, number in sorted(wanted):
            partitions.setdefault(topic, []).append(number)
        if not partitions:
            continue
        try:
            (described,) = admin.describe_log_dirs(partitions, brokers=[broker])
        except kafka_errors.KafkaError:
            continue
        found[broker] = {
            (topic["name"], entry["partition_index"]): entry["partition_size"]
            for log_dir in described["log_dirs"]
            for topic in log_dir["topics"]
            for entry in topic["partitions"]
            if entry["is_future_key"] is future
        }
    return found
