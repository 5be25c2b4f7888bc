"""Which hashes explain where the keys of a topic lie.

A *placement* is a key together with a partition on which it has records. A *rule* is a hash with a
number of partitions: it explains a placement if the hash, modulo the number, is the partition. A
rule that has nothing to do with a topic of n partitions explains one placement in n, by chance. So
it counts as found when it explains far more than that: when so many would come about by chance less
than once in ten thousand topics, all rules tried being counted in.

One rule rarely explains more than the truth, but several may be true. The one that explains most
placements is taken first, then the one that explains most of what is left, and so on.

The number of partitions is at first the one known, or one more than the highest seen. Where that
leaves something unexplained, a sample of the rest is tried with all smaller and some larger numbers
(``search``): the topic may have grown, or no key may have hit its last partitions.

Chance: of k placements a rule that explains each with probability c explains a share s ≥ c with a
probability of at most exp(-k·KL(s, c)), KL being the Kullback-Leibler divergence (Chernoff).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.errors import InputError
from partage.producers.hash_partitioner import KeyHash
from partage.producers.keys import Bools, Ints
from partage.producers.partitioners import ALIASES, PARTITIONERS
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
"""Those whose clients take an empty key for none (librdkafka by default)."""

CHANCE = 1e-4
"""A rule counts as found when chance would do as well less often than that."""

_UNSEEN = 1e-4
"""How unlikely it may be that no key hits the last partitions."""

_MOST_COUNTS = 10_000


@dataclass(frozen=True)
class Rule:
    """Keys placed by ``hash`` (a name of ``HASHES``), modulo ``partitions``."""

    hash: str
    partitions: int


@dataclass(frozen=True, eq=False)
class Tally:
    """Placements of non-empty keys of one topic, in groups that the same rules explain.

    Shapes: R rules, G groups. ``fits`` [G, R] says which explain it; ``partition``, ``placements``,
    ``records`` [G]; ``first``, ``last`` [G], of the group's records, in microseconds since 1970.
    """

    rules: tuple[Rule, ...]
    fits: Bools
    partition: Ints
    placements: Ints
    records: Ints
    first: Ints
    last: Ints

    def unexplained(self, chosen: Sequence[int]) -> Bools:
        """[G] which groups none of the rules at these positions explains."""
        explained: Bools = np.logical_or.reduce(self.fits[:, list(chosen)], axis=1)
        return ~explained


def hash_named(name: str) -> str:
    """The name in ``HASHES`` of a partitioner's hash. Raises InputError where it has none."""
    if name in HASHES:
        return name
    spec = PARTITIONERS.get(ALIASES.get(name, name))
    if spec is None:
        expected = ", ".join(dict.fromkeys([*HASHES, *PARTITIONERS]))
        raise InputError("--partitioner", f"{name!r}: expected one of {expected}")
    for known, key_hash in HASHES.items():
        if spec.key_hash is key_hash:
            return known
    raise InputError("--partitioner", f"{name!r} does not go by the key: nothing to work out")


def significant(explained: int, placements: int, chance: float, tried: int) -> bool:
    """Whether so many of the placements are explained by more than chance, ``tried`` rules having
    had theirs."""
    if placements == 0 or explained <= chance * placements:
        return False
    share = explained / placements
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return placements * divergence > math.log(tried / CHANCE)


def choose(tally: Tally) -> list[int]:
    """The rules that are found, as positions in ``tally.rules``: each explains most of what those
    before it leave."""
    chosen: list[int] = []
    left = tally.unexplained(chosen)
    while left.any():
        total = int(tally.placements[left].sum())
        explained = tally.placements[left] @ tally.fits[left]
        found = [
            at
            for at, rule in enumerate(tally.rules)
            if significant(int(explained[at]), total, 1 / rule.partitions, len(tally.rules))
        ]
        if not found:
            break
        chosen.append(max(found, key=lambda at: int(explained[at])))
        left = tally.unexplained(chosen)
    return chosen


def counts_to_try(partitions: int, keys: int, known: bool) -> range:
    """Numbers of partitions that a topic of so many distinct keys may have had: smaller ones before
    it grew, and larger ones whose last partitions no key has hit, unless the number is ``known``.
    """
    most = float(partitions)
    if keys and not known:
        # a topic of m partitions leaves those from n on empty with probability (n/m)^keys
        most = min(partitions * _UNSEEN ** (-1 / keys), 3 * partitions + 100)
    return range(2, min(int(most), _MOST_COUNTS) + 1)


def search(hashes: Mapping[str, npt.NDArray[Any]], partition: Ints, counts: range) -> list[Rule]:
    """The rules, with any of the counts, that explain a sample of placements: ``hashes`` [N] each,
    ``partition`` [N]."""
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
