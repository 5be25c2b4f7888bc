"""The bound on the bytes moved where loads are relieved, recomputed from the prices.

A plan pays, besides the bytes it moves, the prices of what its brokers hold and lead. Each
partition pays at least for the cheapest brokers that its racks allow, and for its leader: one of
these, or another one that is then in place of one of these, at best of the dearest. A partition
that must stay where it is pays for its brokers, and chooses its leader among them. What brokers are
paid for is at most what the limits allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.check.asked import OF_LEADERS, OF_REPLICAS, RESOURCES
from partage.brokers.check.load_columns import LoadColumns, as_array
from partage.flow.packing import unpack

_ROWS = 20_000
_SAFE = 2**62


def least_bytes(columns: LoadColumns, prices: dict[str, Any], excess: dict[str, int]) -> int:
    """A lower bound on the bytes that any placement moves whose loads are at most ``excess``
    millionths of the fair share above their limits, by resource."""
    model, scale = columns.model, int(prices["scale"])
    slots = len(model.plan.slots)
    price = {name: unpack(prices["resources"][name], slots) for name in RESOURCES}
    load = {name: as_array(columns.items, (name,))[0] for name in RESOURCES}
    size = columns.copied * scale
    _check_sums(load, price, scale, int(model.demand.max(initial=0)) + 1)
    today = np.zeros((len(size), slots), dtype=np.bool_)
    today[model.sits] = True
    movable = model.movable()
    total = 0
    for start in range(0, len(size), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(size)))
        held, led = (
            sum(
                (np.multiply.outer(load[name][rows], price[name]) for name in names),
                np.zeros((len(rows), slots), dtype=np.int64),
            )
            for names in (OF_REPLICAS, OF_LEADERS)
        )
        stay, go = rows[~movable[rows]] - start, rows[movable[rows]] - start
        total += _of_fixed(held[stay], led[stay], today[rows[stay]])
        held += np.where(today[rows], 0, size[rows][:, None])
        total += _of_movable(columns, rows[go], held[go], led[go])
    for name in RESOURCES:
        ends = zip(
            price[name].tolist(),
            columns.fair[name],
            columns.high[name],
            columns.stays[name],
            strict=True,
        )
        for p, fair, high, stays in ends:
            most = high + fair * excess[name] // 10**6
            total -= max(p * (most - stays), -p * stays)
    return max(0, -(-total // scale)) if scale > 0 else 0


def _check_sums(load: dict[str, Ints], price: dict[str, Ints], scale: int, replicas: int) -> None:
    """Raise ValueError for prices whose sums do not fit into 64 bits."""
    largest = scale * int(load["disk"].max(initial=0))
    for name in RESOURCES:
        largest += max(map(abs, price[name].tolist())) * int(load[name].max(initial=0))
    if largest * replicas > _SAFE:
        raise ValueError("prices too large to be summed exactly")


def _of_fixed(held: Ints, led: Ints, today: Bools) -> int:
    """What partitions pay that stay on their brokers of ``today`` [rows, E]."""
    total = 0
    for paid, leading, on in zip(held, led, today, strict=True):
        total += sum(paid[on].tolist()) + min(leading[on].tolist())
    return total


def _of_movable(columns: LoadColumns, rows: Ints, held: Ints, led: Ints) -> int:
    """What partitions pay at least that may choose their brokers."""
    model = columns.model
    total = 0
    kinds = np.stack((model.demand[rows], model.least[rows], model.most[rows]), axis=1)
    for demand, least, most in np.unique(kinds, axis=0).tolist():
        alike = (kinds == (demand, least, most)).all(axis=1)
        paid, leading = held[alike], led[alike]
        in_each, others = [], []
        zones = int(model.zone.max()) + 1
        for z in range(zones):
            ranked = np.sort(paid[:, model.zone == z], axis=1)
            in_each.append(ranked[:, :least])
            others.append(ranked[:, least:most])
        rest = np.sort(np.concatenate(others, axis=1), axis=1)[:, : demand - least * zones]
        chosen = np.concatenate([*in_each, rest], axis=1)
        dearest = chosen.max(axis=1)
        leader = (leading + np.maximum(paid - dearest[:, None], 0)).min(axis=1)
        total += sum(chosen.sum(axis=1).tolist()) + sum(leader.tolist())
    return total
