"""What clients told, counted: was every acknowledged record also read, and where was a pause.

A pause of a partition is a stretch of time in which none of its records is acknowledged, or read,
though records come in all the time: an even pace makes it as long as the pace at least, and it is
measured from outside, in the clients, whatever caused it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Told = tuple[float, str, int, int]
"""When (seconds since 1970), partition, and the first and last number of its records."""


@dataclass(frozen=True)
class Pause:
    """Of a partition: how many seconds, and when it began (seconds since 1970)."""

    partition: str
    seconds: float
    at: float

    def to_json(self, start: float = 0.0) -> dict[str, Any]:
        """With ``at`` counted from ``start``."""
        return {
            "partition": self.partition,
            "seconds": round(self.seconds, 3),
            "at": round(self.at - start, 3),
        }


@dataclass(frozen=True)
class Accounts:
    """Records, each counted once: ``acknowledged``, ``read``, ``missing`` (acknowledged and not
    read); ``again``: times that one was read another time, as after a rebalance it may be."""

    acknowledged: int
    read: int
    missing: int
    again: int


def accounts(acknowledged: Iterable[Told], read: Iterable[Told]) -> Accounts:
    """Both sides compared, record by record."""
    sent, _ = _numbers(acknowledged)
    got, times = _numbers(read)
    missing = sum(len(numbers - got.get(name, set())) for name, numbers in sent.items())
    return Accounts(
        acknowledged=sum(map(len, sent.values())),
        read=sum(map(len, got.values())),
        missing=missing,
        again=times - sum(map(len, got.values())),
    )


def pauses(
    told: Iterable[Told], partitions: Iterable[str], since: float, until: float
) -> dict[str, list[Pause]]:
    """All stretches of each partition between two moments, which are ends of pauses themselves."""
    moments: dict[str, list[float]] = {name: [since, until] for name in sorted(partitions)}
    for at, name, _, _ in told:
        if since < at < until:
            moments[name].append(at)
    return {
        name: [Pause(name, later - earlier, earlier) for earlier, later in pairwise(sorted(times))]
        for name, times in moments.items()
    }


def longest(found: Mapping[str, Iterable[Pause]]) -> Pause:
    """The longest of all."""
    return max((one for ones in found.values() for one in ones), key=lambda pause: pause.seconds)


def each_second(told: Iterable[Told], since: float, until: float) -> list[int]:
    """Records in each whole second from ``since`` on."""
    counts = [0] * max(int(until - since), 1)
    for at, _, first, last in told:
        second = int((at - since) // 1)
        if 0 <= second < len(counts):
            counts[second] += last - first + 1
    return counts


def _numbers(told: Iterable[Told]) -> tuple[dict[str, set[int]], int]:
    """The numbers of each partition, and how many there were with those that came again."""
    found: dict[str, set[int]] = {}
    times = 0
    for _, name, first, last in told:
        found.setdefault(name, set()).update(range(first, last + 1))
        times += last - first + 1
    return found, times
