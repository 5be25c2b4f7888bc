"""uniform (KIP-794): one partition for ``batch_size`` bytes, then one at random, the same one too.

It changes only between batches. A producer that tells batches (``Topic.tells_batches``) says when a
record opens one: the partition changes then, if enough bytes have gone to it. If batches end early
by their linger time, more than ``batch_size`` bytes may go there before one ends: with twice as many
the partition changes at once. For other producers the end of a batch is taken to be where
``batch_size`` is reached.

The sticky partitioner of KIP-480 gave a slow broker more records, as its partitions were left when a
batch was *opened*, which waits for the broker; here each partition gets the same bytes each time.
Source: ``BuiltInPartitioner`` of Apache Kafka.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from partage.errors import InputError
from partage.producers.draws import Draws
from partage.producers.keyed import Spread
from partage.producers.keys import Ints
from partage.producers.model import Topic

BATCH_SIZE = 16384
"""Kafka's default of ``batch.size``, in bytes."""


@dataclass(eq=False)
class _Held:
    """The partition of a topic, and the bytes that went to it since it was chosen."""

    draws: Draws
    partition: int = -1
    produced: int = 0


class Uniform(Spread):
    """``batch_size`` in bytes: the producer's batch.size."""

    def __init__(self, seed: int, batch_size: int = BATCH_SIZE) -> None:
        self._seed = seed
        self._batch_size = checked_batch_size(batch_size)
        self._topics: dict[str, _Held] = {}

    def weights(self, topic: Topic) -> Sequence[float] | None:
        """For each of the topic's choices how likely it is to be chosen, in proportion. None: all
        alike."""
        return None

    def choose(self, topic: Topic, size: int) -> int:
        held = self._held(topic)
        if held.produced >= self._limit(topic):
            self._switch(held, topic)
        held.produced += size
        return held.partition

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        chosen = np.empty(len(sizes), dtype=np.int64)
        limit = self._limit(topic)
        end = np.cumsum(sizes)
        at = before = 0
        while at < len(sizes):
            held = self._held(topic)
            if held.produced >= limit:
                self._switch(held, topic)
            # up to and with the record that reaches the limit
            room = limit - held.produced
            stop = min(len(sizes), int(np.searchsorted(end, before + room)) + 1)
            chosen[at:stop] = held.partition
            held.produced += int(end[stop - 1]) - before
            at, before = stop, int(end[stop - 1])
        return chosen

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        held = self._held(topic)
        if held.partition == previous:  # otherwise another thread has changed it already
            held.produced -= size  # this record is still to go
            if held.produced >= self._batch_size:
                self._switch(held, topic)
            held.produced += size
        return held.partition

    def _limit(self, topic: Topic) -> int:
        """Bytes after which the partition changes, whether or not a batch has just ended."""
        return self._batch_size * 2 if topic.tells_batches else self._batch_size

    def _held(self, topic: Topic) -> _Held:
        held = self._topics.get(topic.name)
        if held is None:
            held = self._topics[topic.name] = _Held(Draws(self._seed, topic.name))
        if not 0 <= held.partition < topic.partitions:
            self._switch(held, topic)
        return held

    def _switch(self, held: _Held, topic: Topic) -> None:
        weights = self.weights(topic)
        if weights is None:
            held.partition = topic.choices[held.draws.below(len(topic.choices))]
        else:
            held.partition = topic.choices[picked(weights, held.draws.fraction())]
        held.produced = 0


def picked(weights: Sequence[float], fraction: float) -> int:
    """The place of the weight in which that fraction of their sum falls: of 4 1 3, with the running
    sums 4 5 8, 3/8 falls into the first and 4/8 into the second."""
    sums = list(accumulate(weights))
    return min(bisect_right(sums, fraction * sums[-1]), len(sums) - 1)


def checked_batch_size(batch_size: int) -> int:
    """Raises InputError where it is none."""
    if batch_size < 1:
        raise InputError("batch_size", f"expected 1 byte or more, got {batch_size}")
    return batch_size
