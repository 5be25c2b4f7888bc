"""Bytes per second that cross racks because followers copy from a leader in another rack.

Producers and consumers cross racks too, but where they are is not known: only replication counts.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from partage.cluster import Cluster

_DIGITS = 3


def zone_bytes(cluster: Cluster, bytes_in: npt.NDArray[np.float64]) -> dict[str, float] | None:
    """``replication``: what crosses racks; ``replication_total``: all that followers copy. None
    with fewer than two racks. ``bytes_in`` [P]: bytes per second that each leader receives."""
    if len(cluster.rack_names) < 2:
        return None
    rack = np.append(cluster.rack, -1)[cluster.replicas]
    held = cluster.replicas >= 0
    across = (held & (rack != rack[:, :1])).sum(axis=1)
    followers = held.sum(axis=1) - 1
    return {
        "replication": round(math.fsum(bytes_in * across), _DIGITS),
        "replication_total": round(math.fsum(bytes_in * followers), _DIGITS),
    }
