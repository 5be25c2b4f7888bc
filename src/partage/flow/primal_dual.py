"""The primal-dual method for min-cost flow: for large networks with few different costs.

Ford and Fulkerson (1962), in numpy. All units that still have to be routed start at their nodes at
once. A search (``path_search``) changes the potentials of nodes until shortest paths lead from them
to nodes with demand; the arcs of these paths form a network of their own, on which OR-tools routes
as much as possible in one maximum flow. Lengths are reduced costs, so earlier flow never has to be
undone at a loss. There are about as many rounds as different path lengths, and some small ones.
Where costs are a few small numbers, as for counting moves, changes or even loads, that is a
handful; cost scaling, which does not exploit this, takes ten times as long on a million arcs. Where
costs are all different, cost scaling is faster.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.flow.arcs import Arcs
from partage.flow.path_search import find_paths
from partage.flow.residual_network import Arrows, ResidualNetwork


class TooManyRoundsError(Exception):
    """The paths have too many different lengths for this method."""


def cheapest_flow(arcs: Arcs, supply: Ints, guess: Ints, start: Ints, rounds: int) -> Ints | None:
    """[A] an optimal flow for the supply of every node; None when infeasible.

    ``guess`` [nodes]: initial potentials, 0 where nothing is known; better ones need fewer rounds.
    ``start`` [A]: a flow, whatever its excess; what these potentials allow of it is kept.
    Raises TooManyRoundsError when it is not finished after ``rounds`` that see every node, or more
    that see fewer.
    """
    if supply.sum() != 0:
        return None
    potential = guess.copy()
    # all units with negative reduced cost, and none with a positive one
    worth = potential[arcs.head] - potential[arcs.tail]
    flow = arcs.cheaper_in_windows(worth)
    if start.any():
        flow = np.clip(start, flow, arcs.cheaper_in_windows(worth + 1))
    residual = ResidualNetwork(arcs, flow, len(supply))
    excess = supply.copy()
    np.subtract.at(excess, arcs.tail, flow)
    np.add.at(excess, arcs.head, flow)
    nodes = rounds * len(supply)
    while (excess > 0).any():
        if nodes <= 0:
            raise TooManyRoundsError
        found = find_paths(residual, potential, excess)
        if found is None:
            return None
        paths, seen = found
        nodes -= len(seen)
        _route(residual, paths, seen, excess)
    return residual.flow


def _route(residual: ResidualNetwork, paths: Arrows, nodes: Ints, excess: Ints) -> None:
    """Route as much as these arcs between these nodes can carry. Updates the residual capacities
    and the excess."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    arc, tail, head = paths
    sources, sinks = nodes[excess[nodes] > 0], nodes[excess[nodes] < 0]
    number = np.empty(residual.nodes, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    source, sink = len(nodes), len(nodes) + 1
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
