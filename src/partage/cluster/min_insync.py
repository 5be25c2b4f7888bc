"""``min.insync.replicas``: how many replicas must be in sync for producers with ``acks=all``.

Before Kafka 3.7, they cannot write to a partition with fewer replicas; since then (KAFKA-15583),
all of its replicas suffice. With just as many replicas, they cannot write while one is out of sync.
"""

from __future__ import annotations

MIN_INSYNC = "min.insync.replicas"

KAFKAS_DEFAULT = 1


def lowered_below(before: int, after: int, least: int) -> bool:
    """Whether fewer replicas than ``least`` are left where there are enough now."""
    return after < least <= before
