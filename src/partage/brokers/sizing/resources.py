"""What brokers have and partitions take: disk, network in and network out, as integers.

A resource counts if the brokers list their capacity for it and the loads are known. Where disk
counts and a broker has several log dirs, each of them has a limit, too: a replica is in one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.brokers.load.model import capacity_of, whole_rates
from partage.brokers.problem import Problem
from partage.cluster import Broker, Cluster
from partage.cluster.broker import LogDir
from partage.errors import InputError

KEYS = {
    "disk": "disk_bytes",
    "in": "network_in_bytes_per_second",
    "out": "network_out_bytes_per_second",
}
"""The resources, and what a cluster file calls a broker's capacity for them."""

LOG_DIR = "log_dir"
"""The name of the resource that the fullest log dir of a broker is."""

_UNLIMITED = 2**62


class Resource(Struct, frozen=True, eq=False):
    """``each`` [P]: what a replica of a partition adds to its broker; of ``out``, the leader alone,
    which sends what consumers read and a copy to every follower. ``bits``: it is a multiple of
    2 ** -bits bytes (per second). ``share``: how much of a capacity may be used."""

    name: str
    each: Ints
    bits: int
    share: Fraction

    @property
    def led(self) -> bool:
        """Whether leaders add it."""
        return self.name == "out"

    def limit(self, broker: Broker) -> int:
        """What a broker may use, in the unit of ``each``."""
        capacity = capacity_of(broker, self.name)
        assert capacity is not None, "checked for all brokers"
        return min(_UNLIMITED, floor(capacity * self.share * Fraction(2) ** self.bits))

    def log_dir_limits(self, broker: Broker) -> list[int]:
        """What each log dir may use; without log dirs, the one limit of the broker. A log dir that
        takes no new replicas keeps what it has, and needs no headroom."""
        whole = self.limit(broker)
        limits = [
            whole
            if one.disk_bytes is None
            else floor(one.disk_bytes * (self.share if one.takes_replicas else 1))
            for one in broker.log_dirs
        ]
        return limits or [whole]

    def bytes(self, load: int) -> float:
        """A load in bytes, or bytes per second."""
        return float(load * Fraction(2) ** -self.bits)


def disk_in_log_dirs(cluster: Cluster, resources: Sequence[Resource]) -> Resource | None:
    """The disk, where it counts and some broker has several log dirs."""
    if all(len(broker.log_dirs) < 2 for broker in cluster.brokers):
        return None
    return next((one for one in resources if one.name == "disk"), None)


def with_usual_log_dirs(broker: Broker, cluster: Cluster) -> Broker:
    """A new broker with log dirs like those that most brokers have."""
    disks = (tuple(one.disk_bytes for one in other.log_dirs) for other in cluster.brokers)
    usual = Counter(disks).most_common(1)[0][0]
    return replace(broker, log_dirs=tuple(LogDir(str(k), disk) for k, disk in enumerate(usual)))


def resources_of(problem: Problem, headroom: Fraction) -> tuple[list[Resource], dict[str, str]]:
    """The resources that count; and of the others, why they do not.

    Raises InputError if none does, or if only some of the brokers list a capacity.
    """
    cluster = problem.cluster
    bits, rate_in, rate_out = whole_rates(problem)
    each = {
        "disk": (np.maximum(cluster.size_bytes, 0), 0),
        "in": (rate_in, bits),
        "out": (rate_out + (problem.target - 1) * rate_in, bits),
    }
    rates = problem.bytes_per_second is not None or cluster.bytes_in is not None
    counted, left_out = [], {}
    for name, key in KEYS.items():
        if not _listed(cluster, name):
            left_out[name] = f"brokers list no {key}"
        elif name != "disk" and not rates:
            left_out[name] = (
                "no rates are known: give a profile, or bytes_in_per_second of partitions"
            )
        else:
            counted.append(Resource(name, *each[name], 1 - headroom))
    if not counted:
        raise InputError(
            "capacities",
            "none can be counted: list disk_bytes of all brokers, or of all their log dirs, or, "
            "where rates are known, "
            "network_in_bytes_per_second or network_out_bytes_per_second",
        )
    return counted, left_out


def _listed(cluster: Cluster, name: str) -> bool:
    """Whether the brokers list a capacity. Raises InputError if only some do."""
    listed = [capacity_of(broker, name) is not None for broker in cluster.brokers]
    if any(listed) and not all(listed):
        broker = cluster.brokers[listed.index(False)].id
        raise InputError(
            "capacities",
            f"broker {broker} has no {KEYS[name]} but others have: give every broker one, or none",
        )
    return all(listed)
