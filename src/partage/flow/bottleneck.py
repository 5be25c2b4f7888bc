"""The set of slots that forces the highest load, where items have weights and few allowed slots.

For any set of slots, the items that may go nowhere else, plus the base load of the set, divided by
the number of slots, is a lower bound on the load of some slot in it (as in Hall's theorem). The set
with the highest bound is found by maximum flow: try to fill all slots up to a level; if some items
do not fit, the minimum cut is a set with a higher bound, which becomes the next level.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints


class Bottleneck(Struct, frozen=True, eq=False):
    """``level``: lower bound on the load of the fullest slot, forced by the set ``slots`` [bool,
    E]. ``flow`` [pairs]: how the items, if divisible, fill their slots up to the level."""

    level: int
    slots: Bools
    flow: Ints


def find_bottleneck(item: Ints, slot: Ints, weight: Ints, base: Ints) -> Bottleneck:
    """The set of slots with the highest lower bound on its load.

    ``item``, ``slot`` [pairs]: allowed pairs. ``weight`` [I] of the items, ``base`` [E] load of the
    slots without them; both integers from 0. There must be at least one slot.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    items, slots = len(weight), len(base)
    source, sink = items + slots, items + slots + 1
    total = int(weight.sum())
    chosen = np.ones(slots, dtype=np.bool_)
    level = -(-int(weight.sum() + base.sum()) // slots)
    while True:
        network = SimpleMaxFlow()
        network.add_arcs_with_capacity(np.full(items, source), np.arange(items), weight)
        pairs = network.add_arcs_with_capacity(item, items + slot, weight[item])
        free = np.maximum(level - base, 0)
        network.add_arcs_with_capacity(items + np.arange(slots), np.full(slots, sink), free)
        status = network.solve(source, sink)
        if status != network.OPTIMAL:
            raise RuntimeError(f"max flow: the solver answered {status!r}")
        if network.optimal_flow() == total:
            break
        side = np.array(network.get_source_side_min_cut(), dtype=np.int64)
        member = side[(side >= items) & (side < items + slots)] - items
        if len(member) == 0:
            break
        chosen = np.zeros(slots, dtype=np.bool_)
        chosen[member] = True
        # items whose allowed slots are all in the set, plus its base load
        outside = np.zeros(items, dtype=np.bool_)
        outside[item[~chosen[slot]]] = True
        higher = -(-int(weight[~outside].sum() + base[chosen].sum()) // len(member))
        if higher <= level:
            break
        level = higher
    return Bottleneck(level, chosen, np.asarray(network.flows(pairs), dtype=np.int64))
