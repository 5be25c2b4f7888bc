"""Fair share of the total size for each slot, as if items were divisible: water filling.

A slot is a vessel of width 1 / weight, filled up to its base at the start, with a ceiling. The zone
rule bounds the total of each zone. Water rises to one common level; a zone that would exceed its
bounds is set to the bound and gets a separate level. No load vector is fairer, except where items
of different demand couple the zones in ways that a bound per zone does not capture; then the shares
cannot be reached, and the distance is reported.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Floats, Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.size_certificate import level_bound
from partage.flow.water_level import water_level

_SAME_LEVEL = 1e-9


def fair_shares(problem: AssignmentProblem, ceiling: Ints | None = None) -> Floats:
    """[E] the fairest sizes per slot, base included; ``ceiling`` [E]: capacity of a slot."""
    size = problem.size.astype(np.float64)
    total = float((size * problem.demand).sum())
    least, most = zone_totals(problem, size)
    base = problem.base_size.astype(np.float64)
    top = base + float(size.sum())
    if ceiling is not None:
        top = np.maximum(np.minimum(top, ceiling), base)
    width = 1.0 / problem.weight
    zone = problem.zone_of
    # if all zones together cannot hold the total: overfill in proportion
    room = np.bincount(zone, top - base, minlength=problem.zones)
    most = np.minimum(most, room)
    least = np.minimum(least, most)
    if most.sum() < total * (1 - _SAME_LEVEL):
        wanted = most * (total / max(float(most.sum()), 1.0))
        top = np.full_like(top, np.inf)
    else:
        wanted = _zone_shares(zone, width, base, top, least, most, total)
    share = np.zeros(problem.slots)
    for z in range(problem.zones):
        here = zone == z
        share[here] = _filled(width[here], base[here], top[here], float(wanted[z]))
    return share


def tightest(problem: AssignmentProblem, share: Floats) -> tuple[int, Bools]:
    """The best lower bound on the highest ``weight * size`` of a slot, and the set of slots [E]
    that yields it: one of those with the highest shares."""
    level = share * problem.weight
    best, chosen = -1, np.ones(problem.slots, dtype=np.bool_)
    for mark in np.unique(np.round(level / max(float(level.max()), 1e-300), 9))[::-1].tolist():
        confined = level >= mark * float(level.max()) * (1 - _SAME_LEVEL)
        bound = bound_of(problem, confined)
        if bound > best:
            best, chosen = bound, confined
    return best, chosen


def bound_of(problem: AssignmentProblem, confined: Bools) -> int:
    """The certificate's lower bound on the highest ``weight * size``, from ``confined`` slots."""
    least, most = problem.item_bounds
    return level_bound(
        size=problem.size,
        demand=problem.demand,
        least=least,
        most=most,
        zone=problem.zone_of,
        base_size=problem.base_size,
        weight=problem.weight,
        confined=confined,
    )


def zone_totals(problem: AssignmentProblem, size: Floats) -> tuple[Floats, Floats]:
    """[Z] the least and the most size that the items put into each zone."""
    members = np.bincount(problem.zone_of, minlength=problem.zones)
    of_class = np.bincount(problem.item_class, size, minlength=len(problem.demands))
    least, most = problem.bounds
    can = np.minimum(most[:, None], members[None, :])
    # the rest that the other zones cannot take
    must = np.maximum(
        least[:, None], problem.demands[:, None] - (can.sum(axis=1, keepdims=True) - can)
    )
    return must.T @ of_class, can.T @ of_class


def _zone_shares(
    zone: Ints, width: Floats, base: Floats, top: Floats, least: Floats, most: Floats, total: float
) -> Floats:
    """[Z] size of each zone at the common level, within its bounds."""

    def taken(level: float) -> Floats:
        each = np.clip(level * width, base, top) - base
        return np.asarray(np.clip(np.bincount(zone, each, minlength=len(least)), least, most))

    highest = float((top / width).max())
    return taken(water_level(lambda level: float(taken(level).sum()), total, highest))


def _filled(width: Floats, base: Floats, top: Floats, amount: float) -> Floats:
    """Contents of vessels after ``amount`` is added; ``top`` inf: no ceiling."""

    def held(level: float) -> Floats:
        return np.asarray(np.clip(level * width, base, top))

    enough = float(((base + amount) / width).max())
    return held(water_level(lambda level: float((held(level) - base).sum()), amount, enough))
