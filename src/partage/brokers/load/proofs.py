"""The stages of ``balance="load"`` with their proofs.

``load``: the worst distance from a band, in millionths of a fair share, and the least that the
largest partitions, racks and what stays allow. ``bytes moved`` and ``moves``: the fewest for any
plan whose loads are each as close to their bands, from prices of a linear program; without moves
there are none. Where limits are kept, the bands end there, and ``bytes moved`` counts also what a
change of leaders does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from partage.arrays import Ints
from partage.brokers.load.limits import least_excess
from partage.brokers.load.model import HELD, LED, LoadModel
from partage.brokers.load.relief import bytes_bound
from partage.brokers.option_values import RESOURCES
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage
from partage.brokers.stages import StageName
from partage.cluster import Cluster
from partage.flow.load_balancing import Bands, Prices, band_prices, least_cost
from partage.flow.packing import pack


def prove_loads(problem: Problem, after: Cluster) -> list[Stage]:
    """The stages of a placement."""
    model = LoadModel.of(problem)
    excess = model.excess(after)
    bound = max(limit.excess for limit in least_excess(model).values())
    load = Stage(StageName.LOAD, max(excess.values()), bound, {"bands": _bands(model)}, exact=False)
    if problem.options.no_moves:
        return [load]
    if problem.options.relieved:
        return [load, _relief_stage(model, after, excess)]
    slots = problem.broker_slot[after.replicas[problem.items]]
    sharing = problem.sharing
    moved, moves = sharing.size_moved(slots), len(sharing.moved_items(slots))
    one = np.ones(sharing.items, dtype=np.int64)
    bands = model.held_bands.widened(np.array([excess[name] for name in HELD]))
    return [
        load,
        _cost_stage(model, StageName.BYTES_MOVED, moved, sharing.move_size, bands),
        _cost_stage(model, StageName.MOVES, moves, one, bands),
    ]


def _bands(model: LoadModel) -> dict[str, Any]:
    found = {}
    for name in RESOURCES:
        bands, k = model.bands_of(name)
        ends = {"low": bands.low, "high": bands.high, "fair": bands.fair}
        found[name] = {end: pack(values[k]) for end, values in ends.items()}
    return found


def _relief_stage(model: LoadModel, after: Cluster, excess: dict[str, int]) -> Stage:
    """The bytes moved, compared with all placements within the limits, widened where this one is
    above them."""
    both = (HELD, model.held_bands), (LED, model.led_bands)
    high = np.concatenate(
        [bands.widened(np.array([excess[n] for n in names])).high for names, bands in both]
    )
    bound, price, scale = bytes_bound(model, high)
    problem = model.problem
    moved = problem.sharing.size_moved(problem.broker_slot[after.replicas[problem.items]])
    packed = {name: pack(price[k]) for k, name in enumerate((*HELD, *LED))}
    prices = {"scale": scale, "resources": packed}
    return Stage(StageName.BYTES_MOVED, moved, bound, prices, exact=False)


def _cost_stage(model: LoadModel, name: StageName, value: int, cost: Ints, bands: Bands) -> Stage:
    """A cost of the moves, compared with all placements within the bands of this one."""
    found = [(_bound(model, cost, bands, prices), prices) for prices in _priced(model, cost, bands)]
    bound, prices = max(found, key=lambda pair: pair[0])
    packed = {resource: pack(prices.price[k]) for k, resource in enumerate(HELD)}
    return Stage(name, value, bound, {"scale": prices.scale, "resources": packed}, exact=False)


def _priced(model: LoadModel, cost: Ints, bands: Bands) -> Iterator[Prices]:
    """The prices of the program, and those of one load alone: they may count for more where large
    partitions differ much from the others of their kind."""
    prices = band_prices(model.problem.sharing, model.item_held, model.held_base, bands, cost)
    yield prices
    for k in np.flatnonzero(prices.price.any(axis=1)).tolist():
        alone = np.zeros_like(prices.price)
        alone[k] = prices.price[k]
        yield replace(prices, price=alone)


def _bound(model: LoadModel, cost: Ints, bands: Bands, prices: Prices) -> int:
    return least_cost(model.problem.sharing, model.item_held, model.held_base, bands, cost, prices)
