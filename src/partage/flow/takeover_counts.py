"""How many items each slot should hold, so that levels after a failure are low and even.

With given counts, the best picks are a flow (``selection.pick_pairs``). Choosing the counts too is
not a flow: if a slot holds one item more, its levels after all failures grow by one. So this is
branch and bound over the slots whose count has two values. A linear program (HiGHS) relaxes each
case: its dual values, rounded to integers, give a bound that ``certificate.Takeovers`` recomputes
exactly, so neither the program nor the rounding must be trusted. Where the program's counts are
whole, the flow for them is as good as the bound; otherwise the slot nearest to a half is split.

The effort is limited by the size of the programs, not by time, so the same input gives the same
answer. What is left open at the limit keeps the bound of its relaxation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from partage.flow.certificate import Prices, Takeovers
from partage.flow.network import Network, minimise

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_COLUMNS = 40_000
"""Columns of the largest program that is tried."""

EFFORT_WORST, EFFORT_SQUARES = 300_000, 40_000
"""The effort of all programs of a search together, in columns of small programs."""

_LEAST_PER_PROGRAM = 100
_SMALL = 3_000
"""Columns up to which the time of a program grows as they do; beyond, it grows faster."""

_WINDOW = 3
_SCALES = (1, 2, 12, 720, 30_240)

Evaluate = Callable[[Ints, int], int | None]
"""The least sum of squares for the counts [E] under a cap, or None if the cap cannot be kept."""


class Searched(Struct, frozen=True, eq=False):
    """``counts`` [E], better than those before, or None if none were found; ``proof``: how good any
    counts can be, for ``certificate.proven_bound``."""

    counts: Ints | None
    proof: list[Prices | int]


_Relaxed = tuple[Prices, int | None, Floats] | None
"""Prices, their bound and the counts [E]."""


class CountSearch(Struct, frozen=True, eq=False):
    """Searches for counts. Programs that were solved before are not solved again: a search that
    goes on from what it found, and a second run on a plan, meet the same ones."""

    solved: dict[tuple[object, ...], _Relaxed] = field(default_factory=dict)

    def find(self, takeovers: Takeovers, cap: int, evaluate: Evaluate) -> Searched:
        """Counts for which all levels can be at most ``cap``, or a proof that there are none."""
        return _Search(self, takeovers, cap, evaluate, None, EFFORT_WORST).run()

    def improve(self, takeovers: Takeovers, cap: int, evaluate: Evaluate, value: int) -> Searched:
        """Counts with a sum of squares below ``value``, and the bound on it."""
        return _Search(self, takeovers, cap, evaluate, value, EFFORT_SQUARES).run()

    def relax(self, program: _Program, case: Takeovers, cap: int, *, squares: bool) -> _Relaxed:
        """The program of a case, with the cap on levels."""
        key = (program.key, case.low.tobytes(), case.high.tobytes(), cap, squares)
        if key not in self.solved:
            self.solved[key] = program.relax(case, cap, squares=squares)
        return self.solved[key]


class _Search:
    """``value``: the least sum of squares known, or None if any counts that keep the cap do."""

    def __init__(
        self,
        searches: CountSearch,
        takeovers: Takeovers,
        cap: int,
        evaluate: Evaluate,
        value: int | None,
        effort: int,
    ) -> None:
        self.searches = searches
        self.takeovers, self.cap, self.evaluate = takeovers, cap, evaluate
        self.value, self.effort = value, effort
        self.squares = value is not None
        self.counts: Ints | None = None
        self.tried: set[bytes] = set()

    def run(self) -> Searched:
        nothing_known = Prices(*_no_prices(self.takeovers))
        if self.takeovers.items > MAX_COLUMNS:
            return Searched(None, [nothing_known])
        program = _Program(self.takeovers)
        proof: list[Prices | int] = []
        # the prices of a case hold for its parts, too
        cases = [(self.takeovers, nothing_known)]
        while cases:
            case, prices = cases.pop()
            if program.columns > MAX_COLUMNS or self.effort < 0:
                relaxed = None
            else:
                relaxed = self.searches.relax(program, case, self.cap, squares=self.squares)
            self.effort -= program.effort
            if relaxed is None:
                proof.append(prices)
                continue
            prices, bound, held = relaxed
            if self._excluded(prices, bound):
                proof.append(prices)
                continue
            self._try(_nearest(case, held))
            if not self.squares and self.counts is not None:
                return Searched(self.counts, [])
            if self._excluded(prices, bound):
                proof.append(prices)
                continue
            open_slots = np.flatnonzero(case.high > case.low)
            if len(open_slots) == 0:
                # only rounding keeps the bound of single counts from their value
                proof.append(prices)
                continue
            part = np.abs(held - case.low - 0.5)[open_slots]
            slot = int(open_slots[part.argmin()])
            proof.append(slot)
            here = np.arange(case.slots) == slot
            cases.append((case.within(np.where(here, case.high, case.low), case.high), prices))
            cases.append((case.within(case.low, np.where(here, case.low, case.high)), prices))
        return Searched(self.counts, proof)

    def _excluded(self, prices: Prices, bound: int | None) -> bool:
        """Whether the case has nothing better than what is known."""
        if bound is None or (prices.scale == 0 and bound > 0):
            return True
        return (
            self.value is not None and prices.scale > 0 and -(-bound // prices.scale) >= self.value
        )

    def _try(self, counts: Ints | None) -> None:
        if counts is None or counts.tobytes() in self.tried:
            return
        self.tried.add(counts.tobytes())
        value = self.evaluate(counts, self.cap)
        if value is not None and (self.value is None or value < self.value):
            self.value, self.counts = value, counts


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
    ``key``: equal for equal takeovers, in whatever order their picks are listed."""

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
        self.key = _key(takeovers, item, option)
        self.columns = len(self.group) + takeovers.slots + (2 * _WINDOW + 2) * len(takeovers.holder)
        larger = isqrt(max(self.columns, _SMALL)) / isqrt(_SMALL)
        self.effort = int((self.columns + _LEAST_PER_PROGRAM) * larger)

    def relax(self, case: Takeovers, cap: int, *, squares: bool) -> _Relaxed:
        """The relaxation of the case. If no levels within the cap exist, or without
        ``squares``, the prices are those with scale 0."""
        if case.bound(cap, 0, *_no_prices(case)) is None:
            return Prices(*_no_prices(case), scale=0), None, case.low.astype(np.float64)
        if squares:
            found = self._solve(case, cap, elastic=False)
            if found is not None:
                return found
        return self._solve(case, cap, elastic=True)

    def _solve(self, case: Takeovers, cap: int, *, elastic: bool) -> _Relaxed:
        """``elastic``: the cap and the counts may be violated at a price of 1, and nothing else
        costs; otherwise the sum of squares."""
        groups, options, slots = len(self.count), len(case.holder), case.slots
        arcs = len(self.group)
        size, cost, of_step = (self._overflow if elastic else self._steps)(case, cap)
        held = arcs + np.arange(slots)
        level = arcs + slots + np.arange(len(size))
        of_option, of_slot = groups + np.arange(options), groups + options + np.arange(slots)
        entries = [
            (self.group, np.arange(arcs), 1.0),
            (groups + self.option, np.arange(arcs), 1.0),
            (of_slot[case.holder[self.option]], np.arange(arcs), 1.0),
            (of_option, held[case.taker], 1.0),
            (of_slot, held, -1.0),
            (groups + of_step, level, -1.0),
        ]
        squares = case.squares_without(case.low + 1) - case.squares_without(case.low)
        costs = [np.zeros(arcs), np.zeros(slots) if elastic else squares, cost]
        low = [np.zeros(arcs), case.low, np.zeros(len(size))]
        high = [self.count[self.group], case.high, size]
        if elastic:
            more = arcs + slots + len(size) + np.arange(slots)
            entries += [(of_slot, more, 1.0), (of_slot, more + slots, -1.0)]
            costs.append(np.ones(2 * slots))
            low.append(np.zeros(2 * slots))
            high.append(np.full(2 * slots, case.total))
        solved = _solve_program(
            np.concatenate(costs),
            np.concatenate(low),
            np.concatenate(high),
            np.concatenate((self.count, case.low[case.taker], -case.base)),
            entries,
        )
        if solved is None:
            return None
        values, dual = solved
        worth, own = -dual[groups : groups + options], -dual[groups + options :]
        prices, bound = _rounded(case, cap, worth, own, squares=not elastic)
        return prices, bound, values[held]

    def _overflow(self, case: Takeovers, cap: int) -> tuple[Ints, Floats, Ints]:
        """(size, cost, option) of the steps of a level above its least: free up to the cap."""
        least = case.low[case.taker] + case.fixed_of
        options = np.arange(len(least))
        free = np.maximum(cap - least, 0)
        size = np.concatenate((free, np.full(len(least), case.items + 1)))
        cost = np.repeat((0.0, 1.0), len(least))
        return size, cost, np.concatenate((options, options))

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


def _key(takeovers: Takeovers, item: Ints, option: Ints) -> bytes:
    """A digest of the takeovers without their ranges; ``item``, ``option`` [A] in order."""
    from hashlib import blake2b

    digest = blake2b(digest_size=32)
    one = takeovers
    for part in (item, option, one.holder, one.taker, one.base, one.fixed):
        digest.update(np.array(part.shape).tobytes())
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    digest.update(np.array([one.items, one.total]).tobytes())
    return digest.digest()


def _no_prices(case: Takeovers) -> tuple[Ints, Ints]:
    return np.zeros_like(case.holder), np.zeros_like(case.base)


def _rounded(
    case: Takeovers, cap: int, worth: Floats, own: Floats, *, squares: bool
) -> tuple[Prices, int | None]:
    """Whole prices near the dual values, in the coarsest unit that keeps the bound."""
    best: tuple[float, Prices, int | None] | None = None
    for unit in _SCALES:
        slot = np.rint(own * unit).astype(np.int64)
        option = np.rint(worth * unit).astype(np.int64) + slot[case.holder]
        scale = unit if squares else 0
        bound = case.bound(cap, scale, option, slot)
        if bound is None:
            return Prices(option, slot, scale), None
        value = -(-bound // unit) if squares else float(bound > 0)
        if best is None or value > best[0]:
            best = value, Prices(option, slot, scale), bound
    assert best is not None
    return best[1], best[2]
