"""Rack-greedy: the method of SiftScience/kafka-assigner. Keeps what fits, one replica per rack.

The tool takes the topics one after the other, each for itself:

1. Each broker may hold ``ceil(partitions x replication factor / brokers)`` replicas of the topic,
   and at most one of a partition; so may each rack: never two replicas of a partition in one. A
   cluster without racks has one for each broker.
2. Today's replicas go back to their brokers, first the leaders of all partitions, then all first
   followers, and so on; one that its broker or rack cannot accept any more is an orphan.
3. Each partition in turn hands its orphans to the first brokers that accept them. All partitions
   of a topic begin their search at the same broker, which a hash of the topic's name chooses, and
   go on by broker id.
4. The order of each list is chosen again. For each place of the list, from the leader on, it takes
   that of the remaining brokers which has stood in that place least often; equals in
   the order of step 3. These counts go on from topic to topic.

What step 2 finds after a plan fits within the capacities, and step 4 ignores today's order:
a second run changes nothing. Nothing is done about the load of all topics together: with few
partitions in each topic, ``ceil`` gives some broker one replica more time and again.

There is no way back from a choice: the last partitions may find all brokers with room taken though
an answer exists. That is common where racks have unequal numbers of brokers, as the tool's own
documentation says, and certain where there are fewer racks than replicas. Nor does it reliably
lower a replication factor: step 2 takes back every replica for which there is room. The tool then
writes down too many replicas; here that is refused. Topics come in order of name, in the tool as
ZooKeeper happens to list them.

Source: github.com/SiftScience/kafka-assigner, ``KafkaAssignmentStrategy`` of version 1.1, in turn
made after Apache Helix's automatic rebalancing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_lists, chosen_topics, one_factor, with_lists
from partage.errors import CannotError


def rack_greedy(problem: Problem) -> npt.NDArray[np.int64]:
    """Replica lists [P, R].

    Raises CannotError with ``no_moves``, where a topic's partitions ask for different replication
    factors, where a replica finds no place, and where a lower factor is not reached.
    """
    if problem.options.no_moves:
        raise CannotError("moves replicas by design: it fills brokers up to an equal capacity")
    brokers = problem.slot_brokers.tolist()
    # without racks each broker is one of its own
    racks = problem.cluster.rack[brokers].tolist() if problem.cluster.rack_names else brokers
    rack_of = dict(zip(brokers, racks, strict=True))
    today = chosen_lists(problem)
    seen: Seen = {}
    lists: list[list[int]] = []
    for topic, begin, end in chosen_topics(problem):
        factor = one_factor(problem, begin, end, "assigns a topic with one replication factor")
        shift = abs(java_hash(topic))
        sets = place(today[begin:end], factor, rack_of, shift)
        for row, held in zip(problem.items[begin:end].tolist(), sets, strict=True):
            _check(problem, row, len(held), factor)
        lists += [order(sorted(held), shift, seen) for held in sets]
    return with_lists(problem, lists)


Seen = dict[tuple[int, int], int]
"""How often each (broker, place in a list) has been taken."""


def place(
    lists: Sequence[Sequence[int]], factor: int, rack_of: dict[int, int], shift: int
) -> list[set[int]]:
    """Steps 1 to 3: the brokers of each partition of one topic, ``factor`` of them, or fewer where
    no broker accepts more, or more where today's fit."""
    capacity = -(-len(lists) * factor // len(rack_of))
    free = dict.fromkeys(rack_of, capacity)
    held: list[set[int]] = [set() for _ in lists]
    racks: list[set[int]] = [set() for _ in lists]

    def accepted(partition: int, broker: int) -> bool:
        if not free.get(broker) or rack_of[broker] in racks[partition]:
            return False
        free[broker] -= 1
        held[partition].add(broker)
        racks[partition].add(rack_of[broker])
        return True

    for position in range(max(map(len, lists))):
        for partition, row in enumerate(lists):
            if position < len(row):
                accepted(partition, row[position])
    ring = turned(sorted(rack_of), shift)
    for partition in range(len(lists)):
        missing = factor - len(held[partition])
        for broker in ring:
            if missing <= 0:
                break
            missing -= accepted(partition, broker)
    return held


def order(brokers: Sequence[int], shift: int, seen: Seen) -> list[int]:
    """Step 4: the ascending ``brokers`` of one partition as its list; counts it in ``seen``."""
    left = list(brokers)
    ordered = []
    for position in range(len(left)):
        least = min(turned(left, shift), key=lambda broker: seen.get((broker, position), 0))
        left.remove(least)
        ordered.append(least)
    for position, broker in enumerate(ordered):
        seen[broker, position] = seen.get((broker, position), 0) + 1
    return ordered


def turned(brokers: Sequence[int], shift: int) -> list[int]:
    """The brokers in the order in which a topic is to come to them: the first of them stands at
    the place that ``shift`` gives it, and the end goes on at the beginning."""
    start = -shift % len(brokers)
    return [*brokers[start:], *brokers[:start]]


def java_hash(text: str) -> int:
    """``String.hashCode`` of an ASCII string."""
    value = 0
    for byte in text.encode("ascii"):
        value = (31 * value + byte) & 0xFFFFFFFF
    return value - (value >> 31 << 32)


def _check(problem: Problem, row: int, count: int, factor: int) -> None:
    name = problem.cluster.names[row]
    if count < factor:
        where = " in a rack that has none" if problem.cluster.rack_names else ""
        raise CannotError(
            f"finds no place for {factor - count} of the {factor} replicas of {name}: no broker "
            f"with free capacity is left{where}"
        )
    if count > factor:
        raise CannotError(
            f"keeps every replica within its broker's capacity: {name} would have {count} "
            f"replicas, not {factor}"
        )
