"""The hashes that Kafka's producers use for keys: murmur2, CRC32 and FNV-1a, all of 32 bits.

Each exists for one key, and for many keys at once in numpy.

Many keys are hashed in blocks that fit into the processor's cache. The keys of a block are sorted,
longest first, and hashed together: step j processes unit j (a word of four bytes, or one byte) of
every key that is long enough, which are the first ones of the block. A step on few keys takes
almost as long as one on many, so the few keys that are much longer than the others are hashed one
by one.

Sources: murmur2 is Austin Appleby's MurmurHash2 with the seed of Kafka's Java client
(``org.apache.kafka.common.utils.Utils.murmur2``); CRC32 is that of zlib, which librdkafka uses;
FNV-1a is Fowler, Noll and Vo's, with their offset and prime, in librdkafka and Sarama.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from partage.producers.keys import Bytes, Ints, Keys

Words = npt.NDArray[np.uint32]

BLOCK = 1 << 14
"""Keys per block: at least as many as Spark passes at once (10,000)."""

FEW = 16
"""Up to so many keys of a block, longer than all others, are hashed one by one."""

_WORD = 4
_ALL = 0xFFFFFFFF

_MURMUR2_SEED = 0x9747B28C
_MURMUR2_FACTOR = 0x5BD1E995
_FNV1A_OFFSET = 0x811C9DC5
_FNV1A_PRIME = 0x01000193
_CRC32_POLYNOMIAL = 0xEDB88320

_TAIL = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)
"""[n] the mask that keeps the first n bytes of a word."""


# ---------------------------------------------------------------------- one key


def murmur2(key: bytes) -> int:
    """Java's and kafka-python's hash, unsigned."""
    whole = len(key) & ~(_WORD - 1)
    state = _MURMUR2_SEED ^ len(key) & _ALL
    for at in range(0, whole, _WORD):
        word = int.from_bytes(key[at : at + _WORD], "little") * _MURMUR2_FACTOR & _ALL
        word = (word ^ word >> 24) * _MURMUR2_FACTOR & _ALL
        state = state * _MURMUR2_FACTOR & _ALL ^ word
    if whole < len(key):
        state = (state ^ int.from_bytes(key[whole:], "little")) * _MURMUR2_FACTOR & _ALL
    state = (state ^ state >> 13) * _MURMUR2_FACTOR & _ALL
    return state ^ state >> 15


def crc32(key: bytes) -> int:
    """librdkafka's ``consistent``, unsigned."""
    return zlib.crc32(key)


def fnv1a(key: bytes) -> int:
    """FNV-1a, unsigned; librdkafka and Sarama use it as a signed number."""
    return reduce(lambda state, byte: (state ^ byte) * _FNV1A_PRIME & _ALL, key, _FNV1A_OFFSET)


# ---------------------------------------------------------------------- many


def murmur2_of(keys: Keys) -> Words:
    """[N] ``murmur2`` of each key, a null key as an empty one."""
    return _by_blocks(keys, _WORD, _murmur2_block, murmur2)


def crc32_of(keys: Keys) -> Words:
    """[N] ``crc32`` of each key, a null key as an empty one."""
    return _by_blocks(keys, _WORD, _crc32_block, crc32)


def fnv1a_of(keys: Keys) -> Words:
    """[N] ``fnv1a`` of each key, a null key as an empty one; read-only.

    Computed once for the same ``keys``: two partitioners derive theirs from it.
    """
    found = _FNV1A_OF.get(keys)
    if found is None:
        found = _FNV1A_OF[keys] = _by_blocks(keys, 1, _fnv1a_block, fnv1a)
        found.flags.writeable = False
    return found


_FNV1A_OF: WeakKeyDictionary[Keys, Words] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _Block:
    """Some keys, longest first.

    - ``data`` and ``word``: the bytes of all keys, and the little-endian word at each of them
    - ``start``, ``length``: of the keys of the block
    - ``having``: for each step j, how many keys have the whole unit j
    """

    data: Bytes
    word: Words
    start: Ints
    length: Ints
    having: list[int]

    def tail(self) -> tuple[Words, Ints]:
        """The rest of each key after its last full word: as a word, and its number of bytes."""
        rest = self.length & (_WORD - 1)  # faster than % _WORD
        return self.word[self.start + (self.length - rest)] & _TAIL[rest], rest


def _by_blocks(
    keys: Keys, unit: int, hash_block: Callable[[_Block], Words], hash_one: Callable[[bytes], int]
) -> Words:
    """``unit``: the bytes that a step processes."""
    hashed = np.empty(len(keys), dtype=np.uint32)
    data = _padded(keys)
    word: Words = np.ndarray(len(data) - _WORD + 1, dtype="<u4", buffer=data, strides=(1,))
    for at in range(0, len(keys), BLOCK):
        part = keys.length[at : at + BLOCK]
        order = _longest_first(part)
        start, length = keys.start[at : at + BLOCK][order], part[order]
        units = length // unit
        # as many steps as all but a few keys need
        limit = max([FEW, *units[FEW : FEW + 1].tolist()])
        having = len(units) - np.cumsum(np.bincount(np.minimum(units, limit)))[:limit]
        found = hash_block(_Block(data, word, start, length, having.tolist()))
        for row in range(int(np.count_nonzero(units > limit))):
            found[row] = hash_one(data[start[row] : start[row] + length[row]].tobytes())
        hashed[at : at + BLOCK][order] = found
    return hashed


def _padded(keys: Keys) -> Bytes:
    """The bytes, with at least a word after the last key, so that a word can be read at any key."""
    end = int((keys.start + keys.length).max(initial=0))
    if end + _WORD <= len(keys.data):
        return keys.data
    return np.concatenate([keys.data[:end], np.zeros(_WORD, dtype=np.uint8)])


def _longest_first(length: Ints) -> Ints | slice:
    """The order of the keys; a slice if all have the same length."""
    longest = int(length.max())
    if longest == int(length.min()):
        return slice(None)
    short = np.min_scalar_type(longest)  # numpy sorts small integers by counting
    return np.argsort((longest - length).astype(short), kind="stable")


def _murmur2_block(block: _Block) -> Words:
    factor = np.uint32(_MURMUR2_FACTOR)
    state = np.uint32(_MURMUR2_SEED) ^ block.length.astype(np.uint32)
    for j, count in enumerate(block.having):
        word = block.word[block.start[:count] + j * _WORD]
        word *= factor
        word ^= word >> np.uint32(24)
        word *= factor
        part = state[:count]
        part *= factor
        part ^= word
    word, rest = block.tail()
    state ^= word
    state *= np.where(rest > 0, factor, np.uint32(1))
    state ^= state >> np.uint32(13)
    state *= factor
    state ^= state >> np.uint32(15)
    return state


def _crc32_block(block: _Block) -> Words:
    low, high = _crc32_tables()
    state = np.full(len(block.length), _ALL, dtype=np.uint32)
    for j, count in enumerate(block.having):
        mixed = state[:count] ^ block.word[block.start[:count] + j * _WORD]
        state[:count] = low[mixed & np.uint32(0xFFFF)] ^ high[mixed >> np.uint32(16)]
    word, rest = block.tail()
    byte_table = _crc32_bytes()
    for j in range(_WORD - 1):
        row = np.flatnonzero(rest > j)
        byte = (state[row] ^ word[row] >> np.uint32(8 * j)) & np.uint32(0xFF)
        state[row] = byte_table[byte] ^ state[row] >> np.uint32(8)
    return ~state


def _fnv1a_block(block: _Block) -> Words:
    state = np.full(len(block.length), _FNV1A_OFFSET, dtype=np.uint32)
    for j, count in enumerate(block.having):
        part = state[:count]
        part ^= block.data[block.start[:count] + j]
        part *= np.uint32(_FNV1A_PRIME)
    return state


@cache
def _crc32_bytes() -> Words:
    """[256] the register after each byte, starting from 0."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = table >> np.uint32(1) ^ (table & np.uint32(1)) * np.uint32(_CRC32_POLYNOMIAL)
    return table


@cache
def _crc32_tables() -> tuple[Words, Words]:
    """[65536] each: the register after the lower and after the upper half of a word."""
    after = [_crc32_bytes()]  # after[n]: the byte, followed by n zero bytes
    for _ in range(_WORD - 1):
        last = after[-1]
        after.append(last >> np.uint32(8) ^ after[0][last & np.uint32(0xFF)])
    low = (after[2][:, None] ^ after[3][None, :]).ravel()
    high = (after[0][:, None] ^ after[1][None, :]).ravel()
    return low, high
