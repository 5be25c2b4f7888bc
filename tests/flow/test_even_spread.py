"""Even counts against enumeration, with all pairs laid out and with few of them."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from partage.flow import even_spread
from partage.flow.even_spread import SpreadProblem, minimise_spread

Counts = tuple[int, ...]


def small(draw: random.Random, families: int) -> tuple[SpreadProblem, Counts] | None:
    """A problem and the counts it was made around, None if it has no pairs."""
    rows, slots = draw.randint(1, 3), draw.randint(1, 4)
    pairs = [(r, e) for r in range(rows) for e in range(slots) if draw.random() < 0.85]
    named = {row for row, _ in pairs}
    if named != set(range(rows)):
        return None
    given = [draw.choice([0, 0, 1, 2, 3]) for _ in pairs]
    family = [row % families for row in range(rows)]
    beside = {(f, e): draw.choice([0, 0, 2]) for f in range(families) for e in range(slots)}
    row, slot = np.array([r for r, _ in pairs]), np.array([e for _, e in pairs])
    load = np.bincount(slot, given, minlength=slots).astype(np.int64)
    column = np.array(given)
    problem = SpreadProblem(
        count=np.bincount(row, given, minlength=rows).astype(np.int64),
        family=np.array(family),
        row=row,
        slot=slot,
        low=np.maximum(column - [draw.randint(0, 2) for _ in pairs], 0),
        high=column + [draw.randint(0, 3) for _ in pairs],
        base=np.array([beside[family[r], e] for r, e in pairs]),
        least=np.maximum(load - draw.randint(0, 1), 0),
        most=load + draw.randint(0, 1),
    )
    return problem, tuple(given)


def cost(problem: SpreadProblem, counts: Counts) -> int:
    """What is minimised, counted apart; the bounds are checked."""
    rows: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    cells: Counter[tuple[int, int]] = Counter()
    beside: dict[tuple[int, int], int] = {}
    for at, count in enumerate(counts):
        row, slot = int(problem.row[at]), int(problem.slot[at])
        assert problem.low[at] <= count <= problem.high[at]
        rows[row] += count
        slots[slot] += count
        cells[int(problem.family[row]), slot] += count
        beside[int(problem.family[row]), slot] = int(problem.base[at])
    assert [rows[row] for row in range(len(problem.count))] == problem.count.tolist()
    for slot, (least, most) in enumerate(zip(problem.least, problem.most, strict=True)):
        assert least <= slots[slot] <= most
    return sum((cells[cell] + beside[cell]) ** 2 for cell in cells)


def least(problem: SpreadProblem) -> int:
    """By trying every count."""
    costs = []
    for counts in product(
        *(range(a, b + 1) for a, b in zip(problem.low, problem.high, strict=True))
    ):
        column = np.array(counts)
        rows = np.bincount(problem.row, column, minlength=len(problem.count))
        load = np.bincount(problem.slot, column, minlength=len(problem.least))
        within = (problem.least <= load).all() and (load <= problem.most).all()
        if within and (rows == problem.count).all():
            costs.append(cost(problem, counts))
    return min(costs)


def lay_out_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(even_spread, "_ALL_PAIRS", 0)
    monkeypatch.setattr(even_spread, "_MANY_CHANGES", 1_000)


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("families", [1, 2, 3])
def test_counts_are_the_most_even(
    families: int, in_parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_parts:
        lay_out_by_columns(monkeypatch)
    draw = random.Random(families)
    seen = 0
    while seen < 60:
        made = small(draw, families)
        if made is None or int(np.prod(made[0].high - made[0].low + 1)) > 20_000:
            continue
        seen += 1
        problem, given = made
        found = tuple(minimise_spread(problem, np.array(given)).tolist())
        assert cost(problem, found) == least(problem)


def test_small_batches_of_pairs_give_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty rows over sixty slots, from counts that are far from even."""
    draw = np.random.default_rng(1)
    rows, slots = 40, 60
    row, slot = (part.ravel() for part in np.indices((rows, slots)))
    given = draw.poisson(0.5, rows * slots) * draw.integers(0, 6, rows * slots)
    load = np.bincount(slot, given).astype(np.int64)
    problem = SpreadProblem(
        count=np.bincount(row, given).astype(np.int64),
        family=np.arange(rows),
        row=row,
        slot=slot,
        low=np.zeros(rows * slots, dtype=np.int64),
        high=np.full(rows * slots, 100),
        base=np.zeros(rows * slots, dtype=np.int64),
        least=load,
        most=load,
    )
    whole = tuple(minimise_spread(problem, given).tolist())
    lay_out_by_columns(monkeypatch)
    parts = tuple(minimise_spread(problem, given).tolist())
    assert cost(problem, whole) <= cost(problem, parts) < cost(problem, tuple(given.tolist()))
    assert cost(problem, parts) <= 1.02 * cost(problem, whole)
    # too many for either
    monkeypatch.setattr(even_spread, "_MANY_CHANGES", 0)
    monkeypatch.setattr(even_spread, "_ALL_PAIRS_CHANGED", 0)
    assert minimise_spread(problem, given).tolist() == given.tolist()
