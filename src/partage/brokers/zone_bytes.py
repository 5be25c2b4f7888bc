"""Bytes per second that cross racks: from producers to leaders, to followers, and to consumers.

Followers copy from the leader. Producers write to the leader; consumers read from it or, with
``closest_replica``, from a replica in their own rack where there is one. Only clients whose racks
are known count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partage.arrays import Floats, Ints
from partage.brokers.leaders.rates import scaled
from partage.cluster import Cluster
from partage.cluster.clients import SHARE, Shares

_DIGITS = 3


class Crossing(NamedTuple):
    """[N, ...] millionths of the bytes in (``replication``, ``producers``) and out (``consumers``)
    of partitions that cross racks."""

    replication: Ints
    producers: Ints
    consumers: Ints


def zone_bytes(cluster: Cluster, bytes_in: Floats, bytes_out: Floats) -> dict[str, float] | None:
    """``replication``: what crosses racks; ``replication_total``: all that followers copy; the same
    of producers and consumers where their racks are known. None with fewer than two racks.
    ``bytes_in``, ``bytes_out`` [P]: bytes per second."""
    if len(cluster.rack_names) < 2:
        return None
    across = crossing(cluster, cluster.replicas[:, :1])
    followers = SHARE * (cluster.replication_factor - 1)
    found = _sums("replication", bytes_in, across.replication[:, 0], followers)
    if cluster.clients is not None:
        written, read = (shares.sum(axis=1)[cluster.topic] for shares in _shares(cluster))
        found |= _sums("producers", bytes_in, across.producers[:, 0], written)
        found |= _sums("consumers", bytes_out, across.consumers[:, 0], read)
    return found


def zone_costs(cluster: Cluster, leaders: Ints, bytes_in: Floats, bytes_out: Floats) -> Ints:
    """[P, N] what crosses racks with each of the ``leaders`` [P, N] (broker positions) in the lead,
    in ``RATE_SCALE``-ths of all rates in and out together."""
    rates = scaled(np.concatenate((bytes_in, bytes_out)))
    read, written = rates[cluster.partitions :, None], rates[: cluster.partitions, None]
    across = crossing(cluster, leaders)
    bytes_across = written * (across.replication + across.producers) + read * across.consumers
    return np.asarray(bytes_across // SHARE)


def crossing(cluster: Cluster, leaders: Ints) -> Crossing:
    """What crosses racks with each of the ``leaders`` [P, N] (broker positions) in the lead."""
    of_rack = np.append(cluster.rack, -1)
    racks = of_rack[cluster.replicas]
    home = of_rack[leaders]
    held = (racks[:, None, :] >= 0) & (racks[:, None, :] != home[:, :, None])
    producers, consumers = (shares[cluster.topic] for shares in _shares(cluster))
    count = len(cluster.rack_names)
    present = np.zeros((cluster.partitions, count + 1), dtype=np.bool_)
    if cluster.clients is not None and cluster.clients.closest_replica:
        present[np.arange(cluster.partitions)[:, None], np.where(racks < 0, count, racks)] = True
    # clients in racks without brokers are in the last column: nothing is near them
    present[:, count] = False
    nearby = (consumers * present).sum(axis=1)[:, None]
    at_home = np.take_along_axis(consumers * ~present, home, axis=1)
    return Crossing(
        replication=SHARE * held.sum(axis=2),
        producers=producers.sum(axis=1)[:, None] - np.take_along_axis(producers, home, axis=1),
        consumers=consumers.sum(axis=1)[:, None] - nearby - at_home,
    )


def _shares(cluster: Cluster) -> tuple[Ints, Ints]:
    """[T, racks + 1] millionths of what producers and consumers in each rack write and read, the
    last column for racks without brokers."""
    place = {rack: i for i, rack in enumerate(cluster.rack_names)}
    topics = {} if cluster.clients is None else cluster.clients.topics

    def matrix(side: str) -> Ints:
        found = np.zeros((len(cluster.topics), len(place) + 1), dtype=np.int64)
        for row, topic in enumerate(cluster.topics):
            shares: Shares = getattr(topics[topic], side) if topic in topics else {}
            for rack, share in shares.items():
                found[row, place.get(rack, -1)] += share
        return found

    return matrix("producers"), matrix("consumers")


def _sums(name: str, rates: Floats, across: Ints, every: Ints) -> dict[str, float]:
    return {
        name: round(math.fsum(rates * (across / SHARE)), _DIGITS),
        f"{name}_total": round(math.fsum(rates * (every / SHARE)), _DIGITS),
    }
