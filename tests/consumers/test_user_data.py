"""User data of assignors, to and from bytes."""

from __future__ import annotations

import random

from partage.consumers.user_data import (
    read_generation,
    read_priority,
    read_sticky,
    write_generation,
    write_priority,
    write_sticky,
)


def test_sticky_user_data_both_versions() -> None:
    owned = {"t": (0, 2), "größe": (7,)}
    read = read_sticky(write_sticky(owned, 5))
    assert (read.owned, read.generation, read.warning) == (owned, 5, None)
    read = read_sticky(write_sticky(owned, None))
    assert (read.owned, read.generation, read.warning) == (owned, -1, None)
    assert read_sticky(None) == read_sticky(b"")
    # the layout of Kafka's schema: count, name, numbers, generation
    assert write_sticky({"t": (3,)}, 1) == bytes.fromhex(
        "00000001 0001 74 00000001 00000003 00000001"
    )


def test_numbers_in_user_data() -> None:
    assert write_priority(10) == b"\x00\x00\x00\x0a"
    assert read_priority(write_priority(-7)).value == -7
    assert read_generation(write_generation(41)).value == 41
    assert read_generation(write_generation(-1)).value == -1
    assert read_generation(None).value is None
    assert read_generation(write_generation(-2)).warning == "user data has generation -2: ignored"
    assert read_priority(b"abc").warning == "user data of 3 bytes is not a priority: ignored"


def test_unreadable_data_count_as_empty() -> None:
    draw = random.Random(1)
    whole = write_sticky({"topic": (1, 2, 3), "other": (4,)}, 9)
    blobs = [whole[:cut] for cut in range(1, len(whole) - 4)]
    blobs += [draw.randbytes(draw.randint(1, 40)) for _ in range(2_000)]
    blobs += [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x01\xff\xff"]
    unread = 0
    for blob in blobs:
        read = read_sticky(blob)
        if read.warning:
            assert read.owned == {}
            assert read.generation == -1
            unread += 1
    assert unread > 1_900
