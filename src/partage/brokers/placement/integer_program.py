"""Small placements within disks as an integer program (HiGHS): exact, or proven not to exist.

A binary variable per (partition, broker). The load of a broker gets columns whose cost rises from
one replica to the next, so that the sum of squares is a linear cost: a binary column per replica
near the fair share, and one column for all below and above, at the cost of the nearest replica.
These cost no more than the squares do, so an answer with all loads near the fair share is optimal;
otherwise more replicas get columns of their own. The costs are minimised one after the other. The
search is limited by nodes, so that the same input gives the same answer; the time limit is for the
few problems that take a minute for fewer nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.flow.assignment import LOAD, MOVES, AssignmentProblem
from partage.flow.assignment.problem import as_rows

SIZES = "sizes"
"""The cost of the bytes moved, beside LOAD and MOVES."""

MAX_VARIABLES = 4_000
"""Partitions times brokers up to which the program is tried."""

_REACHES = (8, 64)
"""How far from the fair share replicas first get columns of their own."""

_MAX_NODES, _MAX_SECONDS = 1_000, 60.0


class NothingFitsError(Exception):
    """It is proven that no placement fits into the disks."""


def solve_within_disks(
    sharing: AssignmentProblem, capacity: Ints, costs: Sequence[str], fairest: Ints | None = None
) -> Ints | None:
    """Slots [I, any] that keep every slot within its ``capacity`` [E] in bytes (-1: no limit).

    The ``costs`` (of LOAD, MOVES, SIZES) are minimised in this order. ``fairest`` [E]: loads, base
    included, as fair as any without limits; mostly the disks leave space for loads as fair, and
    then LOAD needs no separate program. None if the nodes ran out before a placement was found.
    Raises NothingFitsError.
    """
    placed = None
    if fairest is not None and LOAD in costs:
        with suppress(NothingFitsError):
            placed = _placed(sharing, capacity, costs, fairest - sharing.base)
    if placed is None:
        placed = _placed(sharing, capacity, costs, None)
    if placed is None:
        return None
    return as_rows(sharing, *(axis.astype(np.int64) for axis in np.nonzero(placed)))


def _placed(
    sharing: AssignmentProblem, capacity: Ints, costs: Sequence[str], fairest: Ints | None
) -> Bools | None:
    """[I, E] which slots each item has, with loads as fair as ``fairest`` if given."""
    for reach in (*_REACHES, sharing.items):
        steps = _steps(sharing, reach if LOAD in costs else 0)
        if fairest is not None and not steps.contain(fairest):
            continue
        placed = _solve(sharing, capacity, costs, steps, fairest)
        if placed is None or LOAD not in costs or steps.contain(placed.sum(axis=0)):
            return placed
    raise AssertionError("with a column for every replica all loads are contained")


class _Steps(Struct, frozen=True, eq=False):
    """Columns of the loads: their ``slot``, ``size`` in replicas and ``cost`` per replica, which is
    that of the squares where loads are between ``first`` and ``last`` [E]."""

    slot: Ints
    size: Ints
    cost: Ints
    first: Ints
    last: Ints

    def contain(self, loads: Ints) -> bool:
        """Whether the loads [E] cost what their squares do."""
        return bool((self.first <= loads).all() and (loads <= self.last).all())

    def total(self, sharing: AssignmentProblem, loads: Ints) -> int:
        """What contained loads [E] cost."""
        base = sharing.base
        below = self.first * (2 * (base + np.maximum(self.first - 1, 0)) + 1)
        single = (base + loads) ** 2 - (base + self.first) ** 2
        return int((sharing.weight * (below + single)).sum())


def _steps(sharing: AssignmentProblem, reach: int) -> _Steps:
    """Single replicas up to ``reach`` from the fair share, the rest in two columns per slot."""
    demand, weight = int(sharing.demand.sum()), sharing.weight
    total = demand + int(sharing.base.sum())
    fair = total / weight / (1 / weight).sum() - sharing.base
    middle = np.clip(np.rint(fair).astype(np.int64), 0, sharing.items)
    first, last = np.maximum(middle - reach, 0), np.minimum(middle + reach, sharing.items)
    slots = np.arange(sharing.slots)
    single = np.repeat(slots, last - first)
    height = np.concatenate([np.arange(low, high) for low, high in zip(first, last, strict=True)])
    slot = np.concatenate((slots, single, slots))
    level = np.concatenate((np.maximum(first - 1, 0), height.astype(np.int64), last))
    size = np.concatenate((first, np.ones_like(single), sharing.items - last))
    return _Steps(slot, size, weight[slot] * (2 * (sharing.base[slot] + level) + 1), first, last)


def _solve(
    sharing: AssignmentProblem,
    capacity: Ints,
    costs: Sequence[str],
    steps: _Steps,
    fairest: Ints | None,
) -> Bools | None:
    """[I, E] which slots each item has."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    items, e, zones = sharing.items, sharing.slots, sharing.zones
    least, most = sharing.item_bounds
    placed, levels = items * e, len(steps.slot)
    item, slot = np.divmod(np.arange(placed), e)
    free = (capacity - sharing.base_size).astype(np.float64)
    scale = np.maximum(np.abs(free), 1.0)
    at = items + items * zones
    fits = np.flatnonzero(capacity[slot] >= 0)
    rows = np.concatenate(
        (
            item,
            items + item * zones + sharing.zone_of[slot],
            at + slot,
            at + steps.slot,
            at + e + slot[fits],
        )
    )
    columns = np.concatenate(
        (np.tile(np.arange(placed), 3), placed + np.arange(levels), np.arange(placed)[fits])
    )
    share_of_free = sharing.size[item[fits]] / scale[slot[fits]]
    values = np.concatenate((np.ones(3 * placed), -np.ones(levels), share_of_free))
    matrix = coo_array((values, (rows, columns)), shape=(at + 2 * e, placed + levels)).tocsr()
    demand = sharing.demand.astype(np.float64)
    within = np.where(capacity >= 0, free / scale, np.inf)
    low = np.concatenate((demand, np.repeat(least, zones), np.zeros(e), np.full(e, -np.inf)))
    high = np.concatenate((demand, np.repeat(most, zones), np.zeros(e), within))
    new = np.ones((items, e))
    new[sharing.owned] = 0
    nothing = np.zeros(levels)
    cost_of = {
        LOAD: (np.zeros(placed), steps.cost.astype(np.float64)),
        MOVES: (new.ravel(), nothing),
        SIZES: ((new * sharing.move_size[:, None]).ravel(), nothing),
    }
    rules = [LinearConstraint(matrix, low, high)]
    answer = None
    for name in costs:
        cost = np.concatenate(cost_of[name])
        unit = max(1.0, float(cost.max(initial=0)) / 1e6)
        if name == LOAD and fairest is not None:
            most_of_load = steps.total(sharing, fairest) + 0.5
            rules.append(LinearConstraint(cost / unit, -np.inf, most_of_load / unit))
            continue
        found = milp(
            cost / unit,
            # levels would be whole anyway; declaring them integer prunes several times more
            integrality=np.ones(placed + levels, dtype=np.int64),
            bounds=Bounds(0, np.concatenate((np.ones(placed), steps.size))),
            constraints=rules,
            options={"node_limit": _MAX_NODES, "time_limit": _MAX_SECONDS, "mip_rel_gap": 0},
        )
        if found.status == 2 and answer is None:
            raise NothingFitsError
        if found.x is None:
            break
        answer = found.x[:placed].reshape(items, e) > 0.5
        reached = float(cost @ np.round(found.x))
        rules.append(LinearConstraint(cost / unit, -np.inf, (reached + 0.5) / unit))
    return answer
