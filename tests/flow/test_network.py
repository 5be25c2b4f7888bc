"""Lexicographic minimum-cost flow, its duals and its convex windows, against networkx."""

from __future__ import annotations

from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import network as module
from partage.flow.network import EMPTY, FREE, FULL, Network, Squares, minimise
from tests.profiles import examples

Arc = tuple[int, int, int, int, int]


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[Arc], int]:
    nodes = draw(st.integers(2, 6))
    arcs = draw(
        st.lists(
            st.tuples(
                st.integers(0, nodes - 1),
                st.integers(0, nodes - 1),
                st.integers(0, 4),
                st.integers(0, 3),
                st.integers(-2, 3),
            ).filter(lambda a: a[0] < a[1]),
            min_size=1,
            max_size=14,
        )
    )
    return nodes, arcs, draw(st.integers(0, 4))


def built(nodes: int, arcs: list[Arc], amount: int) -> Network:
    network = Network(nodes, 2)
    network.supply[0], network.supply[-1] = amount, -amount
    for tail, head, capacity, first, second in arcs:
        network.arcs([tail], [head], [capacity], {0: [first], 1: [second]})
    return network


def test_pushed_flow_uses_no_arc() -> None:
    network = Network(4, 1)
    network.push(0, 1, 2)
    network.push([0, 1, 1], 3, [1, 2, 3])
    network.push([[0, 1], [1, 2]], [3, 2], np.ones((2, 2), dtype=np.int64))
    assert network.supply.tolist() == [-4, -5, 1, 8]
    assert network.compiled()[0].tolist() == []


@given(case=networks())
@examples(300)
def test_costs_are_minimised_in_order(case: tuple[int, list[Arc], int]) -> None:
    nodes, arcs, amount = case
    optimum = minimise(built(nodes, arcs, amount))
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(nodes), demand=0)
    graph.nodes[0]["demand"], graph.nodes[nodes - 1]["demand"] = -amount, amount
    for tail, head, capacity, first, second in arcs:
        # lexicographic in one: no second cost of these sizes reaches 1000
        graph.add_edge(tail, head, capacity=capacity, weight=1000 * first + second)
    try:
        cost, _ = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        assert optimum is None
        return
    assert optimum is not None
    assert 1000 * optimum.values[0] + optimum.values[1] == cost


@given(case=networks())
@examples(200)
def test_duals_and_faces_belong_to_an_optimum(case: tuple[int, list[Arc], int]) -> None:
    network = built(*case)
    optimum = minimise(network)
    if optimum is None:
        return
    tail, head, capacity, cost = network.compiled()
    reduced = cost[0] + optimum.distance[0][tail] - optimum.distance[0][head]
    assert (reduced[optimum.flow < capacity] >= 0).all()
    assert (reduced[optimum.flow > 0] <= 0).all()
    for state, expected in ((EMPTY, np.zeros_like(capacity)), (FULL, capacity)):
        at = optimum.face(0) == state
        assert (optimum.flow[at] == expected[at]).all()
    assert (capacity[optimum.face(0) == FREE] > 0).all()


@pytest.mark.parametrize("large", [0, 100_000])
@pytest.mark.parametrize("width", [0, 1, 5, 1000])
def test_windows_do_not_change_the_answer(width: int, large: int) -> None:
    """100 units over three convex bundles: 1:2:3 by weight, wherever the windows begin."""
    squares = Squares(
        tail=np.array([0, 0, 0]),
        head=np.array([1, 1, 1]),
        capacity=np.array([100, 100, 100]),
        weight=np.array([6, 3, 2]),
        base=np.array([0, 0, 10]),
        low=np.array([90, 0, 90]) - width,
        high=np.array([90, 0, 90]) + width,
    )
    network = Network(2, 1)
    network.supply[:] = 100, -100
    with patch.multiple(module, _LARGE=large, _VERY_LARGE=large):
        optimum = minimise(network, {0: squares})
    assert optimum is not None
    flow = optimum.flow[squares.at]
    assert flow.sum() == 100

    def cost(x: int, y: int) -> int:
        return 6 * x * x + 3 * y * y + 2 * (10 + 100 - x - y) ** 2

    least = min(cost(x, y) for x in range(101) for y in range(101 - x))
    assert cost(int(flow[0]), int(flow[1])) == least
    low, high = optimum.low[0][squares.at], optimum.high[0][squares.at]
    assert (low <= flow).all()
    assert (flow <= high).all()
    assert (high - low <= 1).all()


def test_infeasible_is_none() -> None:
    network = Network(3, 1)
    network.supply[:] = 1, 0, -1
    network.arcs([0], [1], [1])
    assert minimise(network) is None


@st.composite
def convex_networks(draw: st.DrawFn) -> tuple[int, list[Arc], int, list[Arc]]:
    """Also arcs with convex costs: tail, head, capacity, weight and base."""
    nodes, arcs, amount = draw(networks())
    node = st.integers(0, nodes - 1)
    kind = st.tuples(node, node, st.integers(0, 4), st.integers(1, 3), st.integers(0, 3))
    convex = draw(st.lists(kind.filter(lambda a: a[0] < a[1]), min_size=1, max_size=6))
    return nodes, arcs, amount, convex


@pytest.mark.parametrize("large", [0, 100_000])
@given(case=convex_networks(), layer=st.integers(0, 1), estimate=st.integers(0, 4))
@examples(200)
def test_squares_are_minimised_with_the_other_costs(
    large: int, case: tuple[int, list[Arc], int, list[Arc]], layer: int, estimate: int
) -> None:
    nodes, arcs, amount, convex = case
    tail, head, capacity, weight, base = (np.array(part) for part in zip(*convex, strict=True))
    near = np.full(len(convex), estimate)
    squares = Squares(tail, head, capacity, weight, base, low=near, high=near)
    with patch.multiple(module, _LARGE=large, _VERY_LARGE=large):
        optimum = minimise(built(nodes, arcs, amount), {layer: squares})
    # the same, with an arc per unit
    unit = [
        (t, h, 1, *[(w * (2 * (b + n) + 1) if at == layer else 0) for at in (0, 1)])
        for t, h, c, w, b in convex
        for n in range(c)
    ]
    expected = minimise(built(nodes, arcs + unit, amount))
    assert (optimum is None) == (expected is None)
    if optimum is None or expected is None:
        return
    flow = optimum.flow[squares.at]
    values = list(optimum.values)
    values[layer] += int((weight * ((base + flow) ** 2 - base**2)).sum())
    assert values == list(expected.values)
    assert np.array_equal(optimum.distance, expected.distance)
    for layer in range(len(optimum.values)):
        here = slice(len(arcs))
        assert np.array_equal(optimum.face(layer, here), expected.face(layer, here))
    assert (optimum.low[-1] <= optimum.flow).all()
    assert (optimum.flow <= optimum.high[-1]).all()
