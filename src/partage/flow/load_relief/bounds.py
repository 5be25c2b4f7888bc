"""A lower bound on the cost of all assignments within limits, from any prices.

Add to the cost of an assignment the price of each load on each slot. Every item then chooses its
slots and its leader by itself, the cheapest that the rules allow: it pays at least for its cheapest
slots, and for a leader that is not among them at least what that slot costs more than the most
expensive of them. What the loads pay is at most what the most expensive loads within the limits
would pay. The sum of the first less the sum of the second is a lower bound, whatever the prices
are. An item whose slots may not change pays for these.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.flow.load_relief.state import ReliefProblem

_CELLS = 4_000_000
_FAR = 2**61


def least_cost(problem: ReliefProblem, cost: Ints, price: Ints, scale: int, high: Ints) -> int:
    """The least total ``cost`` [I] of new slots over all assignments whose loads are at most
    ``high`` [K, E]; a unit of cost counts ``scale`` at the prices [K, E]."""
    total = 0
    step = max(1, _CELLS // problem.sharing.slots)
    for movable in (True, False):
        items = np.flatnonzero(problem.movable == movable)
        for start in range(0, len(items), step):
            part = items[start : start + step]
            holds, leads = _paid(problem, part, price, high)
            if movable:
                holds += np.where(problem.own[part], 0, (cost[part] * scale)[:, None])
                total += _chosen(problem, part, holds, leads)
            else:
                own = problem.own[part]
                total += sum(np.where(own, holds, 0).sum(axis=1).tolist())
                total += sum(np.where(own, leads, _FAR).min(axis=1).tolist())
    columns = (price.ravel(), high.ravel(), problem.base.ravel())
    for p, most, stays in zip(*(column.tolist() for column in columns), strict=True):
        total -= max(p * (most - stays), -p * stays)
    return max(0, -(-total // scale))


def _paid(problem: ReliefProblem, part: Ints, price: Ints, high: Ints) -> tuple[Ints, Ints]:
    """[n, E] twice: what the loads of holding and of leading cost the items on each slot."""
    found = []
    held = len(problem.held)
    for load, of_load in ((problem.held, price[:held]), (problem.led, price[held:])):
        paid = np.zeros((len(part), problem.sharing.slots), dtype=np.int64)
        for k in np.flatnonzero(of_load.any(axis=1)).tolist():
            paid += load[k, part][:, None] * of_load[k]
        found.append(paid)
    return found[0], found[1]


def _chosen(problem: ReliefProblem, part: Ints, holds: Ints, leads: Ints) -> int:
    """What items that choose their slots and leaders pay at least."""
    zone = problem.sharing.zone_of
    least, most = (bound[part] for bound in problem.sharing.item_bounds)
    demand = problem.sharing.demand[part]
    deep, zones = int(most.max(initial=1)), problem.sharing.zones
    total = np.zeros(len(part), dtype=np.int64)
    dearest = np.full(len(part), -_FAR)
    rest = []
    for z in range(zones):
        mine = holds[:, zone == z]
        width = min(deep, mine.shape[1])
        if width < mine.shape[1]:
            mine = np.partition(mine, width - 1, axis=1)[:, :width]
        mine = np.sort(mine, axis=1)
        place = np.arange(width)
        forced = place < least[:, None]
        total += np.where(forced, mine, 0).sum(axis=1)
        dearest = np.maximum(dearest, np.where(forced, mine, -_FAR).max(axis=1))
        rest.append(np.where(forced | (place >= most[:, None]), _FAR, mine))
    pool = np.sort(np.concatenate(rest, axis=1), axis=1)
    wanted = np.arange(pool.shape[1]) < (demand - least * zones)[:, None]
    total += np.where(wanted, pool, 0).sum(axis=1)
    dearest = np.maximum(dearest, np.where(wanted, pool, -_FAR).max(axis=1))
    lead = (leads + np.maximum(holds - dearest[:, None], 0)).min(axis=1)
    return int(sum(total.tolist()) + sum(lead.tolist()))
