"""Assign items to slots so that *sizes* are even: bands, bounds and a local search.

Items have sizes (bytes); the load of a slot is the sum of the sizes on it. Packing them evenly is
NP-hard, so this is not a flow. Each slot gets a *band* around its fair share (``fair_shares``); a
local search brings every slot into its band and moves few bytes (``band_search``); two bounds
(``flow.size_certificate``) limit the distance from the optimum: a bound on the highest load over
all assignments and, from the prices of a flow (``pricing``), one on the bytes moved by any
assignment within the bands.

Where the search finds no assignment within the bands, they are widened (``band_width``); what is
then left of a limit on moves is used by ``single_moves``. An
assignment that is within its bands and breaks no rule is not changed; otherwise the search restarts
from its own result as long as that narrows the bands, so a second run changes nothing.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from partage.arrays import Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.size_balancing.band_search import BandSearch
from partage.flow.size_balancing.band_width import narrowest_width
from partage.flow.size_balancing.bands import BalancedSizes, Bands
from partage.flow.size_balancing.fair_shares import fair_shares, tightest, zone_totals
from partage.flow.size_balancing.pricing import slot_prices
from partage.flow.size_balancing.single_moves import Limit, with_single_moves
from partage.flow.size_certificate import moved_bound

__all__ = [
    "BalancedSizes",
    "Bands",
    "Limit",
    "fair_shares",
    "fewest_bytes",
    "fewest_moves",
    "fill",
    "move_smaller_items",
    "narrowest_width",
    "slot_prices",
    "tightest",
    "with_single_moves",
    "zone_totals",
]


_FIRST, _DOUBLINGS, _HALVINGS = 0.001, 24, 4
_ANY = 2**62


def balance_sizes(problem: AssignmentProblem, bands: Bands, tolerance: float) -> BalancedSizes:
    """An assignment within the bands of ``tolerance``, or of the smallest tolerance found."""
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
    """The current assignment, if it breaks no rule."""
    search = BandSearch(problem, *bands.at(0.0))
    if search.wrong().any():
        return None
    return BalancedSizes(search.arrangement(), bands.holding(search.load))


def _attempt(problem: AssignmentProblem, bands: Bands, tolerance: float) -> BalancedSizes:
    """The assignment in the narrowest bands that the search finds from the current one."""

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
    """The certificate's lower bound on the bytes that an assignment within the bands moves."""
    return _moved_bound(problem, problem.size, problem.base_size, low, high, price, problem.copied)


def fewest_moves(problem: AssignmentProblem, low: Ints, high: Ints, price: Ints) -> int:
    """The same for the number of moves, where ``low`` and ``high`` bound counts."""
    return _moved_bound(problem, np.ones_like(problem.size), problem.base, low, high, price)


def _moved_bound(
    problem: AssignmentProblem,
    size: Ints,
    base: Ints,
    low: Ints,
    high: Ints,
    price: Ints,
    copied: Ints | None = None,
) -> int:
    least, most = problem.item_bounds
    return moved_bound(
        size=size,
        demand=problem.demand,
        least=least,
        most=most,
        current=problem.owned,
        zone=problem.zone_of,
        base_size=base,
        low=low,
        high=high,
        price=price,
        copied=copied,
    )


def move_smaller_items(problem: AssignmentProblem, slots: Ints, enough: int) -> Ints:
    """Move smaller items instead of larger ones, the same number between any two slots, until at
    most ``enough`` bytes move: first within families, which changes no count, then across them."""
    none = np.zeros(problem.slots, dtype=np.int64)
    search = BandSearch(problem, none, np.full(problem.slots, _ANY), slots)
    search.replace_moved(enough, alike=True)
    search.replace_moved(enough)
    return search.arrangement()
