"""Counts and picks together against enumeration, and the bounds that certify them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from partage.flow.certificate import Prices, Takeovers, fairest_range, proven_bound
from partage.flow.selection import pick_slots
from partage.flow.takeover_counts import CountSearch
from tests.profiles import examples

Counts = tuple[int, ...]


@dataclass
class Case:
    """Each item picks an ordered pair of its slots; ``fair``: every way to do so whose counts have
    the least sum of squares, as counts, worst level and sum of squares of the levels."""

    items: list[list[int]]
    base: list[int]
    fixed: list[list[int]]

    def outcomes(self) -> Iterator[tuple[Counts, int, int]]:
        slots = range(len(self.base))
        for picks in itertools.product(*(itertools.permutations(row, 2) for row in self.items)):
            held = tuple(b + sum(p[0] == s for p in picks) for s, b in enumerate(self.base))
            level = [
                held[f] + self.fixed[b][f] + picks.count((b, f))
                for b in slots
                for f in slots
                if f != b
            ]
            yield held, max(level), sum(n * n for n in level)

    def fair(self) -> list[tuple[Counts, int, int]]:
        every = list(self.outcomes())
        least = min(sum(n * n for n in held) for held, _, _ in every)
        return [one for one in every if sum(n * n for n in one[0]) == least]

    def takeovers(self) -> Takeovers:
        base = np.array(self.base)
        arcs = np.array([(i, s) for i, row in enumerate(self.items) for s in row])
        no_change = np.zeros(len(arcs), dtype=np.int64)
        _, price = pick_slots(arcs[:, 0], arcs[:, 1], len(self.items), base, no_change)
        low, high = fairest_range(base, price, len(self.items))
        pairs = [
            (i, pair)
            for i, row in enumerate(self.items)
            for pair in itertools.permutations(sorted(row), 2)
            if price[pair[0]] == min(price[row])
        ]
        options = sorted({pair for _, pair in pairs})
        return Takeovers(
            item=np.array([i for i, _ in pairs]),
            option=np.array([options.index(pair) for _, pair in pairs]),
            items=len(self.items),
            holder=np.array([b for b, _ in options]),
            taker=np.array([f for _, f in options]),
            base=base,
            fixed=np.array(self.fixed),
            low=low,
            high=high,
            total=sum(self.base) + len(self.items),
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    slots = draw(st.integers(2, 5))
    sets = st.lists(st.integers(0, slots - 1), min_size=2, max_size=3, unique=True)
    few = st.integers(0, 2)
    fixed = [[draw(few) if b != f else 0 for f in range(slots)] for b in range(slots)]
    if draw(st.booleans()):
        fixed = [[0] * slots for _ in range(slots)]
    return Case(
        draw(st.lists(sets, min_size=1, max_size=5)), [draw(few) for _ in range(slots)], fixed
    )


@given(case=cases())
@examples(200)
def test_counts_within_the_ranges_are_the_fair_ones(case: Case) -> None:
    takeovers = case.takeovers()
    held = np.array([held for held, _, _ in case.fair()])
    assert (takeovers.low == held.min(axis=0)).all() or (takeovers.low < takeovers.high).any()
    assert (takeovers.low <= held.min(axis=0)).all()
    assert (takeovers.high >= held.max(axis=0)).all()
    assert (takeovers.high - takeovers.low <= 1).all()
    inside = {
        held
        for held, _, _ in case.outcomes()
        if (takeovers.low <= held).all() and (held <= takeovers.high).all()
    }
    squares = {sum(n * n for n in held) for held in inside}
    assert min(squares) == sum(n * n for n in case.fair()[0][0])


@given(case=cases(), data=st.data())
@examples(300)
def test_no_prices_prove_too_much(case: Case, data: st.DataObject) -> None:
    takeovers, fair = case.takeovers(), case.fair()
    assert takeovers.counting_bound <= min(worst for _, worst, _ in fair)
    number = st.integers(-40, 40)
    option = np.array([data.draw(number) for _ in takeovers.holder])
    slot = np.array([data.draw(number) for _ in takeovers.base])
    cap = data.draw(st.integers(0, 12))
    possible = [squares for _, worst, squares in fair if worst <= cap]
    for scale in (0, 1, 3):
        bound = takeovers.bound(cap, scale, option, slot)
        if possible:
            assert bound is not None
            assert bound <= scale * min(possible)


@given(case=cases())
@examples(400)
def test_counts_that_keep_the_levels_lowest_and_most_even(case: Case) -> None:
    """The search finds counts wherever there are some, and otherwise proves that there are none."""
    takeovers, fair = case.takeovers(), case.fair()

    def evaluate(counts: np.ndarray, cap: int) -> int | None:
        found = [s for held, worst, s in fair if held == tuple(counts.tolist()) and worst <= cap]
        return min(found, default=None)

    least = min(worst for _, worst, _ in fair)
    search = CountSearch()
    none = search.find(takeovers, least - 1, evaluate)
    assert none.counts is None
    assert proven_bound(takeovers, least - 1, none.proof) is None
    found = search.find(takeovers, least, evaluate).counts
    assert found is not None
    assert evaluate(found, least) is not None

    best = min(squares for _, worst, squares in fair if worst == least)
    value = evaluate(found, least)
    assert value is not None
    better = search.improve(takeovers, least, evaluate, value)
    assert proven_bound(takeovers, least, better.proof) == best
    if value == best:
        assert better.counts is None
    else:
        assert better.counts is not None
        assert evaluate(better.counts, least) == best


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
@examples(100)
def test_a_search_again_solves_no_program(case: Case, seed: int) -> None:
    """Whatever order the picks are listed in; takeovers that differ are solved for themselves."""
    takeovers = case.takeovers()
    order = np.random.default_rng(seed).permutation(len(takeovers.item))
    listed = replace(takeovers, item=takeovers.item[order], option=takeovers.option[order])
    more = replace(takeovers, base=takeovers.base + 1)
    search = CountSearch()
    first = search.improve(takeovers, 99, lambda counts, cap: None, 10**6)
    solved = len(search.solved)
    second = search.improve(listed, 99, lambda counts, cap: None, 10**6)
    assert len(search.solved) == solved
    assert proven_bound(takeovers, 99, first.proof) == proven_bound(listed, 99, second.proof)
    search.improve(more, 99, lambda counts, cap: None, 10**6)
    assert solved == 0 or len(search.solved) > solved


def test_a_proof_by_cases_must_be_complete() -> None:
    """One item on two slots: either may hold it."""
    takeovers = Case([[0, 1]], [0, 0], [[0, 0], [0, 0]]).takeovers()
    assert (takeovers.low.tolist(), takeovers.high.tolist()) == ([0, 0], [1, 1])
    # whoever holds the item, the other takes it over; each has 1 when the other fails
    prices = Prices(np.array([2, 2]), np.array([1, 1]))
    assert proven_bound(takeovers, 9, [0, prices, prices]) == 2
    for proof, problem in (
        ([], "without prices"),
        ([0, prices], "without prices"),
        ([prices, prices], "more prices than cases"),
        ([0, 0, prices, prices, prices], "does not distinguish two cases"),
        ([2, prices, prices], "does not distinguish two cases"),
    ):
        with pytest.raises(ValueError, match=problem):
            proven_bound(takeovers, 9, proof)


def test_prices_too_large_to_sum() -> None:
    takeovers = Case([[0, 1]], [0, 0], [[0, 0], [0, 0]]).takeovers()
    huge = np.array([2**61, 2**61])
    with pytest.raises(ValueError, match="too large"):
        takeovers.bound(9, 1, huge, huge)


@given(case=cases())
@examples(100)
def test_effort_beyond_its_limit_leaves_a_valid_bound(case: Case) -> None:
    from partage.flow import takeover_counts

    takeovers, fair = case.takeovers(), case.fair()
    assume((takeovers.high > takeovers.low).any())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(takeover_counts, "EFFORT_SQUARES", 1)
        searched = CountSearch().improve(takeovers, 99, lambda counts, cap: None, 10**6)
    assert searched.counts is None
    bound = proven_bound(takeovers, 99, searched.proof)
    assert bound is not None
    assert bound <= min(squares for _, _, squares in fair)
