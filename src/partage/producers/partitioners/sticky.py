"""sticky (KIP-480): one partition for a whole batch, then another one at random.

A producer that tells batches says when a record would open a new one: the partition changes then,
and the record goes to the new partition. For others the batches are counted here: a batch is full
when a record does not fit into ``batch_size`` bytes any more. The next partition is any available
one but the last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partage.producers.draws import Draws
from partage.producers.keyed import Spread
from partage.producers.keys import Ints
from partage.producers.model import Topic
from partage.producers.partitioners.uniform import BATCH_SIZE, checked_batch_size


@dataclass(eq=False)
class _Held:
    """The partition of a topic, and the bytes in its open batch."""

    draws: Draws
    partition: int = -1
    filled: int = 0


class Sticky(Spread):
    """``batch_size`` in bytes: the producer's batch.size."""

    def __init__(self, seed: int, batch_size: int = BATCH_SIZE) -> None:
        self._seed = seed
        self._batch_size = checked_batch_size(batch_size)
        self._topics: dict[str, _Held] = {}

    def choose(self, topic: Topic, size: int) -> int:
        held = self._held(topic)
        full = held.filled and held.filled + size > self._batch_size
        if full and not topic.tells_batches:
            self._switch(held, topic)
        held.filled += size
        return held.partition

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        chosen = np.empty(len(sizes), dtype=np.int64)
        if topic.tells_batches:
            chosen[:] = self._held(topic).partition
            return chosen
        end = np.cumsum(sizes)
        at = before = 0
        while at < len(sizes):
            held = self._held(topic)
            if held.filled and held.filled + sizes[at] > self._batch_size:
                self._switch(held, topic)
            room = self._batch_size - held.filled
            # the first record of a batch always fits, however large
            stop = max(at + 1, int(np.searchsorted(end, before + room, side="right")))
            chosen[at:stop] = held.partition
            held.filled += int(end[stop - 1]) - before
            at, before = stop, int(end[stop - 1])
        return chosen

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        held = self._held(topic)
        if held.partition == previous:  # otherwise another thread has changed it already
            self._switch(held, topic)
        return held.partition

    def _held(self, topic: Topic) -> _Held:
        held = self._topics.get(topic.name)
        if held is None:
            held = self._topics[topic.name] = _Held(Draws(self._seed, topic.name))
        if held.partition not in topic.choices:
            self._switch(held, topic)
        return held

    def _switch(self, held: _Held, topic: Topic) -> None:
        others = [number for number in topic.choices if number != held.partition]
        choices = others or topic.choices
        held.partition = choices[held.draws.below(len(choices))]
        held.filled = 0
