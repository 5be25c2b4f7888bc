"""A min-cost flow network with several costs, minimised one after the other, and its dual values.

OR-tools (or ``primal_dual``, where a network is large and has few different costs) finds an optimal
flow for the first cost. The dual values are shortest distances in the residual network
(Bellman-Ford). The *reduced cost* of an arc is its cost plus the distance of its tail minus the
distance of its head. Every optimal flow, not only the one found, is 0 on arcs with positive reduced
cost and full on arcs with negative reduced cost. These arcs are fixed, and the second cost is
minimised over the remaining ones: exactly the optimal face of the first cost. So "fairest, then
fewest moves, then best spread" needs no huge weights, and each cost has its proof.

A convex cost ``weight * (base + flow)**2`` is a bundle of parallel arcs with increasing marginal
costs. Only a window around an estimate is laid out unit by unit; outside, one arc with a linear
cost that never overestimates continues it. So an optimum inside the window is an optimum of the
true cost; if it is outside, the window grows and the network is solved again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from partage.flow.primal_dual import TooManyRoundsError, cheapest_flow
from partage.flow.sorting import distinct, stable_order

Ints = npt.NDArray[np.int64]
Faces = npt.NDArray[np.int8]

FREE, EMPTY, FULL = 0, 1, 2
"""The flow of an arc over all optima of a cost: any, always 0, or always its capacity."""

_LARGE = 100_000
"""From this many arcs on, the primal-dual method is considered."""

_FEW = 64
"""Up to this many different costs, the primal-dual method is faster than cost scaling."""

_ROUNDS = 100
"""Rounds of the primal-dual method before falling back to cost scaling."""


@dataclass
class Network:
    """Nodes, arcs and supplies under construction; ``arcs`` returns the numbers of those added.

    ``layers`` costs per arc, minimised in this order. ``guess``: what the dual values of the first
    roughly are, up to a constant; it only saves time. ``copy`` shares the arcs added so far.
    """

    nodes: int
    layers: int
    supply: Ints = field(init=False)
    guess: Ints = field(init=False)
    _parts: list[tuple[Ints, Ints, Ints, Ints]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self.supply = np.zeros(self.nodes, dtype=np.int64)
        self.guess = np.zeros(self.nodes, dtype=np.int64)

    def copy(self) -> Network:
        """A copy; arcs added to it are not added to this one."""
        other = Network(self.nodes, self.layers)
        other.supply[:] = self.supply
        other.guess[:] = self.guess
        other._parts, other._count = list(self._parts), self._count
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
        cost = np.zeros((self.layers, len(t)), dtype=np.int64)
        for layer, values in (costs or {}).items():
            cost[layer] = values
        self._parts.append((t, h, c, cost))
        first, self._count = self._count, self._count + len(t)
        return slice(first, self._count)

    def push(self, tail: npt.ArrayLike, head: npt.ArrayLike, flow: npt.ArrayLike) -> None:
        """Route a fixed flow from ``tail`` to ``head`` by adjusting the supplies, without an
        arc."""
        t, h, f = np.broadcast_arrays(tail, head, flow)
        np.subtract.at(self.supply, t, f)
        np.add.at(self.supply, h, f)

    def compiled(self) -> tuple[Ints, Ints, Ints, Ints]:
        """tail [A], head [A], capacity [A], cost [layers, A]."""
        if not self._parts:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty, np.zeros((self.layers, 0), dtype=np.int64)
        tail, head, capacity, cost = zip(*self._parts, strict=True)
        return (
            np.concatenate(tail),
            np.concatenate(head),
            np.concatenate(capacity),
            np.concatenate(cost, axis=1),
        )


@dataclass(frozen=True)
class Optimum:
    """An optimal flow with, per layer, its value, its dual values and the face of all optima.

    - ``tail``, ``head`` [A]: the arcs; ``flow`` [A]
    - ``values`` one per layer
    - ``distance`` [layers, nodes]: dual values
    - ``face`` [layers, A]: FREE, EMPTY or FULL after this layer and those before it
    """

    tail: Ints
    head: Ints
    flow: Ints
    values: tuple[int, ...]
    distance: Ints
    face: Faces


Check = Callable[[int, Ints, Faces], bool]
"""Given a layer, its dual values and its face: whether the network is not the right one yet."""


def minimise(
    network: Network, *, prove_last: bool = True, unfit: Check | None = None
) -> Optimum | None:
    """The flow that minimises the costs one after the other; None when infeasible.

    Without ``prove_last`` the dual values of the last cost are 0 and its face is that of the cost
    before it, which saves the time to compute them. After a layer at which the network is
    ``unfit``, those that follow are left out.
    """
    tail, head, capacity, cost = network.compiled()
    state = np.where(capacity > 0, FREE, EMPTY).astype(np.int8)
    flow = np.zeros(len(tail), dtype=np.int64)
    distance = np.zeros((network.layers, network.nodes), dtype=np.int64)
    face = np.zeros((network.layers, len(tail)), dtype=np.int8)
    solved = False
    for layer in range(network.layers):
        free = np.flatnonzero(state == FREE)
        c = cost[layer, free]
        # if all costs are 0, the current flow is optimal and no arc becomes fixed
        if not solved or c.any():
            supply = network.supply.copy()
            full = np.flatnonzero(state == FULL)
            flow[full] = capacity[full]
            np.subtract.at(supply, tail[full], capacity[full])
            np.add.at(supply, head[full], capacity[full])
            guess = np.zeros_like(network.guess) if solved else network.guess
            found = flow[free]
            # the flow of the layer before is feasible; if it costs nothing, it is optimal, too
            if not solved or c.min() < 0 or c @ found > 0:
                again = _solve(tail[free], head[free], capacity[free], c, supply, guess)
                if again is None:
                    return None
                flow[free] = found = again
            solved = True
            if prove_last or layer < network.layers - 1:
                d = _distances(network.nodes, tail[free], head[free], c, found, capacity[free])
                reduced = c + d[tail[free]] - d[head[free]]
                distance[layer] = d
                state[free[reduced > 0]] = EMPTY
                state[free[reduced < 0]] = FULL
        face[layer] = state
        if unfit is not None and unfit(layer, distance[layer], state):
            break
    values = tuple(int(v) for v in cost @ flow) if network.layers else ()
    return Optimum(tail, head, flow, values, distance, face)


def _solve(
    tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, guess: Ints
) -> Ints | None:
    """[A] an optimal flow, or None when infeasible. Dual values and faces do not depend on which
    optimum is found."""
    if len(tail) == 0:
        return None if supply.any() else np.zeros(0, dtype=np.int64)
    if len(tail) >= _LARGE:
        return _solve_large(tail, head, capacity, cost, supply, guess)
    return _cost_scaling(tail, head, capacity, cost, supply)


def _solve_large(
    tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, guess: Ints
) -> Ints | None:
    """``_solve`` after reducing nodes and arcs, by the method that suits the costs."""
    feeder = _feeders(tail, head, capacity, supply)[tail]
    fed = np.flatnonzero(feeder >= 0)
    feeder = feeder[fed]
    start, price = tail.copy(), cost.copy()
    start[fed], price[fed] = tail[feeder], cost[fed] + cost[feeder]
    keep = np.ones(len(tail), dtype=np.bool_)
    keep[feeder] = False
    start, end, limit, price = start[keep], head[keep], capacity[keep], price[keep]
    # most nodes of a large network may have no free arc
    used = np.zeros(len(supply), dtype=np.bool_)
    used[start] = used[end] = True
    if supply[~used].any():
        return None
    number = np.cumsum(used) - 1
    start, end, supply, guess = number[start], number[end], supply[used], guess[used]
    found: Ints | None = None
    try:
        if len(distinct(price)) > _FEW:
            raise TooManyRoundsError
        found = cheapest_flow(start, end, limit, price, supply, guess, _ROUNDS)
    except TooManyRoundsError:
        found = _cost_scaling(start, end, limit, price, supply)
    if found is None:
        return None
    flow = np.zeros_like(tail)
    flow[keep] = found
    np.add.at(flow, feeder, flow[fed])
    return flow


def _feeders(tail: Ints, head: Ints, capacity: Ints, supply: Ints) -> Ints:
    """[nodes] the only arc into a node, if it can carry all that leaves the node, or -1. Arcs that
    leave such a node may start at the tail of its feeder, and the feeder is left out."""
    nodes = len(supply)
    feeder = np.full(nodes, -1)
    feeder[head] = np.arange(len(head))
    leaving = np.bincount(tail, capacity, minlength=nodes)
    alone = (np.bincount(head, minlength=nodes) == 1) & (supply == 0)
    alone &= capacity[feeder] >= leaving
    # of two such nodes in a row, keep the second
    alone &= ~alone[tail[feeder]]
    return np.where(alone, feeder, -1)


def _cost_scaling(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> Ints | None:
    """By OR-tools' cost scaling."""
    solver = SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, cost)
    known = min(len(supply), solver.num_nodes())
    if supply[known:].any():
        return None
    solver.set_nodes_supplies(np.arange(known), supply[:known])
    status = solver.solve()
    if status == solver.OPTIMAL:
        return np.asarray(solver.flows(np.arange(len(tail))), dtype=np.int64)
    if status in (solver.INFEASIBLE, solver.UNBALANCED):
        return None
    raise RuntimeError(f"min-cost flow: the solver answered {status!r}")


def _distances(nodes: int, tail: Ints, head: Ints, cost: Ints, flow: Ints, capacity: Ints) -> Ints:
    """Shortest distances from any node in the residual network of an optimal flow (all <= 0)."""
    forward, backward = flow < capacity, flow > 0
    start = np.concatenate((tail[forward], head[backward]))
    end = np.concatenate((head[forward], tail[backward]))
    length = np.concatenate((cost[forward], -cost[backward]))
    order = stable_order(end)
    start, end, length = start[order], end[order], length[order]
    distance = np.zeros(nodes, dtype=np.int64)
    if len(end) == 0:
        return distance
    first = np.flatnonzero(np.concatenate(([True], end[1:] != end[:-1])))
    reached = end[first]
    for _ in range(nodes + 1):
        candidate = np.minimum.reduceat(distance[start] + length, first)
        better = candidate < distance[reached]
        if not better.any():
            return distance
        distance[reached[better]] = candidate[better]
    raise RuntimeError("min-cost flow: a negative cycle in a flow reported as optimal")


@dataclass
class Squares:
    """Convex costs ``weight * ((base + flow)**2 - base**2)`` on B bundles of arcs, in windows.

    All arrays [B]. ``low`` and ``high`` bound the window in units of flow.
    ``at``: its arcs in the network to which it was added last.
    """

    tail: Ints
    head: Ints
    capacity: Ints
    weight: Ints
    base: Ints
    low: Ints
    high: Ints
    at: slice = field(init=False)

    def __post_init__(self) -> None:
        self.low = np.clip(self.low, 0, self.capacity)
        self.high = np.clip(self.high, self.low, self.capacity)

    def add_to(self, network: Network, layer: int) -> slice:
        """Add the arcs: one per unit of the windows, then the linear ends below and above."""
        count = np.arange(len(self.tail))
        steps = self.high - self.low
        bundle = np.repeat(count, steps)
        step = np.arange(len(bundle)) - np.repeat(np.cumsum(steps) - steps, steps)
        below = np.flatnonzero(self.low > 0)
        above = np.flatnonzero(self.high < self.capacity)
        self._below, self._above = below, above
        self._bundle = np.concatenate((bundle, below, above))
        number = np.concatenate(
            (self.low[bundle] + step + 1, self.low[below], self.high[above] + 1)
        )
        size = np.concatenate(
            (np.ones_like(bundle), self.low[below], (self.capacity - self.high)[above])
        )
        marginal = self.weight[self._bundle] * (2 * (self.base[self._bundle] + number) - 1)
        self._size = size
        self.at = network.arcs(
            self.tail[self._bundle], self.head[self._bundle], size, {layer: marginal}
        )
        return self.at

    def flows(self, per_arc: Ints) -> Ints:
        """[B] flow of each bundle from the flow of its arcs."""
        return np.bincount(self._bundle, per_arc, minlength=len(self.tail)).astype(np.int64)

    def bounds(self, face: Faces) -> tuple[Ints, Ints]:
        """[B] least and greatest flow of each bundle within a face."""
        count = len(self.tail)
        least = np.bincount(self._bundle, self._size * (face == FULL), minlength=count)
        slack = np.bincount(self._bundle, self._size * (face == FREE), minlength=count)
        return least.astype(np.int64), (least + slack).astype(np.int64)

    def widen(self, face: Faces) -> bool:
        """Grow the windows that some optimum may leave, according to the face of the bundles'
        layer. Returns False when every optimum is inside all windows."""
        ends = len(face) - len(self._below) - len(self._above)
        face_below, face_above = np.split(face[ends:], [len(self._below)])
        below = self._below[face_below != FULL]
        above = self._above[face_above != EMPTY]
        reach = 2 * (self.high - self.low) + 4
        self.low[below] = np.maximum(0, self.low - reach)[below]
        self.high[above] = np.minimum(self.capacity, self.high + reach)[above]
        return len(below) + len(above) > 0


def minimise_squares(
    network: Network,
    squares: Mapping[int, Squares],
    *,
    prove_last: bool = True,
    unfit: Check | None = None,
) -> Optimum | None:
    """``minimise`` with convex costs by layer in addition to those of the network, which is not
    changed. The windows grow until every optimum is inside."""
    while True:
        whole = network.copy()
        for layer, one in squares.items():
            one.add_to(whole, layer)
        too_narrow = False

        def refused(layer: int, distance: Ints, face: Faces) -> bool:
            nonlocal too_narrow
            one = squares.get(layer)
            too_narrow = one is not None and one.widen(face[one.at])
            return too_narrow or (unfit is not None and unfit(layer, distance, face))

        optimum = minimise(whole, prove_last=prove_last, unfit=refused)
        if optimum is None or not too_narrow:
            return optimum
