"""Generate: what Kafka's own ``kafka-reassign-partitions.sh --generate`` proposes.

Kafka's tool ignores where replicas are. It places each topic from scratch, as the controller would
if the topic were being created on the given brokers:

1. The racks stand in a ring, in order of name, and in each rack its brokers, by id. Brokers without
   racks are one rack. The ring and every rack begin at a random place.
2. Partition p goes round the ring, beginning p racks after the ring's beginning. Each rack that it
   comes to gives it one broker; a rack that has given it all is passed over. The first broker is
   the leader. Where there are fewer racks than replicas it goes round again.
3. A rack gives its brokers in their order, and begins one broker later for each new partition that
   comes to it: hence the stripes.
4. After as many partitions as there are brokers, the ring and the racks are shuffled, so that
   brokers with the same leaders do not always share the same followers.

Leaders may be uneven: with three racks of three brokers and three replicas, one in each rack leads
until the shuffle, since a rack is come to three times from one leader to its next.

A rack tells partitions apart only by their number since the last shuffle. Where the last one that
came to it before a shuffle and the first one after have the same number, it takes them for one and
goes on where it was instead of beginning anew: a rack of one broker then has none left to give.
Kafka does so, hence this does.

Random starts and shuffles are Kafka's own; here they come from a fixed seed, topic by topic in
order of name, so that the same input gives the same bytes, and the plan's own result is what it
would propose again.

The brokers are those that are to hold replicas and are alive: Kafka's tool leaves out, without a
word, those of its list that the cluster does not name as live, so that the controller's rules for
fenced brokers have nothing to do. With fewer brokers than replicas both refuse. Each topic gets the
replication factor of one of its partitions in Kafka, whichever its hash map yields first; here a
topic whose partitions ask for different factors is refused. Kafka's tool numbers a topic's
partitions 0 to n - 1, whatever their numbers are; where a cluster file has gaps, the n partitions
that are there take the n lists in order.

Source: Apache Kafka 4.1 to 4.3, ``org.apache.kafka.metadata.placement.StripedReplicaPlacer`` and
the method ``calculateAssignment`` of ``org.apache.kafka.tools.reassign.ReassignPartitionsCommand``.
Through 4.0 the tool had a method of its own (KIP-36: one ring in which brokers of all racks
alternate, followers at a growing distance behind the leader); KAFKA-18798 replaced it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_topics, one_factor, with_lists
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]
Draw = Callable[[int], int]
"""A random number from 0 to below the number given."""

SEED = 18798
"""Of the random starts and shuffles: any fixed number gives a proposal that Kafka's tool could
make too."""


def generate(problem: Problem) -> Ints:
    """Replica lists [P, R] for the chosen topics, placed from scratch; the others as today.

    Raises CannotError with ``no_moves``, and where the partitions of a topic ask for different
    replication factors.
    """
    if problem.options.no_moves:
        raise CannotError("moves replicas by design: it places every topic from scratch")
    rack_of = problem.cluster.rack[problem.slot_brokers]
    racks = [problem.slot_brokers[rack_of == rack].tolist() for rack in np.unique(rack_of)]
    draw = _draws(SEED)
    lists: list[list[int]] = []
    # rows stand in ascending (topic, partition), and --topics takes whole topics
    for _, begin, end in chosen_topics(problem):
        factor = one_factor(problem, begin, end, "lays out a topic with one replication factor")
        lists += layout(racks, end - begin, factor, draw)
    return with_lists(problem, lists)


def layout(
    racks: Sequence[Sequence[int]], partitions: int, factor: int, draw: Draw
) -> list[list[int]]:
    """``factor`` brokers for each of a new topic's partitions, leader first.

    ``racks`` has the brokers of each rack, at least one in each and ``factor`` in all; a cluster
    without racks is one. ``draw`` is called in Kafka's order: for each rack's beginning, then the
    ring's, and at each shuffle for the ring, then for each rack.
    """
    everyone = [_Rack(list(brokers), draw(len(brokers))) for brokers in racks]
    ring = list(everyone)
    start = draw(len(ring))
    size = sum(map(len, racks))
    # a lone broker is not shuffled: its partitions' numbers run on, else it would give only once
    period = size if size > 1 else partitions
    lists = []
    for partition in range(partitions):
        number = partition % period
        if partition and not number:
            _shuffle(ring, draw)
            for rack in everyone:
                _shuffle(rack.brokers, draw)
        replicas: list[int] = []
        place = start + partition
        while len(replicas) < factor:
            replicas += ring[place % len(ring)].give(number)
            place += 1
        lists.append(replicas)
    return lists


class _Rack:
    """A rack's brokers, of which each partition gets one after the other."""

    def __init__(self, brokers: list[int], start: int) -> None:
        self.brokers = brokers
        self.start = start
        self.given = 0
        self.number = 0

    def give(self, number: int) -> list[int]:
        """The next broker for the partition of that number; none where all have been given."""
        if number != self.number:
            self.number = number
            self.given = 0
            self.start += 1
        if self.given == len(self.brokers):
            return []
        self.given += 1
        return [self.brokers[(self.start + self.given - 1) % len(self.brokers)]]


def _shuffle(items: list[Any], draw: Draw) -> None:
    """In place, from the last item on, each changing places with one up to itself."""
    for last in range(len(items) - 1, 0, -1):
        other = draw(last + 1)
        items[last], items[other] = items[other], items[last]


def _draws(seed: int) -> Draw:
    """Python promises the same ``random()`` in all its versions, and of nothing else."""
    random = Random(seed)
    return lambda below: int(random.random() * below)
