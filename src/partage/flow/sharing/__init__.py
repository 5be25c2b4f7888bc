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
2. groups are the classes within each *family* (and apart from them, by how they lie in the zones,
   the items that break the zone rule), on the face that 1 leaves: only the arcs that some
   optimum of 1 uses. Spread, given the moves of 1.
3. The counts of 2 are dealt out to the *items*, which is again a flow, family by family. When that
   works out, every bound is met and all three costs are proven.

When 2 or 3 does not work out (rare: the counts hide that two items would have to swap), the network
is laid out with one group per item, with only the arcs of the items' own slots and of a few others.
The arcs left out are priced with the dual values; the ones that would pay are added, and it is
solved again until none would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.sharing.by_item import ItemNetwork
from partage.flow.sharing.counts import DRIFT, Face, Groups, solve_counts
from partage.flow.sharing.dealing import deal
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
Prices = dict[str, tuple[Ints, Ints | None]]


_SETTLED_ARCS = 1_000_000
"""How many arcs are laid out for topic spread alone before a gap is left instead."""


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
    classes = Groups.by(problem, problem.item_class, spread=False)
    families = Groups.by(problem, _alike(problem), spread=True)
    prices: Prices = {}
    fair: Face | None
    rest: tuple[str, ...]
    if order[0] == LOAD:
        coarse = solve_counts(classes, (LOAD, MOVES), None)
        assert coarse is not None, "every item can be placed on its own, so all can"
        prices = {LOAD: coarse.prices(0), MOVES: coarse.prices(1)}
        fair, rest = coarse.face(0), (MOVES, SPREAD)
        fine = solve_counts(families, (SPREAD, DRIFT), coarse.face(1))
    else:
        fair, rest = None, order
        fine = solve_counts(families, (*order, DRIFT), None)
    if fine is None:
        slots, found = ItemNetwork(problem, rest, fair).solve()
        return slots, prices | found
    proven = {cost: fine.prices(i) for i, cost in enumerate(fine.layers) if cost != DRIFT}
    slots, failed = deal(fine)
    if len(failed) == 0:
        return slots, prices | proven
    # Some families cannot be dealt out as counted. Settle them, or more of them, item by item
    # while the others stay as dealt: proven if together they still cost no more than the bound.
    bound = fine.costs()
    while True:
        again = np.isin(problem.family, failed)
        if again.all():
            slots, found = ItemNetwork(problem, rest, fair).solve()
            return slots, prices | found
        part, window = remainder(problem, fair, slots, again)
        slots = slots.copy()
        redone, _ = ItemNetwork(part, rest, window).solve()
        slots[again] = -1
        slots[again, : redone.shape[1]] = redone
        reached = problem.costs(slots)
        if reached == bound:
            return slots, prices | proven
        only_spread = all(reached[cost] == bound[cost] for cost in (LOAD, MOVES))
        if only_spread and order[-1] == SPREAD and part.items * problem.slots > _SETTLED_ARCS:
            # the last cost stays above its bound, by what the proof then says
            return slots, prices | proven
        failed = more_families(problem, failed)


def _alike(problem: Sharing) -> Ints:
    """[I] groups of items for the network by family: equal family and demand. Items that break
    the zone rule are told apart by how many slots they have in each zone, since what such an item
    must give up, and where it may go, depends on that."""
    item, slot = problem.owned
    held = np.zeros((problem.items, problem.zones), dtype=np.int64)
    np.add.at(held, (item, problem.zone_of[slot]), 1)
    most = problem.bounds[1][problem.item_class]
    held[(held <= most[:, None]).all(axis=1)] = 0
    label = np.column_stack((problem.family, problem.item_class, held))
    return np.unique(label, axis=0, return_inverse=True)[1].astype(np.int64).ravel()


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


def remainder(
    problem: Sharing, fair: Face | None, slots: Ints, again: Bools
) -> tuple[Sharing, Face | None]:
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
    if fair is None:
        return part, None
    kept = np.searchsorted(problem.demands, part.demands)
    window = Face(
        zone=fair.zone[kept],
        stay=fair.stay[kept],
        own=fair.own[kept],
        new=fair.new[kept],
        crowded=fair.crowded[kept],
        low=np.maximum(fair.low - taken, 0),
        high=np.maximum(fair.high - taken, 0),
    )
    return part, window


def more_families(problem: Sharing, failed: Ints) -> Ints:
    """Four times as many families, those that failed among them."""
    rest = np.setdiff1d(np.arange(len(problem.family_base)), failed)
    return np.union1d(failed, rest[:: max(1, len(rest) // (3 * len(failed)))])
