"""The stages of ``balance`` load, and their bounds, recomputed from the bands and the prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.brokers.check.asked import OF_REPLICAS, RESOURCES
from partage.brokers.check.load_columns import LoadColumns, as_array
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.relief_bound import least_bytes
from partage.brokers.directory import MARKER
from partage.flow.packing import unpack

_CELLS = 4_000_000
_SAFE = 2**62


def load_bounds(plan: PlanColumns, found: Recount) -> None:
    """Check the stages ``load``, ``bytes moved`` and ``moves``."""
    columns = LoadColumns(plan)
    for name in columns.wrong_bands():
        found.defect(f"load: the bands of {name} are not what is asked for")
    excess = {name: max(columns.excess(name, columns.after(name))) for name in RESOURCES}
    found.values["load"] = max(excess.values())
    bound = max(columns.least_excess(name) for name in RESOURCES)
    found.compare_bound(plan.stages["load"], bound)
    if plan.asked.relieved:
        found.defects += columns.model.broken_limits()
        found.defects += [
            f"{MARKER}: broker {plan.ids[s]}: {name} stays above the limit of relieve"
            for name in plan.asked.relieved
            for s, above in zip(
                plan.slots.tolist(), columns.excess(name, columns.after(name)), strict=True
            )
            if above
        ]
    if plan.asked.no_moves:
        return
    if plan.asked.relieved:
        found.values["bytes moved"] = plan.bytes_moved
        bound = least_bytes(columns, plan.stages["bytes moved"]["prices"], excess)
        found.compare_bound(plan.stages["bytes moved"], bound)
        return
    found.values["bytes moved"] = plan.bytes_moved
    found.values["moves"] = plan.moves
    copied = columns.copied
    for name, cost in (("bytes moved", copied), ("moves", np.ones_like(copied))):
        stage = plan.stages[name]
        found.compare_bound(stage, _least_cost(columns, stage["prices"], cost, excess))


def _least_cost(
    columns: LoadColumns, prices: dict[str, Any], cost: Ints, excess: dict[str, int]
) -> int:
    """A lower bound on the ``cost`` [I] of new replicas over all placements whose loads are at most
    ``excess`` millionths of the fair share outside the bands, by resource.

    Each partition chooses its cheapest brokers, paying the prices of its loads; each broker is paid
    for the loads in its band that bring most.
    """
    model = columns.model
    slots, scale = len(model.plan.slots), int(prices["scale"])
    price = np.array([unpack(prices["resources"][name], slots) for name in OF_REPLICAS])
    load = as_array(columns.items, OF_REPLICAS)
    largest = scale * int(cost.max(initial=0)) + sum(
        max(map(abs, price[k].tolist())) * int(load[k].max(initial=0)) for k in range(len(load))
    )
    if largest > _SAFE:
        raise ValueError("prices too large to be summed exactly")
    total = 0
    kinds = np.stack((model.demand, model.least, model.most), axis=1)
    for kind in np.unique(kinds, axis=0):
        rows = np.flatnonzero((kinds == kind).all(axis=1))
        for start in range(0, len(rows), max(1, _CELLS // slots)):
            part = rows[start : start + max(1, _CELLS // slots)]
            paid = _paid(columns, part, cost, load, price, scale)
            total += _cheapest(paid, model.zone, *kind.tolist())
    for k, name in enumerate(OF_REPLICAS):
        for e, p in enumerate(price[k].tolist()):
            width = columns.fair[name][e] * excess[name] // 10**6
            low = max(0, columns.low[name][e] - width) - columns.stays[name][e]
            high = columns.high[name][e] + width - columns.stays[name][e]
            total -= max(p * low, p * high)
    return max(0, -(-total // scale))


def _paid(
    columns: LoadColumns, part: Ints, cost: Ints, load: Ints, price: Ints, scale: int
) -> Ints:
    """[rows, E] what a replica of each partition costs on each broker."""
    paid = (load[:, part].T[:, :, None] * price[None]).sum(axis=1)
    new = np.ones_like(paid, dtype=np.bool_)
    item, slot = columns.model.sits
    place = np.full(len(cost), -1)
    place[part] = np.arange(len(part))
    here = place[item] >= 0
    new[place[item[here]], slot[here]] = False
    return np.asarray(paid + np.where(new, scale * cost[part][:, None], 0))


def _cheapest(paid: Ints, zone: Ints, demand: int, least: int, most: int) -> int:
    """The cost of the cheapest ``demand`` brokers of all rows [rows, E], with ``least`` to ``most``
    of them in each zone."""
    total, others = 0, []
    zones = int(zone.max()) + 1
    for z in range(zones):
        ranked = np.sort(paid[:, zone == z], axis=1)
        total += sum(ranked[:, :least].sum(axis=1, dtype=object).tolist()) if least else 0
        others.append(ranked[:, least:most])
    rest = np.sort(np.concatenate(others, axis=1), axis=1)[:, : demand - least * zones]
    return total + sum(sum(row) for row in rest.tolist())
