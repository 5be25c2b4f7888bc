"""murmur2: Java's and kafka-python's hash of a key, its sign bit cleared (KafkaProducer,
``BuiltInPartitioner.partitionForKey``; librdkafka's ``murmur2``)."""

from __future__ import annotations

import numpy as np

from partage.producers import hashing
from partage.producers.hash_partitioner import KeyHash
from partage.producers.hashing import Words
from partage.producers.keys import Keys

_POSITIVE = 0x7FFFFFFF


def _one(key: bytes) -> int:
    return hashing.murmur2(key) & _POSITIVE


def _many(keys: Keys) -> Words:
    return hashing.murmur2_of(keys) & np.uint32(_POSITIVE)


MURMUR2 = KeyHash(_one, _many)
