"""Fewer bytes across racks, among orders that are as fair: the last choice before the fewest
changes.

Every best order for the leader counts chosen picks cheapest pairs at the prices of the failure
stage, and each pair as often as its level allows (``Takeovers.cheapest``). Within these limits a
flow chooses the leaders with the fewest bytes across racks, then the fewest leader changes, then
the fewest changed orders. Leader counts and replica sets stay as they are.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.brokers.leaders import Led, kept_order, ordered
from partage.brokers.leaders.choices import Choices
from partage.brokers.leaders.failures import Orders
from partage.brokers.leaders.racks import share_after_rack_failure
from partage.brokers.problem import Problem
from partage.brokers.zone_bytes import zone_costs
from partage.flow.certificate import Prices
from partage.flow.selection import pick_cheapest_pairs


class ZoneProof(Struct, frozen=True, eq=False):
    """What crosses racks, in ``RATE_SCALE``-ths of all rates, and a lower bound from ``prices`` on
    it among orders as fair with the same leader counts."""

    value: int
    bound: int
    prices: Prices


def prefer_zone(problem: Problem, led: Led) -> Led:
    """The order that is as fair, and has the fewest bytes across racks."""
    assert problem.rates is not None, "the problem was checked"
    assert led.failure.value == led.failure.bound, "a flow has found the order"
    sets = problem.cluster.with_replicas(led.replicas)
    choices = Choices.of(problem, led.replicas, led.replicas)
    leader = problem.broker_slot[led.replicas[choices.open, 0]]
    price = getattr(led.leaders, "price", None)
    lists = kept_order(problem, led.replicas)
    orders = Orders(problem, choices, lists, leader, price)
    takeovers = orders.takeovers.within(orders.counts, orders.counts)
    arc, low, high = takeovers.cheapest(led.failure.worst, led.failure.prices)

    rows = choices.open[orders.rows]
    costs = zone_costs(sets, led.replicas, *problem.rates)
    of_slot = np.zeros((len(rows), takeovers.slots), dtype=np.int64)
    on = problem.broker_slot[led.replicas[rows]]
    row, column = np.nonzero(on >= 0)
    of_slot[row, on[row, column]] = costs[rows[row], column]
    cost = of_slot[orders.item, orders.first]

    quota = orders.counts - takeovers.base
    changes = tuple(change[arc] for change in (cost, *orders.changes))
    picked, option_price, slot_price = pick_cheapest_pairs(
        orders.item[arc],
        takeovers.option[arc],
        takeovers.items,
        takeovers.holder,
        low,
        high,
        quota,
        changes,
    )
    prices = Prices(option_price, slot_price)
    pair = orders.pairs(arc[picked])
    pair = share_after_rack_failure(problem, lists, choices.open, pair)
    found = ordered(problem, lists, choices.open, pair)
    fixed = np.delete(np.arange(len(costs)), rows)
    rest = int(costs[fixed, 0].sum())
    value = rest + int(cost[arc[picked]].sum())
    bound = rest + takeovers.cost_bound(led.failure.worst, led.failure.prices, cost, prices)
    return replace(led, replicas=found, zone=ZoneProof(value, bound, prices))
