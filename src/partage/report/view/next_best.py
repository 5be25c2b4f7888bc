"""For every new replica: the next best broker, and a lower bound on its extra cost.

``partage plan --explain`` prints the same under *instead*; here it is computed for all moves at
once, from plan.json alone. The certificate stores the prices of each stage plus multiples of those
of the earlier stages; subtracting the multiples separates them. At the prices of (load, moves,
topic spread), in the plan's order, the brokers of a rack rank the same for every partition of a
topic, except those that hold a replica already, where staying saves one move. Each (topic, rack) is
therefore ranked once.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.figures import not_in
from partage.brokers.stages import StageName
from partage.flow.packing import unpack
from partage.report.view.data import PlanData

COSTS = {StageName.REPLICAS: "load", StageName.MOVES: "moves", StageName.TOPIC_SPREAD: "spread"}
"""The cost that a stage of the certificate minimises, as ``--explain`` names it."""


class NextBest(Struct, frozen=True, eq=False):
    """M new replicas, ordered by partition and position in its list.

    - ``broker`` [M]: position of the next best broker, -1 where the rules allow no other
    - ``cost`` [M]: position in ``costs`` of the first cost that is higher, -1 where none is
    - ``amount`` [M]: lower bound on how much higher
    """

    costs: tuple[str, ...]
    broker: Ints
    cost: Ints
    amount: Ints


def next_best(plan: PlanData) -> NextBest | None:
    """None for a plan without moves or without prices for single replicas."""
    found = _prices(plan)
    row, column = np.nonzero(not_in(plan.after, plan.before))
    if found is None or not len(row):
        return None
    costs, price = found
    target = plan.after[row, column]
    slot = np.cumsum(plan.usable) - 1
    families = np.unique(plan.topic[plan.chosen])
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at in np.flatnonzero(plan.chosen[row] & plan.usable[target]).tolist():
        alike[int(plan.topic[row[at]]), int(plan.rack[target[at]])].append(at)
    none = np.full(len(row), -1, dtype=np.int64)
    answer = NextBest(costs, none, none.copy(), np.zeros(len(row), dtype=np.int64))
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
                extra = [int(of[slot[place]] - of[slot[target[at]]]) for of in of_topic]
                if move is not None and place in before:
                    extra[move] -= 1
                offers.append((extra, place))
            if offers:
                extra, answer.broker[at] = min(offers)
                answer.cost[at], answer.amount[at] = _first(extra)
    return answer


def _first(extra: list[int]) -> tuple[int, int]:
    """(position, amount) of the first cost that differs; (-1, 0) where none does."""
    return next(((i, amount) for i, amount in enumerate(extra) if amount), (-1, 0))


def _candidates(ranking: list[int], before: list[int], after: list[int]) -> list[int]:
    """The cheapest broker that is new to the partition, and those that lose their replica."""
    new = next((p for p in ranking if p not in after and p not in before), None)
    left = [p for p in before if p in ranking and p not in after]
    return left if new is None else [new, *left]


def _prices(plan: PlanData) -> tuple[tuple[str, ...], list[Ints]] | None:
    """The costs in the plan's order, and for each its prices [chosen topics, usable brokers]."""
    stages = [stage for stage in plan.file.certificate.stages if stage.name in COSTS]
    if not stages:
        return None
    slots = int(plan.usable.sum())
    families = len(np.unique(plan.topic[plan.chosen]))
    costs = tuple(COSTS[stage.name] for stage in stages)
    found: list[Ints] = []
    for stage in stages:
        prices = stage.prices
        if prices.weights is None or prices.brokers is None:
            return None
        total = np.broadcast_to(unpack(prices.brokers, slots), (families, slots)).copy()
        if prices.topics is not None:
            total += unpack(prices.topics, families * slots).reshape(families, slots)
        for cost, earlier in zip(costs, found, strict=False):
            total -= prices.weights[cost] * earlier
        found.append(total)
    return costs, found
