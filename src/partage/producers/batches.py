"""Base of the strategies that keep one partition for about a batch: sticky, uniform and others.

A producer sends the records that wait for a partition as one batch. Spreading records without a key
one by one would fill all batches slowly. So Kafka's producers keep a partition until it has got
about ``batch_size`` bytes. Single records are decided one by one, many records batch by batch: a
binary search in the cumulative sum of their sizes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partage.arrays import Ints
from partage.errors import InputError
from partage.producers.draws import Draws
from partage.producers.hash_partitioner import KeylessStrategy
from partage.producers.model import Topic, is_number

BATCH_SIZE = 16384
"""Kafka's default of ``batch.size``, in bytes."""

UNLIMITED = 2**62
"""Bytes, as a limit that no topic reaches."""


@dataclass(eq=False)
class CurrentPartition:
    """A topic's current partition, and the bytes that it got since it was chosen."""

    draws: Draws
    partition: int = -1
    bytes: int = 0


class BatchStrategy(KeylessStrategy):
    """``batch_size``: the producer's ``batch.size`` in bytes."""

    counts_next_record: ClassVar[bool]
    """Whether the size of the next record counts towards the limit."""

    def __init__(self, seed: int, batch_size: int = BATCH_SIZE) -> None:
        if not is_number(batch_size) or not 1 <= batch_size < math.inf or batch_size % 1:
            raise InputError("batch_size", f"expected 1 byte or more, got {batch_size!r}")
        self._seed = seed
        self._batch_size = int(batch_size)
        self._topics: dict[str, CurrentPartition] = {}

    @abstractmethod
    def limit(self, topic: Topic) -> int:
        """Bytes that a partition may get before the next one is chosen. (A partition without any
        takes any record.)"""

    @abstractmethod
    def may_keep(self, current: CurrentPartition, topic: Topic) -> bool:
        """Whether the topic still allows the current partition."""

    @abstractmethod
    def next_partition(self, current: CurrentPartition, topic: Topic) -> int:
        """The partition after the current one."""

    def choose(self, topic: Topic, size: int) -> int:
        current = self._current(topic)
        if current.bytes and current.bytes + size * self.counts_next_record > self.limit(topic):
            self._switch(current, topic)
        current.bytes += size
        return current.partition

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        chosen = np.empty(len(sizes), dtype=np.int64)
        limit = self.limit(topic)
        after = np.cumsum(sizes)
        counted = after if self.counts_next_record else after - sizes
        at = before = 0
        while at < len(sizes):
            current = self._current(topic)
            if current.bytes and current.bytes + sizes[at] * self.counts_next_record > limit:
                self._switch(current, topic)
            going = int(np.searchsorted(counted, before + limit - current.bytes, side="right"))
            stop = max(going, at + 1)
            chosen[at:stop] = current.partition
            current.bytes += int(after[stop - 1]) - before
            at, before = stop, int(after[stop - 1])
        return chosen

    def _current(self, topic: Topic) -> CurrentPartition:
        current = self._topics.get(topic.name)
        if current is None:
            current = self._topics[topic.name] = CurrentPartition(Draws(self._seed, topic.name))
        if current.partition < 0 or not self.may_keep(current, topic):
            self._switch(current, topic)
        return current

    def _switch(self, current: CurrentPartition, topic: Topic) -> None:
        current.partition, current.bytes = self.next_partition(current, topic), 0
