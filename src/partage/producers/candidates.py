"""What if a topic had another number of partitions: loads, skew, what moves, and a recommendation.

*Skew* is the fullest partition over the mean of all, by records or by bytes. No number of
partitions spreads one key: with n partitions the fullest holds at least the hottest key, so the
skew is at least n times that key's share (``limit``). How many consumers can work at full speed
side by side is n over the skew (``parallelism``): it grows with n until the hottest key alone keeps
a consumer busy.

A record without a key goes anywhere: such records are counted as spread evenly.

Which number is recommended: the smallest with at least as many partitions as there are consumers
(or as the topic has: a topic cannot shrink) whose skew is within the threshold, or hardly more than
the hottest key makes it anyway. Where none is, the one of the least skew: more partitions make more
of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partage.cluster import Cluster
from partage.errors import InputError
from partage.producers.detection import Verdict
from partage.producers.keys import Ints
from partage.profile import shown_key

THRESHOLD = 1.5
"""The skew up to which a recommendation is content, unless said otherwise."""

MEASURES = ("records", "bytes")

MOST_PARTITIONS = 100_000
"""More than any topic has."""

_AT_LIMIT = 1.1


@dataclass(frozen=True)
class HotKey:
    """``share``: of the topic's records and of its bytes."""

    key: bytes
    records: int
    bytes: int
    share: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "key": shown_key(self.key),
            "records": self.records,
            "bytes": self.bytes,
            "share": {name: round(share, 6) for name, share in self.share.items()},
        }


@dataclass(frozen=True, eq=False)
class Candidate:
    """A number of partitions, and what it does to a topic.

    - ``loads``: by measure, [partitions]
    - ``limit``: by measure, the least skew that any partitioner can reach
    - ``keys``, ``keys_moved``: distinct keys, and those whose next record would go to another
      partition than their latest
    - ``records_moved``: records of those keys
    - ``too_hot``: keys that no partitioner spreads, hottest first: more than a partition's share
    """

    partitions: int
    partitioner: str
    loads: Mapping[str, Ints]
    limit: Mapping[str, float]
    keys: int
    keys_moved: int
    records_moved: int
    too_hot: tuple[HotKey, ...]

    @property
    def skew(self) -> dict[str, float]:
        return {name: max_over_mean(load) for name, load in self.loads.items()}

    @property
    def gini(self) -> dict[str, float]:
        return {name: gini(load) for name, load in self.loads.items()}

    @property
    def worst(self) -> str:
        """The measure of the larger skew."""
        return max(MEASURES, key=lambda name: self.skew[name])

    @property
    def parallelism(self) -> float:
        """Consumers that can be kept busy, by the larger skew."""
        return self.partitions / max(self.skew.values())

    @property
    def moved(self) -> float:
        """The share of the keys that change partition."""
        return self.keys_moved / self.keys if self.keys else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: load.tolist() for name, load in self.loads.items()},
            "max_over_mean": _rounded(self.skew),
            "gini": _rounded(self.gini),
            "limit": _rounded(self.limit),
            "parallelism": round(self.parallelism, 3),
            "keys": self.keys,
            "keys_moved": self.keys_moved,
            "share_of_keys_moved": round(self.moved, 6),
            "records_moved": self.records_moved,
            "hot_keys": [shown_key(hot.key) for hot in self.too_hot],
        }


@dataclass(frozen=True)
class Recommendation:
    """One of the candidates, and why."""

    partitions: int
    partitioner: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "partitions": self.partitions,
            "partitioner": self.partitioner,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class TopicKeys:
    """All that is known of a topic: who wrote it, and what other numbers of partitions would do.

    ``today``: by measure, [partitions] as they are; ``candidates`` in the order asked for.
    """

    name: str
    verdict: Verdict
    today: Mapping[str, Ints]
    keys: int
    hot_keys: tuple[HotKey, ...]
    candidates: tuple[Candidate, ...]
    recommended: Recommendation

    def to_json(self) -> dict[str, Any]:
        candidates: dict[str, dict[str, Any]] = {}
        for one in self.candidates:
            candidates.setdefault(str(one.partitions), {})[one.partitioner] = one.to_json()
        return {
            "partitioner": self.verdict.partitioner,
            "evidence": self.verdict.evidence,
            "today": {
                "partitions": self.verdict.partitions,
                **{name: load.tolist() for name, load in self.today.items()},
                "max_over_mean": _rounded({k: max_over_mean(v) for k, v in self.today.items()}),
                "gini": _rounded({k: gini(v) for k, v in self.today.items()}),
            },
            "hot_keys": [hot.to_json() for hot in self.hot_keys],
            "candidates": candidates,
            "recommended": self.recommended.to_json(),
        }

    def above(self, threshold: float) -> list[Candidate]:
        """The candidates whose skew is above a threshold."""
        return [one for one in self.candidates if max(one.skew.values()) > threshold]


def counts_named(text: str) -> list[int]:
    """``12,24,48``: each number once, ascending. Raises InputError."""
    expected = f"expected numbers of partitions, 1 to {MOST_PARTITIONS:,}, as in 12,24,48"
    counts = set()
    for part in text.split(","):
        # int() takes more than digits: signs, underscores, other scripts
        number = int(part) if re.fullmatch(r"\s*[0-9]{1,9}\s*", part) else 0
        if not 1 <= number <= MOST_PARTITIONS:
            raise InputError("--partitions", f"{text!r}: {expected}")
        counts.add(number)
    return sorted(counts)


def partition_counts(cluster: Cluster) -> dict[str, int]:
    """How many partitions each topic of a cluster has, counted to the highest number."""
    highest = np.zeros(len(cluster.topics), dtype=np.int64)
    np.maximum.at(highest, cluster.topic, cluster.partition)
    return dict(zip(cluster.topics, (highest + 1).tolist(), strict=True))


def max_over_mean(load: Ints) -> float:
    """The fullest over the mean; 1 where there is no load."""
    total = int(load.sum())
    return float(load.max()) * len(load) / total if total else 1.0


def gini(load: Ints) -> float:
    """0: all alike; towards 1: all on one. (Half the mean difference of two of them, over the
    mean.)"""
    total, count = int(load.sum()), len(load)
    if not total:
        return 0.0
    rank = 2 * np.arange(1, count + 1) - count - 1
    return float((rank * np.sort(load).astype(np.float64)).sum()) / (count * total)


def evenly(total: int, partitions: int) -> Ints:
    """[partitions] whole numbers that differ by one at most."""
    each, more = divmod(total, partitions)
    return each + (np.arange(partitions) < more).astype(np.int64)


def limits(hot_keys: Sequence[HotKey], partitions: int) -> dict[str, float]:
    """By measure, the least skew that any partitioner can reach."""
    return {
        name: max([1.0, *(hot.share[name] * partitions for hot in hot_keys)]) for name in MEASURES
    }


def too_hot(hot_keys: Sequence[HotKey], partitions: int) -> tuple[HotKey, ...]:
    """The keys that hold more than the mean of so many partitions."""
    return tuple(hot for hot in hot_keys if max(hot.share.values()) * partitions > 1)


def recommended(
    candidates: Sequence[Candidate],
    verdict: Verdict,
    threshold: float = THRESHOLD,
    consumers: int | None = None,
) -> Recommendation:
    """One of the candidates (at least one, of one partitioner). ``consumers``: so many shall have
    work at the same time; None: as many as there are partitions today."""
    need = verdict.partitions if consumers is None else consumers
    whom = f"the {need} partitions of today" if consumers is None else f"{need} consumers"
    ascending = sorted(candidates, key=lambda one: one.partitions)
    enough = [one for one in ascending if one.partitions >= need]
    content = [one for one in enough if _content(one, threshold)]
    one = min(enough, key=lambda c: max(c.skew.values())) if enough else ascending[-1]
    one = content[0] if content else one
    skew = f"{one.worst} {one.skew[one.worst]:.2f} max/mean"
    reasons = []
    if not enough:
        reasons.append(f"the largest asked for, though fewer than {whom}: {skew}")
    elif content:
        reasons.append(f"the smallest that is enough for {whom} and even enough: {skew}")
    else:
        reasons.append(f"none is within {threshold:g}, this is the least uneven: {skew}")
    if one.skew[one.worst] > threshold:
        reasons.append(_whence(one, threshold))
    reasons.append(f"keeps {one.parallelism:.1f} consumers busy")
    reasons += _moves(one)
    return Recommendation(one.partitions, one.partitioner, "; ".join(reasons))


def _content(one: Candidate, threshold: float) -> bool:
    return all(one.skew[name] <= max(threshold, _AT_LIMIT * one.limit[name]) for name in MEASURES)


def _whence(one: Candidate, threshold: float) -> str:
    """Where a skew comes from: one key, or what keys happen to fall together."""
    name = one.worst
    if one.limit[name] <= threshold:
        return "keys of unequal size fall together"
    hottest = max(one.too_hot, key=lambda hot: hot.share[name])
    return (
        f"the key {shown_key(hottest.key)} alone, {100 * hottest.share[name]:.1f} % of the {name}, "
        f"makes it {one.limit[name]:.2f} at least"
    )


def _moves(one: Candidate) -> list[str]:
    if not one.keys:
        return []
    if not one.keys_moved:
        return ["no key changes partition"]
    return [f"{100 * one.moved:.0f} % of the keys change partition"]


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
