"""What can still be routed in a network that has a flow.

Which of several optimal flows is found depends on the order in which the solver meets the arcs.
That order is scrambled here: in the order of the nodes, flexible items would fill the first slots
together and leave few other items there to reassign.
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
    """Every arc in both directions, ordered by tail, with the cost of the next unit that way and
    how many units have it."""

    def __init__(self, arcs: Arcs, flow: Ints, nodes: int) -> None:
        self._arcs, self.flow = arcs, flow
        count = len(flow)
        start = np.concatenate((arcs.tail, arcs.head))
        order = scrambled_order(start)
        place = np.empty_like(order)
        place[order] = np.arange(2 * count)
        self._back = np.concatenate((place[count:], place[:count])).take(order)
        self.nodes = nodes
        self.first = np.concatenate(([0], np.cumsum(np.bincount(start, minlength=nodes))))
        self.head = np.concatenate((arcs.head, arcs.tail)).take(order)
        self._of = order
        (price, more), (saved, back) = arcs.next_unit(flow), arcs.last_unit(flow)
        self.cost = np.concatenate((price, -saved)).take(order)
        self.residual_capacity = np.concatenate((more, back)).take(order)

    def leaving(self, nodes: Ints) -> Arrows:
        """The arcs that leave these nodes and have residual capacity."""
        arc, tail = self._at(nodes)
        some = np.flatnonzero(self.residual_capacity.take(arc) > 0)
        arc = arc.take(some)
        return arc, tail.take(some), self.head.take(arc)

    def entering(self, nodes: Ints) -> Arrows:
        """The arcs that enter these nodes and have residual capacity."""
        back, head = self._at(nodes)
        arc = self._back.take(back)
        some = np.flatnonzero(self.residual_capacity.take(arc) > 0)
        return arc.take(some), self.head.take(back.take(some)), head.take(some)

    def _at(self, nodes: Ints) -> tuple[Ints, Ints]:
        """All arcs that start at these nodes, and the node of each."""
        first = self.first[nodes]
        width = self.first[nodes + 1] - first
        end = np.cumsum(width)
        arc = np.arange(int(width.sum())) + np.repeat(first - (end - width), width)
        return arc, np.repeat(nodes, width)

    def push(self, arc: Ints, amount: Ints) -> None:
        """Route ``amount`` over different arcs."""
        count = len(self.flow)
        of = self._of[arc]
        ahead = of < count
        of = np.where(ahead, of, of - count)
        np.add.at(self.flow, of, np.where(ahead, amount, -amount))
        arcs, flow = self._arcs.at(of), self.flow[of]
        back = self._back[arc]
        there, back = np.where(ahead, arc, back), np.where(ahead, back, arc)
        self.cost[there], self.residual_capacity[there] = arcs.next_unit(flow)
        saved, self.residual_capacity[back] = arcs.last_unit(flow)
        self.cost[back] = -saved
