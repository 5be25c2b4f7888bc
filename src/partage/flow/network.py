"""A min-cost flow network with several costs, minimised one after the other, and its dual values.

OR-tools (or ``primal_dual``, where a network is large and has few different costs) finds an optimal
flow for the first cost. The dual values are shortest distances in the residual network
(Bellman-Ford). The *reduced cost* of a unit on an arc is its cost plus the distance of the arc's
tail minus the distance of its head. Every optimal flow, not only the one found, has no unit with
positive reduced cost and every unit with negative reduced cost. These are fixed, and the second
cost is minimised over the remaining ones: exactly the optimal face of the first cost. So "fairest,
then fewest moves, then best spread" needs no huge weights, and each cost has its proof.

A convex cost is that of the squares of the flow of an arc, in a window around an estimate
(``arcs``). If the optimum is outside, the window grows and the network is solved again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from partage.arrays import Ints
from partage.flow.arcs import Arcs
from partage.flow.sorting import scrambled_order

Faces = npt.NDArray[np.int8]

FREE, EMPTY, FULL = 0, 1, 2
"""The flow of an arc over all optima of a cost: any, always 0, or always its capacity (that of a
convex cost: always the same)."""

_LARGE, _VERY_LARGE = 20_000, 100_000
"""From this many arcs on, the primal-dual method is considered."""

_FEW, _FEW_OF_VERY_LARGE = 8, 64
"""Up to this many different costs, it is faster than cost scaling."""

_ROUNDS = 100
"""Rounds of the primal-dual method, if each sees the whole network, before falling back to cost
scaling."""


class Network:
    """Nodes, arcs and supplies under construction; ``arcs`` returns the numbers of those added.

    ``layers`` costs per arc, minimised in this order. ``guess``: what the dual values of the first
    roughly are, up to a constant; it only saves time. ``copy`` shares the arcs added so far.
    """

    def __init__(self, nodes: int, layers: int) -> None:
        self.nodes, self.layers = nodes, layers
        self.supply: Ints = np.zeros(nodes, dtype=np.int64)
        self.guess: Ints = np.zeros(nodes, dtype=np.int64)
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._costs: list[tuple[int, slice, Ints]] = []
        self._count = 0

    def copy(self) -> Network:
        """A copy; arcs added to it are not added to this one."""
        other = Network(self.nodes, self.layers)
        other.supply[:] = self.supply
        other.guess[:] = self.guess
        other._parts, other._costs = list(self._parts), list(self._costs)
        other._count = self._count
        return other

    def arcs(
        self,
        tail: npt.ArrayLike,
        head: npt.ArrayLike,
        capacity: npt.ArrayLike,
        costs: dict[int, npt.ArrayLike] | None = None,
    ) -> slice:
        """Add arcs; ``costs`` maps a layer to the cost of each arc (others 0)."""
        t, h, c = (
            np.ascontiguousarray(a, dtype=np.int64).ravel()
            for a in np.broadcast_arrays(tail, head, capacity)
        )
        self._parts.append((t, h, c))
        first, self._count = self._count, self._count + len(t)
        here = slice(first, self._count)
        for layer, values in (costs or {}).items():
            self._costs.append((layer, here, np.asarray(values, dtype=np.int64)))
        return here

    def push(self, tail: npt.ArrayLike, head: npt.ArrayLike, flow: npt.ArrayLike) -> None:
        """Route a fixed flow from ``tail`` to ``head`` by adjusting the supplies, without an
        arc."""
        t, h, f = np.broadcast_arrays(tail, head, flow)
        np.subtract.at(self.supply, t, f)
        np.add.at(self.supply, h, f)

    def compiled(self) -> tuple[Ints, Ints, Ints, Ints]:
        """tail [A], head [A], capacity [A], cost [layers, A]."""
        cost = np.zeros((self.layers, self._count), dtype=np.int64)
        for layer, here, values in self._costs:
            cost[layer, here] = values
        empty = np.zeros(0, dtype=np.int64)
        tail, head, capacity = zip((empty, empty, empty), *self._parts, strict=True)
        return np.concatenate(tail), np.concatenate(head), np.concatenate(capacity), cost


class Squares(Struct, eq=False):
    """Arcs with convex costs ``weight * ((base + flow)**2 - base**2)``. All arrays [B].

    ``low`` and ``high``: the window in units of flow. ``start``: flows that may be near those of an
    optimum; they only save time. ``at``: the arcs in the optimum of the network for which it was
    minimised last; empty before.
    """

    tail: Ints
    head: Ints
    capacity: Ints
    weight: Ints
    base: Ints
    low: Ints
    high: Ints
    start: npt.ArrayLike = 0
    at: slice = slice(0)

    def __post_init__(self) -> None:
        self.low = np.clip(self.low, 0, self.capacity)
        self.high = np.clip(self.high, self.low, self.capacity)


class Optimum(Struct, frozen=True, eq=False):
    """An optimal flow with, per layer, its value, its dual values and the face of all optima.

    - ``tail``, ``head`` [A]: the arcs, those of the squares last; ``flow`` [A]
    - ``values`` one per layer, without the squares
    - ``distance`` [layers, nodes]: dual values
    - ``low``, ``high`` [A] per layer that was solved: the range of the flow after this layer and
      those before it
    """

    tail: Ints
    head: Ints
    flow: Ints
    values: tuple[int, ...]
    distance: Ints
    low: list[Ints]
    high: list[Ints]

    def face(self, layer: int, at: slice = slice(None)) -> Faces:
        """FREE, EMPTY or FULL for each of some arcs, after this layer and those before it."""
        low, high = self.low[layer][at], self.high[layer][at]
        return np.where(low < high, FREE, np.where(high > 0, FULL, EMPTY)).astype(np.int8)


Check = Callable[[int, Ints], bool]
"""Given a layer and its dual values: whether the network is not the right one yet."""


def minimise(
    network: Network,
    squares: Mapping[int, Squares] | None = None,
    *,
    prove_last: bool = True,
    unfit: Check | None = None,
) -> Optimum | None:
    """The flow that minimises the costs one after the other, those of the ``squares`` by layer
    included; None when infeasible. The network is not changed.

    Without ``prove_last`` the dual values of the last cost are 0 and its face is that of the cost
    before it, which saves the time to compute them. After a layer at which the network is
    ``unfit``, those that follow are left out.
    """
    squares = squares or {}
    network = network.copy()
    for one in squares.values():
        one.at = network.arcs(one.tail, one.head, one.capacity)
    tail, head, capacity, cost = network.compiled()
    layers, arcs = cost.shape
    flow, low, high = np.zeros(arcs, dtype=np.int64), np.zeros(arcs, dtype=np.int64), capacity
    for one in squares.values():
        flow[one.at] = np.clip(one.start, 0, one.capacity)
    distance = np.zeros((layers, network.nodes), dtype=np.int64)
    lows: list[Ints] = []
    highs: list[Ints] = []
    solved = False
    for layer in range(layers):
        free = np.flatnonzero(low < high)
        part = _free_arcs(tail, head, cost[layer], low, high, free, squares.get(layer))
        convex = part.convex
        # if all costs are 0, the current flow is optimal and no arc becomes fixed
        if not solved or convex or part.cost.any():
            found = flow[free] - low[free]
            # the flow of the layer before is feasible; if it costs nothing, it is optimal, too
            if not solved or convex or part.cost.min() < 0 or part.cost @ found > 0:
                supply = network.supply.copy()
                fixed = np.flatnonzero(low)
                np.subtract.at(supply, tail[fixed], low[fixed])
                np.add.at(supply, head[fixed], low[fixed])
                again = solve(part, supply, None if solved else network.guess, found)
                if again is None:
                    return None
                flow = low.copy()
                flow[free] += again
                found = again
            solved = True
            if prove_last or layer < layers - 1:
                distance[layer] = d = _distances(network.nodes, part.exact(), found)
                difference = d[part.head] - d[part.tail]
                low, high = low.copy(), high.copy()
                high[free] = low[free] + part.cheaper(difference + 1)
                low[free] += part.cheaper(difference)
        lows.append(low)
        highs.append(high)
        if unfit is not None and unfit(layer, distance[layer]):
            break
    values = tuple(int(v) for v in cost @ flow) if layers else ()
    return Optimum(tail, head, flow, values, distance, lows, highs)


def _free_arcs(
    tail: Ints, head: Ints, cost: Ints, low: Ints, high: Ints, free: Ints, squares: Squares | None
) -> Arcs:
    """The arcs whose flow is not fixed, for flows on top of ``low``, with the cost of a layer."""
    capacity = (high - low).take(free)
    arcs = Arcs.linear(tail.take(free), head.take(free), capacity, cost.take(free))
    if squares is None:
        return arcs
    first = int(np.searchsorted(free, squares.at.start))
    here = slice(first, int(np.searchsorted(free, squares.at.stop)))
    of = free[here] - squares.at.start
    fixed = low[free[here]]
    weight, base = np.zeros_like(capacity), np.zeros_like(capacity)
    start, end = capacity.copy(), capacity.copy()
    weight[here], base[here] = squares.weight[of], squares.base[of] + fixed
    start[here] = np.clip(squares.low[of] - fixed, 0, capacity[here])
    end[here] = np.clip(squares.high[of] - fixed, 0, capacity[here])
    return Arcs(arcs.tail, arcs.head, capacity, arcs.cost, weight, base, start, end)


def solve(
    arcs: Arcs,
    supply: Ints,
    guess: Ints | None = None,
    start: Ints | None = None,
    *,
    scrambled: bool = False,
) -> Ints | None:
    """[A] an optimal flow for the supply [nodes], or None when infeasible. Dual values and faces do
    not depend on which optimum is found.

    ``guess`` [nodes]: what the dual values roughly are; ``start`` [A]: a flow that may be near the
    optimum, whatever its excess. ``scrambled``: of several optima, favour none that the order of
    the arcs suggests (large networks: always).
    """
    guess = np.zeros_like(supply) if guess is None else guess
    start = np.zeros_like(arcs.tail) if start is None else start
    if len(arcs.tail) == 0:
        return None if supply.any() else np.zeros(0, dtype=np.int64)
    if len(supply) > len(arcs.tail):
        connected = _between_connected(arcs, supply, guess)
        if connected is None:
            return None
        arcs, supply, guess = connected
    while True:
        if len(arcs.tail) < _LARGE:
            flow = _by_cost_scaling(arcs, supply, scrambled=scrambled)
        else:
            flow = _solve_large(arcs, supply, guess, start)
        if flow is None:
            return None
        outside = arcs.outside(flow)
        if not outside.any():
            return flow
        arcs = arcs.widened(outside)


def _solve_large(arcs: Arcs, supply: Ints, guess: Ints, start: Ints) -> Ints | None:
    """``solve`` in these windows after reducing nodes and arcs, by the method that suits the
    costs."""
    from partage.flow import primal_dual

    fewer, keep, fed, feeder = _without_feeders(arcs, supply)
    start = start[keep]
    connected = _between_connected(fewer, supply, guess)
    if connected is None:
        return None
    fewer, supply, guess = connected
    try:
        few = _FEW if len(arcs.tail) < _VERY_LARGE else _FEW_OF_VERY_LARGE
        if len(fewer.different_prices()) > few:
            raise primal_dual.TooManyRoundsError
        found = primal_dual.cheapest_flow(fewer, supply, guess, start, _ROUNDS)
    except primal_dual.TooManyRoundsError:
        found = _by_cost_scaling(fewer, supply)
    if found is None:
        return None
    flow = np.zeros_like(arcs.tail)
    flow[keep] = found
    np.add.at(flow, feeder, flow[fed])
    return flow


def _between_connected(arcs: Arcs, supply: Ints, guess: Ints) -> tuple[Arcs, Ints, Ints] | None:
    """The same with only the nodes that have an arc, numbered from 0: few, where most of a large
    network is decided. None when infeasible, where others have a supply."""
    some = np.zeros(len(supply), dtype=np.bool_)
    some[arcs.tail] = some[arcs.head] = True
    if supply[~some].any():
        return None
    number = np.cumsum(some) - 1
    fewer = replace(arcs, tail=number.take(arcs.tail), head=number.take(arcs.head))
    return fewer, supply[some], guess[some]


def _without_feeders(arcs: Arcs, supply: Ints) -> tuple[Arcs, Ints, Ints, Ints]:
    """Fewer arcs, which of all they are, and which of all start at the tail of another now, their
    feeder."""
    feeder = _feeders(arcs, supply)[arcs.tail]
    fed = np.flatnonzero(feeder >= 0)
    feeder = feeder[fed]
    tail, cost = arcs.tail.copy(), arcs.cost.copy()
    tail[fed], cost[fed] = arcs.tail[feeder], arcs.cost[fed] + arcs.cost[feeder]
    left = np.ones(len(tail), dtype=np.bool_)
    left[feeder] = False
    keep = np.flatnonzero(left)
    fewer = replace(arcs, tail=tail, cost=cost)
    return fewer.at(keep) if len(keep) < len(tail) else fewer, keep, fed, feeder


def _feeders(arcs: Arcs, supply: Ints) -> Ints:
    """[nodes] the only arc into a node, if it can carry all that leaves the node, or all that comes
    to the tail of the arc; or -1. Arcs that leave such a node may start at the tail of its feeder,
    and the feeder is left out."""
    nodes = len(supply)
    feeder = np.full(nodes, -1)
    feeder[arcs.head] = np.arange(len(arcs.head))
    leaving = np.bincount(arcs.tail, arcs.capacity, minlength=nodes)
    coming = np.bincount(arcs.head, arcs.capacity, minlength=nodes) + np.maximum(supply, 0)
    alone = (np.bincount(arcs.head, minlength=nodes) == 1) & (supply == 0)
    carried = np.minimum(leaving, coming[arcs.tail[feeder]])
    alone &= (arcs.capacity[feeder] >= carried) & (arcs.weight[feeder] == 0)
    # of two such nodes in a row, keep the second
    alone &= ~alone[arcs.tail[feeder]]
    return np.where(alone, feeder, -1)


def _by_cost_scaling(arcs: Arcs, supply: Ints, *, scrambled: bool = False) -> Ints | None:
    """By OR-tools' cost scaling, in these windows."""
    units, part = arcs.by_unit()
    if scrambled:
        order = scrambled_order(units.tail)
        units, part = units.at(order), part[order]
    solver = SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(units.tail, units.head, units.capacity, units.cost)
    known = min(len(supply), solver.num_nodes())
    if supply[known:].any():
        return None
    solver.set_nodes_supplies(np.arange(known), supply[:known])
    status = solver.solve()
    if status == solver.OPTIMAL:
        flow = np.asarray(solver.flows(np.arange(len(part))), dtype=np.int64)
        return np.bincount(part, flow, minlength=len(arcs.tail)).astype(np.int64)
    if status in (solver.INFEASIBLE, solver.UNBALANCED):
        return None
    raise RuntimeError(f"min-cost flow: the solver answered {status!r}")


def _distances(nodes: int, arcs: Arcs, flow: Ints) -> Ints:
    """Shortest distances from any node in the residual network of an optimal flow (all <= 0)."""
    more, last = arcs.next_unit(flow), arcs.last_unit(flow)
    forward, backward = np.flatnonzero(more[1] > 0), np.flatnonzero(last[1] > 0)
    start = np.concatenate((arcs.tail.take(forward), arcs.head.take(backward)))
    end = np.concatenate((arcs.head.take(forward), arcs.tail.take(backward)))
    length = np.concatenate((more[0].take(forward), -last[0].take(backward)))
    distance = np.zeros(nodes, dtype=np.int64)
    some = np.flatnonzero(length < 0)
    for _ in range(nodes + 1):
        reach, to = distance.take(start.take(some)) + length.take(some), end.take(some)
        closer = np.flatnonzero(reach < distance.take(to))
        if not len(closer):
            return distance
        to = to.take(closer)
        np.minimum.at(distance, to, reach.take(closer))
        changed = np.zeros(nodes, dtype=np.bool_)
        changed[to] = True
        some = np.flatnonzero(changed.take(start))
    raise RuntimeError("min-cost flow: a negative cycle in a flow reported as optimal")
