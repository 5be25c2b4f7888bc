"""The iteration order of Java's hash tables (java.util.HashMap, HashSet).

Kafka's assignors visit members and partitions in this order, so it decides which of several equally
good answers they give. A table has a power of two of buckets, at first 16 unless it is made for a
number of keys, and doubles when it is more than three quarters full. It is visited bucket by
bucket, and within a bucket in the order of insertion; computeIfAbsent, however, inserts a key
before the others of its bucket. Not reproduced: buckets of more than eight
keys, which Java turns into trees.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_FIRST_TABLE = 16


def string_hash(text: str) -> int:
    """java.lang.String.hashCode, without its sign."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return value


def java_order(keys: Sequence[str]) -> list[int]:
    """Positions of the keys, inserted in this order, in the order of the table."""
    found = JavaTable[int]()
    for at, key in enumerate(keys):
        found.add(at, string_hash(key))
    return list(found)


def copied_order(numbers: Sequence[int]) -> list[int]:
    """Different numbers in the order of ``new HashSet<>(list)``."""
    found = JavaTable[int](max(int(len(numbers) / 0.75) + 1, _FIRST_TABLE))
    for number in numbers:
        found.add(number, number)
    return list(found)


def owned_order(partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The partitions in the order in which Kafka's client lists what it owns, until it fetches
    records: that of a map made for their number, topic by topic (SubscriptionState)."""
    held = sorted(partitions)
    found = JavaTable[tuple[str, int]](len(held))
    for topic, number in held:
        found.add((topic, number), 31 * (31 + number) + string_hash(topic))
    topics = {topic: at for at, topic in enumerate(dict.fromkeys(topic for topic, _ in found))}
    return sorted(found, key=lambda partition: topics[partition[0]])


class JavaTable(Generic[Key]):
    """The keys of a java.util.HashMap or HashSet, visited in its order.

    ``capacity``: what its constructor is given. ``computed``: keys are inserted by computeIfAbsent.
    """

    def __init__(self, capacity: int = _FIRST_TABLE, *, computed: bool = False) -> None:
        self._computed = computed
        self._hash: dict[Key, int] = {}
        self._table = 1 << (capacity - 1).bit_length()

    def __len__(self) -> int:
        return len(self._hash)

    def __iter__(self) -> Iterator[Key]:
        inserted = reversed(self._hash) if self._computed else self._hash
        return iter(sorted(inserted, key=self._bucket))

    def add(self, key: Key, value: int) -> None:
        """Insert a key of this hash; a key that is there stays where it is."""
        self._hash.setdefault(key, value)
        if len(self._hash) > self._table * 3 // 4:
            self._table *= 2

    def remove(self, key: Key) -> None:
        """Remove a key. Raises KeyError where it is not there."""
        del self._hash[key]

    def first(self) -> Key:
        """The key that is visited first."""
        return min(self._hash, key=self._bucket)

    def _bucket(self, key: Key) -> int:
        value = self._hash[key] & 0xFFFFFFFF
        return (value ^ (value >> 16)) & (self._table - 1)
