"""Who wrote a topic: the partitioner that explains where its keys lie.

A *placement* is a key together with a partition on which it has records. A *model* is a hash with a
number of partitions: it explains a placement if the hash, modulo the number, is the partition. A
model that has nothing to do with a topic of n partitions explains one placement in n, by chance.
So it counts as found when it explains far more than that: when so many would come about by chance
less than once in ten thousand topics, all models tried being counted in.

One model rarely explains more than the truth, but several may be true. The one that explains most
placements is taken first, then the one that explains most of what is left, and so on. What they are
tells what happened:

- one hash with several numbers of partitions: the topic has grown;
- several hashes: clients with different partitioners write to it, or did one after the other;
- none, or much that none explains: either the key does not decide (round-robin, sticky, random:
  then a key that comes again lies elsewhere), or a partitioner does that is not known here (then it
  lies where it lay).

The number of partitions is at first that of the cluster, or one more than the highest partition
seen; where that leaves much unexplained, a sample of the rest is tried with all smaller and some
larger numbers (``search``). Records without a key, or with an empty one, say nothing about a hash:
they are counted apart (librdkafka takes an empty key for none).

Chance: of k placements a model that explains each with probability c explains a share s ≥ c with
a probability of at most exp(-k·KL(s, c)), KL being the Kullback-Leibler divergence (Chernoff).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.errors import InputError
from partage.producers.keyed import KeyHash
from partage.producers.keys import Bools, Ints
from partage.producers.partitioners import ALIASES, PARTITIONERS

HASHES: Mapping[str, KeyHash] = {
    name: found
    for name, kind in {
        "murmur2": "murmur2",
        "crc32": "consistent",
        "fnv1a": "sarama",
        "sarama-reference": "sarama-reference",
    }.items()
    if (found := PARTITIONERS[kind].key_hash) is not None
}
"""The hashes that are tried, by the name that evidence has for them."""

SPREAD = "round-robin"
"""The verdict where the key does not decide, whatever the habit is."""
MIXED = "mixed"
UNKNOWN = "unknown"

CHANCE = 1e-4
"""A model counts as found when chance would do as well less often than that."""

MINOR = 0.01
"""A share of the records that may lie anywhere without making a topic a mixed one."""

SAMPLE = 5000
"""Unexplained placements of a topic that are enough to search."""

_UNSEEN = 1e-4
_MOST_COUNTS = 10_000
_SCATTERED = 0.3
_TOGETHER = 0.05
_SURE = 3.0
_ENOUGH = 5
_FAMILY = {"sarama-reference": "fnv1a"}


@dataclass(frozen=True)
class Model:
    """Keys placed by ``hash`` (a name of ``HASHES``), modulo ``partitions``."""

    hash: str
    partitions: int


@dataclass(frozen=True, eq=False)
class Tally:
    """Placements of non-empty keys of one topic, counted by the models that explain them.

    Shapes: M models, G groups. ``fits`` [G, M]; ``partition``, ``placements``, ``records`` [G];
    ``first``, ``last`` [G], of the group's records, in microseconds since 1970.
    """

    models: tuple[Model, ...]
    fits: Bools
    partition: Ints
    placements: Ints
    records: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Scatter:
    """Where keys go that come again, among what no model explains.

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

    - ``partitions``, ``from_cluster``: how many it has, and whether the cluster says so
    - ``records``, ``bytes``: [partitions]
    - ``null``, ``empty``: [partitions] records without a key, and with an empty one
    - ``keys``, ``several``: distinct non-empty keys, and those of them on several partitions
    """

    partitions: int
    from_cluster: bool
    records: Ints
    bytes: Ints
    null: Ints
    empty: Ints
    keys: int
    several: int

    @property
    def keyed(self) -> int:
        """Records with a key that is not empty."""
        return int(self.records.sum() - self.null.sum() - self.empty.sum())


@dataclass(frozen=True)
class Verdict:
    """``partitioner``: murmur2, crc32, fnv1a, round-robin, mixed or unknown. ``leading``: the hash
    of ``HASHES`` that explains most, where any does. ``partitions``: how many the topic has, at
    least."""

    partitioner: str
    partitions: int
    leading: str | None
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


def hash_named(name: str) -> str:
    """The name in ``HASHES`` of a partitioner's hash. Raises InputError where it has none."""
    if name in HASHES:
        return name
    kind = PARTITIONERS.get(ALIASES.get(name, name))
    for known, key_hash in HASHES.items():
        if kind is not None and kind.key_hash is key_hash:
            return known
    if kind is not None:
        raise InputError("--partitioner", f"{name!r} does not go by the key: nothing to work out")
    known_names = ", ".join(dict.fromkeys([*HASHES, *PARTITIONERS]))
    raise InputError("--partitioner", f"{name!r}: expected one of {known_names}")


# ---------------------------------------------------------------------- models


def significant(explained: int, placements: int, chance: float, tried: int) -> bool:
    """Whether so many of the placements are explained by more than chance."""
    if placements == 0 or explained <= chance * placements:
        return False
    share = explained / placements
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return placements * divergence > math.log(tried / CHANCE)


def choose(tally: Tally) -> list[int]:
    """The models that are found, as positions in ``tally.models``: each explains most of what those
    before it leave."""
    chosen: list[int] = []
    left = np.ones(len(tally.placements), dtype=np.bool_)
    while left.any():
        total = int(tally.placements[left].sum())
        explained = tally.placements[left] @ tally.fits[left]
        found = [
            at
            for at, model in enumerate(tally.models)
            if significant(int(explained[at]), total, 1 / model.partitions, len(tally.models))
        ]
        if not found:
            break
        best = max(found, key=lambda at: int(explained[at]))
        chosen.append(best)
        left &= ~tally.fits[:, best]
    return chosen


def unexplained(tally: Tally, chosen: Sequence[int]) -> Bools:
    """[G] which groups none of the chosen models explains."""
    explained: Bools = np.logical_or.reduce(tally.fits[:, list(chosen)], axis=1)
    return ~explained


def counts_to_try(partitions: int, keys: int, from_cluster: bool) -> range:
    """Numbers of partitions that a topic may have had: smaller ones before it grew, and larger ones
    whose last partitions no key has hit, as long as that is not too unlikely."""
    beyond = 0
    if not from_cluster and keys:
        likely = partitions * _UNSEEN ** (-1 / keys) if keys > math.log(1 / _UNSEEN) else math.inf
        beyond = int(min(likely, 2 * partitions + 100)) - partitions
    return range(2, min(partitions + beyond, _MOST_COUNTS) + 1)


def search(hashes: Mapping[str, npt.NDArray[Any]], partition: Ints, counts: range) -> list[Model]:
    """The models, with any of the counts, that explain a sample of placements: ``hashes`` [N] each,
    ``partition`` [N]."""
    found: list[Model] = []
    left = np.ones(len(partition), dtype=np.bool_)
    tried = len(hashes) * len(counts)
    while left.any():
        where, total = partition[left], int(left.sum())
        best: tuple[int, Model] | None = None
        for name, numbers in hashes.items():
            own = numbers[left].astype(np.int64)
            for count in counts:
                explained = int(np.count_nonzero(own % count == where))
                if (best is None or explained > best[0]) and significant(
                    explained, total, 1 / count, tried
                ):
                    best = explained, Model(name, count)
        if best is None:
            break
        found.append(best[1])
        left &= hashes[best[1].hash].astype(np.int64) % best[1].partitions != partition
    return found


# ---------------------------------------------------------------------- the verdict


@dataclass(frozen=True)
class _Writer:
    """One of those who wrote: a hash with the counts that it had, or nobody known."""

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
    """Who wrote the topic, with the evidence. ``scatter`` is of what the models that ``choose``
    takes leave unexplained."""
    chosen = choose(tally)
    partitions = max([facts.partitions, *(tally.models[at].partitions for at in chosen)])
    rest = unexplained(tally, chosen)
    rest_kind, rest_reason = _kind_of_rest(facts, tally, rest, scatter, partitions)
    writers = _writers(tally, chosen, rest, rest_kind)
    growth = _growth(tally, chosen)
    hashes = [writer for writer in writers if writer.counts]
    families = list(dict.fromkeys(_FAMILY.get(writer.name, writer.name) for writer in writers))
    evidence = _evidence(facts, tally, rest, scatter, partitions, writers, growth)
    leading = hashes[0].name if hashes else None

    if partitions == 1:
        name, reason = UNKNOWN, "it has one partition: any partitioner fits"
    elif facts.keyed == 0:
        name, reason = _without_keys(facts)
    elif not hashes:
        name, reason = rest_kind, rest_reason
    elif len(writers) > 1:
        name, reason = MIXED, _mixture(writers, rest_reason)
    else:
        name, reason = families[0], _single(hashes[0], facts, tally, rest, partitions)
    reason = "; ".join([reason, *(f"grew {step}" for step in map(_told_step, growth))])
    return Verdict(name, partitions, leading, reason, {**evidence, "reason": reason})


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


def _kind_of_rest(
    facts: Facts, tally: Tally, rest: Bools, scatter: Scatter, partitions: int
) -> tuple[str, str]:
    """What is behind the placements that no model explains: round-robin or unknown, and why."""
    by_partition = np.bincount(
        tally.partition[rest], tally.records[rest].astype(np.float64), minlength=partitions
    ).astype(np.int64)
    share = scatter.share
    if share is not None and share >= _SCATTERED:
        how = habit(by_partition)
        as_habit = f", spread as {how} does" if how else ""
        return SPREAD, f"keys that come again lie on other partitions{as_habit}"
    if share is not None and scatter.again >= _ENOUGH and share <= _TOGETHER:
        return UNKNOWN, "each key keeps to one partition, but by no hash that is known here"
    if share is None and habit(by_partition) == "round-robin":
        return SPREAD, "no key comes twice, and the partitions are more even than any hash makes"
    if facts.keys < 20:
        return UNKNOWN, f"{facts.keys} keys are too few to tell"
    if share is None:
        return UNKNOWN, "no hash that is known here fits, and no key comes twice"
    return UNKNOWN, "no hash that is known here fits, and keys only partly keep to one partition"


def _writers(tally: Tally, chosen: Sequence[int], rest: Bools, rest_kind: str) -> list[_Writer]:
    """By share of the keyed records, largest first; what is left comes last, if it is much."""
    total = int(tally.records.sum())
    if total == 0:
        return []
    by_hash: dict[str, list[int]] = {}
    for at in chosen:
        by_hash.setdefault(tally.models[at].hash, []).append(at)
    fits = {name: tally.fits[:, rows].any(axis=1) for name, rows in by_hash.items()}
    left = int(tally.records[rest].sum())
    # Some of what lies elsewhere by chance lies where a model says.
    missed = math.prod(1 - 1 / tally.models[at].partitions for at in chosen)
    share_left = min(left / total / missed, 1.0)
    if share_left < MINOR:
        share_left = 0.0
    alone = {
        name: own & ~np.any([other for key, other in fits.items() if key != name], axis=0)
        for name, own in fits.items()
    }
    weights = {name: int(tally.records[rows].sum()) for name, rows in alone.items()}
    weight = sum(weights.values()) or 1
    found = [
        _Writer(
            name,
            (1 - share_left) * weights[name] / weight,
            tuple(sorted({tally.models[at].partitions for at in by_hash[name]})),
            # with much unexplained, chance has some of it in these as well
            *(_span(tally, rows) if not share_left else (None, None)),
        )
        for name, rows in alone.items()
    ]
    found.sort(key=lambda writer: -writer.share)
    if share_left:
        found.append(_Writer(rest_kind, share_left, (), *_span(tally, rest)))
    return found


def _span(tally: Tally, rows: Bools) -> tuple[int | None, int | None]:
    if not rows.any():
        return None, None
    return int(tally.first[rows].min()), int(tally.last[rows].max())


def _growth(tally: Tally, chosen: Sequence[int]) -> list[dict[str, Any]]:
    """From one number of partitions to the next of the same hash: the last record that only the
    former explains, and the first that only the latter does."""
    steps = []
    for name in dict.fromkeys(tally.models[at].hash for at in chosen):
        own = sorted(
            (at for at in chosen if tally.models[at].hash == name),
            key=lambda at: tally.models[at].partitions,
        )
        alone = {at: tally.fits[:, at] & (tally.fits[:, own].sum(axis=1) == 1) for at in own}
        for before, after in pairwise(own):
            steps.append(
                {
                    "from": tally.models[before].partitions,
                    "to": tally.models[after].partitions,
                    "last_before": _iso(_span(tally, alone[before])[1]),
                    "at": _iso(_span(tally, alone[after])[0]),
                }
            )
    return steps


def _without_keys(facts: Facts) -> tuple[str, str]:
    free = facts.null + facts.empty
    if not facts.null.any() and np.count_nonzero(free) == 1:
        return UNKNOWN, "every key is empty: too little to tell"
    which = "has a key" if not facts.empty.any() else "has a key that is not empty"
    how = habit(free)
    return SPREAD, f"no record {which}" + (f"; spread as {how} does" if how else "")


def _single(writer: _Writer, facts: Facts, tally: Tally, rest: Bools, partitions: int) -> str:
    outside = int(tally.placements[rest].sum())
    total = int(tally.placements.sum())
    said = f"explains {total - outside:,} of {total:,} placements"
    if writer.name in _FAMILY:
        said = f"{writer.name} {said}"
    if partitions > facts.partitions:
        said += f" with {partitions} partitions, though the highest seen is {facts.partitions - 1}"
    return said


def _mixture(writers: Sequence[_Writer], rest_reason: str) -> str:
    shares = ", ".join(f"{writer.name} {_percent(writer.share)}" for writer in writers)
    if not writers[-1].counts:
        since = _iso(writers[-1].first)
        return f"{shares} of the records: {rest_reason}, first at {since}"
    spans = sorted((w.first, w.last, w.name) for w in writers if w.first is not None)
    spans = [span for span in spans if span[1] is not None]
    if len(spans) < 2:
        return f"{shares} of the records"
    (_, end, former), (start, _, latter) = spans[0], spans[1]
    assert end is not None
    assert start is not None
    if end <= start:
        return f"{shares} of the records: {former} until {_iso(end)}, {latter} from {_iso(start)}"
    return f"{shares} of the records: {latter} besides {former} since {_iso(start)}"


def _told_step(step: Mapping[str, Any]) -> str:
    return f"from {step['from']} to {step['to']} partitions, first seen {step['at']}"


def _evidence(
    facts: Facts,
    tally: Tally,
    rest: Bools,
    scatter: Scatter,
    partitions: int,
    writers: Sequence[_Writer],
    growth: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    placements = int(tally.placements.sum())
    explained = tally.placements @ tally.fits
    agreement: dict[str, float] = dict.fromkeys(HASHES, 0.0)
    for model, number in zip(tally.models, explained.tolist(), strict=True):
        if placements:
            share = round(number / placements, 6)
            agreement[model.hash] = max(agreement[model.hash], share)
    source = "cluster" if facts.from_cluster else "highest partition seen"
    return {
        "partitions": partitions,
        "partitions_from": source if partitions == facts.partitions else "the hash that fits",
        "partitions_seen": int(np.count_nonzero(facts.records)),
        "keys_tested": facts.keys,
        "keys_on_several_partitions": facts.several,
        "placements": placements,
        "agreement": agreement if placements else {},
        "chance": round(1 / partitions, 6),
        "writers": [writer.to_json() for writer in writers],
        "grew": list(growth),
        "unexplained": {
            "placements": int(tally.placements[rest].sum()),
            "records": int(tally.records[rest].sum()),
            "scatter": None if scatter.share is None else round(scatter.share, 3),
        },
        "null_keys": {"records": int(facts.null.sum()), "habit": habit(facts.null)},
        "empty_keys": {
            "records": int(facts.empty.sum()),
            "partitions": int(np.count_nonzero(facts.empty)),
        },
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _iso(micros: int | None) -> str | None:
    if micros is None:
        return None
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
