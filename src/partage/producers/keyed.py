"""The partitioners of Kafka's clients: a hash for the keys, a habit for records without one.

Which partition a key goes to follows from the key and the number of partitions alone, and all
partitions take part, with or without a live leader: otherwise a key would move whenever a broker
fails. A record without a key may go anywhere. Where it goes is the habit of the producer, which has
a state (``Spread``), and only partitions with a live leader take part as long as there is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partage.producers.custom import Partitioner, Partitions
from partage.producers.hashing import Words
from partage.producers.keys import Bools, Ints, Keys
from partage.producers.model import SerializedRecord, Topic


@dataclass(frozen=True)
class KeyHash:
    """A number of which a key's partition is the remainder, 0 to 2³²-1: of one key, and of many."""

    one: Callable[[bytes], int]
    many: Callable[[Keys], Words]


class Spread(ABC):
    """Where records go whose key does not decide."""

    @abstractmethod
    def choose(self, topic: Topic, size: int) -> int:
        """The partition of the next record, of ``size`` bytes."""

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        """[N] the same for the next N records."""
        return np.array([self.choose(topic, size) for size in sizes.tolist()], dtype=np.int64)

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        """As ``Partitioner.new_batch``."""
        return previous


class HashPartitioner(Partitioner):
    """``key_hash`` decides where there is one and the record has a key, ``spread`` otherwise.

    Without a ``spread`` a null key is hashed as if it were empty. ``empty_is_null``: an empty key
    is none.
    """

    trusted = True

    def __init__(
        self, key_hash: KeyHash | None, spread: Spread | None = None, empty_is_null: bool = False
    ) -> None:
        self._hash = key_hash
        self._spread = spread
        self._empty_is_null = empty_is_null

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        key = record.key_bytes
        if self._spread is not None and self._is_free(key):
            return self._spread.choose(topic, record.size)
        assert self._hash is not None
        return self._hash.one(key or b"") % topic.partitions

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        if self._spread is not None and self._is_free(record.key_bytes):
            return self._spread.new_batch(topic, previous, record.size)
        return previous

    def _is_free(self, key: bytes | None) -> bool:
        return self._hash is None or key is None or (self._empty_is_null and not key)

    def partitions(self, keys: Keys, topic: Topic, sizes: Ints) -> Partitions:
        if self._spread is None:
            return self._hashed(keys, topic)
        free = self._are_free(keys)
        if free.all():
            return self._spread.choose_many(topic, sizes).astype(np.int32)
        found = self._hashed(keys, topic)
        if free.any():
            found[free] = self._spread.choose_many(topic, sizes[free])
        return found

    def _hashed(self, keys: Keys, topic: Topic) -> Partitions:
        assert self._hash is not None
        number, partitions = self._hash.many(keys), np.uint32(topic.partitions)
        number -= number // partitions * partitions  # as %=, only faster
        return number.view(np.int32)

    def _are_free(self, keys: Keys) -> Bools:
        if self._hash is None:
            return np.ones(len(keys), dtype=np.bool_)
        return (keys.length == 0) if self._empty_is_null else keys.null
