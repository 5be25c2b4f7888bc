"""Paths found from both ends, against a search that knows every arc."""

from __future__ import annotations

from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import path_search
from partage.flow.arcs import Arcs
from partage.flow.path_search import find_paths
from partage.flow.residual_network import ResidualNetwork
from tests.flow.random_arcs import Arc, some_arcs
from tests.profiles import examples


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, list[Arc], list[int]]:
    """Nodes, arcs with capacities and costs, and the excess of every node."""
    nodes = draw(st.integers(2, 9))
    node = st.integers(0, nodes - 1)
    drawn = draw(some_arcs(nodes, capacity=2, cost=(0, 3), most=25))
    excess = [0] * nodes
    for start, end in draw(st.lists(st.tuples(node, node), min_size=1, max_size=3)):
        excess[start] += 1
        excess[end] -= 1
    return nodes, drawn, excess


@pytest.mark.parametrize("further", [1, path_search._FURTHER, 99])
@given(case=cases())
@examples(250)
def test_paths_are_shortest(further: int, case: tuple[int, list[Arc], list[int]]) -> None:
    nodes, drawn, excess = case
    tail, head, capacity, cost = (np.array(part) for part in zip(*drawn, strict=True))
    residual = ResidualNetwork(
        Arcs.linear(tail, head, capacity, cost), np.zeros(len(drawn), dtype=np.int64), nodes
    )
    potential = np.zeros(nodes, dtype=np.int64)
    whole = nx.DiGraph()
    whole.add_nodes_from(range(nodes))
    for start, end, room, price in drawn:
        if room and price < whole.get_edge_data(start, end, {"weight": 99})["weight"]:
            whole.add_edge(start, end, weight=price)
    sources, sinks = ([n for n in range(nodes) if sign * excess[n] > 0] for sign in (1, -1))
    lengths = [
        nx.shortest_path_length(whole, a, b, weight="weight")
        for a in sources
        for b in sinks
        if nx.has_path(whole, a, b)
    ]
    if not sources:
        return
    with patch.object(path_search, "_FURTHER", further):
        found = find_paths(residual, potential, np.array(excess))
    if not lengths:
        assert found is None
        return
    assert found is not None
    paths, seen = found
    reduced = residual.cost + potential[np.concatenate((tail, head))] - potential[residual.head]
    assert (reduced[residual.residual_capacity > 0] >= 0).all()
    assert (reduced[paths[0]] == 0).all()
    assert len(set(paths[0].tolist())) == len(paths[0])
    assert len(set(seen.tolist())) == len(seen)
    assert {*paths[1].tolist(), *paths[2].tolist()} <= set(seen.tolist())
    tight = nx.DiGraph(list(zip(paths[1].tolist(), paths[2].tolist(), strict=True)))
    tight.add_nodes_from(range(nodes))
    reached = [(a, b) for a in sources for b in sinks if nx.has_path(tight, a, b)]
    assert reached
    for a, b in reached:
        assert nx.shortest_path_length(whole, a, b, weight="weight") == potential[b] - potential[a]
