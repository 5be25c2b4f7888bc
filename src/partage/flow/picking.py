"""The cheapest picks: each item picks one option, and options are picked within their ranges.

The network is ``item -> option -> group``: what an option needs for itself ends there, and the rest
that it may take goes on to its group. Many networks that are asked about here have no flow. Where
one item shows it, the network is not built.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.flow.arcs import Arcs
from partage.flow.network import solve


def cheapest_picks(
    item: Ints,
    option: Ints,
    items: int,
    group: Ints,
    low: Ints,
    high: Ints,
    quota: Ints,
    cost: Ints,
) -> Ints | None:
    """Each item picks one of its arcs (item[a], option[a]) [A], in ascending order of items, at
    least total ``cost`` [A]. Option o, of group ``group[o]``, is picked ``low[o]`` to ``high[o]``
    times, group g ``quota[g]`` times. Returns the arcs picked [items]; None where there are no such
    picks."""
    lack = quota - np.bincount(group, low, minlength=len(quota)).astype(np.int64)
    if quota.sum() != items or (lack < 0).any() or (high < low).any():
        return None
    able = np.flatnonzero(high[option] > 0)
    if not np.bincount(item[able], minlength=items).all():
        return None
    # options that all their items have to pick: an item cannot pick two
    all_needed = low >= np.bincount(option, minlength=len(low))
    if (np.bincount(item[all_needed[option]], minlength=items) > 1).any():
        return None
    more = np.flatnonzero(high > low)
    groups_from = items + len(group)
    arcs = Arcs.linear(
        np.concatenate((item[able], items + more)),
        np.concatenate((items + option[able], groups_from + group[more])),
        np.concatenate((np.ones_like(able), (high - low)[more])),
        np.concatenate((cost[able], np.zeros_like(more))),
    )
    supply = np.concatenate((np.ones(items, dtype=np.int64), -low, -lack))
    # in order, flexible items would fill the first options together and leave no others there
    flow = solve(arcs, supply, scrambled=True)
    return None if flow is None else able[np.flatnonzero(flow[: len(able)])]
