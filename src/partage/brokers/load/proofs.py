"""The stages of ``balance="load"`` with their proofs.

``load``: the worst distance from a band, in millionths of a fair share, and the least that the
largest partitions, racks and what stays allow. ``bytes moved`` and ``moves``: the fewest for any
plan that is as close to all bands, from prices of a linear program; without moves there are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.load.limits import least_excess
from partage.brokers.load.model import HELD, LoadModel
from partage.brokers.option_values import RESOURCES
from partage.brokers.problem import Problem
from partage.brokers.proofs import Stage
from partage.brokers.stages import StageName
from partage.cluster import Cluster
from partage.flow.certificate import pack
from partage.flow.load_balancing import band_prices, least_cost

Ints = npt.NDArray[np.int64]


def prove_loads(problem: Problem, after: Cluster) -> list[Stage]:
    """The stages of a placement."""
    model = LoadModel.of(problem)
    excess = max(model.excess(after).values())
    bound = max(limit.excess for limit in least_excess(model).values())
    load = Stage(StageName.LOAD, excess, bound, {"bands": _bands(model)}, exact=False)
    if problem.options.no_moves:
        return [load]
    slots = problem.broker_slot[after.replicas[problem.items]]
    sharing = problem.sharing
    moved, moves = sharing.size_moved(slots), len(sharing.moved_items(slots))
    one = np.ones(sharing.items, dtype=np.int64)
    return [
        load,
        _cost_stage(model, StageName.BYTES_MOVED, moved, sharing.size, excess),
        _cost_stage(model, StageName.MOVES, moves, one, excess),
    ]


def _bands(model: LoadModel) -> dict[str, Any]:
    found = {}
    for name in RESOURCES:
        bands, k = model.bands_of(name)
        ends = {"low": bands.low, "high": bands.high, "fair": bands.fair}
        found[name] = {end: pack(values[k]) for end, values in ends.items()}
    return found


def _cost_stage(model: LoadModel, name: StageName, value: int, cost: Ints, excess: int) -> Stage:
    """A cost of the moves, compared with all placements no further outside their bands."""
    sharing = model.problem.sharing
    bands = model.held_bands.widened(excess)
    prices = band_prices(sharing, model.item_held, model.held_base, bands, cost)
    bound = least_cost(sharing, model.item_held, model.held_base, bands, cost, prices)
    packed = {resource: pack(prices.price[k]) for k, resource in enumerate(HELD)}
    return Stage(name, value, bound, {"scale": prices.scale, "resources": packed}, exact=False)
