"""What some slot must take at least where items have weights and may only go to some of the slots.

Take any set of slots: the items that may go nowhere else weigh, with what the slots hold anyway and
divided by their number, on some slot of the set. The set that gives most is found by maximum flow:
at a level that all slots may be filled to, items that find no room are cut off with the slots they
may go to, which is a set that asks for a higher level; until none does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.graph.python.max_flow import SimpleMaxFlow

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bottleneck:
    """``level``: what the fullest slot holds at least, by ``slots`` [bool, E], the set that asks
    for it. ``flow`` [pairs]: items divided among their slots, filled up to the level."""

    level: int
    slots: npt.NDArray[np.bool_]
    flow: Ints


def find_bottleneck(item: Ints, slot: Ints, weight: Ints, base: Ints) -> Bottleneck:
    """The set of slots that asks for the highest level.

    ``item``, ``slot`` [pairs]: which item may go where; ``weight`` [I] of the items, ``base`` [E]
    what the slots hold anyway, both whole and not below 0. At least one slot.
    """
    items, slots = len(weight), len(base)
    source, sink = items + slots, items + slots + 1
    total = int(weight.sum())
    inside = np.ones(slots, dtype=np.bool_)
    level = -(-int(weight.sum() + base.sum()) // slots)
    while True:
        network = SimpleMaxFlow()
        network.add_arcs_with_capacity(np.full(items, source), np.arange(items), weight)
        pairs = network.add_arcs_with_capacity(item, items + slot, weight[item])
        room = np.maximum(level - base, 0)
        network.add_arcs_with_capacity(items + np.arange(slots), np.full(slots, sink), room)
        status = network.solve(source, sink)
        if status != network.OPTIMAL:
            raise RuntimeError(f"max flow: the solver answered {status!r}")
        if network.optimal_flow() == total:
            break
        side = np.array(network.get_source_side_min_cut(), dtype=np.int64)
        member = side[(side >= items) & (side < items + slots)] - items
        if len(member) == 0:
            break
        inside = np.zeros(slots, dtype=np.bool_)
        inside[member] = True
        # what lies wholly inside, and what stays there anyway
        outside = np.zeros(items, dtype=np.bool_)
        outside[item[~inside[slot]]] = True
        higher = -(-int(weight[~outside].sum() + base[inside].sum()) // len(member))
        if higher <= level:
            break
        level = higher
    return Bottleneck(level, inside, np.asarray(network.flows(pairs), dtype=np.int64))
