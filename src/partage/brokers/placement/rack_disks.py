"""A rack whose disks are too small for what the rack rule puts there, by counting."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.brokers.problem import Problem
from partage.flow.sorting import distinct
from partage.printable import printable
from partage.units import size


class SmallRack(Struct, frozen=True):
    """The name of a rack, and what it must hold, in words."""

    name: str
    why: str


def too_small_rack(problem: Problem) -> SmallRack | None:
    """The rack that the rule makes overflow most; None if none is proven to, or if all disks
    together are too small, so that the rule is not the cause.

    A partition of d replicas, of which a rack of n brokers may hold m, has at most the sum of
    min(n, m) in the other racks. The rest is in this one.
    """
    sharing = problem.sharing
    disk = problem.cluster.disk_bytes[problem.slot_brokers]
    if not sharing.zoned or (disk < 0).any():
        return None
    total = int(sharing.base_size.sum()) + sum((sharing.size * sharing.demand).tolist())
    if total > int(disk.sum()):
        return None
    brokers = np.bincount(sharing.zone, minlength=sharing.zones)
    most = sharing.item_bounds[1]
    found: tuple[int, int, int, int] | None = None
    for zone in range(sharing.zones):
        elsewhere = np.minimum(np.delete(brokers, zone)[:, None], most[None, :]).sum(axis=0)
        forced = np.maximum(sharing.demand - elsewhere, 0)
        here = sharing.zone == zone
        held = int(sharing.base_size[here].sum()) + sum((sharing.size * forced).tolist())
        space = int(disk[here].sum())
        found = max(found or (0, 0, 0, 0), (held - space, zone, held, space))
    if found is None or found[0] <= 0:
        return None
    _, zone, held, space = found
    rack = distinct(problem.cluster.rack[problem.slot_brokers])[zone]
    name = printable(problem.cluster.rack_names[rack])
    why = f"by the rack rule, rack {name} must hold {size(held)}, its disks have {size(space)}"
    return SmallRack(name, why)
