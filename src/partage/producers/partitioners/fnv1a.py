"""FNV-1a as Sarama uses it: a signed number whose remainder loses its sign.

librdkafka's ``fnv1a`` drops the sign before taking the remainder, with the same result. Sarama's
*reference* hash partitioner clears the sign bit instead, as Java does with murmur2, with another
result. (Sources: Sarama's ``partitioner.go``, librdkafka's ``rdfnv1a.c``.)
"""

from __future__ import annotations

import numpy as np

from partage.producers import hashing
from partage.producers.hash_partitioner import KeyHash
from partage.producers.hashing import Words
from partage.producers.keys import Keys

_POSITIVE = 0x7FFFFFFF


def _without_sign(key: bytes) -> int:
    number = hashing.fnv1a(key)
    return number if number <= _POSITIVE else 2**32 - number


def _all_without_sign(keys: Keys) -> Words:
    # the lowest number has no counterpart and stays: without a sign, that is 2**31
    return np.abs(hashing.fnv1a_of(keys).view(np.int32)).view(np.uint32)


def _reference(key: bytes) -> int:
    return hashing.fnv1a(key) & _POSITIVE


def _all_reference(keys: Keys) -> Words:
    return hashing.fnv1a_of(keys) & np.uint32(_POSITIVE)


FNV1A = KeyHash(_without_sign, _all_without_sign)
FNV1A_REFERENCE = KeyHash(_reference, _all_reference)
