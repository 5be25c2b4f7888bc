"""Colourings: limits always kept; the bound met where every edge has one head; never below what an
independent integer program finds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from partage.flow.edge_colouring import Edges, colour, fewest_colours
from tests.profiles import examples

Rows = list[tuple[int, list[int]]]
"""(tail, heads) of each edge."""


def edges_of(rows: Rows, vertices: int = 9) -> Edges:
    return Edges(
        vertices,
        np.array([tail for tail, _ in rows], dtype=np.int64),
        np.cumsum([0, *(len(heads) for _, heads in rows)], dtype=np.int64),
        np.array([v for _, heads in rows for v in heads], dtype=np.int64),
    )


def holds(rows: Rows, colours: list[int], limit: int, most: int | None) -> bool:
    """Whether every limit is kept, counted edge by edge."""
    for a in set(colours):
        chosen = [row for row, b in zip(rows, colours, strict=True) if b == a]
        if most is not None and len(chosen) > most:
            return False
        for v in {v for tail, heads in chosen for v in (tail, *heads)}:
            if sum(v in heads for _, heads in chosen) > limit:
                return False
            sent = [len(heads) for tail, heads in chosen if tail == v >= 0]
            if sum(sent) > limit and len(sent) > 1:
                return False
    return True


def coloured(rows: Rows, limit: int = 1, most: int | None = None) -> list[int]:
    """The colouring, checked."""
    edges = edges_of(rows)
    found = colour(edges, np.ones(len(rows), dtype=np.int64), limit, most).tolist()
    assert len(found) == len(rows)
    assert set(found) == set(range(max(found, default=-1) + 1))
    assert holds(rows, found, limit, most)
    assert len(set(found)) >= fewest_colours(edges, limit, most)
    return [int(a) for a in found]


def fewest_by_brute_force(rows: Rows, limit: int, most: int | None) -> int:
    return next(
        count
        for count in range(1, len(rows) + 1)
        if any(
            holds(rows, list(colours), limit, most)
            for colours in product(range(count), repeat=len(rows))
        )
    )


def fewest_by_integer_program(rows: Rows, limit: int, most: int | None) -> int:
    """The least number of colours for which HiGHS finds a colouring."""
    n = len(rows)
    return next(w for w in range(1, n + 1) if _colourable(rows, limit, most, w))


def _colourable(rows: Rows, limit: int, most: int | None, w: int) -> bool:
    n = len(rows)
    constraints: list[tuple[np.ndarray, float, float]] = []

    def add(weights: dict[tuple[int, int], float], low: float, high: float) -> None:
        line = np.zeros(n * w)
        for (e, a), weight in weights.items():
            line[e * w + a] = weight
        constraints.append((line, low, high))

    for e in range(n):
        add({(e, a): 1 for a in range(w)}, 1, 1)
    for a in range(w):
        if most is not None:
            add({(e, a): 1 for e in range(n)}, 0, most)
        for v in range(9):
            into = {(e, a): 1.0 for e, (_, heads) in enumerate(rows) if v in heads}
            add(into, 0, limit)
            out = {e: min(len(heads), limit) for e, (tail, heads) in enumerate(rows) if tail == v}
            add({(e, a): float(d) for e, d in out.items()}, 0, limit)
    matrix = np.array([line for line, _, _ in constraints])
    low = np.array([low for _, low, _ in constraints])
    high = np.array([high for _, _, high in constraints])
    found: Any = milp(
        np.zeros(n * w),
        integrality=np.ones(n * w),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high),
    )
    return bool(found.success)


# ---------------------------------------------------------------- named cases


def test_without_edges_no_colour_is_used() -> None:
    assert coloured([]) == []
    assert fewest_colours(edges_of([]), 1) == 0


def test_disjoint_edges_share_a_colour() -> None:
    assert coloured([(0, [1]), (2, [3])]) == [0, 0]


def test_a_vertex_can_be_head_and_tail() -> None:
    assert coloured([(0, [1]), (1, [2]), (2, [0])]) == [0, 0, 0]


def test_heavy_edges_take_the_lowest_colours() -> None:
    edges = edges_of([(0, [3]), (1, [3]), (2, [3])])
    assert colour(edges, np.array([5, 4, 9]), 1).tolist() == [1, 2, 0]


def test_first_fit_is_improved_to_the_bound() -> None:
    rows: Rows = [(0, [3]), (1, [4]), (1, [5]), (0, [4])]
    edges = edges_of(rows)
    found = colour(edges, np.array([4, 3, 2, 1]), 1)
    assert holds(rows, found.tolist(), 1, None)
    assert found.max() == 1
    for limit in (1, 2):
        rows = [(a, [b]) for a in range(4) for b in range(5, 9)] * limit
        assert len(set(coloured(rows, limit))) == 4


def test_without_a_tail_only_heads_count() -> None:
    assert coloured([(-1, [1]), (-1, [2]), (-1, [1])]) == [0, 0, 1]


def test_an_edge_with_more_heads_than_the_limit_shares_no_colour_at_its_tail() -> None:
    rows: Rows = [(0, [1, 2, 3]), (0, [4]), (0, [5]), (6, [7])]
    found = coloured(rows, 2)
    assert found == [0, 1, 1, 0]
    assert fewest_colours(edges_of(rows), 2) == 2


@pytest.mark.parametrize(
    ("heads", "limit", "bound"),
    [
        ([1, 1, 1, 1, 1], 2, 3),
        ([2, 2, 2], 3, 3),  # two do not fit together, though 6 heads would in 2 colours
        ([2, 2, 1, 1], 3, 2),
        ([3, 3, 2], 4, 3),
        ([3, 3, 1, 1], 4, 2),
        ([5, 1], 2, 2),
        ([5, 5, 1, 1], 2, 3),
        ([2, 2, 2, 2], 4, 2),
    ],
)
def test_the_bound_packs_the_heads_of_a_tail(heads: list[int], limit: int, bound: int) -> None:
    rows: Rows = []
    at = 1
    for count in heads:
        rows.append((0, list(range(at, at + count))))
        at += count
    edges = edges_of(rows, 20)
    assert fewest_colours(edges, limit) == bound
    assert colour(edges, np.ones(len(rows), dtype=np.int64), limit).max() + 1 == bound


def test_max_edges_per_colour() -> None:
    rows: Rows = [(a, [a + 4]) for a in range(4)]
    assert sorted(coloured(rows, 1, 3)) == [0, 0, 0, 1]
    assert sorted(coloured(rows, 1, 1)) == [0, 1, 2, 3]


def test_many_edges_meet_the_bound_with_and_without_max_edges() -> None:
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, 50, 4000), random.integers(50, 60, 4000)
    edges = Edges(60, tails, np.arange(4001), heads)
    for limit, most in ((1, None), (2, None), (5, 30), (2, 17), (1000, 7)):
        found = colour(edges, random.integers(0, 2**60, 4000), limit, most)
        assert found.max() + 1 == fewest_colours(edges, limit, most)
        for ends in (tails, heads):
            pairs, count = np.unique(ends * 10**6 + found, return_counts=True)
            assert count.max() <= limit
            assert len(pairs)
        assert most is None or np.bincount(found).max() <= most


@pytest.mark.long
def test_several_heads_come_close_to_the_bound() -> None:
    """Every tail sends as much as every head takes, all at the limit: no slack anywhere."""
    random = np.random.default_rng(5)
    vertices, n = 30, 1500
    taken = np.zeros(vertices)
    heads = np.zeros((n, 2), dtype=np.int64)
    for e in range(n):
        key = taken + random.random(vertices)
        key[e % vertices] = np.inf
        heads[e] = np.argsort(key)[:2]
        taken[heads[e]] += 1
    edges = Edges(vertices, np.arange(n) % vertices, 2 * np.arange(n + 1), heads.ravel())
    even = np.ones(n, dtype=np.int64)
    found = colour(edges, even, 2)
    assert fewest_colours(edges, 2) == 50
    assert found.max() + 1 <= 53
    assert (colour(edges, even, 2) == found).all()  # the same every time


def test_fewer_colours_do_not_make_colours_longer() -> None:
    """Weights far layout: a heavy edge never ends among light ones."""
    random = np.random.default_rng(6)
    n = 300
    heads = np.array([random.permutation(8)[:2] + 4 for _ in range(n)])
    edges = Edges(12, random.integers(0, 4, n), 2 * np.arange(n + 1), heads.ravel())
    weight = 4 ** random.integers(0, 20, n)
    found = colour(edges, weight, 1)
    heaviest = [weight[found == a].max() for a in range(found.max() + 1)]
    assert np.sum(np.diff(heaviest) > 0) <= len(heaviest) // 10


def test_edges_of_a_colour_have_similar_weights() -> None:
    """Every vertex at the limit in every colour; yet little longer than first fit without it."""
    random = np.random.default_rng(7)
    side, each = 20, 30
    heads = np.concatenate([random.permutation(side) for _ in range(each)]) + side
    edges = Edges(2 * side, np.tile(np.arange(side), each), np.arange(side * each + 1), heads)
    weight = (1e6 * random.lognormal(0, 1.5, side * each)).astype(np.int64)
    found = colour(edges, weight, 1)
    assert found.max() + 1 == each
    longest = sum(weight[found == a].max() for a in range(each))
    ideal = np.sort(weight)[::-1][::side].sum()
    assert longest < 2 * ideal


# ---------------------------------------------------------------- at random


@st.composite
def cases(draw: st.DrawFn, edges: int, heads: int) -> tuple[Rows, int, int | None]:
    """Edges, a limit, perhaps how many of a colour at most."""
    rows: Rows = []
    vertices = draw(st.integers(2, 8))
    for _ in range(draw(st.integers(1, edges))):
        tail = draw(st.integers(-1, vertices - 1))
        others = [v for v in range(vertices) if v != tail]
        count = draw(st.integers(1, min(heads, len(others))))
        rows.append((tail, draw(st.permutations(others))[:count]))
    return rows, draw(st.integers(1, 4)), draw(st.none() | st.integers(1, 6))


@examples(500)
@given(cases(edges=40, heads=1))
def test_single_heads_always_meet_the_bound(case: tuple[Rows, int, int | None]) -> None:
    rows, limit, most = case
    assert len(set(coloured(rows, limit, most))) == fewest_colours(edges_of(rows), limit, most)


@examples(150)
@given(cases(edges=6, heads=3))
def test_small_cases_match_brute_force(case: tuple[Rows, int, int | None]) -> None:
    rows, limit, most = case
    fewest = fewest_by_brute_force(rows, limit, most)
    assert fewest_colours(edges_of(rows), limit, most) <= fewest
    assert len(set(coloured(rows, limit, most))) == fewest


@examples(60)
@given(cases(edges=14, heads=4))
def test_the_bound_never_exceeds_the_integer_program(case: tuple[Rows, int, int | None]) -> None:
    rows, limit, most = case
    fewest = fewest_by_integer_program(rows, limit, most)
    assert fewest_colours(edges_of(rows), limit, most) <= fewest
    assert fewest <= len(set(coloured(rows, limit, most))) <= fewest + 1
