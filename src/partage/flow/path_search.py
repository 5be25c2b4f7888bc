"""Paths over tight arcs, searched from both ends at once.

An arc of the residual network is *tight* if its reduced cost is 0. One side of the search holds the
nodes that are reached over tight arcs from those with excess, the other those from which demand is
reached. The side that has less to do grows by one more arc. One that cannot grow changes the
potentials of its nodes until an arc that leads further is tight, which leaves no reduced cost
negative: if a path exists, the sides meet. Then the one that found the other goes on alone, until
the search has seen several times as many nodes, for more paths of the same length, or until it
has all that is reached.

A search from one end only would see half of the network in every round. But where few units are
left, they mostly start in a dead end, or only a dead end leads to where they are missing: of 2
million nodes, for the last 27 units of a million, 430. Most rounds are of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.residual_network import Arrows, ResidualNetwork
from partage.flow.sorting import distinct

_NEVER = np.iinfo(np.int64).max
_FURTHER = 4
"""How many times as many nodes a search sees as when its sides met."""


def find_paths(
    residual: ResidualNetwork, potential: Ints, excess: Ints
) -> tuple[Arrows, Ints] | None:
    """Tight arcs with a path from excess to demand, and the nodes in the order in which they were
    seen; None where no demand can be reached. Changes the potentials."""
    ahead = _Side(residual, potential, np.flatnonzero(excess > 0), forward=True)
    behind = _Side(residual, potential, np.flatnonzero(excess < 0), forward=False)
    while True:
        one, other = sorted((ahead, behind), key=lambda side: side.effort)
        if not one.grow():
            return None
        if other.reached.take(one.front).any():
            break
    limit = _FURTHER * (one.size + other.size)
    while one.size <= limit:
        if not one.grow(approach=False):
            return one.found, one.nodes
    nodes = np.concatenate((one.nodes, other.nodes[~one.reached.take(other.nodes)]))
    return _together(one.found, other.found, len(residual.head)), nodes


class _Side:
    """The nodes ``reached`` from a ``start``, forward or backward; ``front``: those reached last;
    ``size``: how many."""

    def __init__(
        self, residual: ResidualNetwork, potential: Ints, start: Ints, *, forward: bool
    ) -> None:
        self._residual, self._potential, self._forward = residual, potential, forward
        self.reached: Bools = np.zeros(residual.nodes, dtype=np.bool_)
        self.size = 0
        self._nodes: list[Ints] = []
        self._tight: list[Arrows] = []
        self._others: list[Arrows] = []
        self._enter(start)

    @property
    def effort(self) -> int:
        """What it takes to grow: about as much as so many nodes."""
        return len(self.front) or self.size

    @property
    def nodes(self) -> Ints:
        """Those reached, in this order."""
        return np.concatenate(self._nodes)

    @property
    def found(self) -> Arrows:
        """The tight arcs at the nodes that the side has grown from."""
        return _joined(self._tight)

    def grow(self, *, approach: bool = True) -> bool:
        """Reach more nodes over one more arc; False if there are none. ``approach``: change the
        potentials where no tight arc leads further."""
        if not len(self.front):
            return self._turn_to_others(approach)
        step = self._residual.leaving if self._forward else self._residual.entering
        arcs = step(self.front)
        reduced = self._reduced_cost(arcs)
        if approach:
            self._others.append(_some(arcs, np.flatnonzero(reduced)))
        self._follow(_some(arcs, np.flatnonzero(reduced == 0)))
        return True

    def _turn_to_others(self, approach: bool) -> bool:
        """Reach nodes over the arcs that were not tight when their nodes were reached. Some may be
        tight by now: the other side changes potentials, too."""
        arcs = _joined(self._others)
        arcs = _some(arcs, np.flatnonzero(~self.reached.take(self._far(arcs))))
        reduced = self._reduced_cost(arcs)
        least = int(reduced.min(initial=_NEVER))
        if least == _NEVER or (least > 0 and not approach):
            return False
        self._potential[self.nodes] += -least if self._forward else least
        self._others = [arcs]
        self._follow(_some(arcs, np.flatnonzero(reduced == least)))
        return True

    def _follow(self, tight: Arrows) -> None:
        self._tight.append(tight)
        far = self._far(tight)
        self._enter(distinct(far[~self.reached.take(far)]))

    def _enter(self, nodes: Ints) -> None:
        self.front = nodes
        self.reached[nodes] = True
        self.size += len(nodes)
        self._nodes.append(nodes)

    def _far(self, arcs: Arrows) -> Ints:
        """The ends of the arcs away from the start."""
        _, tail, head = arcs
        return head if self._forward else tail

    def _reduced_cost(self, arcs: Arrows) -> Ints:
        arc, tail, head = arcs
        cost = self._residual.cost.take(arc) + self._potential.take(tail)
        return np.asarray(cost - self._potential.take(head))


def _together(one: Arrows, other: Arrows, arcs: int) -> Arrows:
    """The arcs that one or the other has found, of so many."""
    known = np.zeros(arcs, dtype=np.bool_)
    known[one[0]] = True
    return _joined((one, _some(other, np.flatnonzero(~known.take(other[0])))))


def _joined(parts: Sequence[Arrows]) -> Arrows:
    nothing = np.zeros(0, dtype=np.int64)
    arc, tail, head = zip((nothing, nothing, nothing), *parts, strict=True)
    return np.concatenate(arc), np.concatenate(tail), np.concatenate(head)


def _some(arcs: Arrows, which: Ints) -> Arrows:
    arc, tail, head = arcs
    return arc.take(which), tail.take(which), head.take(which)
