"""Other partition counts for a topic: loads, skew, moved keys.

*Skew* is the load of the fullest partition divided by the mean, by records or by bytes. No count
splits one key: with n partitions the fullest has at least the hottest key, so the skew is at least
n times that key's share (``limit``). The number of consumers that can work at full speed is n
divided by the skew (``busy``); it grows with n until the hottest key alone keeps a consumer busy.

Records without a key can go anywhere; they are counted as evenly distributed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.cluster import Cluster
from partage.errors import InputError
from partage.frames import Columns, arrow_table, data_frame, html_table
from partage.measured_loads import shown_key
from partage.measured_loads.damaged import damaged_counted
from partage.producers.detection import Detection
from partage.producers.fitting import EMPTY_IS_NULL
from partage.units import plural

MEASURES = ("records", "bytes")

EMPTY = "(empty key)"
"""The empty key in tables."""

_SHOWN = 5
"""Topics in the ``repr`` of a report."""

MAX_PARTITIONS = 100_000
"""More than any topic has."""


@dataclass(frozen=True)
class HotKey:
    """A key with its ``share`` of the topic's records and of its bytes."""

    key: bytes
    records: int
    bytes: int
    share: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "key": shown_key(self.key),
            "records": self.records,
            "bytes": self.bytes,
            "share": _rounded(self.share, 6),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A partition count with a hash, and their effect on a topic.

    - ``loads``: by measure, [partitions]
    - ``keys``, ``keys_moved``: distinct keys, and those whose next record would go to another
      partition than their latest one
    - ``records_moved``: records of those keys
    - ``hot_keys``: keys with more than the mean load of a partition, hottest first
    """

    partitions: int
    partitioner: str
    loads: Mapping[str, Ints]
    keys: int
    keys_moved: int
    records_moved: int
    hot_keys: tuple[HotKey, ...]

    @property
    def skew(self) -> dict[str, float]:
        """By measure, the fullest partition divided by the mean."""
        return {name: max_over_mean(load) for name, load in self.loads.items()}

    @property
    def gini(self) -> dict[str, float]:
        """By measure, the Gini coefficient: 0 for equal partitions, towards 1 for all on one."""
        return {name: gini(load) for name, load in self.loads.items()}

    @property
    def limit(self) -> dict[str, float]:
        """By measure, the lowest skew that any partitioner can reach."""
        return {
            name: max([1.0, *(hot.share[name] * self.partitions for hot in self.hot_keys)])
            for name in self.loads
        }

    @property
    def worst(self) -> str:
        """The measure with the larger skew."""
        return max(self.skew, key=self.skew.__getitem__)

    @property
    def busy(self) -> float:
        """Consumers that can work at full speed, by the larger skew."""
        return self.partitions / self.skew[self.worst]

    @property
    def moved(self) -> float:
        """The share of keys that change partition."""
        return self.keys_moved / self.keys if self.keys else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            **_loads_to_json(self.loads),
            "limit": _rounded(self.limit),
            "busy_consumers": round(self.busy, 3),
            "keys": self.keys,
            "keys_moved": self.keys_moved,
            "share_of_keys_moved": round(self.moved, 6),
            "records_moved": self.records_moved,
            "hot_keys": [shown_key(hot.key) for hot in self.hot_keys],
        }

    def __repr__(self) -> str:
        skew = ", ".join(f"{value:.2f} by {name}" for name, value in self.skew.items())
        return (
            f"<Candidate of {plural(self.partitions, 'partition')} with {self.partitioner}: "
            f"skew {skew}; {percent(self.moved)} of the keys move>"
        )


@dataclass(frozen=True)
class Recommendation:
    """A candidate, or today's count and partitioner (``stay``), and the reason."""

    partitions: int
    partitioner: str
    reason: str
    stay: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "partitions": self.partitions,
            "partitioner": self.partitioner,
            "reason": self.reason,
            "stay": self.stay,
        }


@dataclass(frozen=True, eq=False, repr=False)
class TopicKeys:
    """A topic: the partitioner that wrote it, and the effect of other partition counts.

    ``today``: the present loads by measure, [partitions]; ``hot_keys``: the hottest;
    ``candidates`` in the order of the request.
    """

    name: str
    detection: Detection
    today: Mapping[str, Ints]
    keys: int
    hot_keys: tuple[HotKey, ...]
    candidates: tuple[Candidate, ...]
    recommended: Recommendation

    def recommends(self, candidate: Candidate) -> bool:
        """Whether this candidate is the recommended one."""
        best = self.recommended
        wanted = best.partitions, best.partitioner
        return not best.stay and wanted == (candidate.partitions, candidate.partitioner)

    @property
    def unspreadable(self) -> dict[str, float]:
        """By measure, the hottest key's share, which no partition count can split."""
        return {
            name: max((hot.share[name] for hot in self.hot_keys), default=0.0) for name in MEASURES
        }

    def to_json(self) -> dict[str, Any]:
        candidates: dict[str, dict[str, Any]] = {}
        for one in self.candidates:
            candidates.setdefault(str(one.partitions), {})[one.partitioner] = one.to_json()
        return {
            "partitioner": self.detection.partitioner,
            "evidence": self.detection.evidence,
            "today": {"partitions": self.detection.partitions, **_loads_to_json(self.today)},
            "hot_keys": [hot.to_json() for hot in self.hot_keys],
            "unspreadable_share": _rounded(self.unspreadable, 6),
            "candidates": candidates,
            "recommended": self.recommended.to_json(),
        }

    def __repr__(self) -> str:
        return f"<TopicKeys {self._summary()}>"

    def _summary(self) -> str:
        return (
            f"{self.name}: written by {self.detection.partitioner}, "
            f"{plural(self.detection.partitions, 'partition')}, "
            f"{'stay' if self.recommended.stay else f'{self.recommended.partitions} recommended'}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class KeyReport:
    """The partitioner of each topic, and the effect of other partition counts.

    - ``topics``: each with its partitioner, hottest keys, candidates and a recommendation,
      by name, ascending
    - ``records``, ``bytes``: totals of all topics; ``rejected``: rows that are not records;
      ``reasons``: how many of these by ``source`` and ``reason``, the most frequent first, as in
      ``profile.json``; ``damaged``: files that were left out
    """

    topics: tuple[TopicKeys, ...]
    records: int
    bytes: int
    rejected: int
    damaged: tuple[str, ...] = ()
    reasons: tuple[Mapping[str, Any], ...] = ()

    def above(self, threshold: float) -> list[tuple[str, Candidate]]:
        """The candidates, by topic, whose skew by records or by bytes is above a threshold."""
        return [
            (topic.name, one)
            for topic in self.topics
            for one in topic.candidates
            if one.skew[one.worst] > threshold
        ]

    def to_json(self) -> dict[str, Any]:
        """The value that ``partage keys --json`` prints."""
        return {
            "topics": {topic.name: topic.to_json() for topic in self.topics},
            "records": self.records,
            "bytes": self.bytes,
            "rejected": self.rejected,
            "reasons": [dict(one) for one in self.reasons],
            **damaged_counted(self.damaged),
        }

    # -- in a notebook

    def __repr__(self) -> str:
        topics = [topic._summary() for topic in self.topics[:_SHOWN]]
        if len(self.topics) > _SHOWN:
            topics.append(f"and {plural(len(self.topics) - _SHOWN, 'more topic')}")
        lines = "\n  ".join([self._summary(), *topics])
        return f"<KeyReport of {lines}>"

    def _repr_html_(self) -> str:
        header = ("topic", "partitioner", "partitions", *(f"skew by {name}" for name in MEASURES))
        rows = [
            [
                topic.name,
                topic.detection.partitioner,
                topic.detection.partitions,
                *(f"{max_over_mean(topic.today[name]):.2f}" for name in MEASURES),
                shown_key(topic.hot_keys[0].key) or EMPTY if topic.hot_keys else "",
                topic.recommended.partitions,
                topic.recommended.reason,
            ]
            for topic in self.topics
        ]
        return html_table(
            self._summary(), (*header, "hottest key", "recommended partitions", "reason"), rows
        )

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per topic and candidate: ``topic``, ``partitions``,
        ``partitioner``, ``skew_records`` and ``skew_bytes`` (fullest partition / mean),
        ``gini_records``, ``gini_bytes``, ``limit_records``, ``limit_bytes`` (lower bounds on the
        skew), ``busy_consumers``, ``keys``, ``keys_moved``, ``records_moved``, ``recommended``.
        Raises PartageError where pandas is not installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> Columns:
        columns: dict[str, list[Any]] = {
            "topic": [topic.name for topic in self.topics for _ in topic.candidates]
        }
        candidates = [one for topic in self.topics for one in topic.candidates]
        for name in ("partitions", "partitioner"):
            columns[name] = [getattr(one, name) for one in candidates]
        for name in ("skew", "gini", "limit"):
            values = [getattr(one, name) for one in candidates]
            for measure in MEASURES:
                columns[f"{name}_{measure}"] = [value[measure] for value in values]
        columns["busy_consumers"] = [one.busy for one in candidates]
        for name in ("keys", "keys_moved", "records_moved"):
            columns[name] = [getattr(one, name) for one in candidates]
        columns["recommended"] = [
            topic.recommends(one) for topic in self.topics for one in topic.candidates
        ]
        return columns

    def _summary(self) -> str:
        return (
            f"{plural(self.records, 'record')}, {self.bytes:,} bytes, "
            f"{plural(len(self.topics), 'topic')}, {self.rejected:,} rejected"
        )


def parse_counts(text: str) -> list[int]:
    """Parse ``12,24,48``: each count once, ascending. Raises InputError."""
    expected = f"expected numbers of partitions, 1 to {MAX_PARTITIONS:,}, as in 12,24,48"
    counts = set()
    for part in text.split(","):
        # int() accepts more than digits: signs, underscores, other scripts
        number = int(part) if re.fullmatch(r"\s*[0-9]{1,9}\s*", part) else 0
        if not 1 <= number <= MAX_PARTITIONS:
            raise InputError("partitions", f"{text!r}: {expected}")
        counts.add(number)
    return sorted(counts)


def checked_counts(partitions: int | Sequence[int]) -> list[int]:
    """One number of partitions or several. Raises InputError for anything else."""
    several = [partitions] if isinstance(partitions, (Integral, str)) else partitions
    found: list[Any] = list(several) if isinstance(several, Iterable) else []
    whole = [int(n) for n in found if isinstance(n, Integral) and not isinstance(n, bool)]
    if not found or len(whole) < len(found) or not 1 <= min(whole) <= max(whole) <= MAX_PARTITIONS:
        expected = f"expected numbers of partitions, 1 to {MAX_PARTITIONS:,}, as in [12, 24, 48]"
        raise InputError(f"partitions {repr(partitions)[:60]}", expected)
    return whole


def partition_counts(cluster: Cluster) -> dict[str, int]:
    """The partition count of each topic of a cluster: its highest partition number plus one."""
    highest = np.zeros(len(cluster.topics), dtype=np.int64)
    np.maximum.at(highest, cluster.topic, cluster.partition)
    return dict(zip(cluster.topics, (highest + 1).tolist(), strict=True))


def max_over_mean(load: Ints) -> float:
    """The highest load divided by the mean; 1 without load."""
    total = int(load.sum())
    return float(load.max()) * len(load) / total if total else 1.0


def gini(load: Ints) -> float:
    """The Gini coefficient: half the mean difference of two loads, divided by the mean. 0: all are
    equal; towards 1: one has all."""
    total, count = int(load.sum()), len(load)
    if not total:
        return 0.0
    rank = 2 * np.arange(1, count + 1) - count - 1
    return float((rank * np.sort(load).astype(np.float64)).sum()) / (count * total)


def evenly(total: int, partitions: int) -> Ints:
    """[partitions] whole numbers that differ by at most 1."""
    each, more = divmod(total, partitions)
    return each + (np.arange(partitions) < more).astype(np.int64)


def hashed_keys(hot_keys: Sequence[HotKey], partitioner: str | None) -> tuple[HotKey, ...]:
    """Without the empty key if the partitioner treats it as null."""
    return tuple(hot for hot in hot_keys if hot.key or partitioner not in EMPTY_IS_NULL)


def too_hot(hot_keys: Sequence[HotKey], partitions: int) -> tuple[HotKey, ...]:
    """The keys with more than the mean load of so many partitions."""
    return tuple(hot for hot in hot_keys if max(hot.share.values()) * partitions > 1)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _loads_to_json(loads: Mapping[str, Ints]) -> dict[str, Any]:
    return {
        **{name: load.tolist() for name, load in loads.items()},
        "max_over_mean": _rounded({name: max_over_mean(load) for name, load in loads.items()}),
        "gini": _rounded({name: gini(load) for name, load in loads.items()}),
    }


def _rounded(values: Mapping[str, float], digits: int = 4) -> dict[str, float]:
    return {name: round(value, digits) for name, value in values.items()}
