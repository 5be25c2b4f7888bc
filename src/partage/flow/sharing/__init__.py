"""Which slots does each item sit on: the fairest loads, the fewest moves, the evenest spread.

Items (replica sets of partitions) each take ``demand`` distinct slots (brokers). Slots lie in zones
(racks); an item takes at least ``least`` and at most ``most`` slots of each zone. Items belong to
families (topics). Three costs, minimised one after the other, in an order to choose:

- *load*: sum of ``weight * load**2`` over the slots, which yields the least majorised loads;
- *moves*: how many slots an item takes on which it does not already sit;
- *spread*: sum of ``count**2`` over (family, slot).

All of it is one network, ``group -> (group, zone) -> [(family, slot)] -> slot -> sink``, laid out
at three resolutions:

1. groups are *classes* of items with equal demand. Loads are exact here, since items of a class are
   interchangeable when only loads count; moves are a lower bound. A few hundred arcs.
2. groups are the classes within each *family*, on the face that 1 leaves: only the arcs that some
   optimum of 1 uses. Spread, given the moves of 1.
3. The counts of 2 are dealt out to the *items*, which is again a flow, family by family. When that
   works out, every bound is met and all three costs are proven.

Items that break the zone rule tell counts apart from what can be done: each has to give up a slot
of its own. When there are such items, 2 is replaced by a network in which they stand alone
(``by_item``), each with arcs to its own slots and to what its family takes anew.

When 2 or 3 does not work out (rare: the counts hide that two items would have to swap), the
families that cannot be dealt out are first settled on their own, the others staying as dealt. If
that costs more than the bound, their items stand alone from then on, and the network is solved
again. So it goes on until all can be dealt out, in the end because every item stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.sharing.by_item import Apart, Prices, Settled, Window, settle
from partage.flow.sharing.counts import DRIFT, Face, Groups, solve_counts
from partage.flow.sharing.dealing import Counts, deal
from partage.flow.sharing.evening import even_out
from partage.flow.sharing.problem import LOAD, MOVES, SPREAD, Sharing, zone_bounds

__all__ = [
    "LOAD",
    "MOVES",
    "SPREAD",
    "Share",
    "Sharing",
    "fairest_loads",
    "share",
    "zone_bounds",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


_FEW = 4
"""Families are settled on their own while they have at most one in so many of the items."""


@dataclass(frozen=True, eq=False)
class Share:
    """The answer: ``slots`` [I, max demand] ascending, -1 padded, and what proves it.

    ``prices`` maps each cost to its dual values: per slot for load and moves, for spread a pair
    (per slot, per (family, slot)).
    """

    slots: Ints
    prices: Prices
    order: tuple[str, ...]


def share(problem: Sharing, order: Sequence[str] = (LOAD, MOVES, SPREAD)) -> Share:
    """Solve it exactly. ``order`` is (load, moves, spread) or (spread, load, moves)."""
    if problem.items == 0:
        nothing = np.zeros(problem.slots, dtype=np.int64)
        family = np.zeros_like(problem.family_base)
        return Share(
            np.full((0, 1), -1, dtype=np.int64),
            {cost: (nothing, family if cost == SPREAD else None) for cost in order},
            tuple(order),
        )
    slots, prices = _solve(problem, tuple(order))
    return Share(even_out(problem, slots), prices, tuple(order))


def _solve(problem: Sharing, order: tuple[str, ...]) -> tuple[Ints, Prices]:
    crowded = _crowded(problem)
    prices: Prices = {}
    rest, window, face = order, None, None
    if order[0] == LOAD:
        classes = Groups.by(problem, problem.item_class, spread=False)
        layers = (LOAD,) if crowded.any() else (LOAD, MOVES)
        coarse = solve_counts(classes, layers, None)
        assert coarse is not None, "every item can be placed on its own, so all can"
        prices = {cost: coarse.prices(layer) for layer, cost in enumerate(layers)}
        fair, face = coarse.face(0), coarse.face(len(layers) - 1)
        rest, window = order[1:], (fair.low, fair.high)
    found = None if crowded.any() else _by_family(problem, rest, face)
    slots, more = _dealt(problem, rest, window, crowded, found)
    return slots, prices | more


def _crowded(problem: Sharing) -> Bools:
    """[I] items that sit on more slots of a zone than they may."""
    item, slot = problem.owned
    held = np.bincount(
        item * problem.zones + problem.zone_of[slot], minlength=problem.items * problem.zones
    )
    most = problem.bounds[1][problem.item_class]
    return np.asarray((held.reshape(-1, problem.zones) > most[:, None]).any(axis=1))


def _by_family(problem: Sharing, rest: tuple[str, ...], face: Face | None) -> Settled | None:
    """The counts per family, on the face; None where families rule out what it holds."""
    label = problem.family * len(problem.demands) + problem.item_class
    groups = Groups.by(problem, np.unique(label, return_inverse=True)[1].ravel(), spread=True)
    layers = rest if face is None else (SPREAD,)
    fine = solve_counts(groups, (*layers, DRIFT), face)
    if fine is None:
        return None
    prices = {cost: fine.prices(layer) for layer, cost in enumerate(layers)}
    return Settled(Counts.of_groups(fine), fine.costs(), prices)


def _dealt(
    problem: Sharing,
    rest: tuple[str, ...],
    window: Window | None,
    alone: Bools,
    found: Settled | None,
) -> tuple[Ints, Prices]:
    """The slots, once counts are found that can be dealt out, and the prices of these counts."""
    wide = np.zeros_like(alone)
    while True:
        found = found or settle(problem, rest, window, Apart(alone, wide))
        slots, failed = deal(found.counts)
        if len(failed) == 0:
            return slots, found.prices
        again = np.isin(problem.family, failed)
        if _FEW * int(again.sum()) <= problem.items:
            # proven if together they cost no more than the bound
            part, inside = _remainder(problem, window, slots, again)
            redone, _ = _dealt(part, rest, inside, np.ones(part.items, dtype=np.bool_), None)
            slots[again] = -1
            slots[again, : redone.shape[1]] = redone
            if problem.costs(slots) == found.costs:
                return slots, found.prices
        if alone[again].all():
            wide = wide | again
        else:
            alone = alone | again
        found = None


def fairest_loads(problem: Sharing) -> Ints:
    """[E] fairest loads, base included, whatever the moves: stage one alone."""
    if problem.items == 0:
        return problem.base.copy()
    solved = solve_counts(Groups.by(problem, problem.item_class, spread=False), (LOAD,), None)
    assert solved is not None
    assert solved.load_squares is not None
    squares = solved.load_squares
    flow = solved.optimum.flow[solved.square_arcs[id(squares)]]
    return problem.base + squares.flows(flow)


def _remainder(
    problem: Sharing, window: Window | None, slots: Ints, again: Bools
) -> tuple[Sharing, Window | None]:
    """The problem of the items ``again`` [I] alone, the others staying on their ``slots``."""
    others = slots[~again]
    rows, columns = np.nonzero(others >= 0)
    taken = np.bincount(others[rows, columns], minlength=problem.slots).astype(np.int64)
    names, family = np.unique(problem.family[again], return_inverse=True)
    part = Sharing(
        family=family.astype(np.int64),
        demand=problem.demand[again],
        own=problem.own[again],
        zone=problem.zone,
        weight=problem.weight,
        base=problem.base + taken,
        family_base=problem.family_base[names],
        zoned=problem.zoned,
        size=problem.size[again],
        base_size=problem.base_size,
    )
    if window is None:
        return part, None
    low, high = window
    return part, (np.maximum(low - taken, 0), np.maximum(high - taken, 0))
