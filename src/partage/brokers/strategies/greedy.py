"""Greedy: the method of dimas/kafka-reassign-tool. No more moves than needed, no racks.

The tool goes through the partitions once, one by one, and keeps two counts for each topic and
broker: replicas and preferred leaders, as the lists stand at that moment. With each partition it

1. drops the replicas on brokers that are not to be used;
2. while there are too many, drops the one whose broker has the most replicas of the topic;
3. while there are too few, adds at the list's end the broker with the fewest replicas of the topic;
4. looks for a better leader: of the brokers in the list that lead fewer partitions of the topic
   than ``partitions // brokers``, the one that leads fewest goes to the front, the first of the
   list where several do. Where none leads fewer than that, the leader stays.

Replicas that are where they may be never move: a new broker gets what step 3 has to place and
nothing else, however much the others hold. Step 4 may take a leadership from a broker that has few
itself; a second run may hand it back, so that a result need not be settled.

Where counts are equal the tool takes what its hash lists first: the brokers in the order in which
the topic's lists name them, then those that they do not name. It reads the lists in the order in
which Kafka's tool happens to print them; here they come in ascending order, and so do the brokers.
The tool brings everything that it is given to one replication factor; here each partition gets its
own, which the method, looking at one partition at a time, does not notice. With ``no_moves`` step 4
alone remains.

Source: github.com/dimas/kafka-reassign-tool, its script of April 2022 (the examples of its README
are those of an older one, which did not have step 4). The survey "Kafka reassignment 方案"
(sayuan.github.io, 2022) says that it counts replicas whatever their topic; the script counts them
by topic, and so does this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import (
    chosen_lists,
    chosen_topics,
    refuse_moves,
    with_lists,
)


def greedy(problem: Problem) -> npt.NDArray[np.int64]:
    """Replica lists [P, R]. Raises CannotError where ``no_moves`` and a replica has to move."""
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
    """The replica lists of one topic, brought to their replication ``factors`` on ``brokers``."""
    # the order in which brokers enter decides between equals: min and max take the first
    held = {broker: 0 for row in lists for broker in row} | dict.fromkeys(brokers, 0)
    led = dict(held)
    for row in lists:
        led[row[0]] += 1
        for broker in row:
            held[broker] += 1
    usable = set(brokers)
    fair = len(lists) // len(brokers)

    relisted = []
    for before, factor in zip(lists, factors, strict=True):
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
