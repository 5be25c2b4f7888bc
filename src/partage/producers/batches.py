"""Habits that keep to one partition for about a batch: how long, and what comes next, they say.

A producer sends what has gathered for a partition as one batch. Spreading records without a key
evenly one by one fills all batches slowly, so Kafka's producers stay with a partition until about
``batch_size`` bytes have gone there. That can be decided record by record; many records at once are
decided batch by batch, by a search in the running sum of their sizes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partage.errors import InputError
from partage.producers.draws import Draws
from partage.producers.keyed import Spread
from partage.producers.keys import Ints
from partage.producers.model import Topic, is_number

BATCH_SIZE = 16384
"""Kafka's default of ``batch.size``, in bytes."""

ENDLESS = 2**62
"""More bytes than there are."""


@dataclass(eq=False)
class Held:
    """The partition that a topic has now, and the bytes that went to it since it was chosen."""

    draws: Draws
    partition: int = -1
    bytes: int = 0


class ByBatches(Spread):
    """``batch_size`` in bytes: the producer's batch.size."""

    counts_itself: ClassVar[bool]
    """Whether a record is counted when it is asked if it still goes to the partition."""

    def __init__(self, seed: int, batch_size: int = BATCH_SIZE) -> None:
        if not is_number(batch_size) or not 1 <= batch_size < math.inf or batch_size % 1:
            raise InputError("batch_size", f"expected 1 byte or more, got {batch_size!r}")
        self._seed = seed
        self._batch_size = int(batch_size)
        self._topics: dict[str, Held] = {}

    @abstractmethod
    def most(self, topic: Topic) -> int:
        """The largest count with which a record still goes to the partition. (One that has got
        nothing yet takes any record.)"""

    @abstractmethod
    def stays(self, held: Held, topic: Topic) -> bool:
        """Whether a partition may be kept, as far as the topic goes."""

    @abstractmethod
    def following(self, held: Held, topic: Topic) -> int:
        """The next partition."""

    def choose(self, topic: Topic, size: int) -> int:
        held = self._held(topic)
        if held.bytes and held.bytes + size * self.counts_itself > self.most(topic):
            self._switch(held, topic)
        held.bytes += size
        return held.partition

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        chosen = np.empty(len(sizes), dtype=np.int64)
        most = self.most(topic)
        after = np.cumsum(sizes)
        counted = after if self.counts_itself else after - sizes
        at = before = 0
        while at < len(sizes):
            held = self._held(topic)
            if held.bytes and held.bytes + sizes[at] * self.counts_itself > most:
                self._switch(held, topic)
            going = int(np.searchsorted(counted, before + most - held.bytes, side="right"))
            stop = max(going, at + 1)
            chosen[at:stop] = held.partition
            held.bytes += int(after[stop - 1]) - before
            at, before = stop, int(after[stop - 1])
        return chosen

    def _held(self, topic: Topic) -> Held:
        held = self._topics.get(topic.name)
        if held is None:
            held = self._topics[topic.name] = Held(Draws(self._seed, topic.name))
        if held.partition < 0 or not self.stays(held, topic):
            self._switch(held, topic)
        return held

    def _switch(self, held: Held, topic: Topic) -> None:
        held.partition, held.bytes = self.following(held, topic), 0
