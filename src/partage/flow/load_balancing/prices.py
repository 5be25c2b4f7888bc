"""Prices of the loads of each slot, from a linear program of divisible items.

Items with similar loads form a bin. The program decides how many replicas of each bin leave each
slot, and how many arrive there; with a rack rule that leaves no choice, what leaves a zone stays in
it. It brings all loads into their bands at the least cost of the arrivals. Its size depends on
slots and bins, not on items. The dual values of the bands are the prices. ``bounds`` turns any
prices into a bound for the real items, so rounding here costs strength, never validity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.assignment import AssignmentProblem
from partage.flow.load_balancing.bands import Bands
from partage.flow.load_balancing.targets import zones_fixed

_VARIABLES = 40_000
"""The size that the number of bins is chosen for."""

_MOST_BINS, _FEWEST_BINS = 48, 8
_BITS = 60
_FINEST = 20
"""Prices are multiples of 2**-20 of the unit of cost, or coarser where numbers are large."""

_PENALTY = 1e3


class Prices(Struct, frozen=True, eq=False):
    """``price`` [K, E], integers, for a unit of each load on each slot, where a unit of cost counts
    ``scale``."""

    price: Ints
    scale: int


def band_prices(
    problem: AssignmentProblem, load: Ints, base: Ints, bands: Bands, cost: Ints
) -> Prices:
    """Prices for the cost ``cost`` [I] of each new replica. ``load`` [K, I], ``base`` [K, E]."""
    unit = np.maximum(bands.fair.mean(axis=1), 1.0)
    weight = load / unit[:, None]
    bins = _bins(problem, load)
    mean_cost = max(float(cost.mean()), 1e-9) if len(cost) else 1.0
    dual = _solve(problem, weight, base / unit[:, None], bands, unit, cost / mean_cost, bins)
    exact = dual * mean_cost / unit[:, None]
    # no cost or price times load may exceed 64 bits
    largest = max(1.0, float(cost.max(initial=1)))
    largest = max(largest, float((np.abs(exact).max(axis=1) * load.max(axis=1, initial=1)).max()))
    scale = 2 ** max(0, min(_FINEST, _BITS - 4 - int(np.ceil(np.log2(largest)))))
    return Prices(np.round(exact * scale).astype(np.int64), scale)


def _bins(problem: AssignmentProblem, load: Ints) -> Ints:
    """[I] the bin of each item: items of similar loads, and of the same demand."""
    count = int(np.clip(_VARIABLES // (2 * problem.slots), _FEWEST_BINS, _MOST_BINS))
    key = np.unique(load[1:], axis=1, return_inverse=True)[1].ravel()
    kinds = len(np.unique(key))
    if kinds > count:
        varied = [k for k in range(1, len(load)) if load[k].max() > load[k].min()]
        distinct: list[int] = []
        for k in varied:  # loads in proportion to another one need no bins of their own
            if not any(_proportional(load[k], load[other]) for other in distinct):
                distinct.append(k)
        each = max(2, int(count ** (1 / max(1, len(distinct)))))
        key = np.zeros(problem.items, dtype=np.int64)
        for k in distinct:
            rank = np.argsort(np.argsort(load[k], kind="stable"), kind="stable")
            key = key * each + rank * each // problem.items
    key = key * len(problem.demands) + problem.item_class
    return np.unique(key, return_inverse=True)[1].ravel().astype(np.int64)


def _proportional(one: Ints, other: Ints) -> bool:
    a, b = one / max(float(one.sum()), 1.0), other / max(float(other.sum()), 1.0)
    return bool(np.abs(a - b).max() <= 1e-9)


def _solve(
    problem: AssignmentProblem,
    weight: Floats,
    base: Floats,
    bands: Bands,
    unit: Floats,
    cost: Floats,
    bins: Ints,
) -> Floats:
    """[K, E] dual values of the bands. The variables: replicas of each bin that leave and arrive
    [E, bins], and how far loads are above and below their bands [K, E]."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    e, count = problem.slots, int(bins.max(initial=0)) + 1
    members = np.bincount(bins, minlength=count)
    mean = np.array([np.bincount(bins, w, count) for w in weight]) / members
    price = np.bincount(bins, cost, count) / members
    item, slot = problem.owned
    held = np.bincount(slot * count + bins[item], minlength=e * count).astype(np.float64)
    now = base + np.array([np.bincount(slot, w[item], e) for w in weight])
    loads = _load_rows(mean, e)
    conserved, missing = _conservation(problem, bins, count, loads.shape[1])
    low, high = (part / unit[:, None] for part in (bands.low, bands.high))
    soft = 2 * len(weight) * e
    most = np.concatenate((held, np.full(e * count + soft, np.inf)))
    outside = np.full(soft, _PENALTY * max(1.0, problem.items / e))
    both: Any = vstack([loads, -loads])
    limits: Any = np.column_stack((np.zeros_like(most), most))
    for presolve in (True, False):  # HiGHS's presolve gives up on some of these programs
        found = linprog(
            np.concatenate((np.zeros(e * count), np.tile(price, e), outside)),
            A_ub=both,
            b_ub=np.concatenate(((high - now).ravel(), (now - low).ravel())),
            A_eq=conserved,
            b_eq=missing,
            bounds=limits,
            method="highs",
            options={"presolve": presolve},
        )
        if found.status == 0:
            above, below = np.split(found.ineqlin.marginals, 2)
            return np.asarray((below - above).reshape(now.shape))
    return np.zeros_like(now)


def _load_rows(mean: Floats, e: int) -> Any:
    """A sparse row per load and slot: what leaving and arriving replicas change, and how far
    outside its band the load may be."""
    from scipy.sparse import coo_array

    kinds, count = mean.shape
    pairs = e * count
    of_slot, of_bin = np.divmod(np.arange(pairs), count)
    row = (np.arange(kinds)[:, None] * e + of_slot).ravel()
    column = np.tile(np.arange(pairs), kinds)
    change = mean[:, of_bin].ravel()
    soft, one = np.arange(kinds * e), np.ones(kinds * e)
    return coo_array(
        (
            np.concatenate((-change, change, -one, one)),
            (
                np.concatenate((row, row, soft, soft)),
                np.concatenate(
                    (column, pairs + column, 2 * pairs + soft, 2 * pairs + kinds * e + soft)
                ),
            ),
        ),
        shape=(kinds * e, 2 * (pairs + kinds * e)),
    ).tocsr()


def _conservation(
    problem: AssignmentProblem, bins: Ints, count: int, variables: int
) -> tuple[Any, Floats]:
    """What leaves a zone arrives in it, if the rules require that, else anywhere; and what is
    missing."""
    from scipy.sparse import coo_array

    e = problem.slots
    pairs = e * count
    of_slot, of_bin = np.divmod(np.arange(pairs), count)
    zone = problem.zone_of if zones_fixed(problem) else np.zeros(e, dtype=np.int64)
    zones = int(zone.max()) + 1
    lacking = problem.demand - np.bincount(problem.owned[0], minlength=problem.items)
    missing = np.zeros((zones, count))
    missing[0] = np.bincount(bins, lacking, count)
    row = zone[of_slot] * count + of_bin
    entries = (np.repeat((-1.0, 1.0), pairs), (np.tile(row, 2), np.arange(2 * pairs)))
    return coo_array(entries, shape=(zones * count, variables)).tocsr(), missing.ravel()
