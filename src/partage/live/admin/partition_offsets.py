"""Offsets of many partitions, without topics that cannot be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import OffsetSpec

from partage.live.admin.connection import ask_together_or_singly, chunks
from partage.measured_loads.rates import Key

_TOPICS = 500
"""Topics per request."""

_TIMEOUT_MS = 10_000


def partition_offsets(
    admin: KafkaAdminClient,
    spec: OffsetSpec,
    keys: Iterable[Key],
    clock: Callable[[], float],
    refused: Callable[[str, Exception], None] = lambda _topic, _error: None,
) -> dict[Key, tuple[float, int]]:
    """When it was read, and the offset, -1 where there is none; topics that cannot be read are left
    out and passed to ``refused``."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in keys:
        numbers[topic].append(number)

    def ask(topics: Sequence[str]) -> dict[str, dict[Key, tuple[float, int]]]:
        wanted = [TopicPartition(topic, n) for topic in topics for n in numbers[topic]]
        offsets = admin.list_partition_offsets(dict.fromkeys(wanted, spec), timeout_ms=_TIMEOUT_MS)
        now = clock()
        found: dict[str, dict[Key, tuple[float, int]]] = {topic: {} for topic in topics}
        for at, offset in offsets.items():
            found[at.topic][at.topic, at.partition] = (now, offset.offset)
        return found

    found: dict[Key, tuple[float, int]] = {}
    for part in chunks(sorted(numbers), _TOPICS):
        answers = ask_together_or_singly(ask, part, (kafka_errors.KafkaError,), refused)
        for own in answers.values():
            found |= own
    return found
