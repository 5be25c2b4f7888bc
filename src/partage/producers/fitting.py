"""Which hashes explain the partitions of a topic's keys.

A *placement* is a key together with a partition that has records of it. A *rule* is a hash with a
number of partitions; it explains a placement if the hash modulo that number is the partition. By
chance, an unrelated rule explains one in n placements of a topic with n partitions. A rule counts
as found if it explains significantly more: chance would do so in less than one of ten thousand
topics, with all rules tried taken into account.

Several rules may be true. The one that explains most placements is taken first, then the one that
explains most of the rest, and so on.

The number of partitions is the known one, or else one more than the highest seen. If placements
remain unexplained, a sample of them is tried with all smaller and some larger numbers (``search``):
the topic may have grown, or no key may have hit its last partitions.

Significance: of k placements, a rule that explains each with probability c explains a share s ≥ c
with a probability of at most exp(-k·KL(s, c)), with KL the Kullback-Leibler divergence (Chernoff).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Ints
from partage.errors import InputError
from partage.producers.hash_partitioner import KeyHash
from partage.producers.partitioners import ALIASES, PARTITIONERS, partitioner_named
from partage.producers.partitioners.consistent import CONSISTENT
from partage.producers.partitioners.fnv1a import FNV1A, FNV1A_REFERENCE
from partage.producers.partitioners.murmur2 import MURMUR2

HASHES: Mapping[str, KeyHash] = {
    "murmur2": MURMUR2,
    "crc32": CONSISTENT,
    "fnv1a": FNV1A,
    "sarama-reference": FNV1A_REFERENCE,
}
"""The hashes that are tried."""

EMPTY_IS_NULL = ("crc32",)
"""Hashes whose clients treat an empty key as null (librdkafka by default)."""

CHANCE = 1e-4
"""A rule counts as found if the probability of explaining as much by chance is lower."""

_UNSEEN = 1e-4
"""The lowest probability, that no key hits the last partitions, which is still considered."""

_MOST_COUNTS = 10_000


@dataclass(frozen=True)
class Rule:
    """Keys placed by ``hash`` (a name of ``HASHES``), modulo ``partitions``."""

    hash: str
    partitions: int


@dataclass(frozen=True, eq=False)
class PlacementGroups:
    """Placements of a topic's non-empty keys, grouped by partition and by the rules that explain
    them.

    Shapes: R rules, G groups. ``fits`` [G, R]: whether the rule explains the group; ``partition``,
    ``placements``, ``records`` [G]; ``first``, ``last`` [G]: of the group's records, in
    microseconds since 1970.
    """

    rules: tuple[Rule, ...]
    fits: Bools
    partition: Ints
    placements: Ints
    records: Ints
    first: Ints
    last: Ints

    def unexplained(self, chosen: Sequence[int]) -> Bools:
        """[G] whether none of the rules at these positions explains the group."""
        explained: Bools = np.logical_or.reduce(self.fits[:, list(chosen)], axis=1)
        return ~explained


def hash_named(name: str) -> str:
    """The name in ``HASHES`` of a partitioner's hash; ``module:Class`` is its own name. Raises
    InputError if there is no such partitioner, or if it has no hash."""
    if name in HASHES:
        return name
    if is_custom(name):
        partitioner_named(name)
        return name
    spec = PARTITIONERS.get(ALIASES.get(name, name))
    if spec is None:
        expected = ", ".join(dict.fromkeys([*HASHES, *PARTITIONERS]))
        raise InputError("partitioner", f"{name!r}: expected one of {expected}, or module:Class")
    for known, key_hash in HASHES.items():
        if spec.key_hash is key_hash:
            return known
    raise InputError("partitioner", f"{name!r}: does not use the key, nothing to compute")


def is_custom(name: str) -> bool:
    """Whether the name is that of a user's partitioner."""
    return ":" in name


def significant(explained: int, placements: int, chance: float, tried: int) -> bool:
    """Whether a rule, one of ``tried``, explains more placements than chance would."""
    if placements == 0 or explained <= chance * placements:
        return False
    share = explained / placements
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return placements * divergence > math.log(tried / CHANCE)


def choose(groups: PlacementGroups) -> list[int]:
    """The rules found, as positions in ``groups.rules``, each explaining most of what those before
    it leave unexplained."""
    chosen: list[int] = []
    left = groups.unexplained(chosen)
    while left.any():
        total = int(groups.placements[left].sum())
        explained = groups.placements[left] @ groups.fits[left]
        found = [
            at
            for at, rule in enumerate(groups.rules)
            if significant(int(explained[at]), total, 1 / rule.partitions, len(groups.rules))
        ]
        if not found:
            break
        chosen.append(max(found, key=lambda at: int(explained[at])))
        left = groups.unexplained(chosen)
    return chosen


def counts_to_try(partitions: int, keys: int, known: bool) -> range:
    """Partition counts that a topic with so many distinct keys may have had: smaller ones before it
    grew and, unless the count is ``known``, larger ones whose last partitions no key has hit."""
    most = float(partitions)
    if keys and not known:
        # with m partitions, those from n on have no key with probability (n/m)^keys
        most = min(partitions * _UNSEEN ** (-1 / keys), 3 * partitions + 100)
    return range(2, min(int(most), _MOST_COUNTS) + 1)


def search(hashes: Mapping[str, npt.NDArray[Any]], partition: Ints, counts: range) -> list[Rule]:
    """The rules, with any of the counts, that explain a sample of N placements: ``hashes`` by name
    [N], ``partition`` [N]."""
    found: list[Rule] = []
    left = np.ones(len(partition), dtype=np.bool_)
    tried = len(hashes) * len(counts)
    while left.any():
        where, total = partition[left], int(left.sum())
        most, best = 0, None
        for name, numbers in hashes.items():
            own = numbers[left]
            for count in counts:
                explained = int(np.count_nonzero(own % count == where))
                if explained > most and significant(explained, total, 1 / count, tried):
                    most, best = explained, Rule(name, count)
        if best is None:
            break
        found.append(best)
        left &= hashes[best.hash] % best.partitions != partition
    return found
