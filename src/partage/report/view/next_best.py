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
    coming = plan.after[row, column]
    slot = np.cumsum(plan.usable) - 1
    families = np.unique(plan.topic[plan.chosen])
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at in np.flatnonzero(plan.chosen[row] & plan.usable[coming]).tolist():
        alike[int(plan.topic[row[at]]), int(plan.rack[coming[at]])].append(at)
    nobody = np.full(len(row), -1, dtype=np.int64)
    answer = NextBest(costs, nobody, nobody.copy(), np.zeros(len(row), dtype=np.int64))
    move = costs.index("moves") if "moves" in costs else None
    for (topic, rack), replicas in alike.items():
        of_topic = [of[np.searchsorted(families, topic)] for of in price]
        places = np.flatnonzero(plan.usable & (plan.rack == rack))
        order = np.lexsort((places, *(of[slot[places]] for of in reversed(of_topic))))
        ranking = places[order].tolist()
        for at in replicas:
            before, after = plan.before[row[at]].tolist(), plan.after[row[at]].tolist()
            offers = []
            for place in _candidates(ranking, before, after):
                dearer = [int(of[slot[place]] - of[slot[coming[at]]]) for of in of_topic]
                if move is not None and place in before:
                    dearer[move] -= 1
                offers.append((dearer, place))
            if offers:
                dearer, answer.broker[at] = min(offers)
                first = next(((i, n) for i, n in enumerate(dearer) if n), (-1, 0))
                answer.cost[at], answer.amount[at] = first
    return answer


def _candidates(ranking: list[int], before: list[int], after: list[int]) -> list[int]:
    """The cheapest broker that is new to the partition, and those that it leaves."""
    new = next((p for p in ranking if p not in after and p not in before), None)
    left = [p for p in before if p in ranking and p not in after]
    return left if new is None else [new, *left]


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
