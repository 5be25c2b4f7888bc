"""Lower bounds from prices. They hold for any prices.

Put a price on every slot, let each item choose its cheapest allowed slots at these prices, and let
each slot choose its cheapest load as if it were paid the price for every unit. The total is never
more than the cost of any feasible solution, because a feasible solution is one such choice and the
prices paid and received cancel out (Lagrangian relaxation). When the bound equals the cost of a
solution, that solution is optimal. Bad prices only make the bound weak, so a reader has to trust
this arithmetic and nothing else.

This module uses no code of the solvers. The solvers of leaders and first followers use its
``Takeovers``, as the prover and ``partage check`` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Ints

_CELLS = 1_000_000
"""Prices that are compared at a time."""

_BLOCK = 250_000
"""Loads that are chosen at a time, in the processor's cache."""

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
    items = len(family)
    item, slot = current
    times = np.ones_like(family)
    if move_weight == 0:  # then slots that items have today cost what others do
        item, slot = item[:0], slot[:0]
        family, demand, least, most, times = _alike(family, demand, least, most)
    own = _rows(item, slot, len(family))
    zones = [np.append(zone == z, False) for z in range(int(zone.max()) + 1)]
    total = 0
    width = int(most.max(initial=0))
    prices = len(zones) * (width + own.shape[1])
    for some in _parts(family, cells // slots, cells // prices if prices else len(family)):
        families, of = np.unique(family[some], return_inverse=True)
        price, held = family_price[families], own[some]
        offers = [
            _offers(price, of, np.where(inside[held], held, -1), inside, width, move_weight)
            for inside in zones
        ]
        paid = _cheapest(offers, demand[some], least[some], most[some])
        total += _sum(paid) if move_weight else _sum(times[some].astype(object) * paid)
    step = max(1, _BLOCK // slots)
    for start in range(0, len(family_base), step):
        part = slice(start, start + step)
        fixed, gain = family_base[part], family_price[part] - slot_price
        n = _best_load(gain, spread_weight, fixed, members[part, None])
        total += _sum(spread_weight * ((fixed + n) ** 2) - gain * n)
    for s in range(slots):
        w, on, price_of = int(load_weight[s]), int(base[s]), int(slot_price[s])
        k = int(_best_load(np.array([price_of]), w, np.array([on]), items)[0])
        total += w * (on + k) ** 2 - price_of * k
    return total


def _parts(family: Ints, families: int, items: int) -> Iterator[Ints]:
    """The items by family, in parts of so many families and so many items at most."""
    order = np.argsort(family, kind="stable")
    _, rank = np.unique(family[order], return_inverse=True)
    start = 0
    while start < len(order):
        end = min(start + max(items, 1), int(np.searchsorted(rank, rank[start] + families)))
        yield order[start:end]
        start = end


def _alike(*values: Ints) -> tuple[Ints, ...]:
    """The different combinations of values, and how often each occurs."""
    shape = [int(value.max(initial=0)) + 1 for value in values]
    which, times = np.unique(np.ravel_multi_index(values, shape), return_counts=True)
    return *np.unravel_index(which, shape), times


def _rows(item: Ints, value: Ints, items: int) -> Ints:
    """[I, most values of an item] values by item; -1 padded."""
    order = np.argsort(item, kind="stable")
    item, value = item[order], value[order]
    count = np.bincount(item, minlength=items)
    rows = np.full((items, int(count.max(initial=0))), -1, dtype=np.int64)
    rows[item, np.arange(len(item)) - (np.cumsum(count) - count)[item]] = value
    return rows


def _offers(
    price: Ints, family: Ints, own: Ints, inside: Bools, most: int, move_weight: int
) -> Ints:
    """[I, n] the ``most`` lowest prices that an item may pay for slots ``inside`` a zone,
    ascending. A slot costs the price of the item's family, and the cost of a move unless it is one
    of the item's ``own`` there."""
    none, here = np.iinfo(np.int64).max, np.flatnonzero(inside)
    with_own = np.flatnonzero((own >= 0).any(axis=1))
    own = own[with_own]
    own = np.sort(own, axis=1)[:, own.shape[1] - (own >= 0).sum(axis=1).max(initial=0) :]
    most = min(most, len(here))
    # enough of the family's cheapest slots, whichever of them an item has
    width = min(most + own.shape[1], len(here))
    cheap = np.tile(here, (len(price), 1))
    if width < len(here):
        cheap = here[np.argpartition(price[:, here], width - 1, axis=1)[:, :width]]
    cost = np.take_along_axis(price, cheap, axis=1) + move_weight
    offers = np.sort(cost, axis=1)[family, :most]
    family = family[with_own]
    kept = np.where(own >= 0, price[family[:, None], own], none)
    new = cost[family]
    for slot in own.T:
        new[cheap[family] == slot[:, None]] = none
    offers[with_own] = np.sort(np.concatenate((new, kept), axis=1), axis=1)[:, :most]
    return offers


def _cheapest(offers: list[Ints], demand: Ints, least: Ints, most: Ints) -> Ints:
    """[I] what items pay for their cheapest choice: ``least`` slots of each zone, then the cheapest
    of the remaining ``offers``."""
    none = np.iinfo(np.int64).max
    paid = np.zeros_like(demand)
    rest: list[Ints] = []
    for offered in offers:
        rank = np.arange(offered.shape[1])
        must = rank < least[:, None]
        paid += np.where(must, offered, 0).sum(axis=1)
        free = ~must & (rank < most[:, None])
        rest.append(np.where(free, offered, none))
    pool = np.sort(np.concatenate(rest, axis=1), axis=1)
    left = demand - least * len(offers)
    chosen = np.arange(pool.shape[1]) < left[:, None]
    assert (chosen.sum(axis=1) == left).all()
    assert (pool[chosen] < none).all(), "every item finds its slots"
    return np.asarray(paid + np.where(chosen, pool, 0).sum(axis=1))


def _best_load(price: Ints, weight: int, base: Ints, limit: int | Ints) -> Ints:
    """The k in 0..limit that minimises weight*(base+k)**2 - price*k: one more unit pays while its
    marginal cost weight*(2*(base+k)-1) is at most the price."""
    if weight == 0:
        return np.where(price > 0, limit, 0)
    return np.asarray(np.clip((price // weight + 1) // 2 - base, 0, limit), dtype=np.int64)


def picking_bound(
    *, item: Ints, option: Ints, items: int, base: Ints, price: Ints, limit: int
) -> int:
    """A lower bound on ``sum((base + picks)**2)`` over all ways for items to pick an option.

    Arcs (item[a], option[a]) are the allowed picks; no option is picked more than ``limit`` times.
    Raises ValueError where the prices [O] are too large to be summed exactly.
    """
    _check_sums(items, base, price)
    cheapest = np.full(items, np.iinfo(np.int64).max)
    np.minimum.at(cheapest, item, price[option])
    k = np.clip((price + 1) // 2 - base, 0, limit)
    return _sum(cheapest) + _sum((base + k) ** 2 - price * k)


def fairest_range(base: Ints, price: Ints, limit: int) -> tuple[Ints, Ints]:
    """[O] the fewest and the most, ``base`` included, that options hold in any picks with the
    least sum of squares, if ``picking_bound`` with these prices is that sum. They differ by at
    most 1. In such picks, every item picks one of its cheapest options."""
    low = np.clip(price // 2, base, base + limit)
    return low, np.clip((price + 1) // 2, base, base + limit)


class Takeovers(Struct, frozen=True, eq=False, dict=True):
    """Items that each pick an option, an ordered pair of slots: the holder and, if that fails, the
    taker. After the failure of slot b, the *level* of slot f is its own items plus those that it
    takes over from b.

    - ``item``, ``option`` [A]: the allowed picks; ``items``: how many items
    - ``holder``, ``taker`` [O]: the slots of each option
    - ``base`` [E], ``fixed`` [E, E]: items that each slot holds, and takes over by (holder, taker),
      besides those that pick
    - ``low``, ``high`` [E]: the range of the items that each slot holds, base included; they differ
      by at most 1
    - ``total``: the items that all slots hold together
    """

    item: Ints
    option: Ints
    items: int
    holder: Ints
    taker: Ints
    base: Ints
    fixed: Ints
    low: Ints
    high: Ints
    total: int

    @property
    def slots(self) -> int:
        return len(self.base)

    @cached_property
    def offered(self) -> Ints:
        """[O] items that may pick each option."""
        return np.bincount(self.option, minlength=len(self.holder)).astype(np.int64)

    @cached_property
    def fixed_of(self) -> Ints:
        """[O] what the taker takes over from the holder in any case."""
        return np.asarray(self.fixed[self.holder, self.taker])

    @cached_property
    def without_option(self) -> Bools:
        """[E, E] pairs (failed, survivor) that no item can pick."""
        without = ~np.eye(self.slots, dtype=np.bool_)
        without[self.holder, self.taker] = False
        return without

    def within(self, low: Ints, high: Ints) -> Takeovers:
        """The same with narrower ranges."""
        return replace(self, low=low, high=high)

    def bound(self, cap: int, scale: int, option_price: Ints, slot_price: Ints) -> int | None:
        """A lower bound on ``scale`` times the sum of squares of the levels, over all picks that
        keep every level at most ``cap`` and every slot within its range. None if the ranges and the
        cap alone exclude all picks. A positive bound with scale 0 proves that there are none, too.

        Each level costs the square of what it is, and takes a price from its part in the items and
        in the taker's own; each item pays for its cheapest option; each slot receives what its own
        items are worth to the levels, at a total of ``total``. Raises ValueError where the prices
        [O] and [E] are too large to be summed exactly.
        """
        fixed, worth = self.fixed_of, option_price - slot_price[self.holder]
        self._check_sums(scale, option_price, slot_price)
        high = self.high
        if self.slots > 1:  # a slot alone has no level
            fixed_most = np.where(np.eye(self.slots, dtype=np.bool_), 0, self.fixed).max(axis=0)
            high = np.minimum(high, cap - fixed_most)
        spare = self.total - int(self.low.sum())
        if (high < self.low).any() or not 0 <= spare <= int((high - self.low).sum()):
            return None
        least = self.low[self.taker] + fixed
        most: Ints = np.minimum(cap, high[self.taker] + fixed + self.offered)
        level: Ints = np.where(worth > 0, most, least)
        if scale:
            level = np.clip((worth // scale + 1) // 2, least, most)
        total = _sum(scale * level * level - worth * (level - fixed)) + _sum(slot_price * self.base)
        cheapest = np.full(self.items, np.iinfo(np.int64).max)
        np.minimum.at(cheapest, self.item, option_price[self.option])
        # what a slot's own items cost: the levels pay for them, and other levels grow with them
        own = np.zeros(self.slots, dtype=np.int64)
        np.add.at(own, self.taker, worth)
        own -= slot_price
        total += _sum(cheapest) + _sum(own * self.low + scale * self.squares_without(self.low))
        growth: Ints = own + scale * (
            self.squares_without(self.low + 1) - self.squares_without(self.low)
        )
        return total + _sum(np.sort(growth[high > self.low])[:spare])

    def cheapest(self, cap: int, prices: Prices) -> tuple[Ints, Ints, Ints]:
        """Where ``bound`` with these prices (of scale 1) is the sum of squares of some picks, all
        picks with that sum use only the arcs [n] returned, and pick each option [O] between so
        and so many times (fewest, most). Counts are fixed: ``low`` equals ``high``."""
        least = np.full(self.items, np.iinfo(np.int64).max)
        np.minimum.at(least, self.item, prices.option[self.option])
        arcs = np.flatnonzero(prices.option[self.option] == least[self.item])
        worth = prices.option - prices.slot[self.holder]
        level = self.low[self.taker] + self.fixed_of
        room = np.minimum(cap - level, self.offered)
        fewest, most = (np.clip(part - level, 0, room) for part in (worth // 2, (worth + 1) // 2))
        return arcs, fewest, most

    def cost_bound(self, cap: int, fair: Prices, cost: Ints, prices: Prices) -> int:
        """A lower bound on the sum of ``cost`` [A] over the picks that the prices ``fair`` leave
        (``cheapest``). Raises ValueError where prices are too large to be summed exactly.

        Each item pays the cost and the option's price; an option receives its price and pays that
        of its holder, which is picked as often as its count asks."""
        arcs, fewest, most = self.cheapest(cap, fair)
        largest = _largest(prices.option, prices.slot, cost)
        if 4 * (largest + 1) * (self.items + _largest(self.low) + 1) > _SAFE:
            raise ValueError("prices too large to be summed exactly")
        cheapest = np.full(self.items, np.iinfo(np.int64).max)
        np.minimum.at(cheapest, self.item[arcs], (cost + prices.option[self.option])[arcs])
        gain = prices.slot[self.holder] - prices.option
        quota = self.low - self.base
        return (
            _sum(cheapest)
            + _sum(gain * np.where(gain < 0, most, fewest))
            - _sum(prices.slot * quota)
        )

    def squares_without(self, held: Ints) -> Ints:
        """[E] the squares of a slot's levels after failures from which it takes nothing over."""
        levels = held[None, :] + self.fixed
        return np.asarray((levels * levels * self.without_option).sum(axis=0))

    def _check_sums(self, scale: int, option_price: Ints, slot_price: Ints) -> None:
        largest = (_largest(option_price, slot_price) + 1) * (self.slots + 1)
        counted = self.items + _largest(self.high, self.fixed) + 1
        if max(4 * largest * counted, scale * self.slots * counted**2) > _SAFE:
            raise ValueError("prices too large to be summed exactly")

    @cached_property
    def counting_bound(self) -> int:
        """A lower bound on the highest level, without prices.

        When slot b fails, its items go to takers, at most as many to each as could pick that
        option. The bound fills the takers evenly for each b.
        """
        offered = np.zeros((self.slots, self.slots), dtype=np.int64)
        offered[self.holder, self.taker] = self.offered
        spare = self.total - int(self.low.sum())
        return takeover_bound(
            self.low - self.base, self.low, self.fixed, offered, spare, self.high > self.low
        )


class Prices(Struct, frozen=True, eq=False):
    """Prices of options [O] and slots [E], in units of 1 / ``scale``; with scale 0 they prove that
    there are no picks."""

    option: Ints
    slot: Ints
    scale: int = 1


Proof: TypeAlias = "Sequence[Prices | int]"
"""Prices, or a distinction of cases: a slot, which has its low count in the first case and its high
count in the second. The proof of each case follows, of the first case before that of the second."""


def proven_bound(takeovers: Takeovers, cap: int, proof: Proof) -> int | None:
    """A lower bound on the sum of squares of the levels, over all picks that keep every level at
    most ``cap``. None if it is proven that there are none. Raises ValueError if the proof is not
    complete or its prices are too large."""
    cases = [takeovers]
    least: int | None = None
    for step in proof:
        if not cases:
            raise ValueError("more prices than cases")
        case = cases.pop()
        if isinstance(step, Prices):
            bound = case.bound(cap, step.scale, step.option, step.slot)
            if bound is None or (step.scale == 0 and bound > 0):
                continue
            bound = -(-bound // step.scale) if step.scale else 0
            least = bound if least is None else min(least, bound)
        else:
            if not 0 <= step < case.slots or case.low[step] == case.high[step]:
                raise ValueError("a broker that does not distinguish two cases")
            here = np.arange(case.slots) == step
            cases.append(case.within(np.where(here, case.high, case.low), case.high))
            cases.append(case.within(case.low, np.where(here, case.low, case.high)))
    if cases:
        raise ValueError("a case without prices")
    return least


def _check_sums(items: int, base: Ints, price: Ints) -> None:
    counted = items + _largest(base) + 1
    if 4 * (_largest(price) + 1) * counted > _SAFE or counted**2 > _SAFE:
        raise ValueError("prices too large to be summed exactly")


def _largest(*arrays: Ints) -> int:
    """The largest magnitude, in Python's integers: there is no 64-bit -(2**63)."""
    return max(max(int(a.max(initial=0)), -int(a.min(initial=0))) for a in arrays)


def _sum(values: Ints) -> int:
    """The exact sum of 64-bit integers, whatever its size."""
    if values.ndim > 1 and _largest(values) * values.shape[-1] < 2**63:
        values = values.sum(axis=-1)
    if _largest(values) * values.size < 2**63:
        return int(values.sum())
    return int(values.astype(object).sum())


def takeover_bound(
    quota: Ints,
    load: Ints,
    fixed: Ints,
    offered: Ints,
    spare: int = 0,
    raisable: Bools | None = None,
) -> int:
    """A lower bound on the worst load of any survivor after any one slot fails.

    When slot b fails, its ``quota[b]`` items move to others, at most ``offered[b, f]`` of them to
    f, which already has ``load[f] + fixed[b, f]``. The bound fills the survivors evenly for each b.
    With ``spare``, so many of the ``raisable`` slots [E], any of them, have one item more.
    """
    slots = len(quota)
    if slots < 2:
        return 0
    worst = 0
    for b in range(slots):
        others = np.arange(slots) != b
        level = (load + fixed[b])[others]
        free = np.zeros_like(level, dtype=np.bool_) if raisable is None else raisable[others]
        worst = max(worst, fill_level(level, offered[b, others], int(quota[b]), spare, free))
    return worst


def fill_level(
    level: Ints, limit: Ints, quota: int, spare: int = 0, raisable: Bools | None = None
) -> int:
    """The smallest possible maximum when ``quota`` units are added to ``level`` [S], at most
    ``limit`` [S] to each. Before, ``spare`` units are added too, each to another of the
    ``raisable`` or to the quota."""

    def fits(top: int) -> bool:
        room = np.maximum(top - level, 0)
        # a spare unit costs no capacity where the limit leaves some unused
        unused = 0 if raisable is None else int((raisable & (room > limit)).sum())
        return int(np.minimum(limit, room).sum()) - max(spare - unused, 0) >= quota

    low = int(level.max())
    high = low + quota + spare
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low
