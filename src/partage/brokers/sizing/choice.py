"""Which brokers a number of brokers is: today's without some, or today's and new ones.

Fewer brokers: one after the other is removed from the rack that has most, there the one with the
smallest capacity, then with the fewest bytes to move. So no rack loses its last broker while
another has two, and partitions keep as many racks as the rack rule asks for today. More brokers:
each goes to the rack with the fewest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count, islice

import numpy as np

from partage.brokers.figures import Placement
from partage.brokers.option_values import NewBroker
from partage.brokers.sizing.resources import Resource
from partage.cluster import Cluster
from partage.cluster.broker import MAX_BROKER_ID


def fewer(cluster: Cluster, resources: Sequence[Resource], brokers: int) -> tuple[int, ...]:
    """The ids of the live brokers to remove so that so many stay, in ascending order."""
    live = np.flatnonzero(cluster.alive).tolist()
    limits = [[one.limit(cluster.brokers[b]) for b in live] for one in resources]
    least = [
        min(x / max(1, max(row)) for x, row in zip(column, limits, strict=True))
        for column in zip(*limits, strict=True)
    ]
    held = Placement(cluster, cluster.alive).byte_counts()[live].tolist()
    racks: dict[int, list[tuple[float, int, int]]] = {}
    for b, strength, size in zip(live, least, held, strict=True):
        racks.setdefault(int(cluster.rack[b]), []).append((strength, size, -b))
    for members in racks.values():
        members.sort(reverse=True)
    removed = []
    for _ in range(len(live) - brokers):
        rack = min(racks, key=lambda z: (-len(racks[z]), racks[z][-1] if racks[z] else (), z))
        removed.append(int(cluster.broker_ids[-racks[rack].pop()[2]]))
    return tuple(sorted(removed))


def more(cluster: Cluster, brokers: int) -> tuple[NewBroker, ...]:
    """The new brokers with which so many are live."""
    live = [broker for broker in cluster.brokers if broker.alive]
    missing = max(0, brokers - len(live))
    known = {broker.id for broker in cluster.brokers}
    first = max(known) + 1
    free = (i for i in count(first if first + missing <= MAX_BROKER_ID else 0) if i not in known)
    in_rack = Counter(dict.fromkeys(cluster.rack_names, 0))
    in_rack.update(broker.rack for broker in live if broker.rack is not None)
    added = []
    for identity in islice(free, missing):
        rack = min(cluster.rack_names, key=lambda name: (in_rack[name], name), default=None)
        in_rack[rack or ""] += 1
        added.append(NewBroker(identity, rack))
    return tuple(added)
