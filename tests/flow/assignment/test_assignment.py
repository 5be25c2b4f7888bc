"""The kernel against enumeration, its bounds against its values, and its fallback."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from partage.flow import assignment
from partage.flow.assignment import (
    LOAD,
    MOVES,
    SPREAD,
    AssignmentProblem,
    assign,
    count_network,
    disaggregation,
    fairest_loads,
    item_network,
    zone_bounds,
)
from partage.flow.assignment.disaggregation import assign_items
from partage.flow.assignment.item_network import ItemLayout, solve_item_network
from partage.flow.proof import prove
from tests.flow.assignment.cases import (
    ORDERS,
    allowed,
    best,
    chosen_slots,
    cost,
    plain,
    problems,
    violating_problems,
)
from tests.profiles import examples


def feasible(problem: AssignmentProblem, rows: np.ndarray) -> bool:
    return all(
        len(set(chosen)) == len(chosen) == demand and allowed(problem, demand, tuple(chosen))
        for chosen, demand in zip(chosen_slots(rows), problem.demand.tolist(), strict=True)
    )


@pytest.mark.parametrize("order", ORDERS)
@given(problem=problems())
@examples(400)
def test_assignment_is_optimal(problem: AssignmentProblem, order: tuple[str, str, str]) -> None:
    answer = assign(problem, order)
    assert feasible(problem, answer.slots)
    assert cost(problem, chosen_slots(answer.slots), order) == best(problem, order)


@pytest.mark.parametrize("order", ORDERS)
@given(problem=problems(max_slots=8, max_items=12))
@examples(300)
def test_every_bound_equals_its_value(
    problem: AssignmentProblem, order: tuple[str, str, str]
) -> None:
    answer = assign(problem, order)
    assert feasible(problem, answer.slots)
    for proof in prove(problem, answer):
        assert proof.value == proof.bound, proof.cost


@pytest.mark.parametrize("order", ORDERS)
@given(problem=violating_problems())
@examples(250)
def test_assignment_is_optimal_when_items_give_up_slots(
    problem: AssignmentProblem, order: tuple[str, str, str]
) -> None:
    answer = assign(problem, order)
    assert feasible(problem, answer.slots)
    assert cost(problem, chosen_slots(answer.slots), order) == best(problem, order)


@pytest.mark.parametrize("order", ORDERS)
@given(problem=violating_problems(max_slots=16, max_items=80))
@examples(250)
def test_many_items_give_up_slots(problem: AssignmentProblem, order: tuple[str, str, str]) -> None:
    """As good as the network in which every item has an arc to every slot, and proven."""
    answer = assign(problem, order)
    assert feasible(problem, answer.slots)
    every = np.ones(problem.items, dtype=np.bool_)
    assert (
        problem.costs(answer.slots)
        == solve_item_network(problem, order, ItemLayout(every, every, ~every)).costs
    )
    for proof in prove(problem, answer):
        assert proof.value == proof.bound, proof.cost


@pytest.mark.parametrize("order", ORDERS)
@given(problem=violating_problems(max_slots=9, max_items=30))
@examples(150)
def test_items_without_a_class(problem: AssignmentProblem, order: tuple[str, str, str]) -> None:
    """Only those that must give up a slot stand alone, however many they are: the same costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "_few", lambda items: not items.all())
        answer = assign(problem, order)
    assert feasible(problem, answer.slots)
    assert problem.costs(answer.slots) == problem.costs(assign(problem, order).slots)


@pytest.mark.parametrize("make", [problems(max_slots=9, max_items=30), violating_problems(9, 30)])
@given(data=st.data())
@examples(150)
def test_assignment_with_few_candidates(
    make: st.SearchStrategy[AssignmentProblem], data: st.DataObject
) -> None:
    problem = data.draw(make)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disaggregation, "_MANY", 0)
        patch.setattr(disaggregation, "_TIMES", 1)
        answer = assign(problem)
    assert feasible(problem, answer.slots)
    assert problem.costs(answer.slots) == problem.costs(assign(problem).slots)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("wide", [False, True])
@given(problem=problems(), seed=st.integers(0, 99))
@examples(200)
def test_the_network_by_item(
    problem: AssignmentProblem, wide: bool, seed: int, order: tuple[str, str, str]
) -> None:
    """With any items standing alone or counted by the zones that they hold: at most the least cost,
    and with wide items exactly that."""
    rng = np.random.default_rng(seed)
    by_zones = rng.random(problem.items) < rng.choice([0.0, 0.5, 1.0])
    alone = rng.random(problem.items) < rng.choice([0.0, 0.5, 1.0])
    every = np.ones(problem.items, dtype=np.bool_)
    violating = assignment._violating(problem)
    layout = (
        ItemLayout(every, every, by_zones)
        if wide
        else ItemLayout(alone | violating, alone & (rng.random() < 0.5), by_zones)
    )
    settled = solve_item_network(problem, order, layout)
    least = best(problem, order)
    assert tuple(settled.costs[c] for c in order) <= least
    slots, failed = assign_items(settled.counts)
    if wide:
        assert len(failed) == 0
    if len(failed) == 0:
        assert feasible(problem, slots)
        assert cost(problem, chosen_slots(slots), order) == least


@pytest.mark.parametrize("make", [problems(), violating_problems()])
@given(data=st.data())
@examples(200)
def test_omitted_arcs_are_priced(
    make: st.SearchStrategy[AssignmentProblem], data: st.DataObject
) -> None:
    """At first only one new slot per zone is in the network."""
    problem = data.draw(make)

    def one_of_each_zone(
        problem: AssignmentProblem, family: np.ndarray, *_: np.ndarray
    ) -> np.ndarray:
        some = np.zeros((len(family), problem.slots), dtype=np.bool_)
        for zone in range(problem.zones):
            some[:, np.flatnonzero(problem.zone_of == zone)[-1]] = True
        return some

    with pytest.MonkeyPatch.context() as patch:
        for module in (count_network, item_network):
            patch.setattr(module, "ALL_PAIRS", 0)
            patch.setattr(module, "emptiest", one_of_each_zone)
        answer = assign(problem)
        proofs = prove(problem, answer)
    assert feasible(problem, answer.slots)
    assert cost(problem, chosen_slots(answer.slots), ORDERS[0]) == best(problem, ORDERS[0])
    assert all(proof.value == proof.bound for proof in proofs)


@given(problem=problems(max_slots=6, max_items=8))
@examples(150)
def test_a_second_run_moves_nothing(problem: AssignmentProblem) -> None:
    once = assign(problem).slots
    again = assign(replace(problem, own=once))
    assert chosen_slots(again.slots) == chosen_slots(once)


@given(problem=problems(max_slots=6, max_items=8))
@examples(150)
def test_even_sizes_cost_nothing(problem: AssignmentProblem) -> None:
    """Evening sizes out changes no cost, and never makes the sizes more uneven."""

    def squares(rows: np.ndarray) -> int:
        item, column = np.nonzero(rows >= 0)
        held = np.bincount(rows[item, column], problem.size[item], minlength=problem.slots)
        return int((held * held).sum())

    plain = assign(replace(problem, size=np.zeros_like(problem.size)))
    even = assign(problem)
    assert problem.costs(plain.slots) == problem.costs(even.slots)
    assert squares(even.slots) <= squares(plain.slots)


@given(problem=problems(max_slots=6, max_items=8))
@examples(100)
def test_fairest_loads_alone(problem: AssignmentProblem) -> None:
    loads = fairest_loads(problem)
    value = int((problem.weight * loads * loads).sum())
    assert value == problem.costs(assign(problem).slots)[LOAD]


@pytest.mark.parametrize(
    ("demand", "sizes", "bounds"),
    [
        (2, [3, 3, 3], (0, 1)),
        (3, [1, 1, 9], (0, 1)),
        (4, [3, 3, 3], (1, 2)),
        (4, [1, 1, 9], (1, 2)),
        (5, [1, 1, 9], (1, 3)),
        (3, [5], (1, 3)),
    ],
)
def test_zone_bounds(demand: int, sizes: list[int], bounds: tuple[int, int]) -> None:
    assert zone_bounds(demand, np.array(sizes)) == bounds


def test_counts_without_an_assignment_are_found_item_by_item() -> None:
    """The counts would let two items exchange slots that each already has: a move more is needed.

    Such cases are rare; this searches a fixed stream of them and asks that the fall-back was used
    and was exact.
    """
    used = 0
    item_network = assignment.solve_item_network

    def counted(problem, order, layout):  # type: ignore[no-untyped-def]
        nonlocal used
        used += int(layout.individual.any())
        return item_network(problem, order, layout)

    rng = np.random.default_rng(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "solve_item_network", counted)
        for _ in range(150):
            slots, items = 4, 4
            own = np.array([rng.permutation(slots) for _ in range(items)])
            own[:, 2:] = np.where(rng.random((items, 2)) < 0.5, -1, own[:, 2:])
            problem = plain(
                own,
                np.array([0, 0, 1, 1]),
                family=rng.integers(0, 2, items),
                demand=rng.integers(1, 4, items),
                family_base=np.zeros((2, slots), dtype=np.int64),
                zoned=True,
            )
            order = (LOAD, MOVES, SPREAD)
            answer = assign(problem, order)
            assert cost(problem, chosen_slots(answer.slots), order) == best(problem, order)
    assert used > 0
    assert {LOAD, MOVES, SPREAD} == set(order)
