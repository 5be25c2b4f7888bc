"""The rack rule: as many distinct racks as possible, then as few replicas per rack as possible."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from partage.arrays import Bools, Ints


def max_per_rack(sizes: Iterable[int], replicas: int) -> int:
    """The smallest possible maximum of replicas in one rack, for racks of ``sizes`` brokers; all
    replicas if there are not enough brokers."""
    known = list(sizes)
    return next(
        (m for m in range(1, replicas) if sum(min(n, m) for n in known) >= replicas), replicas
    )


def keeps_rack_rule(per_rack: Collection[int], sizes: Collection[int]) -> bool:
    """Whether a partition with ``per_rack`` replicas in the racks that it uses keeps the rule."""
    used = sum(n > 0 for n in per_rack)
    replicas = sum(per_rack)
    return used >= min(replicas, len(sizes)) and max(per_rack) <= max_per_rack(sizes, replicas)


def rows_that_break_the_rule(rack: Ints, sizes: Collection[int]) -> Bools:
    """[P] whether partitions with their replicas in these racks [P, R], -1 padded, break it."""
    count = np.zeros((len(rack), int(rack.max(initial=0)) + 1), dtype=np.int16)
    rows = np.arange(len(rack))
    for column in rack.T:
        there = column >= 0
        count[rows[there], column[there]] += 1
    replicas, used = (rack >= 0).sum(axis=1), (count > 0).sum(axis=1)
    most = np.array([max_per_rack(sizes, n) for n in range(rack.shape[1] + 1)])
    return np.asarray(
        (used < np.minimum(replicas, len(sizes))) | (count.max(axis=1) > most[replicas])
    )
