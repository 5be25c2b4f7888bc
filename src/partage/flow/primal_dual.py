"""The primal-dual method for min-cost flow: for large networks with few different costs.

Ford and Fulkerson (1962), in numpy. All units that still have to be routed start at their nodes at
once. A search by increasing distance, level by level, reaches the nearest nodes with demand; the
arcs of all shortest paths form a network of their own, on which OR-tools routes as much as possible
in one maximum flow. Lengths are reduced costs, so earlier flow never has to be undone at a loss.
Each round increases the distance to the nearest demand, so there are at most as many rounds as
different path lengths. Where costs are a few small numbers, as for counting moves, changes or even
loads, that is a handful; cost scaling, which does not exploit this, takes ten times as long on a
million arcs. Where costs are all different, cost scaling is faster.

Which of several optimal flows is found depends on the order in which the solver meets the arcs.
That order is scrambled here: in the order of the nodes, flexible items would fill the first slots
together and leave few other items there to reassign.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.flow.arcs import Arcs
from partage.flow.sorting import distinct

Ints = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max // 4
_SCRAMBLER = 0x9E3779B97F4A7C15


class TooManyRoundsError(Exception):
    """The paths have too many different lengths for this method."""


def cheapest_flow(arcs: Arcs, supply: Ints, guess: Ints, start: Ints, rounds: int) -> Ints | None:
    """[A] an optimal flow for the supply of every node; None when infeasible.

    ``guess`` [nodes]: initial potentials, 0 where nothing is known; better ones need fewer rounds.
    ``start`` [A]: a flow, whatever its excess; what these potentials allow of it is kept.
    Raises TooManyRoundsError when it is not finished after ``rounds``.
    """
    if supply.sum() != 0:
        return None
    potential = guess.copy()
    # all units with negative reduced cost, and none with a positive one
    worth = potential[arcs.head] - potential[arcs.tail]
    flow = arcs.cheaper_in_windows(worth)
    if start.any():
        flow = np.clip(start, flow, arcs.cheaper_in_windows(worth + 1))
    residual = _ResidualNetwork(arcs, flow, len(supply))
    excess = supply.copy()
    np.subtract.at(excess, arcs.tail, flow)
    np.add.at(excess, arcs.head, flow)
    while (excess > 0).any():
        if rounds == 0:
            raise TooManyRoundsError
        rounds -= 1
        if not _augment(residual, potential, excess):
            return None
    return residual.flow


class _ResidualNetwork:
    """Every arc in both directions, ordered by tail, with the cost of the next unit that way and
    how many units have it."""

    def __init__(self, arcs: Arcs, flow: Ints, nodes: int) -> None:
        self._arcs, self.flow = arcs, flow
        count = len(flow)
        start = np.concatenate((arcs.tail, arcs.head))
        # the solver tries the arcs of a node in this order: scrambled, ties are not biased
        order = _scrambled_order(start)
        self._place = np.empty_like(order)
        self._place[order] = np.arange(2 * count)
        self.nodes = nodes
        self.first = np.concatenate(([0], np.cumsum(np.bincount(start, minlength=nodes))))
        self.head = np.concatenate((arcs.head, arcs.tail)).take(order)
        self._of = order
        (price, more), (saved, back) = arcs.next_unit(flow), arcs.last_unit(flow)
        self.cost = np.concatenate((price, -saved)).take(order)
        self.residual_capacity = np.concatenate((more, back)).take(order)

    def leaving(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The arcs that leave these nodes and have residual capacity, and their tails."""
        first = self.first[nodes]
        width = self.first[nodes + 1] - first
        end = np.cumsum(width)
        arc = np.arange(int(width.sum())) + np.repeat(first - (end - width), width)
        open_ = np.flatnonzero(self.residual_capacity.take(arc) > 0)
        return arc.take(open_), np.repeat(nodes, width).take(open_)

    def push(self, arc: Ints, amount: Ints) -> None:
        """Route ``amount`` over different arcs."""
        count = len(self.flow)
        of = self._of[arc]
        ahead = of < count
        of = np.where(ahead, of, of - count)
        np.add.at(self.flow, of, np.where(ahead, amount, -amount))
        arcs, flow = self._arcs.at(of), self.flow[of]
        there, back = self._place[of], self._place[of + count]
        self.cost[there], self.residual_capacity[there] = arcs.next_unit(flow)
        saved, self.residual_capacity[back] = arcs.last_unit(flow)
        self.cost[back] = -saved


def _augment(residual: _ResidualNetwork, potential: Ints, excess: Ints) -> bool:
    """One round: route as much as the shortest paths to the nearest demand can carry. Updates the
    residual capacities, the potentials and the excess. False when no demand can be reached."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    found = _shortest(residual, potential, excess)
    if found is None:
        return False
    node, distance, (arc, tail, head), level = found
    potential[node] += distance[node] - level
    sources, sinks = node[excess[node] > 0], node[excess[node] < 0]
    number = np.empty(residual.nodes, dtype=np.int64)
    number[node] = np.arange(len(node))
    source, sink = len(node), len(node) + 1
    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.concatenate((number.take(tail), np.full(len(sources), source), number[sinks])),
        np.concatenate((number.take(head), number[sources], np.full(len(sinks), sink))),
        np.concatenate((residual.residual_capacity.take(arc), excess[sources], -excess[sinks])),
    )
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise RuntimeError(f"max flow: the solver answered {status!r}")
    flow = np.asarray(solver.flows(np.arange(solver.num_arcs())), dtype=np.int64)
    inner, out_of, into = np.split(flow, (len(arc), len(arc) + len(sources)))
    used = np.flatnonzero(inner)
    residual.push(arc[used], inner[used])
    excess[sources] -= out_of
    excess[sinks] += into
    return True


def _shortest(
    residual: _ResidualNetwork, potential: Ints, excess: Ints
) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints], int] | None:
    """Distances from the nodes with excess up to the nearest node with demand.

    Returns the nodes reached, the distance of every node (too large beyond the level), the arcs
    of all shortest paths with their tails and heads, and the level, which is the distance of the
    nearest demand.
    """
    distance = np.full(residual.nodes, _FAR)
    front = np.flatnonzero(excess > 0)
    distance[front] = level = 0
    reached: list[Ints] = []
    arcs: list[tuple[Ints, Ints, Ints, Ints]] = []
    seen: list[Ints] = []
    found_demand = False
    while True:
        while len(front):
            reached.append(front)
            found_demand = found_demand or bool((excess[front] < 0).any())
            arc, tail = residual.leaving(front)
            head = residual.head.take(arc)
            reach = level + residual.cost.take(arc) + potential.take(tail) - potential.take(head)
            shorter = np.flatnonzero(reach <= distance.take(head))
            head, reach = head.take(shorter), reach.take(shorter)
            arcs.append((arc.take(shorter), tail.take(shorter), head, reach))
            near = head[reach == level]
            near = near[distance[near] > level]
            distance[near] = level
            front = _distinct(near, residual.nodes)
            if not found_demand:
                far = reach > level
                np.minimum.at(distance, head[far], reach[far])
                seen.append(head[far])
        if found_demand:
            arc, tail, head, reach = (np.concatenate(part) for part in zip(*arcs, strict=True))
            nearest = np.flatnonzero((reach <= level) & (reach == distance.take(head)))
            shortest = (arc.take(nearest), tail.take(nearest), head.take(nearest))
            return np.concatenate(reached), distance, shortest, level
        waiting = np.concatenate(seen)
        waiting = waiting[distance[waiting] > level]
        if len(waiting) == 0:
            return None
        level = int(distance[waiting].min())
        front = _distinct(waiting[distance[waiting] == level], residual.nodes)
        seen = [waiting]


def _scrambled_order(nodes: Ints) -> Ints:
    """The positions in ascending order of the nodes, equal ones in an order that looks random and
    is always the same: positions are scrambled by a bijection, sorted and found again."""
    bits = len(nodes).bit_length()
    mask, half = (1 << bits) - 1, (bits + 1) // 2
    factor = _SCRAMBLER & mask | 1
    inverse = pow(factor, -1, mask + 1)
    mixed = np.arange(len(nodes)) * factor & mask
    mixed = (mixed ^ (mixed >> half)) * factor & mask
    packed = (nodes << bits) + mixed
    packed.sort()
    mixed = (packed & mask) * inverse & mask
    return np.asarray((mixed ^ (mixed >> half)) * inverse & mask, dtype=np.int64)


def _distinct(values: Ints, limit: int) -> Ints:
    """The different values, ascending; all are below ``limit``."""
    if 20 * len(values) < limit:
        return distinct(values)
    mark = np.zeros(limit, dtype=np.bool_)
    mark[values] = True
    return np.flatnonzero(mark)
