"""The bytes that each broker should have: as level as racks, disks and what must stay allow.

Bytes count as divisible, like water: every broker is filled to one level, in proportion to its
capacity, but holds at least what stays on it and at most its disk; every rack takes at least what
only it can hold, and at most what its partitions may put there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.check.placement_model import PlacementModel

_HALVINGS = 300
_SAME = 1e-9


def fair_bytes(model: PlacementModel, weight: Ints, stays: Ints) -> Floats:
    """[E] the fair bytes of each broker; ``weight``: 1 / capacity, ``stays``: bytes of partitions
    that are left out, both [E]."""
    disks = [model.plan.disk[s] for s in model.plan.slots.tolist()]
    most = np.array([np.inf if disk is None else float(disk) for disk in disks])
    return fair_loads(model, model.plan.size[model.items], weight, stays, most)


def fair_loads(
    model: PlacementModel, load: Ints, weight: Ints, stays: Ints, most: Floats
) -> Floats:
    """[E] the same for any load of a replica [I], where brokers hold at most ``most`` [E]."""
    size = load.astype(np.float64)
    total = float(size @ model.demand)
    floor = stays.astype(np.float64)
    ceiling = np.maximum(np.minimum(most, floor + size.sum()), floor)
    zones = [model.zone == z for z in range(int(model.zone.max()) + 1)]
    must, can = (size @ counts for counts in model.in_zones_at_least_and_most())
    can = np.minimum(can, [(ceiling - floor)[zone].sum() for zone in zones])
    must = np.minimum(must, can)

    def taken(level: float) -> Floats:
        each = np.clip(level / weight, floor, ceiling) - floor
        return np.asarray(np.clip([each[zone].sum() for zone in zones], must, can))

    if can.sum() < total * (1 - _SAME):  # more than all disks hold: overfill them alike
        ceiling, wanted = np.full_like(ceiling, np.inf), can * (total / max(can.sum(), 1.0))
    else:
        wanted = taken(_level(lambda level: taken(level).sum(), total))
    fair = np.zeros_like(floor)
    for zone, amount in zip(zones, wanted.tolist(), strict=True):
        fair[zone] = _filled(weight[zone], floor[zone], ceiling[zone], amount)
    return fair


def _filled(weight: Ints, floor: Floats, ceiling: Floats, amount: float) -> Floats:
    """The contents of the brokers of one rack after ``amount`` more bytes."""

    def held(level: float) -> Floats:
        return np.clip(level / weight, floor, ceiling)

    return held(_level(lambda level: (held(level) - floor).sum(), amount))


def _level(amount_at: Callable[[float], float], amount: float) -> float:
    """The lowest level at which ``amount`` is reached, or nearly."""
    low, high = 0.0, 1.0
    while amount_at(high) < amount * (1 - 1e-15) and high < 2.0**100:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if amount_at(middle) < amount else (low, middle)
    return high
