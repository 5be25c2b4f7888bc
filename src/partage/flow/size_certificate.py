"""Two lower bounds for the assignment of sizes, from a set of slots and from prices.

The counterpart of ``flow.certificate`` for sizes: the bounds hold for any set of slots and any
prices, so the search (``flow.size_balancing``) need not be trusted. This module shares no code with
it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.arrays import Bools, Ints

_CELLS = 4_000_000
_SAFE = 2**40
_FITS = 2**62
_BEYOND = 2**200

PARTS = 1024
"""Where a move copies less than the size, a byte of the size may cost a part of a byte."""


def level_bound(
    *,
    size: Ints,
    demand: Ints,
    least: Ints,
    most: Ints,
    zone: Ints,
    base_size: Ints,
    weight: Ints,
    confined: Bools,
) -> int:
    """A lower bound on the highest ``weight * load`` of a slot, over all assignments.

    Items [I] of a ``size`` take ``demand`` distinct slots each, ``least`` to ``most`` of them in
    each zone. The larger of two bounds. Items that cannot go elsewhere must go to the slots
    ``confined`` [E], where they are divided evenly at best. And of the k * E + 1 largest pieces, k
    + 1 share a slot, which holds at least the k + 1 smallest of them.
    """
    zones = int(zone.max()) + 1
    inside = np.bincount(zone[confined], minlength=zones)
    outside = np.bincount(zone[~confined], minlength=zones)
    elsewhere = np.minimum(outside[None, :], most[:, None])
    must = np.maximum(demand - elsewhere.sum(axis=1), 0)
    each = np.clip(least[:, None] - outside[None, :], 0, inside[None, :]).sum(axis=1)
    must = np.maximum(must, each)
    bytes_inside = _dot(size, must) + int(base_size[confined].astype(object).sum())
    width = sum((Fraction(1, int(w)) for w in weight[confined].tolist()), Fraction(0))
    even = ceil(Fraction(bytes_inside) / width) if width else 0

    order = np.argsort(-size, kind="stable")
    pieces = np.repeat(size[order], demand[order])
    total = np.concatenate(([0], np.cumsum(pieces)))
    slots, together = len(zone), 0
    for k in range(-(-len(pieces) // slots)):
        last = k * slots + 1
        together = max(together, int(total[last] - total[last - k - 1]))
    return max(even, together * int(weight.min()))


def moved_bound(
    *,
    size: Ints,
    demand: Ints,
    least: Ints,
    most: Ints,
    current: tuple[Ints, Ints],
    zone: Ints,
    base_size: Ints,
    low: Ints,
    high: Ints,
    price: Ints,
    copied: Ints | None = None,
) -> int:
    """A lower bound on the total size moved to slots that do not hold the item today (``current``:
    item, slot), over all assignments with every load between ``low`` and ``high`` [E].

    Each item chooses its cheapest slots, at ``price`` [E] a byte and 1 more on slots that do not
    hold it today; each slot chooses the load in its band that pays most. Prices are integers of any
    sign. Where a move copies other than the ``size``, the bound is one on the sum of ``copied``
    [I], and prices are parts of 1 / ``PARTS``.
    """
    slots = len(zone)
    # not np.abs: there is no 64-bit +(2**63)
    if int(price.max(initial=0)) > _SAFE or int(price.min(initial=0)) < -_SAFE:
        raise ValueError("prices too large to be summed exactly")
    order = np.argsort(current[0], kind="stable")
    current_item, current_slot = current[0][order], current[1][order]
    members = [np.flatnonzero(zone == z) for z in range(int(zone.max()) + 1)]
    total = 0
    step = max(1, _CELLS // slots)
    for start in range(0, len(size), step):
        stop = min(len(size), start + step)
        new = np.ones((stop - start, slots), dtype=np.int64)
        a, b = np.searchsorted(current_item, (start, stop))
        new[current_item[a:b] - start, current_slot[a:b]] = 0
        each, rules = size[start:stop], (demand[start:stop], least[start:stop], most[start:stop])
        if copied is None:
            total += _dot(each, _cheapest(price[None, :] + new, members, *rules))
        else:
            paid = _paid(each, price, copied[start:stop], new, int(demand.max()))
            total += sum(_cheapest(paid, members, *rules).tolist())
    for p, a, b, fixed in zip(
        price.tolist(), low.tolist(), high.tolist(), base_size.tolist(), strict=True
    ):
        total -= max(p * (a - fixed), p * (b - fixed))
    return max(total if copied is None else -(-total // PARTS), 0)


def _paid(size: Ints, price: Ints, copied: Ints, new: Ints, slots: int) -> npt.NDArray[Any]:
    """[I, E] what each item pays on each slot; in Python's integers where 64 bits may not hold what
    it pays on so many."""
    largest = int(size.max(initial=0)) * int(np.abs(price).max(initial=0))
    if (largest + PARTS * int(copied.max(initial=0))) * slots >= _FITS:
        size, copied = size.astype(object), copied.astype(object)
    return np.asarray(size[:, None] * price + PARTS * copied[:, None] * new)


def _cheapest(
    cost: npt.NDArray[Any], members: list[Ints], demand: Ints, least: Ints, most: Ints
) -> npt.NDArray[Any]:
    """[I] cost of each item's cheapest slots: ``least`` of every zone, then the cheapest of the
    rest, at most ``most`` per zone."""
    paid = np.zeros(len(cost), dtype=cost.dtype)
    far = np.iinfo(np.int64).max if cost.dtype != object else _BEYOND
    left: list[npt.NDArray[Any]] = []
    for slots in members:
        ranked = np.sort(cost[:, slots], axis=1)
        place = np.arange(len(slots))[None, :]
        paid += np.where(place < least[:, None], ranked, 0).sum(axis=1)
        open_ = (place >= least[:, None]) & (place < most[:, None])
        left.append(np.where(open_, ranked, far))
    pool = np.sort(np.concatenate(left, axis=1), axis=1)
    rest = demand - least * len(members)
    chosen = np.where(np.arange(pool.shape[1])[None, :] < rest[:, None], pool, 0)
    if (chosen == far).any():
        raise ValueError("an item has too few slots")
    return np.asarray(paid + chosen.sum(axis=1))


def _dot(a: Ints, b: Ints) -> int:
    """The exact sum of products."""
    return int((a.astype(object) * b).sum()) if len(a) else 0
