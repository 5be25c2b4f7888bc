"""Which slots does each item sit on so that *sizes* are even: bands, bounds and a search.

Items have sizes (bytes), a slot's load is the sum of the sizes on it. Packing them evenly is
NP-hard, so this is no flow: each slot gets a *band* around its fair share (``shares``), a search
brings every slot into its band and moves few bytes (``search``), and two bounds
(``flow.size_certificate``) tell how far from perfect the answer may be: on the highest load that
any arrangement has, and, out of the prices of a flow (``pricing``), on the sizes that any
arrangement within the bands moves.

Where no arrangement within the bands is found, they are widened (``widths``). What lies within its
bands and breaks no rule is left alone; otherwise the search starts again from its own answer while
that still narrows the bands, so that a second run finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from partage.flow.assignment import AssignmentProblem
from partage.flow.size_balancing.band_search import BandSearch
from partage.flow.size_balancing.band_width import narrowest_width
from partage.flow.size_balancing.fair_shares import fair_shares, tightest
from partage.flow.size_balancing.pricing import slot_prices
from partage.flow.size_certificate import moved_bound

__all__ = [
    "BalancedSizes",
    "Bands",
    "fair_shares",
    "fewest_bytes",
    "fewest_moves",
    "fill",
    "move_smaller_items",
    "narrowest_width",
    "slot_prices",
    "tightest",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FIRST, _DOUBLINGS, _HALVINGS = 0.001, 24, 4
_ANY = 2**62


@dataclass(frozen=True, eq=False)
class Bands:
    """What each slot should hold: its ``share`` [E], give or take a tolerance; never more than
    ``ceiling`` [E]. Without a share: anything up to the ceiling."""

    ceiling: Ints
    share: Floats | None

    def at(self, tolerance: float) -> tuple[Ints, Ints]:
        """[E] the least and the most that a slot should hold."""
        if self.share is None:
            return np.zeros_like(self.ceiling), self.ceiling
        # a share is a float: whole sizes next to it count as within
        high = np.ceil(np.minimum(self.share * (1 + tolerance), _ANY) - 0.5).astype(np.int64)
        low = np.floor(np.maximum(self.share * (1 - tolerance), 0) + 0.5).astype(np.int64)
        low = np.minimum(low, high)
        return np.clip(low, 0, self.ceiling), np.minimum(high, self.ceiling)

    def holding(self, load: Ints) -> float | None:
        """The least tolerance whose bands hold these loads [E]; None above a ceiling."""
        if (load > self.ceiling).any():
            return None
        if self.share is None:
            return 0.0
        # what must be within a ceiling below its share is no deviation
        low = np.minimum(self.share, self.ceiling)
        away = np.where(load > self.share, load - self.share, np.maximum(low - load, 0)) - 0.5
        return float((np.maximum(away, 0) / np.maximum(self.share, 1.0)).max())


@dataclass(frozen=True, eq=False)
class BalancedSizes:
    """``slots`` [I, max demand] ascending, -1 padded; ``tolerance`` of the narrowest bands that
    hold it, None where some slot is above its ceiling."""

    slots: Ints
    tolerance: float | None


def balance_sizes(problem: AssignmentProblem, bands: Bands, tolerance: float) -> BalancedSizes:
    """Sizes within the bands of ``tolerance``, or of the least that is found to do."""
    best = _as_it_is(problem, bands)
    while best is None or best.tolerance is None or best.tolerance > tolerance:
        today = problem if best is None else replace(problem, own=best.slots)
        found = _attempt(today, bands, tolerance)
        if best is not None and not _narrower(found, best):
            break
        best = found
    return best


def _narrower(found: BalancedSizes, than: BalancedSizes) -> bool:
    if found.tolerance is None:
        return False
    return than.tolerance is None or found.tolerance < than.tolerance


def _as_it_is(problem: AssignmentProblem, bands: Bands) -> BalancedSizes | None:
    """The items where they are, if they break no rule."""
    search = BandSearch(problem, *bands.at(0.0))
    if search.wrong().any():
        return None
    return BalancedSizes(search.arrangement(), bands.holding(search.load))


def _attempt(problem: AssignmentProblem, bands: Bands, tolerance: float) -> BalancedSizes:
    """The narrowest bands that the search reaches from where the items are."""

    last = BalancedSizes(problem.own, None)

    def within(width: float) -> BalancedSizes | None:
        nonlocal last
        search = BandSearch(problem, *bands.at(width))
        ok = search.run()
        last = BalancedSizes(search.arrangement(), bands.holding(search.load))
        return last if ok else None

    found = within(tolerance)
    if found is None and bands.share is not None:
        first = max(2 * tolerance, _FIRST)
        found = narrowest_width(within, tolerance, first, first * 2**_DOUBLINGS, _HALVINGS)
    return last if found is None else found


def fewest_bytes(problem: AssignmentProblem, low: Ints, high: Ints, price: Ints) -> int:
    """The certificate's lower bound on the sizes that an arrangement within the bands moves."""
    return _moved_bound(problem, problem.size, problem.base_size, low, high, price)


def fewest_moves(problem: AssignmentProblem, low: Ints, high: Ints, price: Ints) -> int:
    """The same for the number of slots taken anew, where ``low`` and ``high`` bound counts."""
    return _moved_bound(problem, np.ones_like(problem.size), problem.base, low, high, price)


def _moved_bound(
    problem: AssignmentProblem, size: Ints, base: Ints, low: Ints, high: Ints, price: Ints
) -> int:
    least, most = problem.item_bounds
    return moved_bound(
        size=size,
        demand=problem.demand,
        least=least,
        most=most,
        sits=problem.owned,
        zone=problem.zone_of,
        base_size=base,
        low=low,
        high=high,
        price=price,
    )


def move_smaller_items(problem: AssignmentProblem, slots: Ints, enough: int) -> Ints:
    """The arrangement with smaller items moved instead of larger ones, as many from slot to slot as
    before, until what is moved comes to ``enough``: first within families, which leaves every count
    as it is, then across them."""
    none = np.zeros(problem.slots, dtype=np.int64)
    search = BandSearch(problem, none, np.full(problem.slots, _ANY), slots)
    search.replace_moved(enough, alike=True)
    search.replace_moved(enough)
    return search.arrangement()
