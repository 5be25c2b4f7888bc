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

Counts say little about items that must give up a slot, because they break the zone rule or have
one too many: which one each gives up decides. When there are such items, 2 is replaced by a network
in which they stand alone (``by_item``), each with arcs to its own slots and to what its family
takes anew; all items do when there are many.

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

from partage.flow.assignment.count_network import DRIFT, Groups, solve_counts
from partage.flow.assignment.disaggregation import Counts, assign_items
from partage.flow.assignment.item_network import Apart, Prices, Settled, settle
from partage.flow.assignment.problem import LOAD, MOVES, SPREAD, AssignmentProblem, zone_bounds
from partage.flow.assignment.size_swaps import even_out

__all__ = [
    "LOAD",
    "MOVES",
    "SPREAD",
    "Assignment",
    "AssignmentProblem",
    "fairest_loads",
    "share",
    "zone_bounds",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


_FEW = 8
"""One in so many of the items are few: worth being told apart from the others, or settled apart."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """The answer: ``slots`` [I, max demand] ascending, -1 padded, and what proves it.

    ``prices`` maps each cost to its dual values: per slot for load and moves, for spread a pair
    (per slot, per (family, slot)).
    """

    slots: Ints
    prices: Prices
    order: tuple[str, ...]


def assign(problem: AssignmentProblem, order: Sequence[str] = (LOAD, MOVES, SPREAD)) -> Assignment:
    """Solve it exactly. ``order`` is (load, moves, spread), (moves, load, spread) or (spread,
    load, moves)."""
    if problem.items == 0:
        nothing = np.zeros(problem.slots, dtype=np.int64)
        family = np.zeros_like(problem.family_base)
        return Assignment(
            np.full((0, 1), -1, dtype=np.int64),
            {cost: (nothing, family if cost == SPREAD else None) for cost in order},
            tuple(order),
        )
    slots, prices = _solve(problem, tuple(order))
    return Assignment(even_out(problem, slots), prices, tuple(order))


def _solve(problem: AssignmentProblem, order: tuple[str, ...]) -> tuple[Ints, Prices]:
    crowded = _crowded(problem)
    if not crowded.any():
        return _dealt(problem, order, crowded, _by_family(problem, order))
    return _dealt(problem, order, crowded | (not _few(crowded)), None)


def _few(items: Bools) -> bool:
    return _FEW * int(items.sum()) <= len(items)


def _crowded(problem: AssignmentProblem) -> Bools:
    """[I] items that must give up a slot: they sit on too many, of one zone or in all."""
    held, most = problem.in_zones, problem.item_bounds[1]
    crowded = (held > most[:, None]).any(axis=1) | (held.sum(axis=1) > problem.demand)
    return np.asarray(crowded, dtype=np.bool_)


def _by_family(problem: AssignmentProblem, order: tuple[str, ...]) -> Settled | None:
    """The counts per family; None where families rule out what is possible without them."""
    prices: Prices = {}
    layers, face = order, None
    if order[-1] == SPREAD:
        coarse = solve_counts(
            Groups.by(problem, problem.item_class, spread=False), order[:-1], None
        )
        assert coarse is not None, "every item can be placed on its own, so all can"
        prices = {cost: coarse.prices(layer) for layer, cost in enumerate(order[:-1])}
        layers, face = (SPREAD,), coarse.face(1)
    label = problem.family * len(problem.demands) + problem.item_class
    groups = Groups.by(problem, np.unique(label, return_inverse=True)[1].ravel(), spread=True)
    fine = solve_counts(groups, (*layers, DRIFT), face)
    if fine is None:
        return None
    prices |= {cost: fine.prices(layer) for layer, cost in enumerate(layers)}
    return Settled(Counts.of_groups(fine), fine.costs(), prices)


def _dealt(
    problem: AssignmentProblem, order: tuple[str, ...], alone: Bools, found: Settled | None
) -> tuple[Ints, Prices]:
    """The slots, once counts are found that can be dealt out, and the prices of these counts."""
    wide = np.zeros_like(alone)
    while True:
        found = found or settle(problem, order, Apart(alone, wide))
        slots, failed = assign_items(found.counts)
        if len(failed) == 0:
            return slots, found.prices
        again = np.isin(problem.family, failed)
        if _few(again):
            # proven if all together cost no more than the bound
            part = _remainder(problem, slots, again)
            redone, _ = _dealt(part, order, np.ones(part.items, dtype=np.bool_), None)
            slots[again] = -1
            slots[again, : redone.shape[1]] = redone
            if problem.costs(slots) == found.costs:
                return slots, found.prices
        if alone[again].all():
            wide = wide | again
        else:
            alone = alone | again | (not _few(again))
        found = None


def fairest_loads(problem: AssignmentProblem) -> Ints:
    """[E] fairest loads, base included, whatever the moves: stage one alone."""
    if problem.items == 0:
        return problem.base.copy()
    solved = solve_counts(Groups.by(problem, problem.item_class, spread=False), (LOAD,), None)
    assert solved is not None
    assert solved.load_squares is not None
    squares = solved.load_squares
    return problem.base + squares.flows(solved.optimum.flow[squares.at])


def _remainder(problem: AssignmentProblem, slots: Ints, again: Bools) -> AssignmentProblem:
    """The problem of the items ``again`` [I] alone, the others staying on their ``slots``."""
    others = slots[~again]
    rows, columns = np.nonzero(others >= 0)
    taken = np.bincount(others[rows, columns], minlength=problem.slots).astype(np.int64)
    names, family = np.unique(problem.family[again], return_inverse=True)
    return AssignmentProblem(
        family=family.astype(np.int64).ravel(),
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
