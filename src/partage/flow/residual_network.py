"""What can still be routed in a network that has a flow.

Which of several optimal flows is found depends on the order in which the solver meets the arcs of a
node. That order is scrambled here: in the order of the nodes, flexible items would fill the first
slots together and leave few other items there to reassign.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from partage.arrays import Ints
from partage.flow.arcs import Arcs
from partage.flow.sorting import scrambled_order

Arrows: TypeAlias = tuple[Ints, Ints, Ints]
"""Some arcs, their tails and their heads."""


class ResidualNetwork:
    """Every arc in both directions: arc a of A as a, and back as A + a, with the cost of the next
    unit that way and how many units have it."""

    def __init__(self, arcs: Arcs, flow: Ints, nodes: int) -> None:
        self._arcs, self.flow, self.nodes = arcs, flow, nodes
        start = np.concatenate((arcs.tail, arcs.head))
        self._by_start = scrambled_order(start)
        self._first = np.concatenate(([0], np.cumsum(np.bincount(start, minlength=nodes))))
        self.head = np.concatenate((arcs.head, arcs.tail))
        (price, more), (saved, back) = arcs.next_unit(flow), arcs.last_unit(flow)
        self.cost = np.concatenate((price, -saved))
        self.residual_capacity = np.concatenate((more, back))

    def leaving(self, nodes: Ints) -> Arrows:
        """The arcs that leave these nodes and have residual capacity."""
        arc, tail = self._at(nodes)
        some = np.flatnonzero(self.residual_capacity.take(arc) > 0)
        arc = arc.take(some)
        return arc, tail.take(some), self.head.take(arc)

    def entering(self, nodes: Ints) -> Arrows:
        """The arcs that enter these nodes and have residual capacity."""
        back, head = self._at(nodes)
        arc = self._reversed(back)
        some = np.flatnonzero(self.residual_capacity.take(arc) > 0)
        return arc.take(some), self.head.take(back.take(some)), head.take(some)

    def _at(self, nodes: Ints) -> tuple[Ints, Ints]:
        """All arcs that start at these nodes, and the node of each."""
        first = self._first[nodes]
        width = self._first[nodes + 1] - first
        end = np.cumsum(width)
        place = np.arange(int(width.sum())) + np.repeat(first - (end - width), width)
        return self._by_start.take(place), np.repeat(nodes, width)

    def _reversed(self, arc: Ints) -> Ints:
        count = len(self.flow)
        return np.where(arc < count, arc + count, arc - count)

    def push(self, arc: Ints, amount: Ints) -> None:
        """Route ``amount`` over different arcs."""
        count = len(self.flow)
        ahead = arc < count
        of = np.where(ahead, arc, arc - count)
        np.add.at(self.flow, of, np.where(ahead, amount, -amount))
        arcs, flow = self._arcs.at(of), self.flow[of]
        self.cost[of], self.residual_capacity[of] = arcs.next_unit(flow)
        saved, self.residual_capacity[count + of] = arcs.last_unit(flow)
        self.cost[count + of] = -saved
