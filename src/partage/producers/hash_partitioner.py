"""The partitioners of Kafka's clients: a hash for keys, a strategy for records without one.

The partition of a key depends on the key and the number of partitions only. Partitions without a
live leader are not left out: otherwise a key would move whenever a broker fails. A record without a
key may go to any partition. A strategy with a state (``KeylessStrategy``) chooses it, among the
partitions with a live leader if there are any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partage.arrays import Bools, Ints
from partage.producers.custom import Partitioner, Partitions
from partage.producers.hashing import Words
from partage.producers.keys import Keys
from partage.producers.model import SerializedRecord, Topic


@dataclass(frozen=True)
class KeyHash:
    """A hash from 0 to 2³²-1, of one key and of many; a key's partition is its remainder."""

    one: Callable[[bytes], int]
    many: Callable[[Keys], Words]


class KeylessStrategy(ABC):
    """Chooses the partition of records whose key does not decide."""

    @abstractmethod
    def choose(self, topic: Topic, size: int) -> int:
        """The partition of the next record, of ``size`` bytes."""

    def choose_many(self, topic: Topic, sizes: Ints) -> Ints:
        """[N] the partitions of the next N records; ``sizes``: [N] bytes."""
        return np.array([self.choose(topic, size) for size in sizes.tolist()], dtype=np.int64)

    def new_batch(self, topic: Topic, previous: int, size: int) -> int:
        """See ``Partitioner.new_batch``."""
        return previous


class HashPartitioner(Partitioner):
    """``key_hash`` decides for records with a key, ``keyless`` for all others.

    Without ``key_hash``, ``keyless`` decides for all records. Without ``keyless``, a null key is
    hashed as an empty one. ``empty_is_null``: treat an empty key as null.
    """

    trusted = True

    def __init__(
        self,
        key_hash: KeyHash | None,
        keyless: KeylessStrategy | None = None,
        empty_is_null: bool = False,
    ) -> None:
        self._hash = key_hash
        self._keyless = keyless
        self._empty_is_null = empty_is_null

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        key = record.key_bytes
        if self._keyless is not None and self._is_keyless(key):
            return self._keyless.choose(topic, record.size)
        assert self._hash is not None
        return self._hash.one(key or b"") % topic.partitions

    def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
        if self._keyless is not None and self._is_keyless(record.key_bytes):
            return self._keyless.new_batch(topic, previous, record.size)
        return previous

    def _is_keyless(self, key: bytes | None) -> bool:
        return self._hash is None or key is None or (self._empty_is_null and not key)

    def partitions(self, keys: Keys, topic: Topic, sizes: Ints) -> Partitions:
        if self._keyless is None:
            return self._hashed(keys, topic)
        keyless = self._are_keyless(keys)
        if keyless.all():
            return self._keyless.choose_many(topic, sizes).astype(np.int32)
        found = self._hashed(keys, topic)
        if keyless.any():
            found[keyless] = self._keyless.choose_many(topic, sizes[keyless])
        return found

    def _hashed(self, keys: Keys, topic: Topic) -> Partitions:
        assert self._hash is not None
        number, partitions = self._hash.many(keys), np.uint32(topic.partitions)
        number -= number // partitions * partitions  # faster than %=
        return number.view(np.int32)

    def _are_keyless(self, keys: Keys) -> Bools:
        if self._hash is None:
            return np.ones(len(keys), dtype=np.bool_)
        return (keys.length == 0) if self._empty_is_null else keys.null
