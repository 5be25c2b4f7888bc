"""Which slots each item gets: fairest loads, fewest moves, most even spread.

Items (replica sets of partitions) each take ``demand`` distinct slots (brokers). Slots belong to
zones (racks); an item takes at least ``least`` and at most ``most`` slots of each zone. Items
belong to families (topics). Three costs are minimised one after the other, in a given order:

- *load*: sum of ``weight * load**2`` over the slots, whose minimum is the least majorised loads;
- *moves*: how many slots an item takes that it does not hold today;
- *spread*: sum of ``count**2`` over (family, slot).

All of it is one network, ``group -> (group, zone) -> [(family, slot)] -> slot -> sink``, laid out
at three resolutions:

1. Groups are *classes* of items with equal demand. Loads are exact here, since items of a class are
   interchangeable when only loads count; moves are a lower bound. A few hundred arcs.
2. Groups are the classes within each *family*, on the optimal face of 1: only the arcs that some
   optimum of 1 uses. This yields spread, given the moves of 1.
3. The counts of 2 are disaggregated: assigned to the *items*, which is again a flow, family by
   family. When this is feasible, every bound is met and all three costs are proven.

Counts do not determine which slot an item gives up that violates the zone rule or has too many
slots. When there are such items, 2 is replaced by a network in which each of them is a group of its
own (``item_network``), with arcs to its current slots and to the new slots of its family; when
there are many, all items are. Nor do they determine in which zones an item may still take a slot
that holds fewer than it should. In the same network such items are counted with those of their
family that hold as many slots of each zone: these are interchangeable.

In rare cases 2 or 3 is infeasible, because the counts hide that two items would have to swap slots.
The families that cannot be disaggregated are then solved separately, with the other items fixed. If
that costs more than the bound, their items become groups of their own and the network is solved
again. This ends at the latest when every item is a group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Ints
from partage.flow.assignment.count_network import DRIFT, Groups, solve_counts
from partage.flow.assignment.disaggregation import Counts, assign_items
from partage.flow.assignment.item_network import (
    CountSolution,
    ItemLayout,
    Prices,
    solve_item_network,
)
from partage.flow.assignment.problem import (
    LOAD,
    MOVES,
    SPREAD,
    AssignmentProblem,
    loads_of,
    zone_bounds,
)
from partage.flow.assignment.size_swaps import even_out_sizes
from partage.flow.sorting import numbered

__all__ = [
    "LOAD",
    "MOVES",
    "SPREAD",
    "Assignment",
    "AssignmentProblem",
    "assign",
    "fairest_loads",
    "loads_of",
    "zone_bounds",
]


_FEW = 8
"""Items are few when they are at most one in this many: then they are solved individually."""

_MORE = 1 / 64
"""The share of all items that is solved again where the items that failed alone cost more."""


class Assignment(Struct, frozen=True, eq=False):
    """The solution: ``slots`` [I, max demand] ascending, -1 padded, and what proves it optimal.

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
    return Assignment(even_out_sizes(problem, slots), prices, tuple(order))


def _solve(problem: AssignmentProblem, order: tuple[str, ...]) -> tuple[Ints, Prices]:
    violating = _violating(problem)
    if not violating.any() and not _incomplete(problem).any():
        return _solve_until_realisable(problem, order, violating, _by_family(problem, order))
    return _solve_until_realisable(problem, order, violating | (not _few(violating)), None)


def _few(items: Bools) -> bool:
    return _FEW * int(items.sum()) <= len(items)


def _violating(problem: AssignmentProblem) -> Bools:
    """[I] items that must give up a slot: they hold too many, in one zone or in total."""
    held, most = problem.in_zones, problem.item_bounds[1]
    violating = (held > most[:, None]).any(axis=1) | (held.sum(axis=1) > problem.demand)
    return np.asarray(violating, dtype=np.bool_)


def _incomplete(problem: AssignmentProblem) -> Bools:
    """[I] items that hold fewer slots than they should."""
    return np.asarray(problem.in_zones.sum(axis=1) < problem.demand, dtype=np.bool_)


def _by_family(problem: AssignmentProblem, order: tuple[str, ...]) -> CountSolution | None:
    """The counts per family; None where they are infeasible although the classes are not."""
    prices: Prices = {}
    layers, face = order, None
    if order[-1] == SPREAD:
        coarse = solve_counts(
            Groups.by(problem, problem.item_class, spread=False), order[:-1], None
        )
        assert coarse is not None, "feasible, since every single item is"
        prices = {cost: coarse.prices(layer) for layer, cost in enumerate(order[:-1])}
        layers, face = (SPREAD,), coarse.face(1)
    label = problem.family * len(problem.demands) + problem.item_class
    groups = Groups.by(problem, numbered(label)[2], spread=True)
    fine = solve_counts(groups, (*layers, DRIFT), face)
    if fine is None:
        return None
    prices |= {cost: fine.prices(layer) for layer, cost in enumerate(layers)}
    return CountSolution(Counts.of_groups(fine), fine.costs(), prices)


def _solve_until_realisable(
    problem: AssignmentProblem,
    order: tuple[str, ...],
    individual: Bools,
    found: CountSolution | None,
) -> tuple[Ints, Prices]:
    """Solve until counts are found that can be disaggregated: the slots, and the prices."""
    wide, incomplete = np.zeros_like(individual), _incomplete(problem)
    while True:
        layout = ItemLayout(individual, wide, incomplete)
        found = found or solve_item_network(problem, order, layout)
        slots, failed = assign_items(found.counts)
        if len(failed) == 0:
            return slots, found.prices
        again = np.isin(problem.family, failed)
        # with a window, the other items may leave no solution
        if problem.window is None:
            for some in (again, _with_more(problem, again)):
                if not _few(some):
                    continue
                redone = _redone(problem, order, slots, some)
                # optimal if the total still meets the bound
                if problem.costs(redone) == found.costs:
                    return redone, found.prices
        if individual[again].all():
            wide = wide | again
        else:
            individual = individual | again | (not _few(again))
        found = None


def _with_more(problem: AssignmentProblem, items: Bools) -> Bools:
    """[I] these items of some families, and those of the families after them, up to a certain
    share of all."""
    count = np.bincount(problem.family)
    chosen = np.bincount(problem.family, items) > 0
    first = int(chosen.argmax())
    order = (first + np.arange(len(count))) % len(count)
    near = np.cumsum(count[order]) <= _MORE * problem.items
    chosen[order[near]] = True
    return np.asarray(chosen[problem.family])


def _redone(problem: AssignmentProblem, order: tuple[str, ...], slots: Ints, again: Bools) -> Ints:
    """The slots after the items ``again`` [I] were assigned again; the others keep theirs."""
    part = _remainder(problem, slots, again)
    redone, _ = _solve_until_realisable(part, order, np.ones(part.items, dtype=np.bool_), None)
    slots = slots.copy()
    slots[again] = -1
    slots[again, : redone.shape[1]] = redone
    return slots


def fairest_loads(problem: AssignmentProblem) -> Ints:
    """[E] fairest loads, base included, regardless of moves."""
    if problem.items == 0:
        return problem.base.copy()
    new = replace(problem, own=np.full_like(problem.own[:, :1], -1))
    solved = solve_counts(Groups.by(new, new.item_class, spread=False), (LOAD,), None)
    assert solved is not None
    assert solved.load_squares is not None
    squares = solved.load_squares
    return squares.base + solved.optimum.flow[squares.at]


def _remainder(problem: AssignmentProblem, slots: Ints, again: Bools) -> AssignmentProblem:
    """The problem of the items ``again`` [I] only; the others keep their ``slots``."""
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
        copied=None if problem.copied is None else problem.copied[again],
    )
