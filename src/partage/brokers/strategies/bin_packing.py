"""Bin-packing: ``rebuild`` of DataDog's topicmappr, by replica count or by storage.

*Which replicas are placed.* Replicas on removed or dead brokers, and those that a higher
replication factor adds. A lower factor first cuts the end of each list. All other replicas stay. If
nothing of this applies, the tool changes nothing, not even for new brokers, unless a forced rebuild
is requested: it then places all replicas from scratch. This module forces the rebuild when no
broker is removed or dead, no replication factor is requested, and either some broker is empty or
bytes are to be balanced.

*Order.* All leaders first, then all first followers, and so on. Each pass visits the partitions by
name (by count) or by size, largest first (by storage).

*Target.* By count: the broker with the fewest replicas, a random one on a tie. By storage: the
broker with the most free space, which must suffice; the lowest id on a tie. Brokers and racks that
already have a replica of the partition are not eligible. With fewer racks than replicas, racks are
eligible again once the partition is in all of them (the tool's ``--min-rack-ids``). Replicas that
stay are not checked. The algorithm does not backtrack, so a partition may find no broker with
enough space; placing the largest first makes that unlikely.

*Leaders.* A placed replica takes the position of the one that it replaces. A forced rebuild places
the leaders in a pass of their own, which makes their counts even. With ``no_moves`` nothing is
placed and only the tool's ``--optimize-leadership`` runs, which is off by default there. It makes
as many passes over the partitions as the first one has replicas, and sorts each list by its
brokers' ratio of leaders to followers, counted again each time. Leaders become proportional to
replicas, not equal, and a second run may change some lists again. All other results are stable.

Counts cover the chosen partitions, before a change of the replication factor; the tool's map does
not contain topics that are left out. Free space is the disk size minus everything stored on it. If
no broker has a disk size, all disks count as equal and never full.

Ties are broken with a fixed seed instead of Go's random generator, which gives another of the
results that the tool could give. The commands ``rebalance`` and ``scale``, which move single large
partitions, and ``--sub-affinity`` are not implemented.

Source: github.com/DataDog/kafka-kit, version 4, ``mapper/partitions.go``, ``constraints.go`` and
``brokers.go``, with the tool's defaults (``--optimize distribution``).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from partage.arrays import Ints, sums_on
from partage.brokers.problem import Problem
from partage.brokers.strategies.lists import chosen_lists, refuse_moves, with_lists
from partage.errors import CannotError

SEED = 1
"""Seed of the random choice among ties; the tool has a fixed seed, too."""

VACANT = -1
"""Marks a position of a list whose replica has to be placed."""

_BLOCKED = np.iinfo(np.int64).min
_BOTTOMLESS = 2**61


def bin_packing(problem: Problem) -> Ints:
    """Replica lists [P, R].

    Raises CannotError if no broker can take a replica, if bytes are balanced and the size of a
    partition or the disk size of only some brokers is unknown, and if a replica has to move with
    ``no_moves``.
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
    """The lists, each sorted by its brokers' ratio of leaders to followers."""
    leads: dict[int, int] = {broker: 0 for row in lists for broker in row}
    follows = dict(leads)

    def count(row: Sequence[int], by: int) -> None:
        leads[row[0]] += by
        for broker in row[1:]:
            follows[broker] += by

    def ratio(broker: int) -> tuple[bool, float]:
        if follows[broker]:
            return False, leads[broker] / follows[broker]
        return True, leads[broker]  # an infinite ratio: last, ordered by leaders

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
    """Whether all replicas are placed again.

    Decided by the problem, not by the placement, so that a second run is treated the same way.
    """
    if not problem.usable.all() or problem.options.replication_factor:
        return False
    held = problem.cluster.replicas
    empty = np.bincount(held[held >= 0], minlength=len(problem.usable)) == 0
    return problem.options.balance == "bytes" or bool(empty.any())


def _by_size(problem: Problem) -> list[int]:
    """Positions of the chosen partitions in ``problem.items``, largest partition first."""
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
    """[E] free bytes of each usable broker, not counting replicas that will be placed again."""
    cluster, disk = problem.cluster, problem.cluster.disk_bytes[problem.slot_brokers]
    if (disk < 0).any() and not (disk < 0).all():
        broker = problem.slot_brokers[int((disk < 0).argmax())]
        raise CannotError(
            f"needs the disk_bytes of all brokers to balance bytes, or of none: broker "
            f"{cluster.broker_ids[broker]} has none"
        )
    stays = ~problem.chosen if force else np.ones_like(problem.chosen)
    used = sums_on(cluster.replicas[stays], cluster.size_bytes[stays], len(problem.usable))
    return np.where(disk < 0, _BOTTOMLESS, disk) - used[problem.slot_brokers]


def _unused(problem: Problem, force: bool) -> Ints:
    """[E] the replicas of the chosen partitions on each usable broker, negated."""
    held = problem.cluster.replicas[problem.chosen]
    used = np.bincount(held[held >= 0], minlength=len(problem.usable))[problem.slot_brokers]
    return np.zeros_like(used) if force else -used


def _place(
    problem: Problem, lists: list[list[int]], order: Sequence[int], space: Ints, size: Ints | None
) -> None:
    """Replace every VACANT of ``lists`` (broker positions), partitions in ``order``, by the broker
    with the most ``space`` [E], which shrinks by the ``size`` [P] of the replica. Ties go to the
    first broker. Without ``size`` each replica counts 1, and ties are random. The rack rule always
    leaves an eligible broker: in a rack without the partition or, if there is none, in any rack."""
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
                    where = "in another rack" if ruled else "that does not have it"
                    raise CannotError(
                        f"finds no broker {where} with {takes} bytes free for a replica of "
                        f"{problem.cluster.names[int(problem.items[position])]}"
                    )
            space[best] -= takes
            row[turn] = int(problem.slot_brokers[best])
