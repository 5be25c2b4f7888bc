"""How full log dirs get: a broker's disk can have space for a replica that no log dir of it has.

Where the plan chooses log dirs, its choice counts. Replicas of other brokers (new ones, and those
whose contents are not known) go, the largest first, each to the log dir that is least full with it;
where that exceeds a limit, an integer program looks for another way on small brokers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.placement.integer_program import NothingFitsError
from partage.brokers.placement.log_dir_program import (
    MAX_VARIABLES,
    fewest_bytes_within,
    in_log_dirs,
)
from partage.brokers.sizing.resources import Resource
from partage.cluster import Broker, Cluster


class FullestLogDir(Struct, frozen=True):
    """Of a broker: the bytes in the log dir that has the highest share of its ``limit``, and its
    ``disk``, None where unknown. ``chosen``: by the plan."""

    load: int
    limit: int
    disk: int | None
    chosen: bool


def fullest_log_dirs(
    after: Cluster, brokers: dict[int, Broker], disk: Resource
) -> Iterator[FullestLogDir]:
    """Of these brokers, by their position in ``after``; of the log dirs that take replicas, or, if
    none does, of the whole disk."""
    row, column = np.nonzero(after.replicas >= 0)
    order = np.argsort(after.replicas[row, column], kind="stable")
    row, column = row[order], column[order]
    on = after.replicas[row, column]
    for place, broker in brokers.items():
        here = slice(*np.searchsorted(on, (place, place + 1)).tolist())
        size = disk.each[row[here]]
        places = [i for i, one in enumerate(broker.log_dirs) if one.takes_replicas]
        limits = disk.log_dir_limits(broker)
        limit = np.array([limits[i] for i in places] or [disk.limit(broker)])
        chosen = after.log_dirs is not None and after.has_known_log_dirs(place) and bool(places)
        if chosen:
            assert after.log_dirs is not None
            log_dir = after.log_dirs[row[here], column[here]]
            load = np.array([size[log_dir == i].sum() for i in places])
        else:
            load = _packed(size, limit)
        k = int((load / np.maximum(limit, 1)).argmax())
        whole = broker.log_dirs[places[k]].disk_bytes if places else broker.disk_bytes
        yield FullestLogDir(int(load[k]), int(limit[k]), whole, chosen)


def _packed(size: Ints, limit: Ints) -> Ints:
    """The bytes in each log dir, within the ``limit`` where a way is found."""
    load = np.zeros_like(limit)
    for one in np.sort(size)[::-1].tolist():
        load[((load + one) / np.maximum(limit, 1)).argmin()] += one
    if (load <= limit).all() or len(size) * len(limit) > MAX_VARIABLES:
        return load
    none = np.zeros_like(limit)
    sharing = in_log_dirs(size, np.full_like(size, -1), none)
    try:
        found = fewest_bytes_within(sharing, none, limit)
    except NothingFitsError:
        found = None
    return load if found is None else sharing.size_on(found)
