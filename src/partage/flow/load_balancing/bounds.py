"""A lower bound on the cost of all assignments within bands, from any prices.

Add to the cost of an assignment the price of each load on each slot. Every item then chooses its
slots by itself, the cheapest that the rules allow; and what the loads pay is at most what the most
expensive loads within the bands would pay. The sum of the first less the sum of the second is a
lower bound, whatever the prices are.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.load_balancing.bands import Bands
from partage.flow.load_balancing.prices import Prices

_CELLS = 4_000_000


def least_cost(
    problem: AssignmentProblem, load: Ints, base: Ints, bands: Bands, cost: Ints, prices: Prices
) -> int:
    """The least total ``cost`` [I] of new replicas, over all assignments within the bands."""
    slots = problem.slots
    least, most = problem.item_bounds
    members = [np.flatnonzero(problem.zone_of == z) for z in range(problem.zones)]
    step = max(1, _CELLS // slots)
    total = 0
    for start in range(0, problem.items, step):
        part = slice(start, min(problem.items, start + step))
        paid = np.repeat((cost[part] * prices.scale)[:, None], slots, axis=1)
        own = problem.own[part]
        row, column = np.nonzero(own >= 0)
        paid[row, own[row, column]] = 0
        for k in range(len(load)):
            if prices.price[k].any():
                paid += load[k, part][:, None] * prices.price[k]
        chosen = _cheapest(paid, members, problem.demand[part], least[part], most[part])
        total += sum(chosen.tolist())
    for k in range(len(load)):
        columns = (part[k].tolist() for part in (prices.price, bands.low, bands.high, base))
        for p, low, high, stays in zip(*columns, strict=True):
            total -= max(p * (low - stays), p * (high - stays))
    return max(0, -(-total // prices.scale))


def _cheapest(paid: Ints, members: list[Ints], demand: Ints, least: Ints, most: Ints) -> Ints:
    """[I] the cost of each item's cheapest slots: ``least`` in every zone, then the cheapest of the
    others with at most ``most`` in a zone."""
    deep = int(most.max(initial=1))
    total = np.zeros(len(paid), dtype=np.int64)
    far = np.iinfo(np.int64).max
    rest = []
    for slots in members:
        width = min(deep, len(slots))
        zone = paid[:, slots]
        if width < len(slots):
            zone = np.partition(zone, width - 1, axis=1)[:, :width]
        zone = np.sort(zone, axis=1)
        place = np.arange(width)
        forced = place < least[:, None]
        total += np.where(forced, zone, 0).sum(axis=1)
        rest.append(np.where(forced | (place >= most[:, None]), far, zone))
    pool = np.sort(np.concatenate(rest, axis=1), axis=1)
    wanted = np.arange(pool.shape[1]) < (demand - least * len(members))[:, None]
    return np.asarray(total + np.where(wanted, pool, 0).sum(axis=1))
