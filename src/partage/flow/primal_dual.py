"""A min-cost flow by maximum flows along shortest paths: for large networks with few costs.

The primal-dual method (Ford and Fulkerson, 1962), in numpy. Every unit that still has to be routed
starts at its node at once; a search by rising distance, level by level, reaches the nearest nodes
that want units; all shortest paths found that way form one network of their own, on which OR-tools
routes as much as there is room for, in one maximum flow. Lengths are reduced costs, so that what
was routed before never costs more than it must. Each round makes the nearest demand lie farther
away, so there are no more rounds than there are different path lengths. Where costs are few small
numbers, as for counting moves, changes or even shares, that is a handful; cost scaling, which does
not see this, takes ten times as long on a million arcs. Where costs are all different it is the
other way round.

Of equally good flows the one found depends on the order in which the solver meets the arcs. That
order looks random here: in the order of the nodes, items that may go anywhere go to the first slots
together, which leaves few of the others to take over from them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from ortools.graph.python.max_flow import SimpleMaxFlow

Ints = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max // 4
_MIXED = 20


class TooManyRoundsError(Exception):
    """The paths have too many different lengths for this method."""


def cheapest_flow(
    tail: Ints,
    head: Ints,
    capacity: Ints,
    cost: Ints,
    supply: Ints,
    guess: Ints,
    rounds: int,
) -> Ints | None:
    """[A] an optimal flow for arcs [A] and the supply of every node; None when none is feasible.

    ``guess`` [nodes]: potentials to start from, 0 where nothing is known; the better they are, the
    fewer rounds. Raises TooManyRoundsError when it is not done after ``rounds``.
    """
    if supply.sum() != 0:
        return None
    # arcs that earn something are full to begin with: no reduced cost left is then negative
    potential = guess.copy()
    flow = np.where(cost + potential[tail] < potential[head], capacity, 0)
    residual = _Residual(tail, head, capacity, cost, flow, len(supply))
    excess = supply.copy()
    np.subtract.at(excess, tail, flow)
    np.add.at(excess, head, flow)
    while (excess > 0).any():
        if rounds == 0:
            raise TooManyRoundsError
        rounds -= 1
        if not _augment(residual, potential, excess):
            return None
    return residual.flow()


class _Residual:
    """Every arc forth and back, ordered by tail: ``room`` says how much more each can carry."""

    def __init__(
        self, tail: Ints, head: Ints, capacity: Ints, cost: Ints, flow: Ints, nodes: int
    ) -> None:
        arcs = len(tail)
        start = np.concatenate((tail, head))
        # the solver tries the arcs of a node in this order, so that ties are not led one way
        order = np.argsort((start << _MIXED) + np.tile(_mixed(arcs), 2), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(2 * arcs)
        self.nodes = nodes
        self.first = np.concatenate(([0], np.cumsum(np.bincount(start, minlength=nodes))))
        self.tail = start[order]
        self.head = np.concatenate((head, tail))[order]
        self.cost = np.concatenate((cost, -cost))[order]
        self.room = np.concatenate((capacity - flow, flow))[order]
        self.other_way = np.concatenate((place[arcs:], place[:arcs]))[order]
        self._back = place[arcs:]

    def leaving(self, nodes: Ints) -> Ints:
        """The arcs with room that leave these nodes."""
        first = self.first[nodes]
        width = self.first[nodes + 1] - first
        end = np.cumsum(width)
        arc = np.arange(int(width.sum())) + np.repeat(first - (end - width), width)
        return np.asarray(arc[self.room[arc] > 0], dtype=np.int64)

    def push(self, arc: Ints, amount: Ints) -> None:
        """Route ``amount`` over different arcs."""
        self.room[arc] -= amount
        self.room[self.other_way[arc]] += amount

    def flow(self) -> Ints:
        """[A] per arc as it was given."""
        return np.asarray(self.room[self._back], dtype=np.int64)


def _augment(residual: _Residual, potential: Ints, excess: Ints) -> bool:
    """One round: route all that the shortest paths to the nearest demand can carry; updates the
    room, the potentials and the excess. False when no demand can be reached."""
    found = _shortest(residual, potential, excess)
    if found is None:
        return False
    node, distance, arc, level = found
    potential[node] += distance[node] - level
    # nodes beyond the level have the distance at which they were seen, which is larger
    arc = arc[distance[residual.head[arc]] <= level]
    tail, head = residual.tail[arc], residual.head[arc]
    tight = residual.cost[arc] + potential[tail] == potential[head]
    arc, tail, head = arc[tight], tail[tight], head[tight]
    sources, sinks = node[excess[node] > 0], node[excess[node] < 0]
    number = np.empty(residual.nodes, dtype=np.int64)
    number[node] = np.arange(len(node))
    source, sink = len(node), len(node) + 1
    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.concatenate((number[tail], np.full(len(sources), source), number[sinks])),
        np.concatenate((number[head], number[sources], np.full(len(sinks), sink))),
        np.concatenate((residual.room[arc], excess[sources], -excess[sinks])),
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
    residual: _Residual, potential: Ints, excess: Ints
) -> tuple[Ints, Ints, Ints, int] | None:
    """Distances from the nodes with excess up to the nearest node that wants some.

    Returns the nodes reached, the distance of every node (too large beyond the level), the arcs
    among which those of all shortest paths are, and the level, the distance of the nearest.
    """
    distance = np.full(residual.nodes, _FAR)
    front = np.flatnonzero(excess > 0)
    distance[front] = level = 0
    reached: list[Ints] = []
    arcs: list[Ints] = []
    seen: list[Ints] = []
    there = False
    while True:
        while len(front):
            reached.append(front)
            there = there or bool((excess[front] < 0).any())
            arc = residual.leaving(front)
            tail, head = residual.tail[arc], residual.head[arc]
            reach = level + residual.cost[arc] + potential[tail] - potential[head]
            shorter = reach <= distance[head]
            arc, head, reach = arc[shorter], head[shorter], reach[shorter]
            arcs.append(arc)
            near = head[reach == level]
            near = near[distance[near] > level]
            distance[near] = level
            front = _distinct(near, residual.nodes)
            if not there:
                far = reach > level
                np.minimum.at(distance, head[far], reach[far])
                seen.append(head[far])
        if there:
            return np.concatenate(reached), distance, np.concatenate(arcs), level
        waiting = np.concatenate(seen)
        waiting = waiting[distance[waiting] > level]
        if len(waiting) == 0:
            return None
        level = int(distance[waiting].min())
        front = _distinct(waiting[distance[waiting] == level], residual.nodes)
        seen = [waiting]


def _mixed(count: int) -> Ints:
    """[count] numbers of ``_MIXED`` bits that look random, always the same."""
    number = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(number >> np.uint64(64 - _MIXED), dtype=np.int64)


def _distinct(values: Ints, limit: int) -> Ints:
    """The different values, ascending; all are below ``limit``."""
    if 20 * len(values) < limit:
        return np.unique(values)
    mark = np.zeros(limit, dtype=np.bool_)
    mark[values] = True
    return np.flatnonzero(mark)
