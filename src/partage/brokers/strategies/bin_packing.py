"""Bin-packing: the ``rebuild`` of DataDog's topicmappr. By count, or by storage largest first.

*Which replicas are placed.* Those on brokers that are removed or dead, and those that a higher
replication factor adds; a lower one cuts the lists off at their end, before anything else. All
others stay. Where nothing of that kind is asked, this would do nothing: the tool calls new brokers
a no-op unless it is told to rebuild by force, that is to take every replica off and to place it
anew as if there were none. It is done by force here where no broker is removed or dead, no
replication factor is asked, and either some broker is empty or bytes are to be balanced.

*In which order.* First all leaders, then all first followers, and so on, in each of these passes
partition by partition: by name when counting, by size, the largest first, for storage.

*Where to.* Counting, to the broker with the fewest replicas; equals are shuffled. By storage, to
the broker with the most free space, which must be enough; of equals the lowest id. Never to a
broker that has the partition, nor to a rack that has it; where there are fewer racks than replicas,
racks may be used again once the partition is in all of them (what the tool calls
``--min-rack-ids``). What stays is not checked, and there is no way back from a choice: largest
first makes it unlikely that a partition finds no room at the end, but not impossible.

*Who leads.* A replica that is placed takes the place in the list of the one that goes; placed
anew, pass by pass, leaders come out even by themselves. With ``no_moves`` there is nothing to place
and the tool's ``--optimize-leadership`` is all that is done, which it leaves out if not told: it
goes through the partitions, as often as the first of them has replicas, and sorts each list by how
many partitions a broker leads for each one that it follows, counted afresh each time. Leaders come
out in proportion to replicas, not equal, and a second run may sort some lists once more. All else
is settled.

Counts are those of the chosen partitions, today's before a change of the factor; a topic that is
left out has no place in the tool's map. Free space is the disk's less all that is on it. Where no
disk is given, the disks count as equal and as never full.

Go's generator for the shuffle has not been rebuilt: equals are drawn from a fixed seed, which gives
another of the results that the tool could give. Of its other commands ``rebalance`` and ``scale``,
which move single large partitions, are not here, nor ``--sub-affinity``.

Source: github.com/DataDog/kafka-kit at version 4, ``mapper/partitions.go``, ``constraints.go`` and
``brokers.go``, with the tool's defaults (``--optimize distribution``).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt

from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_lists, refuse_moves, with_lists
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]

SEED = 1
"""Of the shuffle among equals; the tool has a fixed one, too."""

VACANT = -1
"""In a list: a replica that has to be placed."""

_BLOCKED = np.iinfo(np.int64).min
_BOTTOMLESS = 2**61


def bin_packing(problem: Problem) -> Ints:
    """Replica lists [P, R].

    Raises CannotError where a replica finds no place, where balancing bytes lacks the size of a
    partition or the disk of some brokers, and with ``no_moves`` where a replica has to move.
    """
    if problem.options.no_moves:
        refuse_moves(problem, "`no_moves` forbids the move that is needed")
        return with_lists(problem, optimised(chosen_lists(problem)))
    lists = [
        [broker if problem.usable[broker] else VACANT for broker in row[:factor]]
        + [VACANT] * (factor - len(row))
        for row, factor in zip(
            chosen_lists(problem), problem.target[problem.items].tolist(), strict=True
        )
    ]
    force = _by_force(problem)
    if force:
        lists = [[VACANT] * len(row) for row in lists]
    if problem.options.balance == "bytes":
        _place(problem, lists, _by_size(problem), _free(problem, force), problem.cluster.size_bytes)
    else:
        _place(problem, lists, range(len(lists)), _unused(problem, force), None)
    return with_lists(problem, lists)


def optimised(lists: Sequence[Sequence[int]]) -> list[list[int]]:
    """The lists, each sorted by the ratio of leaders to followers that its brokers have."""
    leads: dict[int, int] = {broker: 0 for row in lists for broker in row}
    follows = dict(leads)

    def count(row: Sequence[int], by: int) -> None:
        leads[row[0]] += by
        for broker in row[1:]:
            follows[broker] += by

    def ratio(broker: int) -> tuple[bool, float]:
        if follows[broker]:
            return False, leads[broker] / follows[broker]
        return True, leads[broker]  # infinite: last, among themselves by leaders

    ordered = [list(row) for row in lists]
    for row in ordered:
        count(row, 1)
    for _ in ordered[0]:
        for row in ordered:
            better = sorted(row, key=ratio)
            count(row, -1)
            count(better, 1)
            row[:] = better
    return ordered


def _by_force(problem: Problem) -> bool:
    """Whether everything is placed anew. Decided by the job, not by what happens to be left to do:
    the plan's own result is to be treated in the same way."""
    if not problem.usable.all() or problem.options.replication_factor:
        return False
    held = problem.cluster.replicas
    empty = np.bincount(held[held >= 0], minlength=len(problem.usable)) == 0
    return problem.options.balance == "bytes" or bool(empty.any())


def _by_size(problem: Problem) -> list[int]:
    """The chosen partitions, as positions in ``problem.items``: the largest first."""
    cluster, items = problem.cluster, problem.items
    unknown = np.flatnonzero(cluster.size_bytes < 0)
    if len(unknown):
        raise CannotError(
            f"needs the size of every partition to balance bytes: {len(unknown)} have none, among "
            f"them {cluster.names[int(unknown[0])]}"
        )
    order = np.lexsort((cluster.topic[items], cluster.partition[items], -cluster.size_bytes[items]))
    return [int(position) for position in order]


def _free(problem: Problem, force: bool) -> Ints:
    """[E] free bytes of each usable broker, with what is about to be placed anew taken off."""
    cluster, disk = problem.cluster, problem.cluster.disk_bytes[problem.slot_brokers]
    if (disk < 0).any() and not (disk < 0).all():
        broker = problem.slot_brokers[int((disk < 0).argmax())]
        raise CannotError(
            f"needs the disk_bytes of all brokers to balance bytes, or of none: broker "
            f"{cluster.broker_ids[broker]} has none"
        )
    row, column = np.nonzero(cluster.replicas >= 0)
    if force:
        stays = ~problem.chosen[row]
        row, column = row[stays], column[stays]
    used = np.zeros(len(problem.usable), dtype=np.int64)
    np.add.at(used, cluster.replicas[row, column], cluster.size_bytes[row])
    return np.where(disk < 0, _BOTTOMLESS, disk) - used[problem.slot_brokers]


def _unused(problem: Problem, force: bool) -> Ints:
    """[E] minus the replicas of the chosen partitions that each usable broker has."""
    held = problem.cluster.replicas[problem.chosen]
    used = np.bincount(held[held >= 0], minlength=len(problem.usable))[problem.slot_brokers]
    return np.zeros_like(used) if force else -used


def _place(
    problem: Problem, lists: list[list[int]], order: Sequence[int], space: Ints, size: Ints | None
) -> None:
    """Fill every vacant place of ``lists`` (broker positions), partitions in ``order``, with the
    broker that has the most ``space`` [E]: what is placed takes its ``size`` [P] (or, counting, 1)
    from it. Among equals the first, or, counting, any. Racks always leave a broker to choose: one
    of a rack that does not have the partition yet or, where all have it, any other."""
    draw = Random(SEED).random
    slot = problem.broker_slot
    rack_of = problem.cluster.rack[problem.slot_brokers]
    racks = np.unique(rack_of).tolist()
    inside = {rack: np.flatnonzero(rack_of == rack) for rack in racks}
    ruled = bool(problem.cluster.rack_names)
    for turn in range(max(map(len, lists))):
        for position in order:
            row = lists[position]
            if turn >= len(row) or row[turn] != VACANT:
                continue
            held = [int(slot[broker]) for broker in row if broker != VACANT]
            open_space = space.copy()
            open_space[held] = _BLOCKED
            used = {int(rack_of[broker]) for broker in held}
            if ruled and len(used) < min(len(row), len(racks)):
                for rack in used:
                    open_space[inside[rack]] = _BLOCKED
            best = int(open_space.argmax())
            most = open_space[best]
            takes = 1
            if size is None:
                equals = np.flatnonzero(open_space == most)
                best = int(equals[int(draw() * len(equals))])
            else:
                takes = int(size[problem.items[position]])
                if most < takes:
                    where = "in a rack of its own" if ruled else "that does not have it"
                    raise CannotError(
                        f"finds no broker {where} with {takes} bytes free for a replica of "
                        f"{problem.cluster.names[int(problem.items[position])]}"
                    )
            space[best] -= takes
            row[turn] = int(problem.slot_brokers[best])
