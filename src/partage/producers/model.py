"""The input of a partitioner: the record, and what the producer knows about the topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from partage.arrays import is_whole
from partage.cluster import Cluster
from partage.errors import InputError

Headers = Sequence[tuple[str, bytes]]

MAX_PARTITIONS = 2**31 - 1


@dataclass(frozen=True)
class ProducerRecord:
    """A record as an application passes it to a producer. ``partition``: set explicitly; None: the
    partitioner decides."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class SerializedRecord:
    """A record as a partitioner gets it: serialized key and value, and the original objects."""

    key_bytes: bytes | None = None
    value_bytes: bytes | None = None
    key: Any = None
    value: Any = None
    headers: Headers = ()
    size: int = 0
    """Bytes that the record adds to a batch."""


@dataclass(frozen=True)
class Topic:
    """What a producer knows about a topic when it chooses a partition.

    - ``partitions``: their count; they are numbered from 0
    - ``available``: partitions with a live leader, ascending; None: all
    - ``queues``: [partitions] batches waiting to be sent; None: not known
    - ``not_taken_ms``: [partitions] how long the leader's broker has not accepted a batch that was
      ready, in milliseconds; None: not known
    - ``announces_batches``: the producer calls ``Partitioner.new_batch`` if a record opens a batch
    """

    partitions: int
    name: str = ""
    available: Sequence[int] | None = None
    queues: Sequence[int] | None = None
    not_taken_ms: Sequence[float] | None = None
    announces_batches: bool = False

    def __post_init__(self) -> None:
        count = self.partitions
        if not is_whole(count):
            raise InputError("partitions", f"expected a number of partitions, got {count!r}")
        if not 1 <= count <= MAX_PARTITIONS:
            raise InputError("partitions", f"expected 1 to {MAX_PARTITIONS}, got {count}")
        if self.available is not None and not all(0 <= p < count for p in self.available):
            raise InputError("available", f"{self.available}: expected numbers below {count}")
        for where, column in (("queues", self.queues), ("not_taken_ms", self.not_taken_ms)):
            if column is not None and len(column) != count:
                raise InputError(where, f"expected {count} numbers, got {len(column)}")
            for number in column or ():
                if not is_number(number) or not number >= 0:
                    raise InputError(where, f"expected numbers of 0 or more, got {number!r}")

    @cached_property
    def choices(self) -> Sequence[int]:
        """Partitions that a record without a key may go to: those with a live leader, or all if
        none has one."""
        return self.available or range(self.partitions)

    @classmethod
    def of(cls, cluster: Cluster, name: str) -> Topic:
        """A topic of a cluster. Available are partitions with a live replica. Raises InputError if
        the cluster does not have the topic, or not all of its partitions."""
        leaders = leaders_of(cluster, name)
        if max(leaders) >= len(leaders):
            raise InputError("topic", f"the cluster lacks partitions of {name!r}")
        available = [number for number, leader in leaders.items() if leader is not None]
        return cls(len(leaders), name, tuple(available))


def is_number(value: object) -> bool:
    """Whether the value is a real number of Python or numpy; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def leaders_of(cluster: Cluster, name: str) -> dict[int, int | None]:
    """Each partition's leader, ascending: the first live broker of its replica list, or None."""
    if name not in cluster.topics:
        raise InputError("topic", f"the cluster has no topic {name!r}")
    rows = np.flatnonzero(cluster.topic == cluster.topics.index(name)).tolist()
    ids, alive = cluster.broker_ids.tolist(), cluster.alive.tolist()
    return {
        int(cluster.partition[row]): next(
            (ids[at] for at in cluster.replicas[row].tolist() if at >= 0 and alive[at]), None
        )
        for row in rows
    }
