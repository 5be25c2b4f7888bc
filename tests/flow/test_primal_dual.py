"""Maximum flows along shortest paths, against networkx and, in whole plans, against the oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import InputError
from partage.flow import network, path_search, primal_dual
from partage.flow.arcs import Arcs
from partage.flow.assignment import AssignmentProblem, assign
from partage.flow.network import Network, minimise
from partage.flow.primal_dual import TooManyRoundsError, cheapest_flow
from partage.flow.proof import prove
from tests.flow.assignment.cases import ORDERS, best, chosen_slots, cost, problems
from tests.flow.random_arcs import Arc, some_arcs
from tests.oracles import brute_force
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.oracles.verify import assert_best_order, assert_best_placement
from tests.profiles import examples
from tests.strategies import jobs


def in_every_network(test: Callable[[], None]) -> int:
    """Run it with networks of any size counted as large; returns how many were solved this way."""
    with (
        patch.multiple(network, _LARGE=0, _VERY_LARGE=0),
        patch.object(primal_dual, "cheapest_flow", wraps=cheapest_flow) as solver,
    ):
        test()
    return solver.call_count


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[Arc], list[int], list[int]]:
    """Nodes, arcs, what each node sends or wants, and a guess of potentials, mostly wrong."""
    nodes = draw(st.integers(2, 7))
    node = st.integers(0, nodes - 1)
    drawn = draw(some_arcs(nodes, capacity=4, cost=(-2, 5), most=20))
    supply = [0] * nodes
    for start, end, amount in draw(st.lists(st.tuples(node, node, st.integers(0, 3)), max_size=4)):
        supply[start] += amount
        supply[end] -= amount
    guess = draw(st.lists(st.integers(-6, 6), min_size=nodes, max_size=nodes))
    return nodes, drawn, supply, guess


@pytest.mark.parametrize("further", [1, path_search._FURTHER, 99])
@given(case=networks(), data=st.data())
@examples(250)
def test_flow_has_minimum_cost(
    further: int, case: tuple[int, list[Arc], list[int], list[int]], data: st.DataObject
) -> None:
    nodes, arcs, supply, guess = case
    tail, head, capacity, price = (np.array(part) for part in zip(*arcs, strict=True))
    network_arcs = Arcs.linear(tail, head, capacity, price)
    start = np.array([data.draw(st.integers(0, room)) for *_, room, _ in arcs])
    with patch.object(path_search, "_FURTHER", further):
        found = cheapest_flow(network_arcs, np.array(supply), np.array(guess), start, 999)
    graph = nx.MultiDiGraph()
    for number, amount in enumerate(supply):
        graph.add_node(number, demand=-amount)
    for start, end, room, each in arcs:
        graph.add_edge(start, end, capacity=room, weight=each)
    try:
        least, _ = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        assert found is None
        return
    assert found is not None
    assert (found >= 0).all()
    assert (found <= capacity).all()
    sent = np.bincount(tail, found, nodes) - np.bincount(head, found, nodes)
    assert sent.tolist() == supply
    assert int(price @ found) == least


def test_unequal_supply_and_demand_is_none() -> None:
    one = np.array([1])
    for supply in ([1, 0], [0, -1]):
        nothing = np.zeros(2, dtype=np.int64)
        arcs = Arcs.linear(one - 1, one, one, one)
        assert cheapest_flow(arcs, np.array(supply), nothing, nothing[:1], 9) is None


def test_warm_start_saves_rounds() -> None:
    """Units 1 to 50 cost 1 to 50 each: as many path lengths, unless the guess knows the last."""
    tail = np.zeros(100, dtype=np.int64)
    price = np.arange(1, 101)
    supply = np.array([50, -50])

    def solve(guess: list[int], rounds: int) -> int:
        arcs = Arcs.linear(tail, tail + 1, tail + 1, price)
        found = cheapest_flow(arcs, supply, np.array(guess), np.zeros_like(tail), rounds)
        assert found is not None
        return int(price @ found)

    assert solve([0, 0], 50) == solve([0, 50], 1) == sum(range(51))
    with pytest.raises(TooManyRoundsError):
        solve([0, 0], 49)


@pytest.mark.parametrize("rounds", [0, 100])
@given(case=networks(), second=st.lists(st.integers(0, 2), min_size=20, max_size=20))
@examples(150)
def test_either_solver_gives_the_same_duals_and_faces(
    rounds: int, case: tuple[int, list[Arc], list[int], list[int]], second: list[int]
) -> None:
    """Also when it gives up and leaves the network to cost scaling."""
    nodes, arcs, supply, guess = case
    tail, head, capacity, price = (np.array(part) for part in zip(*arcs, strict=True))
    assume(price.min() >= 0)
    built = Network(nodes, 2)
    built.supply[:], built.guess[:] = supply, guess
    built.arcs(tail, head, capacity, {0: price, 1: second[: len(arcs)]})
    one = minimise(built)

    def test() -> None:
        with patch.object(network, "_ROUNDS", rounds):
            other = minimise(built)
        assert (one is None) == (other is None)
        if one is None or other is None:
            return
        assert one.values == other.values
        assert np.array_equal(one.distance, other.distance)
        assert all(np.array_equal(one.face(n), other.face(n)) for n in range(2))

    in_every_network(test)


@pytest.mark.parametrize("order", ORDERS)
@given(problem=problems())
@examples(100)
def test_shares_match_the_assignment_solver(
    problem: AssignmentProblem, order: tuple[str, str, str]
) -> None:
    def test() -> None:
        answer = assign(problem, order)
        assert cost(problem, chosen_slots(answer.slots), order) == best(problem, order)
        for proof in prove(problem, answer):
            assert proof.value == proof.bound, proof.cost

    assert in_every_network(test)


@given(case=jobs())
@examples(60)
def test_whole_plans(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    cluster, options = case
    try:
        job = read_problem(cluster, options)
    except BadProblemError:
        assume(False)

    def test() -> None:
        try:
            found = plan(Cluster.from_json(cluster), **options)
        except InputError:
            assume(False)
        assert_best_placement(job, found, brute_force)
        assert_best_order(job, found, brute_force)

    in_every_network(test)
