"""Generate: what Kafka's own ``kafka-reassign-partitions.sh --generate`` proposes.

Kafka's tool ignores the current placement. It places each topic from scratch, like the controller
when it creates a topic on the given brokers:

1. The racks form a ring, ordered by name, and the brokers of each rack are ordered by id. Brokers
   without racks count as one rack. The ring and each rack start at a random position.
2. Partition p walks round the ring, starting p racks after the start of the ring. Each rack on the
   way gives it one broker; a rack that has given all its brokers is skipped. The first broker is
   the leader. With fewer racks than replicas the walk goes round again.
3. A rack gives its brokers in order, and starts one broker later for each new partition. This
   produces the stripes in the name of Kafka's class.
4. After as many partitions as there are brokers, the ring and the racks are shuffled, so that
   brokers with the same leaders do not always share the same followers.

Leaders may be uneven. Example: with three racks of three brokers and replication factor 3, only one
broker of each rack leads until the next shuffle, because each rack is visited three times between
two of its leaders.

A rack identifies a partition only by its number since the last shuffle. If the last partition
before a shuffle and the first one after it have the same number, the rack treats them as one and
does not start one broker later: a rack of one broker then has none left to give. Kafka behaves like
this, so this module does too.

Kafka draws its random starts and shuffles from an unseeded generator; here they come from a fixed
seed, topic by topic in order of name. The same input gives the same output, and a second run
changes nothing.

The brokers are the live ones that may hold replicas: Kafka's tool silently ignores brokers of its
list that are not live, so the controller's rules for fenced brokers never apply. With fewer brokers
than replicas, Kafka's tool fails and so does this module. Kafka's tool takes the replication factor
of a topic from one of its partitions, whichever its hash map yields first; this module refuses a
topic whose partitions need different factors. Kafka's tool numbers the partitions of a topic 0 to
n - 1; where a cluster file has gaps, the n existing partitions take the n lists in order.

Source: Apache Kafka 4.1 to 4.3, ``org.apache.kafka.metadata.placement.StripedReplicaPlacer`` and
the method ``calculateAssignment`` of ``org.apache.kafka.tools.reassign.ReassignPartitionsCommand``.
Up to version 4.0 the tool used its own algorithm (KIP-36: one ring in which brokers of all racks
alternate, with followers at a growing distance from the leader); KAFKA-18798 replaced it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_topics, one_factor, with_lists
from partage.errors import CannotError

Draw = Callable[[int], int]
"""Returns a random number from 0 to below its argument."""

SEED = 18798
"""Seed of the random starts and shuffles; with any seed, Kafka's tool could make the same
proposal."""


def generate(problem: Problem) -> Ints:
    """Replica lists [P, R]: the chosen topics placed from scratch, the others unchanged.

    Raises CannotError with ``no_moves``, and if the partitions of a topic need different
    replication factors.
    """
    if problem.options.no_moves:
        raise CannotError("moves replicas by design: it places every topic from scratch")
    rack_of = problem.cluster.rack[problem.slot_brokers]
    racks = [problem.slot_brokers[rack_of == rack].tolist() for rack in np.unique(rack_of)]
    draw = _draws(SEED)
    lists: list[list[int]] = []
    # rows are in ascending (topic, partition), and `topics` selects whole topics
    for _, begin, end in chosen_topics(problem):
        factor = one_factor(problem, begin, end, "lays out a topic with one replication factor")
        lists += layout(racks, end - begin, factor, draw)
    return with_lists(problem, lists)


def layout(
    racks: Sequence[Sequence[int]], partitions: int, factor: int, draw: Draw
) -> list[list[int]]:
    """``factor`` brokers for each partition of a new topic, leader first.

    ``racks``: the brokers of each rack, at least one per rack and ``factor`` in total; a cluster
    without racks has one. ``draw`` is called in Kafka's order: for the start of each rack, then of
    the ring, and at each shuffle for the ring, then for each rack.
    """
    all_racks = [_Rack(list(brokers), draw(len(brokers))) for brokers in racks]
    ring = list(all_racks)
    start = draw(len(ring))
    size = sum(map(len, racks))
    # a single broker is not shuffled: without increasing numbers it would give only once
    period = size if size > 1 else partitions
    lists = []
    for partition in range(partitions):
        number = partition % period
        if partition and not number:
            _shuffle(ring, draw)
            for rack in all_racks:
                _shuffle(rack.brokers, draw)
        replicas: list[int] = []
        place = start + partition
        while len(replicas) < factor:
            replicas += ring[place % len(ring)].give(number)
            place += 1
        lists.append(replicas)
    return lists


class _Rack:
    """The brokers of a rack, which are given to a partition one after the other."""

    def __init__(self, brokers: list[int], start: int) -> None:
        self.brokers = brokers
        self.start = start
        self.given = 0
        self.number = 0

    def give(self, number: int) -> list[int]:
        """The next broker for the partition of that number, or none if all have been given."""
        if number != self.number:
            self.number = number
            self.given = 0
            self.start += 1
        if self.given == len(self.brokers):
            return []
        self.given += 1
        return [self.brokers[(self.start + self.given - 1) % len(self.brokers)]]


def _shuffle(items: list[Any], draw: Draw) -> None:
    """Shuffle in place (Fisher-Yates), from the last item to the first."""
    for last in range(len(items) - 1, 0, -1):
        other = draw(last + 1)
        items[last], items[other] = items[other], items[last]


def _draws(seed: int) -> Draw:
    """Draws from ``random()``: only its numbers are the same in all Python versions."""
    random = Random(seed)
    return lambda below: int(random.random() * below)
