"""A placement that keeps limits, where one that balances every load does not.

The search of ``--balance load`` runs with other bands: from nothing up to the limit. Of what
leaders send, the limit is lower by what the worst survivor takes over if a failure is shared out
evenly. Loads that are not counted have no limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from partage.arrays import Ints
from partage.brokers.load.model import HELD, LED, LoadModel
from partage.brokers.problem import Problem
from partage.brokers.sizing.requirement import Requirement
from partage.brokers.sizing.resources import Resource
from partage.cluster import Cluster
from partage.flow.load_balancing import Bands, Loads, balance_loads

_DISK = HELD.index("disk")


def fitted(problem: Problem, resources: Sequence[Resource], asked: Requirement) -> Cluster:
    """The placement that the search ends with; whether it keeps the limits is to be measured."""
    model = LoadModel.of(problem)
    share = _normal_share(problem, asked)
    limits = {
        one.name: [
            int(one.limit(problem.cluster.brokers[b]) * (share if one.led else 1))
            for b in problem.slot_brokers.tolist()
        ]
        for one in resources
    }
    held = Loads(model.item_held, model.held_base, _bands(HELD, limits, model.item_held))
    led = Loads(model.item_led, model.led_base, _bands(LED, limits, model.item_led))
    today = problem.broker_slot[problem.cluster.replicas[problem.items, 0]]
    slots = balance_loads(problem.sharing, held, led, today, _DISK)
    return problem.cluster.with_replicas(problem.replicas_of(slots))


def _normal_share(problem: Problem, asked: Requirement) -> Fraction:
    """What brokers may send at normal times, as a share of their limits."""
    brokers = len(problem.slot_brokers)
    in_rack = np.bincount(problem.cluster.rack[problem.slot_brokers])
    outside = brokers - int(in_rack.max()) if problem.cluster.rack_names else brokers - 1
    if not asked.failures or outside < 1:
        return Fraction(1)
    down = brokers - outside if asked.racks_fail else 1
    return Fraction(outside, outside + down)


def _bands(names: Sequence[str], limits: dict[str, list[int]], each: Ints) -> Bands:
    slots = len(next(iter(limits.values())))
    most = [int(row.sum()) * slots + 1 for row in each]  # no broker can have more
    high = np.array(
        [limits.get(name, [whole] * slots) for name, whole in zip(names, most, strict=True)],
        dtype=np.int64,
    )
    high = np.minimum(high, np.array(most)[:, None])
    return Bands(np.zeros_like(high), high, np.maximum(high, 1))
