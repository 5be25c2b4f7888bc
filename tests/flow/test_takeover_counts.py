"""Counts and picks together against enumeration, and the bounds that certify them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from partage.flow.certificate import Prices, proven_bound
from partage.flow.count_search import CountSearch
from tests.flow.takeover_cases import Case, cases
from tests.profiles import examples


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
    search, start = CountSearch(), np.array(fair[0][0])
    none = search.find(takeovers, start, least - 1)
    assert none.counts is None
    assert proven_bound(takeovers, least - 1, none.proof) is None
    found = search.find(takeovers, start, least).counts
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
    solved = len(search.programs)
    second = search.improve(listed, 99, lambda counts, cap: None, 10**6)
    assert len(search.programs) == solved
    assert proven_bound(takeovers, 99, first.proof) == proven_bound(listed, 99, second.proof)
    search.improve(more, 99, lambda counts, cap: None, 10**6)
    assert solved == 0 or len(search.programs) > solved


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
        patch.setattr(takeover_counts, "EFFORT", 1)
        searched = CountSearch().improve(takeovers, 99, lambda counts, cap: None, 10**6)
    assert searched.counts is None
    bound = proven_bound(takeovers, 99, searched.proof)
    assert bound is not None
    assert bound <= min(squares for _, _, squares in fair)
