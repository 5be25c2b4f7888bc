"""Who wrote a topic: the partitioner behind it, and what speaks for it.

The rules that explain where keys lie (``fitting``) tell what happened:

- one hash: that partitioner; with several numbers of partitions: the topic has grown;
- several hashes: clients with different partitioners write to it, or did one after the other;
- none, or much that none explains: either the key does not decide (round-robin, sticky, random:
  then a key that comes again lies elsewhere), or a partitioner does that is not known here (then it
  lies where it lay).

Records without a key, or with an empty one, say nothing about a hash: they are counted apart
(librdkafka takes an empty key for none). A partitioner for keys also has a habit for records
without one, so these do not make a topic a mixed one. What the habit is can be told from how even
the partitions are: more even than chance (round-robin), as chance (random), or less (sticky).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from partage.producers.fitting import HASHES, Tally, choose
from partage.producers.keys import Bools, Ints

SPREAD = "round-robin"
"""The verdict where the key does not decide, whatever the habit is."""
MIXED = "mixed"
UNKNOWN = "unknown"

MINOR = 0.01
"""A share of the records that may lie anywhere without making a topic a mixed one."""

_FAMILY = {"sarama-reference": "fnv1a"}
_SCATTERED = 0.3
_TOGETHER = 0.05
_ENOUGH = 5
_FEW_KEYS = 20
_SURE = 3.0
"""Standard deviations."""


@dataclass(frozen=True)
class Scatter:
    """Where keys go that come again, among what no rule explains.

    ``again``: keys with two records or more. ``excess``: their partitions beyond the first of each;
    ``expected``: how many there would be if the key did not matter.
    """

    again: int = 0
    excess: int = 0
    expected: float = 0.0

    @property
    def share(self) -> float | None:
        """0: each key keeps to one partition; 1: its records lie anywhere. None: cannot be told."""
        return self.excess / self.expected if self.expected > 0 else None


@dataclass(frozen=True, eq=False)
class Facts:
    """What is counted of a topic.

    - ``partitions``, ``known``: how many it has, and whether that is known; if not, it is one more
      than the highest seen
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
class Verdict:
    """``partitioner``: murmur2, crc32, fnv1a, round-robin, mixed or unknown. ``leading``: the hash
    of ``HASHES`` that explains most, where any does. ``partitions``: how many the topic has, at
    least."""

    partitioner: str
    partitions: int
    leading: str | None
    reason: str
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class _Writer:
    """One of those who wrote: a hash with the numbers of partitions that it had (``counts``), or
    what is behind the rest. ``share``: of records with a key; ``first``, ``last``: microseconds."""

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


def judge(facts: Facts, tally: Tally, scatter: Scatter) -> Verdict:
    """Who wrote the topic, with the evidence. ``scatter`` is of what the rules that are found leave
    unexplained."""
    chosen = choose(tally)
    rest = tally.unexplained(chosen)
    partitions = max([facts.partitions, *(tally.rules[at].partitions for at in chosen)])
    rest_name, rest_reason = _behind(rest, facts, tally, scatter, partitions)
    writers = _writers(tally, chosen, rest, rest_name)
    growth = _growth(tally, chosen, rest)
    leading = writers[0].name if chosen else None

    if partitions == 1:
        name, reason = UNKNOWN, "it has one partition: any partitioner fits"
    elif not len(tally.records):
        name, reason = _without_keys(facts)
    elif leading is None:
        name, reason = rest_name, rest_reason
    elif len(writers) > 1:
        name, reason = MIXED, _mixture(writers, rest_reason)
    else:
        name = _FAMILY.get(leading, leading)
        reason = _alone(leading, facts, tally, rest, partitions)
    reason = "; ".join([reason, *_grew(growth)])
    evidence = {
        "reason": reason,
        **_counts(facts, tally, partitions),
        "writers": [writer.to_json() for writer in writers],
        "grew": growth,
        "unexplained": {
            "placements": int(tally.placements[rest].sum()),
            "records": int(tally.records[rest].sum()),
            "scatter": None if scatter.share is None else round(scatter.share, 3),
        },
    }
    return Verdict(name, partitions, leading, reason, evidence)


def habit(records: Ints) -> str | None:
    """How records whose key does not decide were spread over the partitions, as far as counts
    tell: ``round-robin`` (more even than chance), ``random`` (as even as chance) or ``sticky``
    (in batches, or by load). None: too few."""
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


# ---------------------------------------------------------------------- who


def _behind(
    rest: Bools, facts: Facts, tally: Tally, scatter: Scatter, partitions: int
) -> tuple[str, str]:
    """What is behind the placements that no rule explains: round-robin or unknown, and why."""
    records = np.zeros(partitions, dtype=np.int64)
    np.add.at(records, tally.partition[rest], tally.records[rest])
    how, share = habit(records), scatter.share
    if share is not None and share >= _SCATTERED:
        as_habit = f", spread as {how} does" if how else ""
        return SPREAD, f"keys that come again lie on other partitions{as_habit}"
    if share is None and how == "round-robin":
        return SPREAD, "no key comes twice, and the partitions are more even than any hash makes"
    if facts.keys < _FEW_KEYS:
        return UNKNOWN, f"too few keys to tell: {facts.keys}"
    if share is None:
        return UNKNOWN, "no hash that is known here fits, and no key comes twice"
    if share <= _TOGETHER:
        return UNKNOWN, "each key keeps to one partition, but by no hash that is known here"
    return UNKNOWN, "no hash that is known here fits, and keys only partly keep to one partition"


def _writers(tally: Tally, chosen: Sequence[int], rest: Bools, rest_name: str) -> list[_Writer]:
    """The hashes by their share of the records, largest first; then the rest, if it is much."""
    share_left = _share_left(tally, chosen, rest)
    by_hash = _by_hash(tally, chosen)
    fits = {name: ~tally.unexplained(own) for name, own in by_hash.items()}
    by_one = np.sum([*fits.values(), np.zeros_like(rest)], axis=0) == 1
    alone = {name: own & by_one for name, own in fits.items()}
    weights = {name: int(tally.records[own].sum()) for name, own in alone.items()}
    weight = sum(weights.values()) or 1
    found = [
        _Writer(
            name,
            (1 - share_left) * weights[name] / weight,
            tuple(sorted(tally.rules[at].partitions for at in by_hash[name])),
            *(_span(tally, own) if not share_left else (None, None)),
        )
        for name, own in alone.items()
    ]
    found.sort(key=lambda writer: -writer.share)
    if share_left:
        found.append(_Writer(rest_name, share_left, (), *_span(tally, rest)))
    return found


def _share_left(tally: Tally, chosen: Sequence[int], rest: Bools) -> float:
    """The share of the records that lie by no rule; 0 if it is little. Where it is not, chance has
    some of them in what the rules explain, whose times then say nothing."""
    total = int(tally.records.sum())
    missed = math.prod(1 - 1 / tally.rules[at].partitions for at in chosen)
    share = min(int(tally.records[rest].sum()) / max(total, 1) / missed, 1.0)
    return share if share >= MINOR else 0.0


def _growth(tally: Tally, chosen: Sequence[int], rest: Bools) -> list[dict[str, Any]]:
    """From one number of partitions to the next of the same hash: the last record that only the
    former rule explains, and the first that only the latter does."""
    steps = []
    sure = tally.fits[:, list(chosen)].sum(axis=1) == 1
    sure &= _share_left(tally, chosen, rest) == 0
    for name, own in _by_hash(tally, chosen).items():
        for before, after in pairwise(sorted(own, key=lambda at: tally.rules[at].partitions)):
            steps.append(
                {
                    "hash": name,
                    "from": tally.rules[before].partitions,
                    "to": tally.rules[after].partitions,
                    "last_before": _iso(_span(tally, tally.fits[:, before] & sure)[1]),
                    "at": _iso(_span(tally, tally.fits[:, after] & sure)[0]),
                }
            )
    return steps


def _by_hash(tally: Tally, chosen: Sequence[int]) -> dict[str, list[int]]:
    """The chosen rules by their hash."""
    found: dict[str, list[int]] = {}
    for at in chosen:
        found.setdefault(tally.rules[at].hash, []).append(at)
    return found


def _span(tally: Tally, rows: Bools) -> tuple[int | None, int | None]:
    if not rows.any():
        return None, None
    return int(tally.first[rows].min()), int(tally.last[rows].max())


# ---------------------------------------------------------------------- why


def _without_keys(facts: Facts) -> tuple[str, str]:
    free = facts.null_records + facts.empty_records
    if not facts.null_records.any() and np.count_nonzero(free) == 1:
        return UNKNOWN, "every key is empty: too little to tell"
    which = "has a key that is not empty" if facts.empty_records.any() else "has a key"
    how = habit(free)
    return SPREAD, f"no record {which}" + (f"; spread as {how} does" if how else "")


def _alone(name: str, facts: Facts, tally: Tally, rest: Bools, partitions: int) -> str:
    total = int(tally.placements.sum())
    explained = total - int(tally.placements[rest].sum())
    said = f"{name} explains {explained:,} of {total:,} placements"
    if partitions > facts.partitions:
        said += f" with {partitions} partitions, though the highest seen is {facts.partitions - 1}"
    return said


def _mixture(writers: Sequence[_Writer], rest_reason: str) -> str:
    shares = ", ".join(f"{writer.name} {100 * writer.share:.1f} %" for writer in writers)
    said = f"{shares} of the records with a key"
    if not writers[-1].counts:
        return f"{said}: {rest_reason}, first at {_iso(writers[-1].first)}"
    spans = sorted(
        (writer.first, writer.last, writer.name)
        for writer in writers
        if writer.first is not None and writer.last is not None
    )
    if len(spans) < 2:
        return said
    (_, end, former), (start, _, latter) = spans[:2]
    if end <= start:
        return f"{said}: {former} until {_iso(end)}, {latter} from {_iso(start)}"
    return f"{said}: {latter} besides {former} since {_iso(start)}"


def _grew(growth: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each step once, whichever hashes show it."""
    seen: dict[tuple[int, int], str | None] = {}
    for step in growth:
        seen.setdefault((step["from"], step["to"]), step["at"])
    return [
        f"grew from {before} to {after} partitions" + (f", first seen {at}" if at else "")
        for (before, after), at in seen.items()
    ]


def _counts(facts: Facts, tally: Tally, partitions: int) -> dict[str, Any]:
    """The part of the evidence that is counted, before anything is made of it."""
    placements = int(tally.placements.sum())
    agreement: dict[str, float] = dict.fromkeys(HASHES, 0.0) if placements else {}
    for rule, fits in zip(tally.rules, tally.fits.T, strict=True):
        if placements:
            share = round(int(tally.placements[fits].sum()) / placements, 6)
            agreement[rule.hash] = max(agreement[rule.hash], share)
    source = "given" if facts.known else "highest seen"
    return {
        "partitions": partitions,
        "partitions_from": source if partitions == facts.partitions else "the hash that fits",
        "partitions_seen": int(np.count_nonzero(facts.records)),
        "keys": facts.keys,
        "keys_on_several_partitions": facts.several,
        "placements": placements,
        "agreement": agreement,
        "chance": round(1 / partitions, 6),
        "null_keys": {
            "records": int(facts.null_records.sum()),
            "habit": habit(facts.null_records),
        },
        "empty_keys": {
            "records": int(facts.empty_records.sum()),
            "partitions": int(np.count_nonzero(facts.empty_records)),
        },
    }


def _iso(micros: int | None) -> str | None:
    if micros is None:
        return None
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
