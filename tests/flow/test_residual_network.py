"""The residual network, against one that is a plain dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from partage.flow.arcs import Arcs
from partage.flow.residual_network import Arrows, ResidualNetwork
from tests.flow.random_arcs import some_arcs
from tests.profiles import examples

Ints = npt.NDArray[np.int64]
Step = tuple[int, int, int, int]
"""Tail, head, cost of a unit, units."""


@st.composite
def flows(draw: st.DrawFn) -> tuple[int, Arcs, Ints, Ints]:
    """Nodes, arcs, a flow, and how much of it is changed, by arc."""
    nodes = draw(st.integers(2, 5))
    drawn = draw(some_arcs(nodes, capacity=3, cost=(-3, 3), most=9))
    tail, head, capacity, cost = (np.array(part) for part in zip(*drawn, strict=True))
    flow, after = (
        np.array([draw(st.integers(0, room)) for *_, room, _ in drawn]) for _ in range(2)
    )
    return nodes, Arcs.linear(tail, head, capacity, cost), flow, after - flow


def expected(arcs: Arcs, flow: Ints) -> Counter[Step]:
    steps: Counter[Step] = Counter()
    for tail, head, room, cost, units in zip(
        arcs.tail, arcs.head, arcs.capacity, arcs.cost, flow, strict=True
    ):
        if units < room:
            steps[int(tail), int(head), int(cost), int(room - units)] += 1
        if units > 0:
            steps[int(head), int(tail), -int(cost), int(units)] += 1
    return steps


def steps_of(residual: ResidualNetwork, found: Arrows) -> Counter[Step]:
    arc, tail, head = found
    cost, room = residual.cost[arc], residual.residual_capacity[arc]
    assert np.array_equal(residual.head[arc], head)
    return Counter(
        (int(t), int(h), int(c), int(r)) for t, h, c, r in zip(tail, head, cost, room, strict=True)
    )


def check(residual: ResidualNetwork, arcs: Arcs, nodes: int) -> None:
    steps = expected(arcs, residual.flow)
    assert steps_of(residual, residual.leaving(np.arange(nodes))) == steps
    assert steps_of(residual, residual.entering(np.arange(nodes))) == steps
    for node in range(nodes):
        one = np.array([node])
        leaving = Counter({step: n for step, n in steps.items() if step[0] == node})
        entering = Counter({step: n for step, n in steps.items() if step[1] == node})
        assert steps_of(residual, residual.leaving(one)) == leaving
        assert steps_of(residual, residual.entering(one)) == entering


@given(flows())
@examples(200)
def test_arcs_at_nodes_before_and_after_a_push(case: tuple[int, Arcs, Ints, Ints]) -> None:
    nodes, arcs, flow, change = case
    residual = ResidualNetwork(arcs, flow.copy(), nodes)
    check(residual, arcs, nodes)
    arc, tail, head = residual.leaving(np.arange(nodes))
    for number in np.flatnonzero(change):
        # any parallel arc does that has the same cost and enough room
        ends = (arcs.tail[number], arcs.head[number])
        start, end = ends if change[number] > 0 else ends[::-1]
        same = (tail == start) & (head == end)
        room = residual.residual_capacity[arc] >= abs(change[number])
        able = np.flatnonzero(same & room)
        if len(able):
            residual.push(arc[able[:1]], np.abs(change[number : number + 1]))
            check(residual, arcs, nodes)
