"""Counts with which every level after a failure keeps a cap, or a proof that there are none.

For given counts, as many items as possible pick within the cap: a maximum flow
item -> option -> holder, in which an option carries what the cap leaves its taker. Where items are
left over, a minimum cut shows why: items that all pick among the same options, which carry too
little. What a cut carries depends on the counts alone, and linearly: one more on a slot is one less
for each of its options in the cut, and one more for what the slot may hold. So each cut is an
inequality that all counts must satisfy (Benders, Numerische Mathematik 4, 1962).

*Relaxation*: a linear program over the counts, whole or not, looks for some that satisfy all cuts
so far; these counts yield the next cuts, until there are none or no counts satisfy them (Kelley,
Journal of the SIAM 8, 1960). In the latter case the cuts, weighted with the program's dual values
and rounded, are prices that ``certificate.Takeovers.bound`` recomputes exactly, so neither the
program nor the rounding must be trusted. There are few cuts and as many counts as slots: programs
are small. Mostly one or two cuts decide.

*Search*: two slots exchange a high and a low count where that widens the minimum cuts most, those
nearest to the items and those nearest to the holders, and keep them for some rounds (tabu). It
starts from many counts, after ``open_picks`` has made a pick possible for as many items as it can.

Where only counts that are not whole satisfy all cuts, ``count_cases`` distinguishes cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Floats, Ints
from partage.flow.certificate import Prices, Takeovers
from partage.flow.count_cases import SCALES, CaseSearch, Relaxed, Searched, no_prices
from partage.flow.open_picks import counts_with_picks

EFFORT = 2_000_000
"""The effort of a search, in arcs of all flows together."""

MAX_ARCS = 5_000_000
"""Arcs of the largest flow that is tried."""

_PROGRAM = 10_000
"""The effort of a linear program."""

_UNIT = 1_024
"""Parts of an item in the flow for counts that are not whole."""

_ROUNDS = 24
"""Rounds of cuts in the relaxation of a case."""

_TRIED, _KEPT, _PATIENCE = 4, 10, 8
"""Exchanges tried in a round of the search; rounds in which a slot keeps its new count, and after
which the search ends without progress."""

_STARTS = 30
"""Further counts from which the search starts."""

_LITTLE = 1e-7
"""Violations of cuts that may be due to rounding."""


def counts_below_cap(takeovers: Takeovers, counts: Ints, cap: int) -> Searched:
    """Counts with which all levels can be at most ``cap``, near ``counts`` [E] if there are such;
    otherwise a proof that there are none or, where the effort is spent, how far it came."""
    return CapSearch(takeovers, cap, counts).run()


def arcs_of(takeovers: Takeovers) -> int:
    """The arcs of a flow: of items, picks, options and slots."""
    return takeovers.items + len(takeovers.item) + len(takeovers.holder) + takeovers.slots


def too_large(takeovers: Takeovers) -> bool:
    """Whether a single flow would take too long."""
    return arcs_of(takeovers) > MAX_ARCS


class Cut(Struct, frozen=True, eq=False):
    """Marked options [O] and slots [E], which carry ``spare`` more items than must pass them, and
    for each item that a slot holds above its low count ``worth`` [E] more."""

    option: Bools
    slot: Bools
    worth: Ints
    spare: int


class CappedPicks:
    """How many items can pick within the cap."""

    def __init__(self, takeovers: Takeovers, cap: int) -> None:
        items, options, slots = takeovers.items, len(takeovers.holder), takeovers.slots
        self.takeovers = takeovers
        self.room = cap - takeovers.low[takeovers.taker] - takeovers.fixed_of
        self.quota = takeovers.low - takeovers.base
        self._option, self._slot = items + np.arange(options), items + options + np.arange(slots)
        self._source, self._sink = items + options + slots, items + options + slots + 1
        self._tail = np.concatenate(
            (np.full(items, self._source), takeovers.item, self._option, self._slot)
        )
        self._head = np.concatenate(
            (
                np.arange(items),
                items + takeovers.option,
                items + options + takeovers.holder,
                np.full(slots, self._sink),
            )
        )

    def cuts(self, more: Ints, unit: int = 1) -> tuple[int, list[Cut]]:
        """How many items are left over, in parts of ``unit``, and minimum cuts that show why, if
        there are some; ``more`` [E]: such parts that each slot holds above its low count."""
        from ortools.graph.python.max_flow import SimpleMaxFlow

        takeovers = self.takeovers
        items, arcs = takeovers.items, len(takeovers.item)
        carried = np.where(self.room > 0, unit * self.room - more[takeovers.taker], 0)
        solver = SimpleMaxFlow()
        solver.add_arcs_with_capacity(
            self._tail,
            self._head,
            np.concatenate(
                (
                    np.full(items, unit),
                    # more than an item has, so that no cut is here
                    np.full(arcs, 2 * unit),
                    carried,
                    unit * self.quota + more,
                )
            ),
        )
        status = solver.solve(self._source, self._sink)
        if status != solver.OPTIMAL:
            raise RuntimeError(f"max flow: the solver answered {status!r}")
        left = unit * items - int(solver.optimal_flow())
        if not left:
            return 0, []
        reached = np.zeros(self._sink + 1, dtype=np.bool_)
        reached[solver.get_source_side_min_cut()] = True
        unable = np.ones_like(reached)
        unable[solver.get_sink_side_min_cut()] = False
        return left, [self._cut(side) for side in (reached, unable)]

    def _cut(self, side: Bools) -> Cut:
        """The cut between the nodes on the items' ``side`` and the others."""
        takeovers = self.takeovers
        slot, of = side[self._slot], takeovers.taker
        crosses = side[self._option] & ~slot[takeovers.holder] & (self.room > 0)
        worth = slot - np.bincount(of[crosses], minlength=takeovers.slots)
        passing = int(np.count_nonzero(side[: takeovers.items]))
        spare = int(self.room[crosses].sum()) + int(self.quota[slot].sum()) - passing
        # an option of a marked slot costs its items nothing more
        return Cut(side[self._option] | slot[takeovers.holder], slot, worth, spare)


class _Tried(Struct, frozen=True, eq=False):
    """Slots with ``high`` counts [E], how many items are ``left`` over with them, and why."""

    high: Bools
    left: int
    cuts: list[Cut]


def _left(tried: _Tried) -> int:
    return tried.left


class CapSearch(CaseSearch):
    """The search of ``counts_below_cap``, which begins near the counts ``start`` [E]. ``pool``: all
    cuts so far, which hold in every case; ``effort``: what is left of it."""

    def __init__(self, takeovers: Takeovers, cap: int, start: Ints | None = None) -> None:
        super().__init__(takeovers)
        self.start = takeovers.low if start is None else start
        self.cap, self.effort = cap, EFFORT
        self.picks, self.arcs = CappedPicks(takeovers, cap), arcs_of(takeovers)
        self.pool: list[Cut] = []

    def relax(self, case: Takeovers) -> Relaxed | None:
        nothing = no_prices(case, scale=0)
        if case.bound(self.cap, 0, nothing.option, nothing.slot) is None:
            return Relaxed(nothing, None, case.low.astype(np.float64))
        counts = self._counts(case)
        more, pool = counts.even(), self.pool
        for _ in range(_ROUNDS):
            cut = counts.excluded_by(pool)
            prices = None if cut is None else _prices(case, self.cap, [cut], np.ones(1))
            if prices is None and self.effort < 0:
                return None
            if prices is None and pool:
                self.effort -= _PROGRAM + len(pool) * case.slots
                more, weights = counts.satisfying(pool)
                if weights is not None:
                    prices = _prices(case, self.cap, pool, weights)
            if prices is not None:
                return Relaxed(prices, 1, self.takeovers.low + more)
            self.effort -= self.arcs
            left, cuts = self.picks.cuts(_whole(_UNIT * more), _UNIT)
            if not left:
                break
            pool += cuts
        return Relaxed(no_prices(case), 0, self.takeovers.low + more)

    def excludes(self, relaxed: Relaxed) -> bool:
        return relaxed.bound is None or relaxed.bound > 0

    def attempt(self, case: Takeovers, held: Floats) -> bool:
        counts = self._counts(case)
        nearest = counts.whole(held - self.takeovers.low)
        if case is not self.takeovers:
            return self._found(self._tried(nearest))
        starts = [(self.start > case.low).astype(np.float64), nearest.astype(np.float64)]
        starts += [_mixed(case.slots, number) for number in range(_STARTS)]
        return any(self._search_from(counts, counts.whole(start)) for start in starts)

    def _search_from(self, counts: _Counts, high: Bools) -> bool:
        """Whether the cap can be kept with these high counts or, after exchanges, others."""
        if self.effort < 0:
            return False
        now, low = self._tried(high), self.takeovers.low
        if now.left:
            able = counts_with_picks(self.takeovers, low + high, self.cap) > low
            now = min(now, self._tried(counts.whole(able.astype(np.float64))), key=_left)
        return self._found(self._exchanged(counts, now))

    def _counts(self, case: Takeovers) -> _Counts:
        return _Counts(case, self.takeovers.low, self.cap)

    def _tried(self, high: Bools) -> _Tried:
        self.effort -= self.arcs
        return _Tried(high, *self.picks.cuts(high.astype(np.int64)))

    def _found(self, tried: _Tried) -> bool:
        if not tried.left:
            self.counts = self.takeovers.low + tried.high
        return not tried.left

    def _exchanged(self, counts: _Counts, now: _Tried) -> _Tried:
        """The last of the exchanges, which end as soon as no item is left over."""
        kept = np.full(len(now.high), -1)
        least, idle, number = now.left, 0, 0
        while now.left and idle < _PATIENCE and self.effort > 0:
            tried: list[tuple[_Tried, list[int]]] = []
            for pair in _widening(now, counts.open & (kept < number)):
                high = now.high.copy()
                high[pair] = ~high[pair]
                tried.append((self._tried(high), pair))
                if tried[-1][0].left < now.left:
                    break
            if not tried:
                break
            now, pair = min(tried, key=lambda one: _left(one[0]))
            kept[pair] = number + _KEPT
            number += 1
            least, idle = (now.left, 0) if now.left < least else (least, idle + 1)
        return now


def _widening(now: _Tried, free: Bools) -> list[list[int]]:
    """Some pairs of a high and a low slot of the ``free`` ones [E] that widen the cuts most when
    they exchange their counts, the best first."""
    falls, rises = np.flatnonzero(free & now.high), np.flatnonzero(free & ~now.high)
    widens = [cut.worth[rises] - cut.worth[falls][:, None] for cut in now.cuts]
    # among equals, none that their numbers suggest
    mixed = _mixed(len(falls) * len(rises)).reshape(len(falls), len(rises))
    gain = np.min(widens, axis=0) + mixed / 2
    best = np.argsort(-gain, axis=None, kind="stable")[:_TRIED]
    fall, rise = np.divmod(best, max(len(rises), 1))
    return [list(pair) for pair in zip(falls[fall].tolist(), rises[rise].tolist(), strict=True)]


class _Counts:
    """The counts of a case, whole or not, as what each slot holds above ``least`` [E]: between
    ``low`` and ``high`` [E], ``total`` together; ``open`` [E]: where these differ."""

    def __init__(self, case: Takeovers, least: Ints, cap: int) -> None:
        fixed = np.where(np.eye(case.slots, dtype=np.bool_), 0, case.fixed)
        self.low = case.low - least
        self.high = np.minimum(case.high, cap - fixed.max(axis=0)) - least
        self.total = case.total - int(least.sum())
        self.open = self.high > self.low

    def even(self) -> Floats:
        """[E] the same for all open slots."""
        spare = self.total - int(self.low.sum())
        return np.asarray(self.low + self.open * (spare / max(int(self.open.sum()), 1)))

    def whole(self, preferred: Floats) -> Bools:
        """[E] whole counts: those high that are ``preferred`` [E] most."""
        rank = np.where(self.open, preferred, np.where(self.low > 0, np.inf, -np.inf))
        high = np.zeros(len(rank), dtype=np.bool_)
        high[np.argsort(-rank, kind="stable")[: self.total]] = True
        return high

    def excluded_by(self, cuts: Sequence[Cut]) -> Cut | None:
        """A cut that no counts satisfy."""
        spare = self.total - int(self.low.sum())
        for cut in cuts:
            best = np.sort(cut.worth[self.open])[len(cut.worth[self.open]) - spare :]
            if cut.spare + int(cut.worth @ self.low) + int(best.sum()) < 0:
                return cut
        return None

    def satisfying(self, cuts: Sequence[Cut]) -> tuple[Floats, Floats | None]:
        """[E] counts that need not be whole and violate no cut by more than they must, and, if they
        must, the weights of the cuts that prove it."""
        from scipy.optimize import linprog

        slots = len(self.low)
        worth = np.array([cut.worth for cut in cuts])
        everyone: Any = np.append(np.ones(slots), 0)[None, :]
        limits: Any = np.column_stack((np.append(self.low, 0), np.append(self.high, np.inf)))
        solved = linprog(
            np.append(np.zeros(slots), 1),
            A_ub=np.column_stack((-worth, -np.ones(len(cuts)))),
            b_ub=np.array([cut.spare for cut in cuts]),
            A_eq=everyone,
            b_eq=[self.total],
            bounds=limits,
            method="highs-ds",
        )
        if solved.status != 0 or solved.x is None:
            raise RuntimeError(f"linear program: the solver answered {solved.message!r}")
        held = np.clip(solved.x[:-1], self.low, self.high)
        return held, -solved.ineqlin.marginals if solved.x[-1] > _LITTLE else None


def _prices(case: Takeovers, cap: int, cuts: Sequence[Cut], weights: Floats) -> Prices | None:
    """Whole prices of the weighted cuts that prove the case to be impossible, in the coarsest unit
    that does."""
    for unit in SCALES:
        times = np.rint(weights * unit).astype(np.int64)
        some = np.flatnonzero(times).tolist()
        prices = no_prices(case, scale=0)
        for number in some:
            prices.option[:] += times[number] * cuts[number].option
            prices.slot[:] += times[number] * cuts[number].slot
        bound = case.bound(cap, 0, prices.option, prices.slot)
        if bound is None or bound > 0:
            return prices
    return None


def _whole(parts: Floats) -> Ints:
    """[E] whole parts near these with the same sum, which is whole."""
    whole = np.floor(parts).astype(np.int64)
    missing = round(float(parts.sum())) - int(whole.sum())
    whole[np.argsort(whole - parts, kind="stable")[:missing]] += 1
    return whole


def _mixed(count: int, number: int = 0) -> Floats:
    """[count] numbers from 0 to 1 that look random and are always the same."""
    return np.asarray((np.arange(count) + 1 + number * count) * 2_654_435_761 % 2**32 / 2**32)
