"""The state of a running cluster: brokers, partitions, throttles, and a snapshot of all of it.

``snapshot.py`` reads it from Kafka.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import partage
from partage.cluster import Cluster
from partage.cluster.broker import ANY, MAX_BYTES
from partage.measured_loads.rates import Key as Key
from partage.measured_loads.rates import MeasuredRates, PartitionRates
from partage.printable import is_printable
from partage.units import plural

FORMAT_VERSION = 1

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""What a broker may send as leader, and fetch as follower, of throttled replicas."""

LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""What a broker may copy between its log dirs."""

BROKER_THROTTLES = (*RATES, LOG_DIR_RATE)
TOPIC_THROTTLES = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
"""Which replicas are throttled: on the side that sends, and on the side that fetches."""


@dataclass(frozen=True)
class LogDir:
    """A log dir of a broker, sizes in bytes (None: not reported). ``offline``: the error for which
    it cannot be used; ``replica_bytes`` of all replicas in it, those moving into it included."""

    path: str
    total_bytes: int | None
    usable_bytes: int | None
    cordoned: bool
    offline: str | None = None
    replica_bytes: int = 0

    @property
    def disk_bytes(self) -> int | None:
        """What Kafka may use of it: bytes of replicas, and free bytes. None if unknown."""
        if self.usable_bytes is None:
            return None
        return min(self.replica_bytes + self.usable_bytes, MAX_BYTES)


@dataclass(frozen=True)
class BrokerState:
    """A broker. ``log_dirs`` is empty if it does not answer."""

    id: int
    rack: str | None
    host: str | None
    port: int | None
    alive: bool
    log_dirs: tuple[LogDir, ...] = ()
    replica_bytes: int = 0
    """Bytes of all replicas on it."""

    @property
    def cordoned(self) -> bool:
        """Whether it accepts no new replicas: all its log dirs are cordoned."""
        return bool(self.log_dirs) and all(one.cordoned for one in self.log_dirs)

    @property
    def disk_bytes(self) -> int | None:
        """What Kafka may use of its disks: bytes of replicas, and free bytes. None if unknown."""
        free = [one.usable_bytes for one in self.log_dirs if one.offline is None]
        known = [size for size in free if size is not None]
        if not known or len(known) < len(free):
            return None
        return min(self.replica_bytes + sum(known), MAX_BYTES)


@dataclass(frozen=True)
class PartitionIdentity:
    """Topic and number of one partition."""

    topic: str
    partition: int

    @property
    def key(self) -> Key:
        return self.topic, self.partition

    @property
    def name(self) -> str:
        """``topic-3``."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class PartitionState(PartitionIdentity):
    """A partition. ``replicas``: its brokers, preferred leader first, or the target of its
    reassignment, with the brokers that it is ``adding`` and ``removing``. ``sizes``: bytes by
    broker, ``log_dirs``: paths by broker. ``topic_id``: another one if the topic is deleted and
    created again, None where Kafka has no ids (before 2.8). ``copy_bytes``: what a new replica
    copies, None where that is all."""

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    sizes: dict[int, int] = field(default_factory=dict)
    log_dirs: dict[int, str] = field(default_factory=dict)
    topic_id: str | None = None
    rates: PartitionRates = field(default_factory=PartitionRates)
    copy_bytes: int | None = None

    @property
    def current(self) -> tuple[int, ...]:
        """The brokers of the target, and those that are being removed."""
        return (*self.replicas, *(b for b in self.removing if b not in self.replicas))

    def is_other_topic(self, topic_id: str | None) -> bool:
        """Whether its topic is not the one with this id: that was deleted, and another created with
        its name. False where an id is unknown."""
        return None not in (topic_id, self.topic_id) and topic_id != self.topic_id

    @property
    def size_bytes(self) -> int | None:
        """The size of its largest replica, which a new one may have to fetch."""
        return max(self.sizes.values(), default=None)


@dataclass(frozen=True)
class Throttles:
    """Replication throttles as configured: by broker id and by topic, name → value. What is not
    configured on the broker or topic itself is left out."""

    brokers: dict[int, dict[str, str]] = field(default_factory=dict)
    topics: dict[str, dict[str, str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "brokers": {str(broker): own for broker, own in sorted(self.brokers.items())},
            "topics": dict(sorted(self.topics.items())),
        }


@dataclass(frozen=True, repr=False)
class Snapshot:
    """A cluster at one moment.

    - ``tiered``: topics with remote storage, and the most bytes that stay of a partition on brokers
    - ``min_insync_replicas``: of topics where it is above 1
    - ``closest_replica``: consumers with a rack read from the closest replica (KIP-392)
    - ``measured``: seconds and number of samples of the rates, if they were measured
    - ``warnings``: what could not be read, and what a plan does not count
    """

    cluster_id: str
    taken_at: datetime
    controller: int | None
    brokers: tuple[BrokerState, ...]
    partitions: tuple[PartitionState, ...]
    throttles: Throttles
    groups: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    measured: tuple[float, int] | None = None
    tiered: dict[str, int | None] = field(default_factory=dict)
    closest_replica: bool = False
    min_insync_replicas: dict[str, int] = field(default_factory=dict)

    def with_rates(self, rates: MeasuredRates) -> Snapshot:
        """The same snapshot with rates of its partitions."""
        unknown = PartitionRates()
        return replace(
            self,
            partitions=tuple(
                replace(one, rates=rates.of.get(one.key, unknown)) for one in self.partitions
            ),
            warnings=(*self.warnings, *rates.warnings),
            measured=(rates.seconds, rates.samples),
        )

    @property
    def reassigning(self) -> list[PartitionState]:
        """Partitions that are being reassigned."""
        return [one for one in self.partitions if one.adding or one.removing]

    @property
    def has_several_log_dirs(self) -> bool:
        """Whether replicas of some broker are in one of several log dirs (JBOD)."""
        return any(len(one.log_dirs) > 1 for one in self.brokers)

    def to_json(self) -> dict[str, Any]:
        """A CLUSTER document, with more fields than a plan needs."""
        with_log_dirs = self.has_several_log_dirs
        return {
            "format_version": FORMAT_VERSION,
            "partage": partage.__version__,
            "cluster_id": self.cluster_id,
            "topic_ids": {
                one.topic: one.topic_id for one in self.partitions if one.topic_id is not None
            },
            "taken_at": self.taken_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "controller": self.controller,
            **self._measured_json(),
            **self._clients_json(),
            **self._tiered_json(),
            **self._min_insync_json(),
            "brokers": [
                {
                    "id": one.id,
                    "rack": one.rack,
                    "alive": one.alive,
                    "disk_bytes": one.disk_bytes,
                    "host": one.host,
                    "port": one.port,
                    "cordoned": one.cordoned,
                    "log_dirs": [
                        {
                            "path": log_dir.path,
                            "total_bytes": log_dir.total_bytes,
                            "usable_bytes": log_dir.usable_bytes,
                            "disk_bytes": log_dir.disk_bytes,
                            "cordoned": log_dir.cordoned,
                            "offline": log_dir.offline,
                        }
                        for log_dir in one.log_dirs
                    ],
                }
                for one in self.brokers
            ],
            "partitions": [
                {
                    "topic": one.topic,
                    "partition": one.partition,
                    "replicas": list(one.replicas),
                    "size_bytes": one.size_bytes,
                    **({} if one.copy_bytes is None else {"copy_bytes": one.copy_bytes}),
                    "leader": one.leader,
                    "isr": list(one.isr),
                    "sizes": {str(broker): size for broker, size in sorted(one.sizes.items())},
                    **(
                        {"log_dirs": [one.log_dirs.get(broker, ANY) for broker in one.replicas]}
                        if with_log_dirs
                        else {}
                    ),
                    **one.rates.to_json(),
                }
                for one in self.partitions
            ],
            "reassignments": [
                {
                    "topic": one.topic,
                    "partition": one.partition,
                    "adding": list(one.adding),
                    "removing": list(one.removing),
                }
                for one in self.reassigning
            ],
            "throttles": self.throttles.to_json(),
            "groups": list(self.groups),
            "warnings": list(self.warnings),
        }

    def _clients_json(self) -> dict[str, Any]:
        """In which racks consumers are, by topic: of all partitions that members of groups own, the
        share owned in each rack (KIP-881), by bytes in where rates are known; members without a
        rack count as not known."""
        rates = {one.key: one.rates.bytes_in for one in self.partitions}
        owned: dict[str, list[tuple[str, float | None]]] = {}
        for group in self.groups:
            for member in group["members"] or ():
                for topic, number in member["owned"]:
                    if (topic, number) in rates:
                        part = (member["rack"] or "", rates[topic, number])
                        owned.setdefault(topic, []).append(part)
        shares = {topic: _shares(parts) for topic, parts in sorted(owned.items())}
        topics = {topic: {"consumers": racks} for topic, racks in shares.items() if racks}
        closest = {"closest_replica": True} if self.closest_replica else {}
        return {"clients": {**closest, "topics": topics}} if topics else {}

    def _tiered_json(self) -> dict[str, Any]:
        marks = {
            topic: {} if most is None else {"local_retention_bytes": most}
            for topic, most in sorted(self.tiered.items())
        }
        return {"tiered_topics": marks} if marks else {}

    def _min_insync_json(self) -> dict[str, Any]:
        least = dict(sorted(self.min_insync_replicas.items()))
        return {"min_insync_replicas": least} if least else {}

    def _measured_json(self) -> dict[str, Any]:
        if self.measured is None:
            return {}
        seconds, samples = self.measured
        return {"rates": {"seconds": round(seconds, 3), "samples": samples}}

    def cluster(self, may_be_empty: bool = False) -> Cluster:
        """The input of a plan. Raises InputError for a cluster without partitions, unless it may be
        empty."""
        return Cluster.from_json(self.to_json(), "the cluster", may_be_empty=may_be_empty)

    def __repr__(self) -> str:
        parts = [
            plural(len(self.brokers), "broker"),
            plural(len(self.partitions), "partition"),
            f"{len(self.reassigning):,} being reassigned",
            plural(len(self.warnings), "warning"),
        ]
        taken = f"{self.taken_at:%Y-%m-%dT%H:%M:%SZ}"
        return f"<Snapshot of cluster {self.cluster_id} at {taken}: {', '.join(parts)}>"


def _shares(owned: Sequence[tuple[str, float | None]]) -> dict[str, float]:
    """The share of each rack that is named, of the rack and the rate of each owned partition: by
    rate if all are known, else by number."""
    by_rate = all(rate is not None for _, rate in owned) and any(rate for _, rate in owned)
    parts = [(rack, (rate or 0.0) if by_rate else 1.0) for rack, rate in owned]
    total = math.fsum(part for _, part in parts)
    racks = sorted({rack for rack, part in parts if part and rack and is_printable(rack)})
    return {
        rack: math.fsum(part for named, part in parts if named == rack) / total for rack in racks
    }
