"""Each item picks one of its options, with convex costs on options and slots.

An option belongs to a slot. For leaders, the option is the leader itself; for leader and first
follower together, the option is the ordered pair and its slot is the leader. Slots have a convex
cost or a fixed number of picks; options have a convex cost and a capacity. The network is
``item -> option -> slot -> sink``.

Mostly, picks are as even as their number allows. So even levels are tried first: with the prices
that would prove them, the fairest picks are those where items pick cheapest options and options are
picked within a range, and the cheapest of these are found at once (``picking``). Where there are
none, the fairest picks are found first, as a flow with convex costs.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Ints
from partage.flow.network import Network, Optimum, Squares, minimise
from partage.flow.picking import cheapest_picks


def pick_slots(item: Ints, slot: Ints, items: int, base: Ints, change: Ints) -> tuple[Ints, Ints]:
    """Each item picks one slot of its arcs (item[a], slot[a]): fairest loads, then fewest changes.

    Minimises the sum of ``load**2``, ``base`` [E] included, then the sum of ``change`` [A] over the
    arcs picked. Returns the arcs picked [items] and the prices [E]. Every item must have an arc.
    """
    slots = len(base)
    offered = np.bincount(slot, minlength=slots).astype(np.int64)
    everyone = np.zeros(slots, dtype=np.int64)
    level = _even_levels(everyone, base, offered, np.array([items]))[everyone]
    even = 2 * level + 1
    if np.clip(level - base, 0, offered).sum() == items:
        even -= 1
    even = np.where(base + offered <= level, 2 * (base + offered), even)
    low, high = _ranges(even, base, offered)
    cheapest, cost = _of_lowest_price(item, even[slot], items, (change,))
    picked = cheapest_picks(
        item[cheapest], slot[cheapest], items, everyone, low, high, np.array([items]), cost
    )
    if picked is not None:
        return cheapest[picked], even
    sink = items + slots
    fair = -(-(items + int(base.sum())) // max(slots, 1))
    squares = Squares(
        tail=items + np.arange(slots),
        head=np.full(slots, sink),
        capacity=offered,
        weight=np.ones(slots, dtype=np.int64),
        base=base,
        low=np.minimum(fair - base, offered) - 3,
        high=fair - base + 3,
    )
    network = Network(sink + 1, 2)
    network.supply[:items] = 1
    network.supply[sink] = -items
    network.guess[sink] = 2 * fair - 1
    arcs = network.arcs(item, items + slot, 1, {1: change})
    optimum = minimise(network, {0: squares}, prove_last=False)
    assert optimum is not None, "every item has an option"
    distance = optimum.distance[0]
    picked = np.flatnonzero(optimum.flow[arcs] > 0)
    return picked[np.argsort(item[picked])], distance[sink] - distance[items : items + slots]


def pick_pairs(
    item: Ints,
    option: Ints,
    items: int,
    option_slot: Ints,
    option_base: Ints,
    option_cap: Ints,
    quota: Ints,
    changes: tuple[Ints, ...],
    reverse: Ints | None = None,
) -> tuple[Ints, Ints, Ints] | None:
    """Each item picks one option of its arcs (item[a], option[a]); None when the caps make it
    infeasible.

    Options [O] belong to slots ``option_slot``; slot s is picked exactly ``quota[s]`` times, option
    o at most ``option_cap[o]`` times. Minimises the sum of ``(option_base + picks)**2`` over the
    options, then the costs ``changes`` ([A] each) in their order. Returns the arcs picked [items]
    and the prices of options [O] and slots [E]. ``reverse`` [O]: another option that the same items
    may pick, or -1; only saves time.
    """
    options, slots = len(option_slot), len(quota)
    offered = np.bincount(option, minlength=options).astype(np.int64)
    capacity = np.minimum(np.maximum(option_cap, 0), offered)
    open_ = np.bincount(item[capacity[option] > 0], minlength=items) > 0
    if not open_.all() or (np.bincount(option_slot, capacity, minlength=slots) < quota).any():
        return None
    prices = _even_prices(option_slot, option_base, capacity, quota, offered, reverse)
    low, high = _ranges(prices[0] - prices[1][option_slot], option_base, capacity)
    cheapest, cost = _of_lowest_price(item, prices[0][option], items, changes)
    picked = cheapest_picks(
        item[cheapest], option[cheapest], items, option_slot, low, high, quota, cost
    )
    if picked is not None:
        return cheapest[picked], *prices
    total = quota + np.bincount(option_slot, option_base, minlength=slots).astype(np.int64)
    level = total // np.maximum(np.bincount(option_slot, minlength=slots), 1)
    squares = Squares(
        tail=items + np.arange(options),
        head=items + options + option_slot,
        capacity=capacity,
        weight=np.ones(options, dtype=np.int64),
        base=option_base,
        low=np.zeros(options, dtype=np.int64),
        high=np.minimum(capacity, _even(option_slot, quota, offered) + 3),
    )
    network = Network(items + options + slots, 1 + len(changes))
    network.supply[:items] = 1
    network.supply[items + options :] = -quota
    network.guess[items + options :] = 2 * level + 1
    arcs = network.arcs(item, items + option, 1, dict(enumerate(changes, start=1)))
    optimum = minimise(network, {0: squares}, prove_last=not changes)
    if optimum is None:
        return None
    return _picks_and_prices(optimum, item, arcs, items, options)


def _even_prices(
    option_slot: Ints,
    option_base: Ints,
    capacity: Ints,
    quota: Ints,
    offered: Ints,
    reverse: Ints | None,
) -> tuple[Ints, Ints]:
    """Prices of options [O] and slots [E] that prove picks to be the fairest if the levels of each
    slot's options are even, but for two options that the same few items offer."""
    slots = len(quota)
    level = _even_levels(option_slot, option_base, capacity, quota)[:slots]
    fewest = np.clip(level[option_slot] - option_base, 0, capacity)
    lower = np.zeros_like(option_base)
    if reverse is not None:
        asked = np.where(reverse >= 0, fewest + fewest[reverse], 0)
        lower = np.maximum(0, (asked - np.minimum(offered, offered[reverse]) + 1) // 2)
    exact = np.bincount(option_slot, fewest, minlength=slots) == quota
    exact &= np.bincount(option_slot, lower, minlength=slots) == 0
    worth = 2 * level + 1
    if exact.any() and not exact.all():
        # a slot whose levels are all the same has a choice: what most others have
        usual = int(np.median(worth[~exact]))
        worth = np.where(exact, np.clip(usual, worth - 2, worth), worth)
    dearest = int(worth.max(initial=0))
    return dearest - 2 * lower, dearest - worth


def _even_levels(group: Ints, base: Ints, capacity: Ints, quota: Ints) -> Ints:
    """[G] the highest level up to which the options [O] of a group can be filled with its quota,
    from their base, each by its capacity."""
    low = np.zeros_like(quota)
    high = np.full_like(quota, int((base + capacity).max(initial=0)) + 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        filled = np.bincount(
            group, np.clip(middle[group] - base, 0, capacity), minlength=len(quota)
        )
        low, high = (
            np.where(filled <= quota, middle, low),
            np.where(filled <= quota, high, middle),
        )
    return low


def _ranges(worth: Ints, base: Ints, capacity: Ints) -> tuple[Ints, Ints]:
    """[O] the fewest and the most picks at which an option has its best level for its worth."""
    low = np.clip(worth // 2 - base, 0, capacity)
    return low, np.clip((worth + 1) // 2 - base, 0, capacity)


def _of_lowest_price(
    item: Ints, price: Ints, items: int, changes: tuple[Ints, ...]
) -> tuple[Ints, Ints]:
    """Each item's arcs of the lowest ``price`` [A], and their costs: those of ``changes``, which
    are at most 1, minimised one after the other."""
    least = np.full(items, np.iinfo(np.int64).max)
    np.minimum.at(least, item, price)
    arcs = np.flatnonzero(price == least[item])
    cost = np.zeros(len(arcs), dtype=np.int64)
    for change in changes:
        cost = cost * (items + 1) + change[arcs]
    return arcs, cost


def pick_cheapest_pairs(
    item: Ints,
    option: Ints,
    items: int,
    option_slot: Ints,
    fewest: Ints,
    most: Ints,
    quota: Ints,
    costs: tuple[Ints, ...],
) -> tuple[Ints, Ints, Ints]:
    """Each item picks one option of its arcs (item[a], option[a]), option o between ``fewest[o]``
    and ``most[o]`` times, slot s exactly ``quota[s]`` times, which must be possible.

    Minimises ``costs`` ([A] each) in their order. Returns the arcs picked [items] and the prices of
    options [O] and slots [E] for the first cost.
    """
    options, slots = len(option_slot), len(quota)
    network = Network(items + options + slots, len(costs))
    network.supply[:items] = 1
    network.supply[items + options :] = -quota
    arcs = network.arcs(item, items + option, 1, dict(enumerate(costs)))
    tail, head = items + np.arange(options), items + options + option_slot
    network.push(tail, head, fewest)
    network.arcs(tail, head, most - fewest)
    optimum = minimise(network)
    assert optimum is not None, "there are such picks"
    return _picks_and_prices(optimum, item, arcs, items, options)


def _picks_and_prices(
    optimum: Optimum, item: Ints, arcs: slice, items: int, options: int
) -> tuple[Ints, Ints, Ints]:
    """The arcs picked [items], and the prices of options and slots for the first cost, where
    ``arcs`` [A] of the network are those of the items."""
    distance = -optimum.distance[0]
    picked = np.flatnonzero(optimum.flow[arcs] > 0)
    return (
        picked[np.argsort(item[picked])],
        distance[items : items + options],
        distance[items + options :],
    )


def least_level(
    item: Ints,
    option: Ints,
    items: int,
    option_slot: Ints,
    option_base: Ints,
    quota: Ints,
    *,
    infeasible: int,
) -> int:
    """The smallest T for which ``option_base + picks`` can be at most T for all options;
    ``infeasible`` is a T known to be too small."""
    slots, options = len(quota), len(option_slot)
    tail, head = items + np.arange(options), items + options + option_slot

    def feasible(level: int) -> bool:
        network = Network(items + options + slots, 1)
        network.supply[:items] = 1
        network.supply[items + options :] = -quota
        network.arcs(item, items + option, 1)
        network.arcs(tail, head, np.maximum(level - option_base, 0))
        return minimise(network, prove_last=False) is not None

    low, step = infeasible, 1
    while not feasible(low + step):
        low += step
        step *= 2
        assert step <= 4 * (items + 1 + int(option_base.max())), "without caps a choice exists"
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


def _even(option_slot: Ints, quota: Ints, offered: Ints) -> Ints:
    """[O] the picks of each option if a slot's quota were shared evenly among its options."""
    used = np.bincount(option_slot[offered > 0], minlength=len(quota))
    return np.asarray(-(-quota // np.maximum(used, 1)), dtype=np.int64)[option_slot]
