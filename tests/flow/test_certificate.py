"""Bounds that hold for any prices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.flow import certificate
from partage.flow.assignment import LOAD, MOVES, SPREAD, AssignmentProblem
from partage.flow.certificate import assignment_bound, takeover_bound
from tests.flow.assignment.cases import best, problems
from tests.profiles import examples

Ints = npt.NDArray[np.int64]

ORDER = (LOAD, MOVES, SPREAD)


def bound_of(problem: AssignmentProblem, weights: dict[str, int], slot: Ints, family: Ints) -> int:
    """The bound for these weights and prices."""
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    return assignment_bound(
        family=problem.family,
        demand=problem.demand,
        least=least,
        most=most,
        current=problem.owned,
        zone=problem.zone_of,
        base=problem.base,
        family_base=problem.family_base,
        load_weight=weights[LOAD] * problem.weight,
        move_weight=weights[MOVES],
        spread_weight=weights[SPREAD],
        slot_price=slot,
        family_price=family,
    )


def drawn_prices(
    problem: AssignmentProblem, data: st.DataObject
) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Any weights, and prices of slots and families."""
    number = st.integers(-30, 30)
    shape = problem.family_base.shape
    slot = np.array([data.draw(number) for _ in range(problem.slots)])
    family = np.array([data.draw(number) for _ in range(shape[0] * shape[1])]).reshape(shape)
    return {cost: data.draw(st.integers(0, 9)) for cost in ORDER}, slot, family


@given(problem=problems(max_items=4), data=st.data())
@examples(200)
def test_a_bound_never_exceeds_the_optimum(problem: AssignmentProblem, data: st.DataObject) -> None:
    """Whatever the prices, the bound is at most the weighted cost of the best arrangement."""
    weights, slot, family = drawn_prices(problem, data)
    bound = bound_of(problem, weights, slot, family)
    # the best by each order of the costs are all arrangements, so each must cost at least that
    for order in (ORDER, (MOVES, LOAD, SPREAD), (SPREAD, MOVES, LOAD)):
        found = dict(zip(order, best(problem, order), strict=True))
        assert bound <= sum(weights[cost] * found[cost] for cost in ORDER)


@given(problem=problems(), data=st.data())
@examples(100)
def test_a_bound_is_the_sum_of_the_cheapest_choices(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    """Item by item, slot by slot, in plain loops."""
    number = st.integers(-30, 30)
    families, slots = problem.family_base.shape
    slot = [data.draw(number) for _ in range(slots)]
    family = [[data.draw(number) for _ in range(slots)] for _ in range(families)]
    move, spread = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    item, held = problem.owned
    owned = set(zip(item.tolist(), held.tolist(), strict=True))
    zones = problem.zone_of.tolist()
    expected = 0
    for i, f in enumerate(problem.family.tolist()):
        left = []
        for z in range(max(zones) + 1):
            costs = sorted(
                family[f][s] + (0 if (i, s) in owned else move)
                for s in range(slots)
                if zones[s] == z
            )
            expected += sum(costs[: least[i]])
            left += costs[least[i] : most[i]]
        taken = int(problem.demand[i]) - int(least[i]) * (max(zones) + 1)
        expected += sum(sorted(left)[:taken])
    members = np.bincount(problem.family, minlength=families).tolist()
    for f, s in np.ndindex(families, slots):
        base, gain = int(problem.family_base[f, s]), family[f][s] - slot[s]
        expected += min(spread * (base + n) ** 2 - gain * n for n in range(members[f] + 1))
    for s in range(slots):
        weight, base = int(problem.weight[s]), int(problem.base[s])
        expected += min(weight * (base + n) ** 2 - slot[s] * n for n in range(problem.items + 1))
    weights = {LOAD: 1, MOVES: move, SPREAD: spread}
    prices = np.array(slot), np.array(family).reshape(families, slots)
    assert bound_of(problem, weights, *prices) == expected


@given(problem=problems(), data=st.data())
@examples(60)
def test_a_bound_is_the_same_in_parts(problem: AssignmentProblem, data: st.DataObject) -> None:
    weights, slot, family = drawn_prices(problem, data)
    bound = bound_of(problem, weights, slot, family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "_CELLS", problem.slots * data.draw(st.integers(1, 3)))
        patch.setattr(certificate, "_BLOCK", 1)
        assert bound_of(problem, weights, slot, family) == bound


@given(data=st.data())
@examples(200)
def test_takeover_bound_never_exceeds_a_takeover(data: st.DataObject) -> None:
    slots = data.draw(st.integers(2, 4))
    number = st.integers(0, 4)
    load = np.array([data.draw(number) for _ in range(slots)])
    fixed = np.array([[data.draw(number) for _ in range(slots)] for _ in range(slots)])
    taken = np.array([[data.draw(number) for _ in range(slots)] for _ in range(slots)])
    for matrix in (fixed, taken):
        np.fill_diagonal(matrix, 0)
    room = taken + np.array([[data.draw(number) for _ in range(slots)] for _ in range(slots)])
    level = load[None, :] + fixed + taken
    np.fill_diagonal(level, 0)
    assert takeover_bound(taken.sum(axis=1), load, fixed, room) <= level.max()


def test_takeover_bound_counts_racks() -> None:
    """36 brokers in 3 racks with 139 leaders each: 24 others take over 139, 145 at the least."""
    rack = np.arange(36) % 3
    room = np.where(rack[:, None] != rack[None, :], 999, 0)
    load = np.full(36, 139)
    assert takeover_bound(load, load, np.zeros((36, 36), dtype=np.int64), room) == 145
