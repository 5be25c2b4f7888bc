"""The log dirs of one small broker as an integer program (HiGHS): exact where the search is not.

A binary variable per (replica, log dir). The search is limited by nodes, so that the same input
gives the same answer; the time limit is for the few problems that take long for fewer nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.placement.integer_program import NothingFitsError
from partage.flow.assignment import AssignmentProblem

MAX_VARIABLES = 1_500
"""Replicas times log dirs up to which the program is tried: from there on the search is near."""

_MAX_NODES, _MAX_SECONDS, _GAP = 500, 10.0, 1e-3


def in_log_dirs(size: Ints, own: Ints, base_size: Ints) -> AssignmentProblem:
    """Replicas of ``size`` [I], each to be in one log dir; ``own`` [I]: where they are, -1 in none
    of these; ``base_size`` [E]: bytes that stay in each log dir."""
    count, none = len(size), np.zeros_like(base_size)
    return AssignmentProblem(
        family=np.zeros(count, dtype=np.int64),
        demand=np.ones(count, dtype=np.int64),
        own=own.reshape(-1, 1),
        zone=none,
        weight=np.ones_like(base_size),
        base=none,
        family_base=none[None, :],
        zoned=False,
        size=size,
        base_size=base_size,
    )


def fewest_bytes_within(sharing: AssignmentProblem, low: Ints, high: Ints) -> Ints | None:
    """[I, 1] the slot of each item, such that every load is between ``low`` and ``high`` [E] and
    the fewest bytes move. None if the nodes ran out first. Raises NothingFitsError."""
    cost = np.repeat(sharing.size[:, None], sharing.slots, axis=1).astype(np.float64)
    cost[sharing.owned] = 0
    none = np.zeros((sharing.slots, 1))
    found = _solve(sharing, cost, 0.0, none, low.astype(np.float64), none, high.astype(np.float64))
    if found is None:
        return None
    load = sharing.size_on(found)
    return found if ((low <= load) & (load <= high)).all() else None


def evenest(sharing: AssignmentProblem, share: Floats, ceiling: Ints) -> Ints | None:
    """[I, 1] the slot of each item, such that the largest distance of a load from its ``share``
    [E], in parts of that, is the least. None if the nodes ran out first. Raises
    NothingFitsError."""
    nothing = np.zeros((sharing.items, sharing.slots))
    width = np.maximum(share, 1.0)[:, None]
    top = np.minimum(share, ceiling.astype(np.float64))
    found = _solve(sharing, nothing, 1.0, width, top, -width, share)
    return None if found is None or (sharing.size_on(found) > ceiling).any() else found


def _solve(
    sharing: AssignmentProblem,
    cost: Floats,
    cost_of_width: float,
    below: Floats,
    low: Floats,
    above: Floats,
    high: Floats,
) -> Ints | None:
    """Minimise the ``cost`` [I, E] and that of the width w, where ``load + below * w >= low`` and
    ``load + above * w <= high``."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, hstack, vstack

    items, e = sharing.items, sharing.slots
    item, slot = np.divmod(np.arange(items * e), e)
    once = coo_array((np.ones(items * e), (item, np.arange(items * e))), shape=(items, items * e))
    unit = max(1.0, float(sharing.size.max(initial=0)))
    sizes = coo_array(
        (sharing.size[item] / unit, (slot, np.arange(items * e))), shape=(e, items * e)
    )
    rows = vstack(
        (
            hstack((once, coo_array((items, 1)))),
            hstack((sizes, coo_array(below / unit))),
            hstack((sizes, coo_array(above / unit))),
        )
    )
    base = sharing.base_size
    ones, endless = np.ones(items), np.full(e, np.inf)
    constraint: Any = LinearConstraint(
        rows.tocsr(),
        np.concatenate((ones, (low - base) / unit, -endless)),
        np.concatenate((ones, endless, (high - base) / unit)),
    )
    scale = max(1.0, float(cost.max(initial=0)) / 1e3)
    found = milp(
        np.append(cost.ravel() / scale, cost_of_width),
        integrality=np.append(np.ones(items * e), 0),
        bounds=Bounds(0, np.append(np.ones(items * e), np.inf)),
        constraints=constraint,
        options={"node_limit": _MAX_NODES, "time_limit": _MAX_SECONDS, "mip_rel_gap": _GAP},
    )
    if found.status == 2:
        raise NothingFitsError
    if found.x is None:
        return None
    chosen = found.x[:-1].reshape(items, e).argmax(axis=1)
    return np.asarray(chosen[:, None], dtype=np.int64)
