"""Size balancing: bounds against all arrangements, fair shares against a linear program, and the
search against the rules."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.optimize import linprog

from partage.flow.assignment import AssignmentProblem
from partage.flow.size_balancing import (
    Bands,
    balance_sizes,
    fair_shares,
    fewest_bytes,
    fewest_moves,
    move_smaller_items,
    slot_prices,
    tightest,
)
from partage.flow.size_certificate import level_bound, moved_bound
from tests.flow.assignment.cases import allowed, chosen_slots, plain, problems
from tests.profiles import examples

Loads = tuple[int, ...]
FREE = 2**62


@st.composite
def sized(draw: st.DrawFn, max_slots: int = 4, max_items: int = 4) -> AssignmentProblem:
    """A random problem with sizes, also of what stays."""
    problem = draw(problems(max_slots, max_items))
    size = st.sampled_from((0, 1, 1, 2, 3, 7, 40)) if draw(st.booleans()) else st.integers(0, 99)
    scale = draw(st.sampled_from((1, 1, 1, 10**6, 10**15)))
    stays = [draw(st.integers(0, 50)) if n else 0 for n in problem.base.tolist()]
    return replace(
        problem,
        size=np.array([scale * draw(size) for _ in range(problem.items)]),
        base_size=np.array([scale * n for n in stays]),
    )


def reached(problem: AssignmentProblem, *, counted: bool = False) -> dict[Loads, int]:
    """Every vector of sizes on the slots (``counted``: of how many), what stays included, and the
    least that moves to reach it."""
    start = problem.base if counted else problem.base_size
    table = {tuple(start.tolist()): 0}
    for item, demand in enumerate(problem.demand.tolist()):
        size = 1 if counted else int(problem.size[item])
        own = set(problem.own[item].tolist())
        grown: dict[Loads, int] = {}
        for chosen in itertools.combinations(range(problem.slots), demand):
            if not allowed(problem, demand, chosen):
                continue
            new = size * len(set(chosen) - own)
            for load, moved in table.items():
                key = tuple(x + size * (s in chosen) for s, x in enumerate(load))
                grown[key] = min(moved + new, grown.get(key, FREE))
        table = grown
    return table


def within(every: dict[Loads, int], low: np.ndarray, high: np.ndarray) -> dict[Loads, int]:
    return {
        load: moved
        for load, moved in every.items()
        if all(a <= x <= b for a, x, b in zip(low.tolist(), load, high.tolist(), strict=True))
    }


def held(problem: AssignmentProblem, slots: np.ndarray) -> list[int]:
    """The sizes on each slot."""
    load = problem.base_size.tolist()
    for size, row in zip(problem.size.tolist(), chosen_slots(slots), strict=True):
        for slot in row:
            load[slot] += size
    return load


def moved(problem: AssignmentProblem, slots: np.ndarray) -> int:
    rows = zip(problem.size.tolist(), chosen_slots(slots), problem.own.tolist(), strict=True)
    return sum(size * len(set(row) - set(own)) for size, row, own in rows)


def assert_arranged(problem: AssignmentProblem, slots: np.ndarray) -> None:
    for row, demand in zip(chosen_slots(slots), problem.demand.tolist(), strict=True):
        assert len(set(row)) == len(row) == demand
        assert allowed(problem, demand, row)


def level(problem: AssignmentProblem, load: Loads | list[int]) -> int:
    return max(int(w) * x for w, x in zip(problem.weight, load, strict=True))


def bound_of(problem: AssignmentProblem, confined: np.ndarray) -> int:
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    return level_bound(
        size=problem.size,
        demand=problem.demand,
        least=least,
        most=most,
        zone=problem.zone_of,
        base_size=problem.base_size,
        weight=problem.weight,
        confined=confined,
    )


def subsets(slots: int) -> Iterator[np.ndarray]:
    for chosen in itertools.product((False, True), repeat=slots):
        yield np.array(chosen)


# ---------------------------------------------------------------- bounds


@given(problem=sized())
@examples(300)
def test_level_bound_never_exceeds_the_optimum(
    problem: AssignmentProblem,
) -> None:
    best = min(level(problem, load) for load in reached(problem))
    for confined in subsets(problem.slots):
        assert bound_of(problem, confined) <= best
    bound, chosen = tightest(problem, fair_shares(problem))
    assert bound == bound_of(problem, chosen)
    assert bound <= best


@given(problem=sized(), data=st.data())
@examples(400)
def test_moved_bytes_bound_never_exceeds_the_optimum(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    every = reached(problem)
    target = data.draw(st.sampled_from(sorted(every)))
    slack = data.draw(st.sampled_from((0, 1, 5, 40))) * max(1, int(problem.size.max()) // 40)
    low, high = np.maximum(np.array(target) - slack, 0), np.array(target) + slack
    best = min(within(every, low, high).values())
    price = st.one_of(st.integers(-3, 3), st.sampled_from((-(2**40), 2**40, 1000, -1000)))
    for drawn in (
        [data.draw(price) for _ in range(problem.slots)],
        [0] * problem.slots,
        slot_prices(problem, low, high),
    ):
        assert fewest_bytes(problem, low, high, np.array(drawn, dtype=np.int64)) <= best


@given(problem=sized(), data=st.data())
@examples(200)
def test_moves_bound_never_exceeds_the_optimum(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    every = reached(problem, counted=True)
    target = np.array(data.draw(st.sampled_from(sorted(every))))
    slack = data.draw(st.integers(0, 2))
    low, high = np.maximum(target - slack, problem.base), target + slack
    best = min(within(every, low, high).values())
    price = np.array([data.draw(st.integers(-3, 3)) for _ in range(problem.slots)])
    assert 0 <= fewest_moves(problem, low, high, price) <= best


def test_prices_that_cannot_be_summed_exactly_are_refused() -> None:
    problem = packing([4, 3], slots=2, own=[0, 0])
    low, high = np.zeros(2, dtype=np.int64), np.full(2, 9)
    for price in (2**41, -(2**41), -(2**63)):  # there is no 64-bit +(2**63)
        with pytest.raises(ValueError, match="too large"):
            fewest_bytes(problem, low, high, np.array([price, 0]))


def test_bounds_of_many_items_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of items and slots is cut where it is large; the bound is the same."""
    rng = np.random.default_rng(4)
    problem = packing(rng.integers(1, 99, 60).tolist(), slots=5, own=rng.integers(0, 5, 60))
    share = fair_shares(problem)
    low, high = Bands(np.full(5, FREE), share).at(0.05)
    price = slot_prices(problem, low, high)
    whole = fewest_bytes(problem, low, high, price)
    monkeypatch.setattr("partage.flow.size_certificate._CELLS", 35)
    assert fewest_bytes(problem, low, high, price) == whole > 0


def packing(sizes: list[int], *, slots: int, own: list[int] | np.ndarray) -> AssignmentProblem:
    """One slot each, no zones."""
    at = np.array(own, dtype=np.int64)[:, None]
    return plain(at, np.zeros(slots, dtype=np.int64), size=np.array(sizes))


def test_two_large_items_of_three_share_a_slot() -> None:
    problem = packing([6, 5, 4], slots=2, own=[0, 0, 0])
    assert tightest(problem, fair_shares(problem))[0] == 9


def test_every_item_of_a_broker_on_the_wrong_side() -> None:
    """Slot 0 has 100 too much, so every arrangement moves 100."""
    problem = packing([10] * 20, slots=2, own=[0] * 20)
    low = high = np.array([100, 100])
    assert fewest_bytes(problem, low, high, slot_prices(problem, low, high)) == 100


@given(problem=sized(max_slots=4, max_items=4), data=st.data())
@examples(150)
def test_moved_bytes_bound_does_not_depend_on_the_order_of_owners(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    item, slot = problem.owned
    order = data.draw(st.permutations(range(len(item))))
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    low, high = np.zeros(problem.slots, dtype=np.int64), np.full(problem.slots, 50)
    price = np.arange(problem.slots) - 1
    order_ = np.array(order, dtype=np.int64)
    bounds = [
        moved_bound(
            size=problem.size,
            demand=problem.demand,
            least=least,
            most=most,
            current=sits,
            zone=problem.zone_of,
            base_size=problem.base_size,
            low=low,
            high=high,
            price=price,
        )
        for sits in ((item, slot), (item[order_], slot[order_]))
    ]
    assert bounds[0] == bounds[1] == fewest_bytes(problem, low, high, price)


# ---------------------------------------------------------------- fair shares


def divisible_level(problem: AssignmentProblem) -> float:
    """The least possible maximum of weight times size, were items divisible: a linear program of
    (item, slot) parts, none above one."""
    i, e = problem.items, problem.slots
    width = i * e + 1
    cost = np.zeros(width)
    cost[-1] = 1
    scale = max(1.0, float(problem.size.max()), float(problem.base_size.max()))
    above, most = [], []
    for s in range(e):
        row = np.zeros(width)
        row[s : i * e : e] = problem.weight[s] * problem.size / scale
        row[-1] = -1
        above.append(row)
        most.append(-float(problem.weight[s]) * float(problem.base_size[s]) / scale)
    zones = range(int(problem.zone.max()) + 1) if problem.zoned else range(0)
    sizes = [int((problem.zone == z).sum()) for z in zones]
    equal, total = [], []
    for item, demand in enumerate(problem.demand.tolist()):
        row = np.zeros(width)
        row[item * e : (item + 1) * e] = 1
        equal.append(row)
        total.append(demand)
        cap = next((m for m in range(1, demand) if sum(min(m, n) for n in sizes) >= demand), demand)
        for z in zones:
            row = np.zeros(width)
            row[item * e : (item + 1) * e] = problem.zone == z
            above.append(row)
            most.append(cap)
            if demand > len(sizes):
                above.append(-row)
                most.append(-1)
    bounds = [(0, 1)] * (i * e) + [(0, None)]
    found = linprog(cost, np.array(above), np.array(most), np.array(equal), np.array(total), bounds)
    assert found.success
    return float(found.fun) * scale


@given(problem=sized(max_slots=5, max_items=4), one=st.booleans())
@examples(200)
def test_fair_shares_match_a_linear_program(problem: AssignmentProblem, one: bool) -> None:
    if one:
        problem = replace(problem, demand=np.full_like(problem.demand, problem.demand.max()))
    share = fair_shares(problem)
    total = float((problem.size * problem.demand).sum() + problem.base_size.sum())
    assert float(share.sum()) == pytest.approx(total, rel=1e-6, abs=1e-6)
    assert (share >= problem.base_size * (1 - 1e-9)).all()
    highest, best = float((share * problem.weight).max()), divisible_level(problem)
    if one:
        assert highest == pytest.approx(best, rel=1e-6, abs=1e-6)
        # and a set of slots proves it
        assert tightest(problem, share)[0] >= best * (1 - 1e-6) - 1e-6
    else:
        # a bound per zone may not see how zones depend on one another
        assert highest <= best * (1 + 1e-6) + 1e-6


def test_fair_shares_leave_no_slot_above_its_ceiling() -> None:
    problem = packing([10] * 9, slots=3, own=[0] * 9)
    share = fair_shares(problem, np.array([10, FREE, FREE]))
    assert share.tolist() == pytest.approx([10, 40, 40])


# ---------------------------------------------------------------- the search


def bands_of(problem: AssignmentProblem, data: st.DataObject) -> Bands:
    total = int((problem.size * problem.demand).sum() + problem.base_size.sum())
    ceiling = np.full(problem.slots, FREE)
    kind = data.draw(st.sampled_from(("free", "free", "tight", "some", "relieve")))
    if kind != "free":
        for s in range(problem.slots):
            if kind == "tight" or data.draw(st.booleans()):
                part = data.draw(st.integers(40, 300))
                ceiling[s] = max(1, total * part // (100 * problem.slots))
    return Bands(ceiling, None if kind == "relieve" else fair_shares(problem, ceiling))


@given(problem=sized(max_slots=5, max_items=7), data=st.data())
@examples(200)
def test_filled_bands_keep_the_rules_and_report_the_right_moves(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    bands = bands_of(problem, data)
    tolerance = data.draw(st.sampled_from((0.0, 0.02, 0.3, 1.0)))
    found = balance_sizes(problem, bands, tolerance)
    assert_arranged(problem, found.slots)
    load = np.array(held(problem, found.slots))
    assert (found.tolerance is None) is bool((load > bands.ceiling).any())
    if found.tolerance is not None and bands.share is not None:
        # half a byte is rounding, of shares below a byte a whole one
        away = (found.tolerance + 1e-9) * np.maximum(bands.share, 1) + 0.501
        assert (np.abs(load - bands.share) <= away).all()
    # a second time there is nothing to do
    again = balance_sizes(replace(problem, own=found.slots), bands, tolerance)
    assert chosen_slots(again.slots) == chosen_slots(found.slots)


@given(problem=sized(max_slots=4, max_items=5), data=st.data())
@examples(200)
def test_sizes_within_their_bands_do_not_change(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    start = balance_sizes(problem, Bands(np.full(problem.slots, FREE), None), 0).slots
    problem = replace(problem, own=start)
    load = held(problem, start)
    share = np.array(load) * data.draw(st.sampled_from((0.95, 1.0, 1.05)))
    found = balance_sizes(problem, Bands(np.full(problem.slots, FREE), share), 0.06)
    assert chosen_slots(found.slots) == chosen_slots(start)


def test_feasible_bands_are_nearly_always_reached() -> None:
    """The moves are then mostly the fewest possible."""
    rng = random.Random(3)
    cases = reaches = least = 0
    for _ in range(250):
        slots, items = rng.randint(2, 4), rng.randint(2, 6)
        problem = packing(
            [rng.randint(1, 30) for _ in range(items)],
            slots=slots,
            own=[rng.randrange(slots) for _ in range(items)],
        )
        bands = Bands(np.full(slots, FREE), fair_shares(problem))
        tolerance = rng.choice((0.1, 0.3, 0.6))
        inside = within(reached(problem), *bands.at(tolerance))
        if not inside:
            continue
        cases += 1
        found = balance_sizes(problem, bands, tolerance)
        if tuple(held(problem, found.slots)) in inside:
            reaches += 1
            least += moved(problem, found.slots) == min(inside.values())
            assert moved(problem, found.slots) >= min(inside.values())
    assert cases > 80
    assert reaches >= 0.95 * cases
    assert least >= 0.85 * cases


def test_tolerances_so_wide_that_sizes_leave_64_bits() -> None:
    """Bands are doubled until an arrangement is found; here none exists."""
    problem = packing([10**15] * 3, slots=2, own=[0, 0, 0])
    bands = Bands(np.array([10**14, 10**14]), np.array([1.5e15, 1.5e15]))
    for tolerance in (0.0, 1e3, 1e9, 1e18):
        low, high = bands.at(tolerance)
        assert (low >= 0).all()
        assert (low <= high).all()
        assert (high <= bands.ceiling).all()
    assert balance_sizes(problem, bands, 0.02).tolerance is None


# ---------------------------------------------------------------- fewer bytes, the same counts


@given(problem=sized(max_slots=4, max_items=8), data=st.data())
@examples(250)
def test_cheapened_moves_as_many_but_smaller(
    problem: AssignmentProblem, data: st.DataObject
) -> None:
    share = fair_shares(problem)
    start = balance_sizes(problem, Bands(np.full(problem.slots, FREE), share), 0.1).slots
    before = moved(problem, start)
    enough = data.draw(st.sampled_from((0, before // 2, before)))
    made = move_smaller_items(problem, start, enough)
    assert_arranged(problem, made)
    count = [sorted(s for row in chosen_slots(rows) for s in row) for rows in (start, made)]
    assert count[0] == count[1]
    new = [
        sum(
            len(set(r) - set(o))
            for r, o in zip(chosen_slots(rows), problem.own.tolist(), strict=True)
        )
        for rows in (start, made)
    ]
    assert new[0] == new[1]
    assert moved(problem, made) <= before
    if enough == before:
        assert chosen_slots(made) == chosen_slots(start)


def test_cheapened_within_the_family_first() -> None:
    """Item 0 moved; item 1 of its family is smaller, item 2 of another is smaller still."""
    problem = replace(
        packing([50, 20, 10], slots=2, own=[0, 0, 0]),
        family=np.array([0, 0, 1]),
        family_base=np.zeros((2, 2), dtype=np.int64),
    )
    start = np.array([[1], [0], [0]])
    assert move_smaller_items(problem, start, 50).ravel().tolist() == [1, 0, 0]
    assert move_smaller_items(problem, start, 30).ravel().tolist() == [0, 1, 0]
    assert move_smaller_items(problem, start, 10).ravel().tolist() == [0, 0, 1]
