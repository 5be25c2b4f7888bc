"""The order of the keys of a java.util.HashMap, on which some of Kafka's choices depend.

Keys are in the order of their buckets, and in a bucket in the order of their insertion. Not
reproduced: buckets of more than eight keys, which become trees.
"""

from __future__ import annotations

from collections.abc import Sequence

FIRST_TABLE = 16
"""Buckets of a new map; it doubles when more than three quarters full."""


def string_hash(text: str) -> int:
    """java.lang.String.hashCode, without its sign."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return value


def bucket(value: int, table: int) -> int:
    """The bucket of a hash code in a table of so many buckets."""
    value &= 0xFFFFFFFF
    return (value ^ (value >> 16)) & (table - 1)


def java_order(keys: Sequence[str]) -> list[int]:
    """Positions of the keys, inserted in this order, in the order of the map."""
    table = FIRST_TABLE
    while len(keys) > table * 3 // 4:
        table *= 2
    buckets = [bucket(string_hash(key), table) for key in keys]
    return sorted(range(len(keys)), key=buckets.__getitem__)
