"""round-robin: a counter from a random start, modulo the number of available partitions.

(Kafka's DefaultPartitioner before 2.4, RoundRobinPartitioner since.)
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.producers.draws import Draws
from partage.producers.hash_partitioner import KeylessStrategy
from partage.producers.model import MAX_PARTITIONS, Topic


class RoundRobin(KeylessStrategy):
    """A counter per topic."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._next: dict[str, int] = {}

    def choose(self, topic: Topic, size: int) -> int:
        return topic.choices[self._taken(topic, 1) % len(topic.choices)]

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        choices = np.array(topic.choices, dtype=np.int64)
        first = self._taken(topic, len(sizes)) % len(choices)
        return choices[(first + np.arange(len(sizes))) % len(choices)]

    def _taken(self, topic: Topic, count: int) -> int:
        """The counter's value before it increases by ``count``."""
        number = self._next.get(topic.name)
        if number is None:
            number = Draws(self._seed, topic.name).below(MAX_PARTITIONS)
        self._next[topic.name] = number + count
        return number
