"""Greedy: the algorithm of dimas/kafka-reassign-tool. Fewest moves, no racks.

The tool visits the partitions once, in order. For each topic and broker it keeps two counts, of
replicas and of preferred leaders, and updates them after each partition. For each partition it

1. drops the replicas on brokers that may not be used;
2. while there are too many replicas, drops the one whose broker has the most replicas of the topic;
3. while there are too few, appends the broker with the fewest replicas of the topic;
4. looks for a better leader. Among the brokers of the list that lead fewer than
   ``partitions // brokers`` partitions of the topic, the one that leads the fewest moves to the
   front (the first one on a tie). If there is none, the leader stays.

Replicas on usable brokers never move. A new broker therefore receives only the replicas that step 3
places, however many the others hold. Step 4 may take a leader from a broker that leads few
partitions itself, and a second run may give it back: the result need not be stable.

On a tie the tool takes the broker that its hash map lists first: brokers in the order in which the
topic's lists name them, then the other brokers. The tool reads the lists in the order in which
Kafka's tool prints them; here partitions and brokers come in ascending order. The tool uses one
replication factor for all partitions; here each partition has its own. With ``no_moves`` only
step 4 runs.

Source: github.com/dimas/kafka-reassign-tool, script of April 2022 (the examples in its README come
from an older version without step 4). The survey "Kafka reassignment 方案" (sayuan.github.io, 2022)
claims that it counts replicas of all topics together; the script counts them by topic, and so does
this module.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from partage.arrays import Ints
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import (
    chosen_lists,
    chosen_topics,
    refuse_moves,
    with_lists,
)


def greedy(problem: Problem) -> Ints:
    """Replica lists [P, R]. Raises CannotError if a replica has to move with ``no_moves``."""
    if problem.options.no_moves:
        refuse_moves(problem, "`no_moves` forbids the move that is needed")
    today = chosen_lists(problem)
    brokers = problem.slot_brokers.tolist()
    factors = problem.target[problem.items].tolist()
    lists: list[list[int]] = []
    for _, begin, end in chosen_topics(problem):
        lists += relist(today[begin:end], factors[begin:end], brokers)
    return with_lists(problem, lists)


def relist(
    lists: Sequence[Sequence[int]], factors: Sequence[int], brokers: Sequence[int]
) -> list[list[int]]:
    """The replica lists of one topic, changed to their replication ``factors`` on ``brokers``."""
    # ties go to the broker that was inserted first: min and max return the first one
    held = {broker: 0 for row in lists for broker in row} | dict.fromkeys(brokers, 0)
    led = dict(held)
    for row in lists:
        led[row[0]] += 1
        for broker in row:
            held[broker] += 1
    usable, fair = set(brokers), len(lists) // len(brokers)

    relisted = []
    for before, factor in zip(lists, factors, strict=True):
        row = _resized(before, factor, usable, held)
        led[before[0]] -= 1
        led[row[0]] += 1
        leader = min(row, key=led.__getitem__)
        if led[leader] < fair:
            led[row[0]] -= 1
            led[leader] += 1
            row.remove(leader)
            row.insert(0, leader)
        relisted.append(row)
    return relisted


def _resized(
    before: Sequence[int], factor: int, usable: Collection[int], held: dict[int, int]
) -> list[int]:
    """Steps 1 to 3: the list of one partition on ``usable`` brokers, ``factor`` long. Updates
    ``held``, the replicas of the topic by broker."""
    row = [broker for broker in before if broker in usable]
    for broker in before:
        held[broker] -= broker not in usable
    while len(row) > factor:
        most = max((broker for broker in held if broker in row), key=held.__getitem__)
        row.remove(most)
        held[most] -= 1
    while len(row) < factor:
        candidates = (broker for broker in held if broker in usable and broker not in row)
        least = min(candidates, key=held.__getitem__)
        row.append(least)
        held[least] += 1
    return row
