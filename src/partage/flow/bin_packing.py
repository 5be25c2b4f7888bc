"""How few bins of one size hold some items: a lower bound.

The bound L2 of Martello and Toth ("Lower bounds and reduction procedures for the bin packing
problem", Discrete Applied Mathematics 28, 1990). Items above C / 2 are in different bins. For a
threshold k, those above C - k leave no space for an item of k or more; what the others leave free
is the most that items from k to C / 2 find there, and the rest of these needs further bins. L2 is
the maximum over all k, and at least the sum of the items over C.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints


def fewest_bins(items: Ints, capacity: int) -> int:
    """A lower bound on the bins of this ``capacity`` that hold the items [N], none of which is
    larger than it. The sum of the items must fit into 63 bits."""
    size, count = np.unique(items[items > 0], return_counts=True)
    if not len(size):
        return 0
    return int(fewest_bins_each(size, count[None, :], capacity)[0])


def fewest_bins_each(size: Ints, count: Ints, capacity: int) -> Ints:
    """[N] the same for several sets of items: set n has ``count[n, s]`` items of ``size[s]``; sizes
    ascend from 1."""
    assert (size <= capacity).all()
    # [N, S + 1] the number and the sum of the items below each size, and of all
    none = np.zeros((len(count), 1), dtype=np.int64)
    many, total = (np.cumsum(np.hstack((none, part)), axis=1) for part in (count, count * size))
    small = int(np.searchsorted(size, capacity // 2, side="right"))  # sizes of at most C / 2
    large = many[:, -1] - many[:, small]
    bound = np.maximum(large, -(-total[:, -1] // capacity))
    # for each threshold, the items of more than C - k come last
    alone = np.searchsorted(size, capacity - size[:small], side="right")
    free = (many[:, alone] - many[:, [small]]) * capacity - (total[:, alone] - total[:, [small]])
    rest = np.maximum(total[:, [small]] - total[:, :small] - free, 0)
    further = (-(-rest // capacity)).max(axis=1, initial=0)
    return np.asarray(np.maximum(bound, large + further))
