"""Lower bounds from prices. They hold for any prices.

Put a price on every slot, let each item choose its cheapest allowed slots at these prices, and let
each slot choose its cheapest load as if it were paid the price for every unit. The total is never
more than the cost of any feasible solution, because a feasible solution is one such choice and the
prices paid and received cancel out (Lagrangian relaxation). When the bound equals the cost of a
solution, that solution is optimal. Bad prices only make the bound weak, so a reader has to trust
this arithmetic and nothing else.

This module shares no code with the solvers.
"""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_CELLS = 4_000_000
_SAFE = 2**62


def assignment_bound(
    *,
    family: Ints,
    demand: Ints,
    least: Ints,
    most: Ints,
    current: tuple[Ints, Ints],
    zone: Ints,
    base: Ints,
    family_base: Ints,
    load_weight: Ints,
    move_weight: int,
    spread_weight: int,
    slot_price: Ints,
    family_price: Ints,
) -> int:
    """A lower bound on ``sum(load_weight * load**2) + move_weight * moves + spread_weight *
    sum(count**2)`` over all ways to give items distinct slots.

    Items [I] have a ``family`` and a ``demand`` of slots, ``least`` and ``most`` of them in each
    zone; ``current`` lists the (item, slot) pairs held today, which cost no move. Slots [E] belong
    to ``zone`` and carry ``base``, families carry ``family_base`` [F, E] on top. Prices are
    integers, [E] and [F, E]. Raises ValueError where they are too large to be summed exactly in 64
    bits.
    """
    slots = len(zone)
    largest = _largest(family_price, slot_price, load_weight) + move_weight + 1
    cells = min(_CELLS, _SAFE // largest)
    members = np.bincount(family, minlength=len(family_base))
    counted = int(family_base.max(initial=0)) + len(family)
    if cells < slots or max(spread_weight * counted**2, 2 * largest * counted) > _SAFE:
        raise ValueError("prices or weights too large to be summed exactly")
    zones = [np.flatnonzero(zone == z) for z in range(int(zone.max()) + 1)]
    order = np.argsort(current[0], kind="stable")
    own = _rows(current[0][order], current[1][order], len(family))
    total = 0
    cheap = [
        _cheapest_of_zone(family_price, here, int(most.max(initial=0)), own.shape[1])
        for here in zones
    ]
    for start in range(0, len(family), cells // slots):
        part = slice(start, start + cells // slots)
        offers = [
            _offers(family_price, family[part], own[part], zone == z, slot, move_weight)
            for z, slot in enumerate(cheap)
        ]
        total += _cheapest(offers, demand[part], least[part], most[part])
    gain = family_price - slot_price
    for f in range(len(family_base)):
        n = _best_load(gain[f], spread_weight, family_base[f], int(members[f]))
        total += _sum(spread_weight * ((family_base[f] + n) ** 2) - gain[f] * n)
    items = len(family)
    for s in range(slots):
        w, fixed, price_of = int(load_weight[s]), int(base[s]), int(slot_price[s])
        k = int(_best_load(np.array([price_of]), w, np.array([fixed]), items)[0])
        total += w * (fixed + k) ** 2 - price_of * k
    return total


def _rows(item: Ints, value: Ints, items: int) -> Ints:
    """[I, most values of an item] values by item, which ascends; -1 padded."""
    count = np.bincount(item, minlength=items)
    rows = np.full((items, int(count.max(initial=0))), -1, dtype=np.int64)
    rows[item, np.arange(len(item)) - (np.cumsum(count) - count)[item]] = value
    return rows


def _cheapest_of_zone(price: Ints, here: Ints, most: int, own: int) -> Ints:
    """[F, n] the cheapest slots of a zone per family: enough to contain the ``most`` cheapest for
    any item, after up to ``own`` of its current slots are left out."""
    width = min(most + own, len(here))
    if width == len(here):
        return np.tile(here, (len(price), 1))
    return np.asarray(here[np.argpartition(price[:, here], width - 1, axis=1)[:, :width]])


def _offers(
    price: Ints, family: Ints, own: Ints, here: Bools, cheap: Ints, move_weight: int
) -> Ints:
    """[I, n] prices an item may pay for a slot of one zone, ascending: its own slots without the
    cost of a move, and the ``cheap`` slots of its family; the largest integer stands for none."""
    none = np.iinfo(np.int64).max
    rows = family[:, None]
    others = cheap[family]
    taken = (others[:, :, None] == own[:, None, :]).any(axis=2)
    new = np.where(taken, none, price[rows, others] + move_weight)
    kept = np.where((own >= 0) & here[own], price[rows, own], none)
    return np.sort(np.concatenate((new, kept), axis=1), axis=1)


def _cheapest(offers: list[Ints], demand: Ints, least: Ints, most: Ints) -> int:
    """The total that items pay for their cheapest choice: ``least`` slots of each zone, then the
    cheapest of the remaining ``offers``."""
    none = np.iinfo(np.int64).max
    paid = 0
    rest: list[Ints] = []
    for offered in offers:
        cheap = offered[:, : int(most.max())]
        rank = np.arange(cheap.shape[1])
        must = rank < least[:, None]
        paid += int(np.where(must, cheap, 0).sum())
        free = ~must & (rank < most[:, None])
        rest.append(np.where(free, cheap, none))
    pool = np.sort(np.concatenate(rest, axis=1), axis=1)
    left = demand - least * len(offers)
    chosen = pool[np.arange(pool.shape[1]) < left[:, None]]
    assert len(chosen) == left.sum()
    assert (chosen < none).all(), "every item finds its slots"
    return paid + int(chosen.sum())


def _best_load(price: Ints, weight: int, base: Ints, limit: int) -> Ints:
    """The k in 0..limit that minimises weight*(base+k)**2 - price*k: one more unit pays while its
    marginal cost weight*(2*(base+k)-1) is at most the price."""
    if weight == 0:
        return np.where(price > 0, limit, 0)
    return np.asarray(np.clip((price // weight + 1) // 2 - base, 0, limit), dtype=np.int64)


def picking_bound(
    *,
    item: Ints,
    option: Ints,
    items: int,
    option_base: Ints,
    option_cap: Ints,
    option_price: Ints,
    option_slot: Ints | None = None,
    slot_price: Ints | None = None,
    quota: Ints | None = None,
) -> int:
    """A lower bound on ``sum((option_base + picks)**2)`` over all ways for items to pick an option.

    Arcs (item[a], option[a]) are the allowed picks; option o is picked at most ``option_cap[o]``
    times. With ``option_slot``, ``slot_price`` and ``quota``, the options of slot s are picked
    exactly quota[s] times. Raises ValueError where the prices are too large to be summed exactly.
    """
    _check_sums(items, option_base, option_price, slot_price)
    cheapest = np.full(items, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, item, option_price[option])
    total = _sum(cheapest)
    gain = option_price
    if option_slot is not None and slot_price is not None and quota is not None:
        gain = option_price - slot_price[option_slot]
        total -= _sum(slot_price * quota)
    k = np.clip((gain + 1) // 2 - option_base, 0, option_cap)
    return total + _sum((option_base + k) ** 2 - gain * k)


def overflow_bound(
    *,
    item: Ints,
    option: Ints,
    items: int,
    option_cap: Ints,
    option_price: Ints,
    option_slot: Ints,
    slot_price: Ints,
    quota: Ints,
) -> int:
    """A lower bound on the picks above ``option_cap``, summed over the options, over all ways to
    pick. A bound of 1 or more proves that the caps cannot be met."""
    _check_sums(items, option_cap, option_price, slot_price)
    cheapest = np.full(items, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, item, option_price[option])
    gain = option_price - slot_price[option_slot]
    cap = np.maximum(option_cap, 0)
    ends = np.stack((np.zeros_like(cap), cap, np.maximum(cap, items)))
    paid = (np.maximum(ends - cap, 0) - gain * ends).min(axis=0)
    return _sum(cheapest) + _sum(paid) - _sum(slot_price * quota)


def _check_sums(items: int, base: Ints, option_price: Ints, slot_price: Ints | None) -> None:
    largest = _largest(option_price, *(() if slot_price is None else (slot_price,)))
    counted = items + _largest(base) + 1
    if 4 * (largest + 1) * counted > _SAFE or counted**2 > _SAFE:
        raise ValueError("prices too large to be summed exactly")


def _largest(*arrays: Ints) -> int:
    """The largest magnitude, in Python's integers: there is no 64-bit -(2**63)."""
    return max(max(int(a.max(initial=0)), -int(a.min(initial=0))) for a in arrays)


def _sum(values: Ints) -> int:
    """The exact sum of 64-bit integers, whatever its size."""
    if _largest(values) * values.size < 2**63:
        return int(values.sum())
    return int(values.astype(object).sum())


def takeover_bound(quota: Ints, load: Ints, fixed: Ints, offered: Ints) -> int:
    """A lower bound on the worst load of any survivor after any one slot fails.

    When slot b fails, its ``quota[b]`` items move to others, at most ``offered[b, f]`` of them to
    f, which already has ``load[f] + fixed[b, f]``. The bound fills the survivors evenly for each b.
    """
    slots = len(quota)
    if slots < 2:
        return 0
    worst = 0
    for b in range(slots):
        others = np.arange(slots) != b
        level = (load + fixed[b])[others]
        worst = max(worst, fill_level(level, offered[b, others], int(quota[b])))
    return worst


def fill_level(level: Ints, limit: Ints, quota: int) -> int:
    """The smallest possible maximum when ``quota`` units are added to ``level`` [S], at most
    ``limit`` [S] to each."""
    low = int(level.max())
    high = low + quota
    while low < high:
        middle = (low + high) // 2
        if int(np.minimum(limit, np.maximum(middle - level, 0)).sum()) >= quota:
            high = middle
        else:
            low = middle + 1
    return low


def pack(values: Ints) -> str:
    """Integers as text: little-endian int64, zlib, base64. Shape is not kept."""
    raw = np.ascontiguousarray(values, dtype="<i8").tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def unpack(text: str, count: int) -> Ints:
    """The integers that ``pack`` wrote. Raises ValueError unless there are exactly ``count``."""
    try:
        # limit the size: a forged text could unpack to much more
        stream = zlib.decompressobj()
        raw = stream.decompress(base64.b64decode(text, validate=True), 8 * count + 1)
    except (binascii.Error, zlib.error, TypeError) as error:
        raise ValueError(f"not packed integers ({error})") from None
    if len(raw) != 8 * count or not stream.eof:
        raise ValueError(f"{len(raw) // 8} packed integers, expected {count}")
    return np.frombuffer(raw, dtype="<i8").astype(np.int64)
