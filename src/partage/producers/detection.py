"""Detect the partitioner that wrote a topic, with the evidence.

The rules that explain the partitions of its keys (``fitting``) show what happened:

- one hash: that partitioner; with several partition counts: the topic has grown;
- several hashes: clients with different partitioners write to it, or did so one after the other;
- none, or many unexplained keys: either the key does not decide (round-robin, sticky, random), and
  records of one key are on several partitions; or an unknown partitioner does, and they are on one.

Records without a key, or with an empty one, are no evidence for a hash: they are counted separately
(librdkafka treats an empty key as null). A partitioner for keys also distributes records without a
key, so these do not make a topic mixed. How they are distributed follows from how even the
partitions are: more even than random (round-robin), as even (random), or less (sticky).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.producers.fitting import HASHES, PlacementGroups, choose
from partage.units import plural

SPREAD = "round-robin"
"""The partitioner if the key does not decide, whatever the distribution is."""
MIXED = "mixed"
UNKNOWN = "unknown"

MINOR = 0.01
"""The share of unexplained records up to which a topic is not mixed."""

_FAMILY = {"sarama-reference": "fnv1a"}
_SCATTERED = 0.3
_TOGETHER = 0.05
_ENOUGH = 5
_FEW_KEYS = 20
_SURE = 3.0
"""Standard deviations."""


@dataclass(frozen=True)
class Scatter:
    """How far the records of one key are scattered, among keys that no rule explains.

    ``again``: keys with at least two records. ``excess``: their partitions beyond the first of each
    key; ``expected``: that number if the key did not matter.
    """

    again: int = 0
    excess: int = 0
    expected: float = 0.0

    @property
    def share(self) -> float | None:
        """0: each key is on one partition; 1: its records are on any. None: not known."""
        return self.excess / self.expected if self.expected > 0 else None


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """Counts of a topic.

    - ``partitions``, ``known``: their count, and whether it is known; if not, it is one more than
      the highest seen
    - ``records``, ``bytes``: [partitions]
    - ``null_records``, ``null_bytes``: [partitions] of records without a key
    - ``empty_records``: [partitions] records with an empty key
    - ``keys``, ``several``: distinct non-empty keys, and those of them on several partitions
    """

    partitions: int
    known: bool
    records: Ints
    bytes: Ints
    null_records: Ints
    null_bytes: Ints
    empty_records: Ints
    keys: int
    several: int


@dataclass(frozen=True)
class Detection:
    """``partitioner``: murmur2, crc32, fnv1a, round-robin, mixed or unknown. ``leading``: the hash
    of ``HASHES`` that explains most, if any. ``partitions``: the lowest count that the topic can
    have."""

    partitioner: str
    partitions: int
    leading: str | None
    reason: str
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class _Writer:
    """A partitioner that wrote to the topic: a hash with its partition counts (``counts``), or the
    explanation of the rest. ``share``: of records with a key; ``first``, ``last``: in microseconds
    since 1970."""

    name: str
    share: float
    counts: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "partitioner": self.name,
            "partitions": list(self.counts),
            "share": round(self.share, 6),
            "first": _iso(self.first),
            "last": _iso(self.last),
        }


def detect_partitioner(counts: TopicCounts, groups: PlacementGroups, scatter: Scatter) -> Detection:
    """The partitioner that wrote the topic, with the evidence. ``scatter``: of the keys that no
    rule found explains."""
    chosen = choose(groups)
    rest = groups.unexplained(chosen)
    partitions = max([counts.partitions, *(groups.rules[at].partitions for at in chosen)])
    rest_name, rest_reason = _unexplained_by(rest, counts, groups, scatter, partitions)
    writers = _writers(groups, chosen, rest, rest_name)
    growth = _growth(groups, chosen, rest)
    leading = writers[0].name if chosen else None

    if partitions == 1:
        name, reason = UNKNOWN, "it has one partition: any partitioner fits"
    elif not len(groups.records):
        name, reason = _without_keys(counts)
    elif leading is None:
        name, reason = rest_name, rest_reason
    elif len(writers) > 1:
        name, reason = MIXED, _mixture(writers, rest_reason)
    else:
        name = _FAMILY.get(leading, leading)
        reason = _alone(leading, counts, groups, rest, partitions)
    reason = "; ".join([reason, *_grew(growth)])
    evidence = {
        "reason": reason,
        **_counts(counts, groups, partitions),
        "writers": [writer.to_json() for writer in writers],
        "grew": growth,
        "unexplained": {
            "placements": int(groups.placements[rest].sum()),
            "records": int(groups.records[rest].sum()),
            "scatter": None if scatter.share is None else round(scatter.share, 3),
        },
    }
    return Detection(name, partitions, leading, reason, evidence)


def distribution(records: Ints) -> str | None:
    """How records whose key does not decide were distributed, judged by their counts [partitions]:
    ``round-robin`` (more even than random), ``random`` or ``sticky`` (less even: in batches, or by
    load). None: too few records."""
    count, total = len(records), int(records.sum())
    if count < 2 or total < _ENOUGH * count:
        return None
    if int(np.ptp(records)) <= 1 and total >= 10 * count:
        return "round-robin"
    free = count - 1
    mean = total / count
    dispersion = float(((records - mean) ** 2).sum()) / mean / free
    # Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is about normal
    spread = 2 / (9 * free)
    deviation = (dispersion ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    if deviation < -_SURE:
        return "round-robin"
    return "sticky" if deviation > _SURE else "random"


# ---------------------------------------------------------------------- the writers


def _unexplained_by(
    rest: Bools, counts: TopicCounts, groups: PlacementGroups, scatter: Scatter, partitions: int
) -> tuple[str, str]:
    """The explanation of placements that no rule explains: round-robin or unknown, and why."""
    records = np.zeros(partitions, dtype=np.int64)
    np.add.at(records, groups.partition[rest], groups.records[rest])
    how, share = distribution(records), scatter.share
    if share is not None and share >= _SCATTERED:
        suffix = f", spread as {how} does" if how else ""
        return SPREAD, f"keys that come again are on other partitions{suffix}"
    if share is None and how == "round-robin":
        return SPREAD, "no key comes twice, and the partitions are more even than with any hash"
    if counts.keys < _FEW_KEYS:
        return UNKNOWN, f"too few keys for a decision: {counts.keys}"
    if share is None:
        return UNKNOWN, "no known hash fits, and no key comes twice"
    if share <= _TOGETHER:
        return UNKNOWN, "each key is on one partition, but no known hash fits"
    return UNKNOWN, "no known hash fits, and only a part of the keys is on one partition"


def _writers(
    groups: PlacementGroups, chosen: Sequence[int], rest: Bools, rest_name: str
) -> list[_Writer]:
    """The hashes by their share of the records, largest first; then the rest unless it is small."""
    share_left = _share_left(groups, chosen, rest)
    by_hash = _by_hash(groups, chosen)
    fits = {name: ~groups.unexplained(own) for name, own in by_hash.items()}
    by_one = np.sum([*fits.values(), np.zeros_like(rest)], axis=0) == 1
    alone = {name: own & by_one for name, own in fits.items()}
    weights = {name: int(groups.records[own].sum()) for name, own in alone.items()}
    weight = sum(weights.values()) or 1
    found = [
        _Writer(
            name,
            (1 - share_left) * weights[name] / weight,
            tuple(sorted(groups.rules[at].partitions for at in by_hash[name])),
            *(_span(groups, own) if not share_left else (None, None)),
        )
        for name, own in alone.items()
    ]
    found.sort(key=lambda writer: -writer.share)
    if share_left:
        found.append(_Writer(rest_name, share_left, (), *_span(groups, rest)))
    return found


def _share_left(groups: PlacementGroups, chosen: Sequence[int], rest: Bools) -> float:
    """The share of records that follow no rule; 0 if it is small. Otherwise the rules explain some
    of them by chance, so that the times of explained records are not reliable."""
    total = int(groups.records.sum())
    missed = math.prod(1 - 1 / groups.rules[at].partitions for at in chosen)
    share = min(int(groups.records[rest].sum()) / max(total, 1) / missed, 1.0)
    return share if share >= MINOR else 0.0


def _growth(groups: PlacementGroups, chosen: Sequence[int], rest: Bools) -> list[dict[str, Any]]:
    """Increases of the partition count under one hash: the last record that only the earlier rule
    explains, and the first that only the later one does.

    None where many records follow no rule: a partitioner that is a variant of a hash, such as one
    that takes the absolute value of negative numbers, agrees with it modulo other counts, too."""
    if _share_left(groups, chosen, rest):
        return []
    steps = []
    sure = groups.fits[:, list(chosen)].sum(axis=1) == 1
    for name, own in _by_hash(groups, chosen).items():
        for before, after in pairwise(sorted(own, key=lambda at: groups.rules[at].partitions)):
            steps.append(
                {
                    "hash": name,
                    "from": groups.rules[before].partitions,
                    "to": groups.rules[after].partitions,
                    "last_before": _iso(_span(groups, groups.fits[:, before] & sure)[1]),
                    "at": _iso(_span(groups, groups.fits[:, after] & sure)[0]),
                }
            )
    return steps


def _by_hash(groups: PlacementGroups, chosen: Sequence[int]) -> dict[str, list[int]]:
    """The chosen rules by hash."""
    found: dict[str, list[int]] = {}
    for at in chosen:
        found.setdefault(groups.rules[at].hash, []).append(at)
    return found


def _span(groups: PlacementGroups, rows: Bools) -> tuple[int | None, int | None]:
    if not rows.any():
        return None, None
    return int(groups.first[rows].min()), int(groups.last[rows].max())


# ---------------------------------------------------------------------- the reasons


def _without_keys(counts: TopicCounts) -> tuple[str, str]:
    free = counts.null_records + counts.empty_records
    if not counts.null_records.any() and np.count_nonzero(free) == 1:
        return UNKNOWN, "every key is empty: too little for a decision"
    which = "has a key that is not empty" if counts.empty_records.any() else "has a key"
    how = distribution(free)
    return SPREAD, f"no record {which}" + (f"; spread as {how} does" if how else "")


def _alone(
    name: str, counts: TopicCounts, groups: PlacementGroups, rest: Bools, partitions: int
) -> str:
    total = int(groups.placements.sum())
    explained = total - int(groups.placements[rest].sum())
    text = f"{name} explains {explained:,} of {total:,} placements"
    if partitions > counts.partitions:
        number = plural(partitions, "partition")
        text += f" with {number}, though the highest seen is {counts.partitions - 1}"
    return text


def _mixture(writers: Sequence[_Writer], rest_reason: str) -> str:
    shares = ", ".join(f"{writer.name} {100 * writer.share:.1f} %" for writer in writers)
    text = f"{shares} of the records with a key"
    if not writers[-1].counts:
        return f"{text}: {rest_reason}, first at {_iso(writers[-1].first)}"
    spans = sorted(
        (writer.first, writer.last, writer.name)
        for writer in writers
        if writer.first is not None and writer.last is not None
    )
    if len(spans) < 2:
        return text
    (_, end, former), (start, _, latter) = spans[:2]
    if end <= start:
        return f"{text}: {former} until {_iso(end)}, {latter} from {_iso(start)}"
    return f"{text}: {latter} besides {former} since {_iso(start)}"


def _grew(growth: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each increase once, whichever hashes show it."""
    seen: dict[tuple[int, int], str | None] = {}
    for step in growth:
        seen.setdefault((step["from"], step["to"]), step["at"])
    return [
        f"grew from {before} to {after} partitions" + (f", first seen {at}" if at else "")
        for (before, after), at in seen.items()
    ]


def _counts(counts: TopicCounts, groups: PlacementGroups, partitions: int) -> dict[str, Any]:
    """The counted part of the evidence."""
    placements = int(groups.placements.sum())
    agreement: dict[str, float] = dict.fromkeys(HASHES, 0.0) if placements else {}
    for rule, fits in zip(groups.rules, groups.fits.T, strict=True):
        if placements:
            share = round(int(groups.placements[fits].sum()) / placements, 6)
            agreement[rule.hash] = max(agreement[rule.hash], share)
    source = "given" if counts.known else "highest seen"
    return {
        "partitions": partitions,
        "partitions_from": source if partitions == counts.partitions else "the hash that fits",
        "partitions_seen": int(np.count_nonzero(counts.records)),
        "keys": counts.keys,
        "keys_on_several_partitions": counts.several,
        "placements": placements,
        "agreement": agreement,
        "chance": round(1 / partitions, 6),
        "null_keys": {
            "records": int(counts.null_records.sum()),
            "habit": distribution(counts.null_records),
        },
        "empty_keys": {
            "records": int(counts.empty_records.sum()),
            "partitions": int(np.count_nonzero(counts.empty_records)),
        },
    }


def _iso(micros: int | None) -> str | None:
    if micros is None:
        return None
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
