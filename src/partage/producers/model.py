"""What a partitioner is given: the record, and what the producer knows of the topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from partage.cluster import Cluster
from partage.errors import InputError

Headers = Sequence[tuple[str, bytes]]

MAX_PARTITIONS = 2**31 - 1


@dataclass(frozen=True)
class ProducerRecord:
    """A record as an application hands it to a producer. ``partition``: the one that it asks for;
    with it there is nothing to decide."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class SerializedRecord:
    """A record as a partitioner sees it: serialized, and as it was before."""

    key_bytes: bytes | None = None
    value_bytes: bytes | None = None
    key: Any = None
    value: Any = None
    headers: Headers = ()
    size: int = 0
    """Bytes that it adds to a batch."""


@dataclass(frozen=True)
class Topic:
    """What a producer knows of a topic when it chooses a partition.

    - ``partitions``: how many there are; they are numbered from 0
    - ``available``: those with a live leader, ascending; None: all
    - ``queues``: for each partition the batches that wait to be sent; None: not known
    - ``not_taken_ms``: for each partition, for how long its leader's broker has not taken what is
      ready for it; None: not known
    - ``announces_batches``: the producer says by ``Partitioner.new_batch`` when a record opens a batch
    """

    partitions: int
    name: str = ""
    available: Sequence[int] | None = None
    queues: Sequence[int] | None = None
    not_taken_ms: Sequence[float] | None = None
    announces_batches: bool = False

    def __post_init__(self) -> None:
        count = self.partitions
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
            raise InputError("partitions", f"expected a number of partitions, got {count!r}")
        if not 1 <= count <= MAX_PARTITIONS:
            raise InputError("partitions", f"expected 1 or more, got {count}")
        if self.available is not None and not all(0 <= p < count for p in self.available):
            raise InputError("available", f"{self.available}: expected numbers below {count}")
        for where, column in (("queues", self.queues), ("not_taken_ms", self.not_taken_ms)):
            if column is not None and len(column) != count:
                raise InputError(where, f"expected {count} numbers, got {len(column)}")
            for number in column or ():
                if not is_number(number) or not number >= 0:
                    raise InputError(where, f"expected numbers from 0 up, got {number!r}")

    @cached_property
    def choices(self) -> Sequence[int]:
        """Where a record without a key may go: what has a live leader, or all if nothing has."""
        return self.available or range(self.partitions)

    @classmethod
    def of(cls, cluster: Cluster, name: str) -> Topic:
        """The topic of a cluster; available is what has a living replica. Raises InputError where
        the cluster has no such topic, or has not all of its partitions."""
        leaders = leaders_of(cluster, name)
        if max(leaders) >= len(leaders):
            raise InputError("topic", f"the cluster lacks partitions of {name!r}")
        available = [number for number, leader in leaders.items() if leader is not None]
        return cls(len(leaders), name, tuple(available))


def is_number(value: object) -> bool:
    """Of Python or numpy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def leaders_of(cluster: Cluster, name: str) -> dict[int, int | None]:
    """By partition, ascending, the leader: the first live broker of its list, None where none
    lives."""
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
