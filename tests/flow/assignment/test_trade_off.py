"""Balance traded for movement, against every arrangement there is.

The oracle extends arrangements item by item and keeps, for every load vector, the fewest moves that
reach it. The network of classes may see fewer moves than any arrangement makes, where two items of
one class would have to change places; what it says is then a bound, and nearly always the optimum.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from partage.flow.assignment import LOAD, MOVES, SPREAD, AssignmentProblem, assign
from partage.flow.assignment.trade_off import aimed, fairest, loads_for, loads_within
from partage.flow.proof import fairest_loads_for
from tests.flow.assignment.cases import (
    allowed,
    chosen_slots,
    cost,
    plain,
    problems,
    violating_problems,
)
from tests.profiles import examples

Loads = tuple[int, ...]


def reached(problem: AssignmentProblem) -> dict[Loads, int]:
    """Every load vector, base included, and the fewest moves that reach it."""
    table = {tuple(problem.base.tolist()): 0}
    for item, demand in enumerate(problem.demand.tolist()):
        own = set(problem.own[item].tolist())
        ways = [
            (set(chosen), len(set(chosen) - own))
            for chosen in itertools.combinations(range(problem.slots), demand)
            if allowed(problem, demand, chosen)
        ]
        grown: dict[Loads, int] = {}
        for load, moves in table.items():
            for chosen, new in ways:
                key = tuple(n + (s in chosen) for s, n in enumerate(load))
                grown[key] = min(moves + new, grown.get(key, 10**9))
        table = grown
    return table


def squares(problem: AssignmentProblem, load: Loads | np.ndarray) -> int:
    return sum(int(w) * int(x) ** 2 for w, x in zip(problem.weight, load, strict=True))


def random_problem(rng: random.Random) -> AssignmentProblem:
    """Up to 4 items on up to 4 slots, weights, zones and base loads at random."""
    slots, items = rng.randint(2, 4), rng.randint(1, 4)
    base = [rng.choice((0, 0, 0, 1, 2)) for _ in range(slots)]
    own = np.full((items, slots), -1, dtype=np.int64)
    for row in own:
        held = rng.sample(range(slots), rng.randint(0, slots))
        row[: len(held)] = held
    return AssignmentProblem(
        family=np.array([rng.randint(0, 1) for _ in range(items)]),
        demand=np.array([rng.randint(1, min(3, slots)) for _ in range(items)]),
        own=own,
        zone=np.unique([rng.randint(0, 2) for _ in range(slots)], return_inverse=True)[1],
        weight=np.array([rng.choice((1, 1, 2, 3)) for _ in range(slots)]),
        base=np.array(base),
        family_base=np.array([base, [0] * slots]),
        zoned=rng.random() < 0.5,
        size=np.zeros(items, dtype=np.int64),
        base_size=np.zeros(slots, dtype=np.int64),
    )


def arranged(problem: AssignmentProblem, load: np.ndarray) -> int:
    """The moves of an arrangement with these loads, which the share aimed at them finds."""
    rows = chosen_slots(assign(aimed(problem, load), (LOAD, MOVES, SPREAD)).slots)
    made = problem.base.copy()
    for row in rows:
        made[list(row)] += 1
    assert made.tolist() == load.tolist()
    return int(cost(problem, rows, (MOVES,))[0])


# ---------------------------------------------------------------- no limit


@given(problem=problems(max_slots=4, max_items=4))
@examples(300)
def test_fairest_is_optimal(problem: AssignmentProblem) -> None:
    every = reached(problem)
    best = min(squares(problem, load) for load in every)
    trade = fairest(problem)
    assert tuple(trade.load.tolist()) in every
    assert squares(problem, trade.load) == best
    assert trade.moves <= min(m for load, m in every.items() if squares(problem, load) == best)
    assert trade.move_price == 0
    # and its prices prove it
    assert fairest_loads_for(problem, trade.slot_price, 0) == best


@given(problem=problems(max_slots=4, max_items=4), data=st.data())
@examples(200)
def test_targets_are_reached(problem: AssignmentProblem, data: st.DataObject) -> None:
    every = reached(problem)
    load = data.draw(st.sampled_from(sorted(every)))
    assert arranged(problem, np.array(load)) == every[load]


# ---------------------------------------------------------------- windows on the loads


@given(problem=problems(max_slots=4, max_items=4), data=st.data())
@examples(300)
def test_moves_within_windows_are_the_fewest_or_infeasible(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    count = st.integers(0, problem.items + 2)
    ends = [sorted((data.draw(count), data.draw(count))) for _ in range(problem.slots)]
    # no slot can be below its base or above all the items
    least, most = problem.base, problem.base + problem.items
    low = np.clip([a for a, _ in ends], least, most)
    high = np.clip([b for _, b in ends], low, most)
    inside = {
        load: moves
        for load, moves in reached(problem).items()
        if all(a <= x <= b for a, x, b in zip(low, load, high, strict=True))
    }
    trade = loads_within(problem, low, high)
    if trade is None:
        assert not inside
        return
    assert tuple(trade.load.tolist()) in inside
    best = min((moves, squares(problem, load)) for load, moves in inside.items())
    # what classes see is a bound: an item on more slots than it asks for can only keep some
    assert (trade.moves, squares(problem, trade.load)) <= best


@pytest.mark.parametrize("order", [(MOVES, LOAD, SPREAD), (LOAD, MOVES, SPREAD)])
@given(
    problem=problems(max_slots=4, max_items=4) | violating_problems(max_slots=4, max_items=4),
    data=st.data(),
)
@examples(400)
def test_an_assignment_within_a_window_is_exact(
    problem: AssignmentProblem, order: tuple[str, str, str], data: st.DataObject
) -> None:
    every = reached(problem)
    some, other = (np.array(data.draw(st.sampled_from(sorted(every)))) for _ in range(2))
    low, high = np.minimum(some, other), np.maximum(some, other)
    inside = [
        {MOVES: moves, LOAD: squares(problem, load)}
        for load, moves in every.items()
        if all(a <= x <= b for a, x, b in zip(low, load, high, strict=True))
    ]
    slots = assign(replace(problem, window=(low, high)), order).slots
    load = problem.loads(slots)
    assert (low <= load).all()
    assert (load <= high).all()
    rows = chosen_slots(slots)
    for demand, row in zip(problem.demand.tolist(), rows, strict=True):
        assert len(row) == demand
        assert allowed(problem, demand, row)
    best = min(tuple(costs[name] for name in order[:2]) for costs in inside)
    assert cost(problem, rows, order[:2]) == best


def test_class_network_nearly_always_finds_the_fewest_moves_within_windows() -> None:
    rng = random.Random(5)
    exact = 0
    for _ in range(250):
        problem = random_problem(rng)
        every = reached(problem)
        low = problem.base + rng.randint(0, 1)
        high = np.maximum(low, problem.base + rng.randint(1, problem.items))
        low = np.minimum(low, problem.base + problem.items)
        inside = {
            load: m
            for load, m in every.items()
            if all(a <= x <= b for a, x, b in zip(low, load, high, strict=True))
        }
        trade = loads_within(problem, low, high)
        assert (trade is None) is (not inside)
        exact += trade is None or trade.moves == min(inside.values())
    assert exact >= 245


# ---------------------------------------------------------------- so many moves


@given(problem=problems(max_slots=4, max_items=4), moves=st.integers(0, 8))
@examples(400)
def test_max_moves_bound_never_exceeds_the_optimum(problem: AssignmentProblem, moves: int) -> None:
    every = reached(problem)
    affordable = [squares(problem, load) for load, m in every.items() if m <= moves]
    trade = loads_for(problem, moves)
    if trade is None:
        assert not affordable
        return
    assert trade.moves <= moves
    assert tuple(trade.load.tolist()) in every
    bound = fairest_loads_for(problem, trade.slot_price, trade.move_price)
    bound -= trade.move_price * moves
    if affordable:
        assert bound <= min(affordable)
    if every[tuple(trade.load.tolist())] <= moves:
        assert squares(problem, trade.load) >= min(affordable)


def test_max_moves_is_nearly_always_optimal_and_proven() -> None:
    rng = random.Random(11)
    cases = fair = proven = 0
    for _ in range(150):
        problem = random_problem(rng)
        every = reached(problem)
        for moves in range(max(every.values()) + 1):
            affordable = [squares(problem, load) for load, m in every.items() if m <= moves]
            trade = loads_for(problem, moves)
            if not affordable:
                continue
            cases += 1
            assert trade is not None
            fair += squares(problem, trade.load) == min(affordable)
            bound = fairest_loads_for(problem, trade.slot_price, trade.move_price)
            proven += bound - trade.move_price * moves == min(affordable)
    assert cases > 250
    assert fair >= 0.97 * cases
    assert proven >= 0.98 * cases


@given(problem=problems(max_slots=4, max_items=5))
@examples(150)
def test_more_moves_are_never_less_fair(problem: AssignmentProblem) -> None:
    free = fairest(problem)
    before: int | None = None
    for moves in range(free.moves + 2):
        trade = loads_for(problem, moves)
        if trade is None:
            assert before is None
            continue
        now = squares(problem, trade.load)
        assert before is None or now <= before
        before = now
    assert before == squares(problem, free.load)
    assert loads_for(problem, free.moves).load.tolist() == free.load.tolist()  # type: ignore[union-attr]


def test_fewer_moves_than_the_rules_need_is_infeasible() -> None:
    """Both items must leave zone 0 by one slot each."""
    own = np.array([[0, 1], [0, 1]])
    problem = plain(own, np.array([0, 0, 1, 1]), demand=np.array([2, 2]), zoned=True)
    assert loads_for(problem, 1) is None
    trade = loads_for(problem, 2)
    assert trade is not None
    assert sorted(trade.load.tolist()) == [1, 1, 1, 1]


@pytest.mark.parametrize(("moves", "load"), [(0, [9, 0, 0]), (2, [7, 1, 1]), (4, [5, 2, 2])])
def test_the_emptiest_of_equal_brokers_are_filled_first(moves: int, load: list[int]) -> None:
    problem = plain(np.zeros((9, 1), dtype=np.int64), np.zeros(3, dtype=np.int64))
    trade = loads_for(problem, moves)
    assert trade is not None
    assert trade.load.tolist() == load
    assert arranged(problem, trade.load) == trade.moves == moves
