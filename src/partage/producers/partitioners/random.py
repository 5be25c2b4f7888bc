"""random: any available partition, drawn for every record (librdkafka, kafka-python, Sarama).

``linger_ms``: draw only after that much time, as librdkafka does for records without a key, to fill
batches (``sticky.partitioning.linger.ms``, by default 10).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from partage.arrays import Ints
from partage.errors import InputError
from partage.producers.draws import Draws
from partage.producers.hash_partitioner import KeylessStrategy
from partage.producers.model import Topic, is_number


class Random(KeylessStrategy):
    """``clock``: a monotonic clock, in seconds."""

    def __init__(
        self, seed: int, linger_ms: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not is_number(linger_ms) or not linger_ms >= 0:
            raise InputError("linger_ms", f"expected 0 or more, got {linger_ms!r}")
        self._seed = seed
        self._linger = linger_ms / 1000
        self._clock = clock
        self._draws: dict[str, Draws] = {}
        self._kept: dict[str, tuple[int, float]] = {}

    def choose(self, topic: Topic, size: int) -> int:
        if not self._linger:
            return self._drawn(topic)
        now = self._clock()
        kept, until = self._kept.get(topic.name, (-1, now))
        if now >= until or kept not in topic.choices:
            kept = self._drawn(topic)
            self._kept[topic.name] = kept, now + self._linger
        return kept

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        if self._linger:
            return super().choose_many(topic, sizes)
        choices = np.array(topic.choices, dtype=np.int64)
        return choices[self._draws_of(topic).many_below(len(choices), len(sizes))]

    def _drawn(self, topic: Topic) -> int:
        return topic.choices[self._draws_of(topic).below(len(topic.choices))]

    def _draws_of(self, topic: Topic) -> Draws:
        if topic.name not in self._draws:
            self._draws[topic.name] = Draws(self._seed, topic.name)
        return self._draws[topic.name]
