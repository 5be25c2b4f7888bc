"""Generate: what Kafka's own ``kafka-reassign-partitions.sh --generate`` proposes.

Kafka's tool does not look at where replicas are. It lays each topic out anew, as if the topic were
being created on the brokers given:

1. The brokers stand in a ring. Without racks they stand by id; with racks, one of each rack in turn
   (racks in order of name, a rack's brokers by id, racks that have run out are passed over).
2. Leaders go round the ring: partition p is led by place ``start + p``.
3. Followers go round the ring too, beginning ``1 + shift`` places behind the leader and passing it
   over. Each time the leaders have come full circle the shift grows by one, so that brokers with
   the same leaders do not always share the same followers. With racks the shift counts whole
   rounds of racks.
4. With racks, a place is skipped while its rack has a replica already and another rack has none,
   and when the broker itself has one.

``start`` and ``shift`` are random in Kafka, drawn for each topic. Here they come from a fixed seed,
topic by topic in order of name, so that the same input gives the same bytes, and the plan's own
result is what it would propose again.

Each topic gets the replication factor of one of its partitions in Kafka, whichever its hash map
yields first. Here a topic whose partitions ask for different factors is refused. Kafka numbers a
topic's partitions 0 to n - 1; where a cluster file has gaps, the n partitions that are there take
the n lists in order.

Source: Apache Kafka through 4.0, ``org.apache.kafka.admin.AdminUtils`` and the method
``calculateAssignment`` of ``org.apache.kafka.tools.reassign.ReassignPartitionsCommand``; KIP-36 for
racks. From 4.1 on (KAFKA-18798) the tool lays topics out as the controller does for new ones, with
its striped replica placer: anew as well, with random starts as well, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from partage.brokers.task import Task
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]

SEED = 36
"""Of the random starts: any fixed number gives a proposal that Kafka's tool could make too."""


def generate(task: Task) -> Ints:
    """Replica lists [P, R] for the chosen topics laid out anew; the others as today.

    Raises CannotError with ``no_moves``, and where the partitions of a topic ask for different
    replication factors.
    """
    if task.options.no_moves:
        raise CannotError("moves replicas by design: it lays every topic out anew")
    cluster = task.cluster
    racks = cluster.rack[task.slot_brokers].tolist() if cluster.rack_names else None
    brokers = task.slot_brokers.tolist()
    ring = alternated(brokers, racks) if racks is not None else brokers
    rack_of = dict(zip(brokers, racks, strict=True)) if racks is not None else {}
    ring_racks = [rack_of[b] for b in ring] if racks is not None else None

    width = max(int(task.target[task.chosen].max()), cluster.replicas.shape[1])
    replicas = np.full((cluster.partitions, width), -1, dtype=np.int64)
    replicas[:, : cluster.replicas.shape[1]] = cluster.replicas
    random = np.random.default_rng(SEED)
    # rows stand in ascending (topic, partition), and --topics takes whole topics
    topics, first = np.unique(cluster.topic[task.items], return_index=True)
    for topic, rows in zip(topics.tolist(), np.split(task.items, first[1:]), strict=True):
        factors = np.unique(task.target[rows]).tolist()
        if len(factors) > 1:
            raise CannotError(
                f"lays out a topic with one replication factor, but the partitions of "
                f"{cluster.topics[topic]} ask for {' and '.join(map(str, factors))}"
            )
        start, shift = random.integers(len(ring), size=2).tolist()
        lists = layout(len(ring), len(rows), factors[0], start, shift, ring_racks)
        replicas[rows] = -1
        replicas[rows, : factors[0]] = np.array(ring, dtype=np.int64)[np.array(lists)]
    return replicas


def alternated(brokers: Sequence[int], racks: Sequence[int]) -> list[int]:
    """The brokers (ascending) in the order in which racks alternate; ``racks`` has each one's."""
    turn: dict[int, int] = {}
    keyed = []
    for broker, rack in zip(brokers, racks, strict=True):
        turn[rack] = turn.get(rack, -1) + 1
        keyed.append((turn[rack], rack, broker))
    return [broker for _, _, broker in sorted(keyed)]


def layout(
    size: int,
    partitions: int,
    factor: int,
    start: int,
    shift: int,
    racks: Sequence[int] | None = None,
) -> list[list[int]]:
    """``factor`` places in a ring of ``size`` brokers for partitions 0 to n - 1, leader first.

    ``racks`` has the rack of each place in the ring; None: racks do not count.
    """
    lists = []
    every = len(set(racks or ()))
    for partition in range(partitions):
        leader = (start + partition) % size
        turned = shift + partition // size
        if racks is None:
            followers = [_behind(leader, turned + j, size) for j in range(factor - 1)]
            lists.append([leader, *followers])
        else:
            lists.append(_in_racks(leader, turned * every, factor, racks, every))
    return lists


def _behind(leader: int, shift: int, size: int) -> int:
    """The place ``1 + shift`` behind the leader, going round the ring without the leader."""
    return (leader + 1 + shift % (size - 1)) % size


def _in_racks(leader: int, shift: int, factor: int, racks: Sequence[int], every: int) -> list[int]:
    """One list of places: each next place behind the leader that the rack rule lets pass."""
    places, used = [leader], {racks[leader]}
    steps = count(shift)
    while len(places) < factor:
        place = _behind(leader, next(steps), len(racks))
        if place not in places and (racks[place] not in used or len(used) == every):
            places.append(place)
            used.add(racks[place])
    return places
