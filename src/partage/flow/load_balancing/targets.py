"""Target loads within the bands that few arrivals reach, for each load by itself.

A load that counts as divisible reaches its bands with the fewest arrivals if slots below the band
are filled to its low end and the highest slots give what this takes: all slots are cut at one
level. The rack rule bounds what zones hold; so the same is done for the totals of the zones first,
which then stay as they are unless the bands of a zone ask for more or less. Where items may change
their zones, those whose slots must give more than others in the zone must take pass the difference
to zones where it is the other way round: there it fills slots that take some anyway.

The first load counts replicas. Which slots give replicas matters little for the counts, but what is
above a band in other loads has to leave its slot anyway. So ``counts_by_surplus`` lets slots give
in proportion to that: then the replicas that fill one slot are those that relieve another.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Floats, Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.water_level import water_level


def zones_fixed(problem: AssignmentProblem) -> bool:
    """Whether every item keeps as many slots of each zone as it has."""
    least, most = problem.item_bounds
    held = problem.in_zones
    within = ((held >= least[:, None]) & (held <= most[:, None])).all()
    fixed = (problem.zones * most == problem.demand) | (problem.zones * least == problem.demand)
    return bool(within and fixed.all() and (held.sum(axis=1) == problem.demand).all())


def target_loads(load: Floats, low: Floats, high: Floats, zone: Ints, fixed: bool) -> Floats:
    """[E, K] targets for loads [E, K] within ``low`` and ``high``, with the same totals; ``fixed``:
    whether items stay in their zones."""
    zones = int(zone.max()) + 1
    target = np.empty_like(load)
    for k in range(load.shape[1]):
        now, least, most = (
            np.bincount(zone, part[:, k], zones).astype(np.float64) for part in (load, low, high)
        )
        if not fixed:
            below, above = (
                np.bincount(zone, np.maximum(part, 0), zones).astype(np.float64)
                for part in (low[:, k] - load[:, k], load[:, k] - high[:, k])
            )
            now += _passed_on(above - below)
        wanted = _cut(now, least, most, float(now.sum()))
        for z in range(zones):
            here = zone == z
            target[here, k] = _cut(load[here, k], low[here, k], high[here, k], float(wanted[z]))
    return target


def counts_by_surplus(
    load: Floats, target: Floats, low: Floats, high: Floats, zone: Ints
) -> Floats:
    """[E] targets for the first load, within its band: slots above ``target`` [E, K] give as much
    in all of a zone, but in proportion to what they are above it in the loads after the first."""
    found = target[:, 0].copy()
    over = np.maximum(load - target, 0)[:, 1:].max(axis=1, initial=0)
    for z in range(int(zone.max()) + 1):
        here = np.flatnonzero((zone == z) & (load[:, 0] > target[:, 0]))
        now = load[here, 0]
        least, most = (np.maximum(now - edge[here, 0], 0) for edge in (high, low))
        total = float((now - target[here, 0]).sum())
        found[here] = now - _shared_out(over[here], least, most, total)
    return found


def _shared_out(weight: Floats, least: Floats, most: Floats, total: float) -> Floats:
    """Amounts from least to most that add up to ``total``: in proportion to the weights, and what
    these cannot give, in proportion to what is left."""
    highest = float(most.sum()) / max(float(weight[weight > 0].min(initial=1)), 1e-12)
    level = water_level(
        lambda level: float(np.clip(level * weight, least, most).sum()), total, highest
    )
    amount = np.clip(level * weight, least, most)
    left = most - amount
    lacking = max(total - float(amount.sum()), 0.0)
    return np.asarray(amount + left * (lacking / max(float(left.sum()), 1e-300)))


def _passed_on(surplus: Floats) -> Floats:
    """[Z] what zones get from others: as much as possible of what some have too much of, and others
    too little."""
    give, take = np.maximum(surplus, 0), np.maximum(-surplus, 0)
    amount = min(float(give.sum()), float(take.sum()))
    if amount <= 0:
        return np.zeros_like(surplus)
    return np.asarray(take * (amount / take.sum()) - give * (amount / give.sum()))


def _cut(load: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """Loads within low and high that add up to ``total``: the present ones, cut from above at one
    level, or raised from below to one; in proportion to an end of the bands if they cannot."""
    if total <= low.sum():
        return np.asarray(low * (total / max(float(low.sum()), 1e-300)))
    if total >= high.sum():
        return np.asarray(high * (total / max(float(high.sum()), 1e-300)))
    cut = np.minimum if np.clip(load, low, high).sum() > total else np.maximum
    highest = 2 * float(max(load.max(), high.max()))
    level = water_level(
        lambda level: float(np.clip(cut(load, level), low, high).sum()), total, highest
    )
    return np.asarray(np.clip(cut(load, level), low, high))
