"""Prices of a byte on each slot, from a network of bytes.

If items were divisible, the minimum movement that brings every slot into its band would be a
min-cost flow of bytes: from groups of items that are in the same zones to (group, zone), from there
at no cost to the slots that hold the bytes today, or through a hub of the zone to any of its slots
at cost 1 per byte. Where a move copies less than the size, items in one group copy about the same
part of it, and costs are parts of a byte (``PARTS``). The dual values are the prices; the
certificate turns them into a bound on all assignments.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.arrays import Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.network import Network, minimise
from partage.flow.size_certificate import PARTS

_LEVELS = 4
"""Levels between a part of the size and twice that."""

_BITS = 40
"""Sizes are measured in units such that their sum has at most this many bits."""


def slot_prices(problem: AssignmentProblem, low: Ints, high: Ints) -> Ints:
    """[E] dual values, integers; all 0 where the bands are infeasible even for divisible items."""
    e, zones = problem.slots, problem.zones
    item, slot = problem.owned
    part = copied_part(problem)
    alike = np.column_stack((problem.item_class, problem.in_zones, part))
    group = np.unique(alike, axis=0, return_inverse=True)[1].astype(np.int64).ravel()
    groups = int(group.max()) + 1
    total = int(problem.size.sum()) * int(problem.demand.max()) + int(problem.base_size.max())
    unit = 1 << max(0, total.bit_length() - _BITS)

    bulk = _in_units(np.bincount(group, minlength=groups), group, problem.size, unit)
    first = np.zeros(groups, dtype=np.int64)
    first[group[::-1]] = np.arange(problem.items)[::-1]
    kind = problem.item_class[first]
    least, most = (bound[kind] * bulk for bound in problem.bounds)
    at_zone = groups + np.arange(groups * zones).reshape(groups, zones)
    at_hub = groups * (zones + 1) + np.arange(zones)
    at_slot = groups * (zones + 1) + zones + np.arange(e)
    sink = groups * (zones + 1) + zones + e
    network = Network(sink + 1, 1)
    demand = problem.demands[kind] * bulk
    network.supply[:groups] = demand - zones * least
    network.supply[at_zone] += least[:, None]
    network.supply[sink] = -int(demand.sum())
    network.arcs(np.arange(groups)[:, None], at_zone, (most - least)[:, None])
    network.arcs(at_zone, at_hub[None, :], most[:, None], {0: np.repeat(part[first], zones)})

    pair, place = np.unique(group[item] * e + slot, return_inverse=True)
    kept = _in_units(np.zeros(len(pair)), place.ravel(), problem.size[item], unit)
    on = pair % e
    network.arcs(at_zone[pair // e, problem.zone_of[on]], at_slot[on], kept)
    network.arcs(at_hub[problem.zone_of], at_slot, int(demand.sum()))
    # rounding to units must not make a band infeasible
    slack = len(pair) // e + groups + 2
    floor = np.maximum((low - problem.base_size) // unit - slack, 0)
    roof = np.maximum((high - problem.base_size) // unit + slack, floor)
    network.push(at_slot, sink, floor)
    network.arcs(at_slot, sink, roof - floor)
    optimum = minimise(network)
    if optimum is None:
        return np.zeros(e, dtype=np.int64)
    distance = optimum.distance[0]
    return np.asarray(distance[sink] - distance[at_slot], dtype=np.int64)


def copied_part(problem: AssignmentProblem) -> Ints:
    """[I] about which part of the size a move copies, in 1 / ``PARTS``, on few levels; 1 where it
    is always all."""
    if problem.copied is None:
        return np.ones(problem.items, dtype=np.int64)
    part = problem.copied / np.maximum(problem.size, 1)
    level = np.rint(np.log2(np.maximum(part, 1 / PARTS)) * _LEVELS)
    return np.where(part > 0, np.rint(PARTS * 2 ** (level / _LEVELS)), 0).astype(np.int64)


def _in_units(shape: npt.NDArray[np.generic], at: Ints, size: Ints, unit: int) -> Ints:
    """Sums of ``size`` by index, in units, rounded down after summing."""
    total = np.zeros(len(shape), dtype=np.int64)
    np.add.at(total, at, size)
    return total // unit
