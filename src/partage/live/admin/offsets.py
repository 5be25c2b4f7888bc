"""Which offsets of topics have records, for ``profile --append``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.protocol.consumer.offsets import IsolationLevel

from partage.errors import PartageError
from partage.live.admin.client_config import client_config
from partage.live.admin.connection import Connection, chunks
from partage.live.admin.snapshot import CHUNK, describe_topics, topic_id_of
from partage.measured_loads.offsets import TopicOffsets
from partage.properties import Settings

_ISOLATION = "isolation.level"


def offsets_at(servers: str, settings: Settings, topics: Sequence[str]) -> dict[str, TopicOffsets]:
    """The offsets of those topics that exist, of the cluster at ``servers``; see ``ReadOffsets``.
    Raises PartageError, also for a partition without a leader, and InputError for settings."""
    committed = _ISOLATION in settings and settings[_ISOLATION].value == "read_committed"
    with Connection(servers, client_config(settings, servers)).admin() as admin:
        return read_offsets(admin, topics, committed=committed)


def read_offsets(
    admin: KafkaAdminClient, topics: Sequence[str], *, committed: bool = False
) -> dict[str, TopicOffsets]:
    """``offsets_at`` with an admin client; ``committed``: up to the first open transaction.

    Kafka's own topics are left out where ``*`` matches them.
    """
    patterns = any("*" in topic for topic in topics)
    wanted = re.compile("|".join(re.escape(topic).replace(r"\*", ".*") for topic in topics))
    ids: dict[str, str] = {}
    partitions: dict[str, list[TopicPartition]] = {}
    for one in describe_topics(admin, None if patterns else topics):
        name = one["name"]
        own = patterns and one.get("is_internal")
        if one["error_code"] or own or not wanted.fullmatch(name):
            continue
        found = topic_id_of(one)
        if found is None:
            raise PartageError(f"topic {name}: has no ID, as every topic since Kafka 2.8 has")
        ids[name] = found
        numbers = sorted(partition["partition_index"] for partition in one["partitions"])
        partitions[name] = [TopicPartition(name, number) for number in numbers]
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    offsets: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for part in chunks(sorted(partitions), CHUNK):
        every = [at for topic in part for at in partitions[topic]]
        first, following = (
            admin.list_partition_offsets(dict.fromkeys(every, spec), isolation_level=level)
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
        )
        for at in every:
            offsets[at.topic][at.partition] = (first[at].offset, following[at].offset)
    return {topic: TopicOffsets(ids[topic], offsets[topic]) for topic in sorted(ids)}
