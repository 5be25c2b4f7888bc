"""Seeded random numbers, the same whether drawn one by one or many at once.

Number i of a seed is output i of SplitMix64 (Steele, Lea, Flood: *Fast splittable pseudorandom
number generators*, 2014). Each topic has its own sequence, so that the records of one topic do not
change the numbers of another.
"""

from __future__ import annotations

import zlib

import numpy as np

from partage.arrays import Ints

_STEP = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST = 31
_ALL = 2**64 - 1
_HALF = 32
_FLOAT_BITS = 53


class Draws:
    """A sequence of random numbers."""

    def __init__(self, seed: int, topic: str = "") -> None:
        own = zlib.crc32(topic.encode())  # not hash(), which differs between runs
        self._state = _mixed(_mixed(seed & _ALL) ^ own)

    def _next(self) -> int:
        self._state = (self._state + _STEP) & _ALL
        return _mixed(self._state)

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1; ``limit`` is below 2³¹."""
        return (self._next() >> _HALF) * limit >> _HALF

    def many_below(self, limit: int, count: int) -> Ints:
        """[count] the next numbers of ``below``."""
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
        state = steps + np.uint64(self._state)
        self._state = (self._state + count * _STEP) & _ALL
        for shift, factor in _MIX:
            state = (state ^ state >> np.uint64(shift)) * np.uint64(factor)
        state ^= state >> np.uint64(_LAST)
        half = np.uint64(_HALF)
        return ((state >> half) * np.uint64(limit) >> half).astype(np.int64)

    def fraction(self) -> float:
        """A number from 0 (included) to 1 (excluded)."""
        return float((self._next() >> (64 - _FLOAT_BITS)) * 2.0**-_FLOAT_BITS)


def _mixed(state: int) -> int:
    for shift, factor in _MIX:
        state = (state ^ state >> shift) * factor & _ALL
    return state ^ state >> _LAST
