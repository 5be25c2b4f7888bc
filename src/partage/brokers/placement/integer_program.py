"""Small placements within disks as an integer program (HiGHS): exact, or proven not to exist.

A binary variable per (partition, broker). Loads get a variable per (broker, level) whose cost rises
with the level, so that the sum of squares is a linear cost; the costs are minimised one after the
other. The search is limited by nodes, so that the same input gives the same answer; the time limit
is for the few problems that take a minute for fewer nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from partage.flow.assignment import LOAD, MOVES, AssignmentProblem
from partage.flow.assignment.problem import as_rows

Ints = npt.NDArray[np.int64]

SIZES = "sizes"
"""The cost of the bytes moved, beside LOAD and MOVES."""

MAX_VARIABLES = 4_000
"""Partitions times brokers up to which the program is tried."""

_MAX_NODES, _MAX_SECONDS = 1_000, 60.0


class NothingFitsError(Exception):
    """It is proven that no placement fits into the disks."""


def solve_within_disks(
    sharing: AssignmentProblem, capacity: Ints, costs: Sequence[str]
) -> Ints | None:
    """Slots [I, any] that keep every slot within its ``capacity`` [E] in bytes (-1: no limit).

    The ``costs`` (of LOAD, MOVES, SIZES) are minimised in this order. None if the nodes ran out
    before a placement was found. Raises NothingFitsError.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    items, e, zones = sharing.items, sharing.slots, sharing.zones
    least, most = sharing.item_bounds
    placed = items * e
    item, slot = np.divmod(np.arange(placed), e)
    level = np.tile(np.arange(items), e)
    of_slot = np.repeat(np.arange(e), items)
    free = (capacity - sharing.base_size).astype(np.float64)
    scale = np.maximum(np.abs(free), 1.0)
    at = items + items * zones
    fits = np.flatnonzero(capacity[slot] >= 0)
    rows = np.concatenate(
        (
            item,
            items + item * zones + sharing.zone_of[slot],
            at + slot,
            at + of_slot,
            at + e + slot[fits],
        )
    )
    columns = np.concatenate(
        (np.tile(np.arange(placed), 3), placed + np.arange(placed), np.arange(placed)[fits])
    )
    share_of_free = sharing.size[item[fits]] / scale[slot[fits]]
    values = np.concatenate((np.ones(3 * placed), -np.ones(placed), share_of_free))
    matrix = coo_array((values, (rows, columns)), shape=(at + 2 * e, 2 * placed)).tocsr()
    demand = sharing.demand.astype(np.float64)
    within = np.where(capacity >= 0, free / scale, np.inf)
    low = np.concatenate((demand, np.repeat(least, zones), np.zeros(e), np.full(e, -np.inf)))
    high = np.concatenate((demand, np.repeat(most, zones), np.zeros(e), within))
    new = np.ones((items, e))
    new[sharing.owned] = 0
    nothing = np.zeros(placed)
    cost_of = {
        LOAD: (nothing, sharing.weight[of_slot] * (2 * (sharing.base[of_slot] + level) + 1.0)),
        MOVES: (new.ravel(), nothing),
        SIZES: ((new * sharing.move_size[:, None]).ravel(), nothing),
    }
    rules = [LinearConstraint(matrix, low, high)]
    answer = None
    for name in costs:
        cost = np.concatenate(cost_of[name])
        unit = max(1.0, float(cost.max(initial=0)) / 1e6)
        found = milp(
            cost / unit,
            # levels would be whole anyway; declaring them integer prunes several times more
            integrality=np.ones(2 * placed, dtype=np.int64),
            bounds=Bounds(0, 1),
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
    if answer is None:
        return None
    return as_rows(sharing, *(axis.astype(np.int64) for axis in np.nonzero(answer)))
