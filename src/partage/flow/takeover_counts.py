"""How many items each slot should hold, so that levels after a failure are even.

With given counts, the best picks are a flow (``selection.pick_pairs``). Choosing the counts too is
not a flow: if a slot holds one item more, its levels after all failures grow by one. So this is
branch and bound over the slots whose count has two values (``count_cases``).

A linear program (HiGHS) relaxes each case: its dual values, rounded to integers, give a bound that
``certificate.Takeovers`` recomputes exactly, so neither the program nor the rounding must be
trusted. Where the program's counts are whole, the flow for them is as good as the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np

from partage.arrays import Floats, Ints
from partage.flow.certificate import Prices, Takeovers
from partage.flow.count_cases import (
    SCALES,
    CaseSearch,
    Relaxed,
    Searched,
    digest_of,
    no_prices,
    ranges_of,
)
from partage.flow.counts_below_cap import CapSearch
from partage.flow.network import Network, minimise

MAX_COLUMNS = 40_000
"""Columns of the largest program that is tried."""

EFFORT = 40_000
"""The effort of all programs of a search together, in columns of small programs."""

_LEAST_PER_PROGRAM = 100
_SMALL = 3_000
"""Columns up to which the time of a program grows as they do; beyond, it grows faster."""

_WINDOW = 3

Evaluate = Callable[[Ints, int], int | None]
"""The least sum of squares for the counts [E] under a cap, or None if the cap cannot be kept."""


Programs = dict[tuple[object, ...], Relaxed | None]


def counts_of_lower_squares(
    takeovers: Takeovers, cap: int, evaluate: Evaluate, value: int, solved: Programs
) -> Searched:
    """Counts with a sum of squares below ``value``, and the bound on it. ``solved``: programs that
    are not solved again; those solved now are added."""
    if takeovers.items > MAX_COLUMNS:
        return Searched(None, [no_prices(takeovers)])
    return _Search(takeovers, cap, evaluate, value, solved).run()


class _Search(CaseSearch):
    """``value``: the least sum of squares known."""

    def __init__(
        self, takeovers: Takeovers, cap: int, evaluate: Evaluate, value: int, solved: Programs
    ) -> None:
        super().__init__(takeovers)
        self.program, self.solved = _Program(takeovers), solved
        self.cap, self.evaluate, self.value = cap, evaluate, value
        self.effort = EFFORT
        self.tried: set[bytes] = set()

    def relax(self, case: Takeovers) -> Relaxed | None:
        if self.program.columns > MAX_COLUMNS or self.effort < 0:
            return None
        self.effort -= self.program.effort
        key = (self.program.key, *ranges_of(case), self.cap)
        if key not in self.solved:
            self.solved[key] = self.program.relax(case, self.cap)
        return self.solved[key]

    def excludes(self, relaxed: Relaxed) -> bool:
        bound, scale = relaxed.bound, relaxed.prices.scale
        if bound is None or (scale == 0 and bound > 0):
            return True
        return scale > 0 and -(-bound // scale) >= self.value

    def attempt(self, case: Takeovers, held: Floats) -> bool:
        counts = _nearest(case, held)
        if counts is None or counts.tobytes() in self.tried:
            return False
        self.tried.add(counts.tobytes())
        value = self.evaluate(counts, self.cap)
        if value is not None and value < self.value:
            self.value, self.counts = value, counts
        return False


def _nearest(case: Takeovers, held: Floats) -> Ints | None:
    """[E] whole counts that items can reach, near to fractional ones ``held``."""
    items, slots = case.items, case.slots
    network = Network(items + slots + 1, 1)
    network.supply[:items] = 1
    network.supply[items + slots] = int(case.base.sum()) - case.total
    arcs = np.unique(case.item * slots + case.holder[case.option])
    network.arcs(arcs // slots, items + arcs % slots, 1)
    at = items + np.arange(slots)
    network.supply[at] -= case.low - case.base
    network.supply[items + slots] += int((case.low - case.base).sum())
    costs = np.rint(1000 * (1 - (held - case.low))).astype(np.int64)
    network.arcs(at, items + slots, case.high - case.low, {0: costs})
    optimum = minimise(network, prove_last=False)
    if optimum is None:
        return None
    return np.asarray(case.low + optimum.flow[len(arcs) :], dtype=np.int64)


class _Program:
    """The linear program of a case. Columns: the share of each group of equal items that picks an
    option; the count of each slot; the level of each option's taker, in steps of rising cost.
    ``key``: the digest of the takeovers."""

    def __init__(self, takeovers: Takeovers) -> None:
        order = np.lexsort((takeovers.option, takeovers.item))
        item, option = takeovers.item[order], takeovers.option[order]
        start = np.searchsorted(item, np.arange(takeovers.items + 1))
        groups: dict[bytes, int] = {}
        for i in range(takeovers.items):
            key = option[start[i] : start[i + 1]].tobytes()
            groups[key] = groups.get(key, 0) + 1
        rows = [np.frombuffer(key, dtype=np.int64) for key in groups]
        self.group = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.option = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self.count = np.array(list(groups.values()), dtype=np.int64)
        self.key = digest_of(takeovers)
        self.columns = len(self.group) + takeovers.slots + (2 * _WINDOW + 2) * len(takeovers.holder)
        larger = isqrt(max(self.columns, _SMALL)) / isqrt(_SMALL)
        self.effort = int((self.columns + _LEAST_PER_PROGRAM) * larger)

    def relax(self, case: Takeovers, cap: int) -> Relaxed | None:
        """The relaxation of the case; if no levels within the cap exist, prices with scale 0."""
        nothing = no_prices(case, scale=0)
        if case.bound(cap, 0, nothing.option, nothing.slot) is None:
            return Relaxed(nothing, None, case.low.astype(np.float64))
        groups, options, slots = len(self.count), len(case.holder), case.slots
        arcs = len(self.group)
        size, cost, of_step = self._steps(case, cap)
        held = arcs + np.arange(slots)
        level = arcs + slots + np.arange(len(size))
        of_option, of_slot = groups + np.arange(options), groups + options + np.arange(slots)
        solved = _solve_program(
            cost=np.concatenate(
                (
                    np.zeros(arcs),
                    case.squares_without(case.low + 1) - case.squares_without(case.low),
                    cost,
                )
            ),
            low=np.concatenate((np.zeros(arcs), case.low, np.zeros(len(size)))),
            high=np.concatenate((self.count[self.group], case.high, size)),
            rhs=np.concatenate((self.count, case.low[case.taker], -case.base)),
            entries=(
                (self.group, np.arange(arcs), 1.0),
                (groups + self.option, np.arange(arcs), 1.0),
                (of_slot[case.holder[self.option]], np.arange(arcs), 1.0),
                (of_option, held[case.taker], 1.0),
                (of_slot, held, -1.0),
                (groups + of_step, level, -1.0),
            ),
        )
        if solved is None:
            return CapSearch(case, cap).relax(case)
        values, dual = solved
        worth, own = -dual[groups : groups + options], -dual[groups + options :]
        prices, bound = _rounded(case, cap, worth, own)
        return Relaxed(prices, bound, values[held])

    def _steps(self, case: Takeovers, cap: int) -> tuple[Ints, Floats, Ints]:
        """The steps of a square: single ones around the even level, one linear below and above."""
        least = case.low[case.taker] + case.fixed_of
        most = np.minimum(cap, case.high[case.taker] + case.fixed_of + case.offered)
        takers = np.bincount(case.holder, minlength=case.slots)
        even = np.bincount(case.holder, least, minlength=case.slots) + case.low - case.base
        middle = (even // np.maximum(takers, 1)).astype(np.int64)[case.holder]
        first = np.clip(middle - _WINDOW, least, most)
        last = np.clip(middle + _WINDOW, first, most)
        options = np.arange(len(least))
        steps = last - first
        of_step = np.repeat(options, steps)
        height = np.repeat(first, steps) + np.arange(len(of_step))
        height -= np.repeat(np.cumsum(steps) - steps, steps)
        size = np.concatenate((first - least, np.ones_like(of_step), most - last))
        cost = np.concatenate((2 * first - 1, 2 * height + 1, 2 * last + 1)).astype(np.float64)
        return size, cost, np.concatenate((options, of_step, options))


def _solve_program(
    cost: Floats,
    low: Floats,
    high: Floats,
    rhs: Ints,
    entries: Sequence[tuple[Ints, Ints, float]],
) -> tuple[Floats, Floats] | None:
    """Values [columns] with the least cost and dual values [rows] of the equations with the
    coefficients ``entries`` (rows, columns, value); None if there are none."""
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    row, column = (np.concatenate(part) for part in list(zip(*entries, strict=True))[:2])
    value = np.repeat([value for *_, value in entries], [len(rows) for rows, *_ in entries])
    matrix: Any = csc_array((value, (row, column)), shape=(len(rhs), len(cost)))
    limits: Any = np.column_stack((low, high))
    # so many corners are equally good that the simplex method takes up to forty times as long
    solved = linprog(cost, A_eq=matrix, b_eq=rhs, bounds=limits, method="highs-ipm")
    if solved.status != 0 or solved.x is None:
        return None
    return solved.x, solved.eqlin.marginals


def _rounded(case: Takeovers, cap: int, worth: Floats, own: Floats) -> tuple[Prices, int | None]:
    """Whole prices near the dual values, in the coarsest unit that keeps the bound."""
    best: tuple[int, Prices, int | None] | None = None
    for unit in SCALES:
        slot = np.rint(own * unit).astype(np.int64)
        option = np.rint(worth * unit).astype(np.int64) + slot[case.holder]
        bound = case.bound(cap, unit, option, slot)
        if bound is None:
            return Prices(option, slot, unit), None
        value = -(-bound // unit)
        if best is None or value > best[0]:
            best = value, Prices(option, slot, unit), bound
    assert best is not None
    return best[1], best[2]
