"""random: any available partition, drawn anew for every record (librdkafka, kafka-python, Sarama).

``linger_ms``: draw anew only when so much time has passed, as librdkafka does with records without
a key (``sticky.partitioning.linger.ms``, 10 unless changed), so that batches fill up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from partage.errors import InputError
from partage.producers.draws import Draws
from partage.producers.keyed import Spread
from partage.producers.keys import Ints
from partage.producers.model import Topic, is_number


class Random(Spread):
    """``clock``: seconds, ever growing."""

    def __init__(
        self, seed: int, linger_ms: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not is_number(linger_ms) or not linger_ms >= 0:
            raise InputError("linger_ms", f"expected 0 or more, got {linger_ms!r}")
        self._seed = seed
        self._linger = linger_ms / 1000
        self._clock = clock
        self._draws: dict[str, Draws] = {}
        self._held: dict[str, tuple[int, float]] = {}

    def choose(self, topic: Topic, size: int) -> int:
        if not self._linger:
            return self._drawn(topic)
        now = self._clock()
        held, until = self._held.get(topic.name, (-1, now))
        if now >= until or held not in topic.choices:
            held = self._drawn(topic)
            self._held[topic.name] = held, now + self._linger
        return held

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        if self._linger:
            return super().choose_many(topic, sizes)
        choices = np.array(topic.choices, dtype=np.int64)
        return choices[self._row(topic).many_below(len(choices), len(sizes))]

    def _drawn(self, topic: Topic) -> int:
        return topic.choices[self._row(topic).below(len(topic.choices))]

    def _row(self, topic: Topic) -> Draws:
        if topic.name not in self._draws:
            self._draws[topic.name] = Draws(self._seed, topic.name)
        return self._draws[topic.name]
