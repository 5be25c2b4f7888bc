"""A plan cut into waves, so that no broker receives or sends too much at a time.

A new replica is fetched from the partition's leader. Partitions are taken by falling bytes, each
whole (all its new replicas at once), into the first wave in which no broker then receives more than
``concurrency`` replicas nor sends more than that as leader; a partition that alone asks for more
gets its leader to itself. What changes order only moves no data and forms the last wave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import changed_rows, new_replicas
from partage.cluster import Cluster

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wave:
    """``rows`` of the partitions reassigned together, how many replicas and bytes they fetch, and
    the ``seconds`` that takes at the throttle (None without one or without sizes)."""

    rows: Ints
    moves: int
    bytes: int | None
    seconds: int | None


def cut_into_waves(
    before: Cluster, after: Cluster, concurrency: int, throttle: int | None
) -> list[Wave]:
    """The plan's waves in the order of execution; none when nothing changes."""
    changed = changed_rows(before, after)
    row, target = new_replicas(before, after)
    brokers = len(before.brokers)
    size = np.maximum(before.size_bytes, 0)
    start = np.searchsorted(row, np.arange(before.partitions + 1))
    alive = np.append(before.alive, False)[before.replicas]
    source = np.where(
        alive.any(axis=1), before.replicas[np.arange(len(alive)), alive.argmax(axis=1)], -1
    )
    moving = np.unique(row)
    weight = size[moving] * np.diff(start)[moving]
    order = moving[np.lexsort((moving, -weight))]
    incoming = np.zeros((1, brokers), dtype=np.int64)
    outgoing = np.zeros((1, brokers), dtype=np.int64)
    members: list[list[int]] = [[]]
    for p in order.tolist():
        targets = target[start[p] : start[p + 1]]
        leader, count = int(source[p]), len(targets)
        fits = (incoming[:, targets] < concurrency).all(axis=1)
        if leader >= 0:
            fits &= (outgoing[:, leader] + count <= concurrency) | (outgoing[:, leader] == 0)
        wave = int(fits.argmax()) if fits.any() else len(members)
        if wave == len(members):
            members.append([])
            if len(incoming) <= wave:
                incoming = np.vstack((incoming, np.zeros_like(incoming)))
                outgoing = np.vstack((outgoing, np.zeros_like(outgoing)))
        incoming[wave, targets] += 1
        if leader >= 0:
            outgoing[wave, leader] += count
        members[wave].append(p)
    waves = [
        _wave(np.sort(np.array(rows, dtype=np.int64)), start, target, source, before, throttle)
        for rows in members
        if rows
    ]
    rest = np.setdiff1d(changed, moving)
    if len(rest):
        known = bool((before.size_bytes >= 0).any())
        waves.append(Wave(rest, 0, 0 if known else None, 0 if known and throttle else None))
    return waves


def _wave(
    rows: Ints, start: Ints, target: Ints, source: Ints, before: Cluster, throttle: int | None
) -> Wave:
    each = start[rows + 1] - start[rows]
    moves = int(each.sum())
    if (before.size_bytes < 0).all():
        return Wave(rows, moves, None, None)
    size = np.maximum(before.size_bytes, 0)[rows]
    total = int((size * each).sum())
    if throttle is None:
        return Wave(rows, moves, total, None)
    busy = np.zeros((2, len(before.brokers)), dtype=np.int64)
    of = np.concatenate([np.arange(start[r], start[r + 1]) for r in rows.tolist()])
    np.add.at(busy[0], target[of], np.repeat(size, each))
    led = source[rows] >= 0
    np.add.at(busy[1], source[rows][led], (size * each)[led])
    return Wave(rows, moves, total, int(-(-int(busy.max()) // throttle)))
