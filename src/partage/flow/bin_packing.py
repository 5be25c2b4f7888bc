"""How few bins of one size hold some items: a lower bound.

The bound L2 of Martello and Toth ("Lower bounds and reduction procedures for the bin packing
problem", 1990). Items above C / 2 are in different bins. For a threshold k, those above C - k leave
no space for an item of k or more; what the others leave free is the most that items from k to C / 2
find there, and the rest of these needs further bins. L2 is the maximum over all k, and at least the
sum of the items over C.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def fewest_bins(items: Ints, capacity: int) -> int:
    """A lower bound on the bins of this ``capacity`` that hold the items [N], none of which is
    larger than it. The sum of the items must fit into 63 bits."""
    items = np.sort(items[items > 0])[::-1]
    if not len(items):
        return 0
    assert items[0] <= capacity
    total = np.concatenate(([0], np.cumsum(items)))
    small = int(np.searchsorted(-items, -(capacity // 2), side="left"))  # first of at most C / 2
    best = -(-int(total[-1]) // capacity)
    thresholds = np.unique(items[small:])
    # items of more than C - k come first; of at least k end at ``last``
    alone = np.searchsorted(-items, -(capacity - thresholds), side="left")
    last = np.searchsorted(-items, -thresholds, side="right")
    free = (small - alone) * capacity - (total[small] - total[alone])
    rest = np.maximum(total[last] - total[small] - free, 0)
    further: list[int] = (-(-rest // capacity)).tolist()
    return max(best, small + max(further, default=0))
