"""The hashes that Kafka's producers use for keys: murmur2, CRC32 and FNV-1a, all of 32 bits.

Each exists for one key, and for many keys at once in numpy.

Many keys are hashed in blocks that fit into the processor's cache. The keys of a block are sorted,
longest first, and hashed together: step j processes the j-th word of four bytes of every key that
is long enough, which are the first ones of the block. A step on few keys takes almost as long as
one on many, so the few keys that are much longer than the others are hashed one by one. Keys that
fit into one block are sorted once for all hashes.

Sources: murmur2 is Austin Appleby's MurmurHash2 with the seed of Kafka's Java client
(``org.apache.kafka.common.utils.Utils.murmur2``); CRC32 is that of zlib, which librdkafka uses,
worked out by tables for several bytes at a time (Sarwate; Kounavis and Berry); FNV-1a is Fowler,
Noll and Vo's, with their offset and prime, in librdkafka and Sarama.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from partage.arrays import Ints
from partage.producers.keys import AFTER, Bytes, Keys

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

_TAIL_FACTOR = np.array([1, *[_MURMUR2_FACTOR] * 3], dtype=np.uint32)
"""[n] what murmur2 multiplies by after n bytes that are not a whole word."""

_IN_RANGE: Final = "clip"
"""Of ``take`` with indices that are in range: numpy does not check them first, which takes half of
the time."""

_READ = AFTER
"""Bytes that are read at once."""


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
    return _by_blocks(keys, _murmur2_block, murmur2)


def crc32_of(keys: Keys) -> Words:
    """[N] ``crc32`` of each key, a null key as an empty one."""
    return _by_blocks(keys, _crc32_block, crc32)


def fnv1a_of(keys: Keys) -> Words:
    """[N] ``fnv1a`` of each key, a null key as an empty one."""
    return _by_blocks(keys, _fnv1a_block, fnv1a)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some keys, longest first.

    - ``rows``: of the keys of the block among all keys
    - ``length``: of each key
    - ``having``: for each n, how many keys have byte n, up to the last byte that is not only of
      long keys
    - ``words``: for each j, the little-endian word of the bytes from 4·j of the keys that have the
      first of them; what follows a key in its last word is undefined
    - ``tail``, ``rest``: the bytes of each key after its last full word, as a word; how many
    - ``long``: the first keys of the block, which are too long for ``having`` and ``words``
    """

    rows: slice | Ints
    length: Ints
    having: list[int]
    words: list[Words]
    tail: Words
    rest: Ints
    long: list[bytes]

    def steps(self) -> Iterator[Words]:
        """The word of each step, of the keys that have all four bytes of it."""
        for word, count in zip(self.words, self.having[_WORD - 1 :: _WORD], strict=False):
            yield word[:count]


def _by_blocks(
    keys: Keys, hash_block: Callable[[_Block], Words], hash_one: Callable[[bytes], int]
) -> Words:
    hashed = np.empty(len(keys), dtype=np.uint32)
    for block in _blocks(keys):
        found = hash_block(block)
        found[: len(block.long)] = [hash_one(key) for key in block.long]
        hashed[block.rows] = found
    return hashed


def _blocks(keys: Keys) -> Iterable[_Block]:
    """The keys in blocks; kept for the next hash if it is only one."""
    blocks = _BLOCKS_OF.get(keys)
    if blocks is None:
        blocks = _new_blocks(keys)
        if len(keys) <= BLOCK:
            blocks = _BLOCKS_OF[keys] = list(blocks)
    return blocks


_BLOCKS_OF: WeakKeyDictionary[Keys, Iterable[_Block]] = WeakKeyDictionary()


def _new_blocks(keys: Keys) -> Iterator[_Block]:
    data = _padded(keys)
    for at in range(0, len(keys), BLOCK):
        start, length = keys.start[at : at + BLOCK], keys.length[at : at + BLOCK]
        order = _longest_first(length)
        rows: slice | Ints = slice(at, at + BLOCK)
        if order is not None:
            rows, start, length = (
                at + order,
                start.take(order, mode=_IN_RANGE),
                length.take(order, mode=_IN_RANGE),
            )
        # as many bytes as all but a few keys need
        limit = _WORD * max([FEW, *(length[FEW : FEW + 1] // _WORD + 1).tolist()])
        bytes_ = np.arange(min(limit, int(length[0])))
        having = (len(length) - length[::-1].searchsorted(bytes_, side="right")).tolist()
        words = list(_words(data, start, having[::_WORD]))
        tail, rest = np.zeros(len(length), dtype=np.uint32), length & (_WORD - 1)
        for word, ends in zip(words, [*having[_WORD - 1 :: _WORD], 0], strict=False):
            tail[ends : len(word)] = word[ends:]
        tail &= _TAIL.take(rest, mode=_IN_RANGE)
        yield _Block(
            rows,
            length,
            having,
            words,
            tail,
            rest,
            [
                data[first : first + count].tobytes()
                for first, count in zip(start[:FEW].tolist(), length[:FEW].tolist(), strict=True)
                if count >= limit
            ],
        )


def _words(data: Bytes, start: Ints, counts: list[int]) -> Iterator[Words]:
    """For each j, the words 4·j bytes after the first ``counts[j]`` positions in ``data``.

    Several are read at once, as opaque bytes: numpy is slow to read numbers that are not aligned.
    """
    anywhere = np.ndarray(len(data) - _READ + 1, f"V{_READ}", data, strides=1)
    for j, count in enumerate(counts):
        within = j % (_READ // _WORD)
        if within == 0:
            read = anywhere[start[:count] + _WORD * j].view("<u4").reshape(count, -1)
            words = np.ascontiguousarray(read.T)
        yield words[within, :count]


def _padded(keys: Keys) -> Bytes:
    """The bytes with ``AFTER`` of them after the last key, so that any word can be read."""
    end = int((keys.start + keys.length).max(initial=0)) + AFTER
    there = keys.data[:end]
    if end == len(there):
        return there
    return np.concatenate([there, np.zeros(end - len(there), dtype=np.uint8)])


def _longest_first(length: Ints) -> Ints | None:
    """The order of the keys; None if all have the same length."""
    longest = int(length.max())
    if longest == int(length.min()):
        return None
    short = np.min_scalar_type(longest)  # numpy sorts small integers by counting
    return np.argsort((longest - length).astype(short), kind="stable")


def _murmur2_block(block: _Block) -> Words:
    factor = np.uint32(_MURMUR2_FACTOR)
    state = np.uint32(_MURMUR2_SEED) ^ block.length.astype(np.uint32)
    for step in block.steps():
        word = step * factor
        word ^= word >> np.uint32(24)
        word *= factor
        part = state[: len(word)]
        part *= factor
        part ^= word
    state ^= block.tail
    state *= _TAIL_FACTOR.take(block.rest, mode=_IN_RANGE)
    state ^= state >> np.uint32(13)
    state *= factor
    state ^= state >> np.uint32(15)
    return state


def _crc32_block(block: _Block) -> Words:
    low, high = _crc32_tables()
    state = np.full(len(block.length), _ALL, dtype=np.uint32)

    def following(word: Words) -> Words:
        """The register after a word, starting from 0."""
        after = low.take(word & np.uint32(0xFFFF), mode=_IN_RANGE)
        after ^= high.take(word >> np.uint32(16), mode=_IN_RANGE)
        return after

    for word in block.steps():
        state[: len(word)] = following(state[: len(word)] ^ word)
    # zero bytes change nothing as long as the register is 0: the tail is the end of a word
    bits = (block.rest * 8).astype(np.uint32)
    tail = (state & _TAIL.take(block.rest, mode=_IN_RANGE) ^ block.tail) << np.uint32(32) - bits
    return ~(following(tail) ^ state >> bits)


def _fnv1a_block(block: _Block) -> Words:
    state = np.full(len(block.length), _FNV1A_OFFSET, dtype=np.uint32)
    for n, count in enumerate(block.having):
        word, part = block.words[n // _WORD][:count], state[:count]
        part ^= word >> np.uint32(n % _WORD * 8) & np.uint32(0xFF)
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
