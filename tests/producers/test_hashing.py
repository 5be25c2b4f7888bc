"""The hashes: published values, the clients' own functions, and many at once like one by one."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import confluent_kafka
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import partage
from partage.producers import Keys, hashing
from tests.profiles import examples

ONE = {"murmur2": hashing.murmur2, "crc32": hashing.crc32, "fnv1a": hashing.fnv1a}
MANY = {"murmur2": hashing.murmur2_of, "crc32": hashing.crc32_of, "fnv1a": hashing.fnv1a_of}

MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
    b"": 0x106E08D9,
    b"kafka": 0xD067CF64,
    b"1234": 0x9FC97B14,
}
"""The values in the tests of Kafka's Java client (signed) and of librdkafka (unsigned)."""

CRC32 = {b"123456789": 0xCBF43926, b"": 0}
"""The check value of the catalogue of CRCs."""

FNV1A = {b"": 0x811C9DC5, b"a": 0xE40C292C, b"foobar": 0xBF9CF968}
"""Values of the hash's own test suite."""

PUBLISHED = [
    (name, key, value % 2**32)
    for name, values in (("murmur2", MURMUR2), ("crc32", CRC32), ("fnv1a", FNV1A))
    for key, value in values.items()
]

SIGNED_FNV1A = {
    b"kafka": 0xD33C4E1,
    b"giberish123456789": 0x77A58295,
    b"1234": 0x23BDD03,
    b"4": 0x310CA263,
    b"": 0x7EE3623B,
}
"""What Go's library gives as a signed number, without its sign: in the tests of librdkafka."""

NO_POSITIVE = b"3wujz9a"
"""Its FNV-1a is -2³¹, the number that has no positive counterpart of 32 bits."""

CLIENTS: dict[str, Callable[[bytes, int], int]] = {
    "murmur2": confluent_kafka.murmur2,
    "consistent": confluent_kafka.consistent,
    "fnv1a": confluent_kafka.fnv1a,
}

keys = st.lists(st.binary(max_size=24) | st.binary(max_size=300), max_size=60)


@pytest.mark.parametrize(("name", "key", "value"), PUBLISHED)
def test_published_values(name: str, key: bytes, value: int) -> None:
    assert ONE[name](key) == value
    assert MANY[name](Keys.of([key])).tolist() == [value]


@pytest.mark.parametrize(("key", "value"), SIGNED_FNV1A.items())
def test_fnv1a_without_its_sign(key: bytes, value: int) -> None:
    for partitions in (1, 2, 7, 100, 2**31 - 1):
        assert partage.partition(key, partitions, "fnv1a") == value % partitions


@examples(100)
@given(keys)
@example([b"\xff" * length for length in range(40)])
@example([b"x" * 5000, *[b"y"] * 40])
@example([b"x" * 5000] * 20)
def test_many_are_as_one_by_one(keys: list[bytes]) -> None:
    columns = Keys.of(keys)
    for name, one in ONE.items():
        many = MANY[name](columns)
        assert many.dtype == np.uint32
        assert many.tolist() == [one(key) for key in keys], name


@examples(100)
@given(st.binary(max_size=100))
def test_crc32_is_that_of_zlib(key: bytes) -> None:
    assert hashing.crc32_of(Keys.of([key])).tolist() == [zlib.crc32(key)]


@pytest.mark.parametrize("name", CLIENTS)
@examples(200)
@given(keys=keys, partitions=st.integers(1, 50) | st.integers(1, 2**31 - 1))
@example([NO_POSITIVE], 2**31 - 1)
@example([NO_POSITIVE], 7)
def test_librdkafka_gives_the_same_partition(name: str, keys: list[bytes], partitions: int) -> None:
    expected = [CLIENTS[name](key, partitions) for key in keys]
    assert partage.partition(keys, partitions, name).tolist() == expected
    assert [partage.partition(key, partitions, name) for key in keys] == expected


def go_remainder(number: int, divisor: int) -> int:
    """Go's % of signed numbers: it has the sign of the number."""
    return number % divisor if number >= 0 else -(-number % divisor)


@examples(100)
@given(st.binary(min_size=1, max_size=30), st.integers(1, 1000))
@example(NO_POSITIVE, 7)
@example(NO_POSITIVE, 1)
def test_saramas_remainder_of_a_signed_number(key: bytes, partitions: int) -> None:
    state = 0x811C9DC5
    for byte in key:
        state = (state ^ byte) * 0x01000193 % 2**32
    signed = state - 2**32 if state >= 2**31 else state
    hashed = go_remainder(signed, partitions)
    assert partage.partition(key, partitions, "sarama") == abs(hashed)
    assert partage.partition([key], partitions, "sarama").tolist() == [abs(hashed)]
    reference = state % 2**31 % partitions
    assert partage.partition(key, partitions, "sarama-reference") == reference
    assert partage.partition([key], partitions, "sarama-reference").tolist() == [reference]


def test_more_than_a_block_of_all_lengths() -> None:
    draw = random.Random(5)
    lengths = [0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 63, 64, 65, 100]
    keys = [draw.randbytes(draw.choice(lengths)) for _ in range(3 * hashing.BLOCK + 17)]
    for place, length in ((0, 40_000), (hashing.BLOCK, 9_999), (len(keys) - 1, 70_001)):
        keys[place] = draw.randbytes(length)
    columns = Keys.of(keys)
    for name, one in ONE.items():
        assert MANY[name](columns).tolist() == [one(key) for key in keys], name


def test_none_at_all() -> None:
    for many in MANY.values():
        assert many(Keys.of([])).tolist() == []
