"""Compare what clients sent with what they received: lost and repeated records, and pauses.

A pause of a partition is a time without an acknowledged, or without a received, record, while the
producer sends at an even pace. So every pause is at least as long as that pace. It is measured in
the clients, whatever its cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Records = tuple[float, str, int, int]
"""Consecutive records: when (seconds since 1970), partition, first and last number."""


@dataclass(frozen=True)
class Pause:
    """A pause of a partition: its length in seconds, and its start (seconds since 1970)."""

    partition: str
    seconds: float
    at: float

    def to_json(self, start: float = 0.0) -> dict[str, Any]:
        """With ``at`` relative to ``start``."""
        return {
            "partition": self.partition,
            "seconds": round(self.seconds, 3),
            "at": round(self.at - start, 3),
        }


@dataclass(frozen=True)
class DeliveryCounts:
    """Distinct records: ``acknowledged``, ``read``, ``missing`` (acknowledged but not read); and
    how often one was read ``again``, as it may be after a rebalance."""

    acknowledged: int
    read: int
    missing: int
    again: int


def count_delivery(acknowledged: Iterable[Records], read: Iterable[Records]) -> DeliveryCounts:
    """Compare both sides, record by record."""
    sent, _ = _by_partition(acknowledged)
    received, reads = _by_partition(read)
    missing = sum(len(numbers - received.get(name, set())) for name, numbers in sent.items())
    distinct = sum(map(len, received.values()))
    return DeliveryCounts(
        acknowledged=sum(map(len, sent.values())),
        read=distinct,
        missing=missing,
        again=reads - distinct,
    )


def pauses(
    records: Iterable[Records], partitions: Iterable[str], since: float, until: float
) -> dict[str, list[Pause]]:
    """All pauses of each partition from ``since`` to ``until``, which bound the first and last."""
    moments: dict[str, list[float]] = {name: [since, until] for name in sorted(partitions)}
    for at, name, _, _ in records:
        if since < at < until:
            moments[name].append(at)
    return {
        name: [Pause(name, later - earlier, earlier) for earlier, later in pairwise(sorted(times))]
        for name, times in moments.items()
    }


def longest(found: Mapping[str, Iterable[Pause]]) -> Pause:
    """The longest pause of any partition."""
    return max((one for ones in found.values() for one in ones), key=lambda pause: pause.seconds)


def per_second(records: Iterable[Records], since: float, until: float) -> list[int]:
    """The number of records in each full second from ``since``."""
    counts = [0] * max(int(until - since), 1)
    for at, _, first, last in records:
        second = int((at - since) // 1)
        if 0 <= second < len(counts):
            counts[second] += last - first + 1
    return counts


def _by_partition(records: Iterable[Records]) -> tuple[dict[str, set[int]], int]:
    """The distinct numbers by partition, and the count of all including repetitions."""
    found: dict[str, set[int]] = {}
    count = 0
    for _, name, first, last in records:
        found.setdefault(name, set()).update(range(first, last + 1))
        count += last - first + 1
    return found, count
