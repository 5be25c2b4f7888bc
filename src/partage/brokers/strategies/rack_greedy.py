"""Rack-greedy: the algorithm of SiftScience/kafka-assigner. One replica per rack, few moves.

The tool processes the topics independently, one after the other:

1. Each broker may hold at most ``ceil(partitions x replication factor / brokers)`` replicas of the
   topic. Each broker and each rack may hold at most one replica of a partition. In a cluster
   without racks each broker is its own rack.
2. Current replicas stay on their brokers if these rules allow it: first the leaders of all
   partitions, then all first followers, and so on. The others become orphans.
3. Each partition in turn gives its orphans to the first brokers that accept them. For all
   partitions of a topic the search starts at the same broker, which a hash of the topic's name
   selects, and continues by broker id.
4. The order of each list is chosen from scratch. Each position, starting with the leader, takes the
   remaining broker that has been in that position least often; ties follow the order of step 3.
   These counts are kept from topic to topic.

A second run changes nothing: step 2 finds that all replicas fit the capacities, and step 4 ignores
the current order. The load over all topics is not balanced: with few partitions per topic, ``ceil``
repeatedly gives some broker one replica more.

The algorithm does not backtrack: the last partitions may find every eligible broker full although a
solution exists. This is common when racks have different numbers of brokers, as the tool's
documentation states, and certain with fewer racks than replicas. Nor does the algorithm reliably
lower a replication factor: step 2 keeps every replica that fits. The tool then writes too many
replicas; here that is an error. Topics are processed in order of name, in the tool in the order in
which ZooKeeper lists them.

Source: github.com/SiftScience/kafka-assigner, ``KafkaAssignmentStrategy`` of version 1.1, which is
modelled on Apache Helix's automatic rebalancing.
"""

from __future__ import annotations

from collections.abc import Sequence

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_lists, chosen_topics, one_factor, with_lists
from partage.errors import CannotError


def rack_greedy(problem: Problem) -> Ints:
    """Replica lists [P, R].

    Raises CannotError with ``no_moves``, if the partitions of a topic need different replication
    factors, if no broker can take a replica, and if a lower factor is not reached.
    """
    if problem.options.no_moves:
        raise CannotError("moves replicas by design: it fills brokers up to an equal capacity")
    brokers = problem.slot_brokers.tolist()
    # without racks each broker is its own rack
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
"""How often each (broker, position in a list) has been used."""


def place(
    lists: Sequence[Sequence[int]], factor: int, rack_of: dict[int, int], shift: int
) -> list[set[int]]:
    """Steps 1 to 3: the brokers of each partition of one topic. Normally ``factor`` of them; fewer
    if no broker accepts another, more if the current ones fit."""
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
    ring = rotated(sorted(rack_of), shift)
    for partition in range(len(lists)):
        missing = factor - len(held[partition])
        for broker in ring:
            if missing <= 0:
                break
            missing -= accepted(partition, broker)
    return held


def order(brokers: Sequence[int], shift: int, seen: Seen) -> list[int]:
    """Step 4: the list of a partition on ``brokers``, which are ascending. Updates ``seen``."""
    left = list(brokers)
    ordered = []
    for position in range(len(left)):
        least = min(rotated(left, shift), key=lambda broker: seen.get((broker, position), 0))
        left.remove(least)
        ordered.append(least)
    for position, broker in enumerate(ordered):
        seen[broker, position] = seen.get((broker, position), 0) + 1
    return ordered


def rotated(brokers: Sequence[int], shift: int) -> list[int]:
    """The brokers, rotated so that the first one is at position ``shift`` modulo their number."""
    start = -shift % len(brokers)
    return [*brokers[start:], *brokers[:start]]


def java_hash(text: str) -> int:
    """Java's ``String.hashCode`` of an ASCII string."""
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
