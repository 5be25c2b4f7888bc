"""For every replica that comes: the next best broker, and what it would cost at least.

This is what ``partage plan --explain`` says under *instead*, for all moves at once and out of
plan.json alone. The certificate has the prices of each stage added to multiples of the earlier
ones, so that they are told apart by taking the multiples off again. At the prices of (load, moves,
topic spread), in the plan's order, the brokers of one rack have the same ranking for every
partition of a topic, but for those that hold a replica today, where staying costs one move less:
each (topic, rack) is ranked once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from partage.flow.certificate import unpack
from partage.report.view.counting import Ints, new_replicas
from partage.report.view.facts import Facts

COSTS = {"replicas": "load", "moves": "moves", "topic spread": "spread"}
"""What a stage of the certificate calls its cost, as ``--explain`` names it."""


@dataclass(frozen=True, eq=False)
class NextBest:
    """M coming replicas, by partition and place in its list.

    - ``broker`` [M]: position of the next best, -1 where the rules leave none
    - ``cost`` [M]: position in ``costs`` of the first cost that is not 0, -1: it is as good
    - ``amount`` [M]: how much more of it, at least
    """

    costs: tuple[str, ...]
    broker: Ints
    cost: Ints
    amount: Ints


def next_best(plan: Facts) -> NextBest | None:
    """None where the plan's file has no prices for single replicas."""
    found = _prices(plan)
    row, column = np.nonzero(new_replicas(plan.before, plan.after))
    if found is None or not len(row):
        return None
    costs, price = found
    slot = np.cumsum(plan.usable) - 1
    chosen = plan.chosen
    families = np.unique(plan.topic[chosen])
    by_rank: dict[tuple[int, int], list[int]] = defaultdict(list)
    coming = plan.after[row, column]
    for at, key in enumerate(
        zip(plan.topic[row].tolist(), plan.rack[coming].tolist(), strict=True)
    ):
        by_rank[key].append(at)
    nobody = np.full(len(row), -1, dtype=np.int64)
    answer = NextBest(costs, nobody, nobody.copy(), np.zeros(len(row), dtype=np.int64))
    move = costs.index("moves") if "moves" in costs else -1
    for (topic, rack), replicas in by_rank.items():
        family = int(np.searchsorted(families, topic))
        if rack >= 0 or plan.racks:
            places = np.flatnonzero(plan.usable & (plan.rack == rack))
        else:
            places = np.flatnonzero(plan.usable)
        keys = [of[family, slot[places]] for of in price]
        order = np.lexsort((places, *reversed(keys)))
        ranking = [int(p) for p in places[order]]
        of_place = {p: tuple(int(k[i]) for k in keys) for p, i in zip(ranking, order, strict=True)}
        for at in replicas:
            before = plan.before[row[at]].tolist()
            after = plan.after[row[at]].tolist()
            best = _best(ranking, of_place, int(coming[at]), before, after, move)
            if best is None:
                continue
            answer.broker[at] = best[1]
            dearer = next(((i, n) for i, n in enumerate(best[0]) if n), (-1, 0))
            answer.cost[at], answer.amount[at] = dearer
    return answer


def _best(
    ranking: list[int],
    price: dict[int, tuple[int, ...]],
    coming: int,
    before: list[int],
    after: list[int],
    move: int,
) -> tuple[tuple[int, ...], int] | None:
    """(what it costs more, broker): of the cheapest that is new to the partition, and those that
    hold a replica of it today."""
    new = next((p for p in ranking if p not in after and p not in before), None)
    old = [p for p in before if p in price and p not in after]
    offers = []
    for place in old if new is None else [new, *old]:
        dearer = [a - b for a, b in zip(price[place], price[coming], strict=True)]
        if move >= 0 and place in old:
            dearer[move] -= 1
        offers.append((tuple(dearer), place))
    return min(offers, default=None)


def _prices(plan: Facts) -> tuple[tuple[str, ...], list[Ints]] | None:
    """The costs in the plan's order, and for each its prices [chosen topics, usable brokers]."""
    stages = [s for s in plan.raw_stages if s.get("stage") in COSTS]
    if not stages or any("weights" not in (s.get("prices") or {}) for s in stages):
        return None
    slots = int(plan.usable.sum())
    families = len(np.unique(plan.topic[plan.chosen]))
    costs = tuple(COSTS[s["stage"]] for s in stages)
    found: list[Ints] = []
    for stage in stages:
        prices = stage["prices"]
        total = np.broadcast_to(unpack(prices["brokers"], slots), (families, slots)).copy()
        if "topics" in prices:
            total += unpack(prices["topics"], families * slots).reshape(families, slots)
        for cost, earlier in zip(costs, found, strict=False):
            total -= prices["weights"][cost] * earlier
        found.append(total)
    return costs, found
