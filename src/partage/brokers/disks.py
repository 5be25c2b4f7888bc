"""Disks never over capacity: a placement that overflows some is mended by exchanges.

The fairest placement counts replicas; where sizes differ much, a disk may still overflow. Bytes are
no flow (packing them is NP-hard), so this is a search: from an overfull broker, exchange one of its
replicas with a smaller one of another broker, which changes no count, or move one away if no
exchange helps. Each step keeps the racks, puts no other disk over its capacity, and takes the
exchange that adds the fewest moves, then the one that brings the overflow down most. It ends when
every disk fits, or says which disk cannot be relieved.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.brokers.task import Task
from partage.errors import CannotError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_STEPS = 10_000


def overfull(task: Task, replicas: Ints) -> Ints:
    """[B] bytes above capacity on each usable broker; 0 where the disk or every size is unknown."""
    row, column = np.nonzero(replicas >= 0)
    size = np.maximum(task.cluster.size_bytes, 0)
    used = np.zeros(len(task.usable), dtype=np.int64)
    np.add.at(used, replicas[row, column], size[row])
    disk = task.cluster.disk_bytes
    return np.where((disk >= 0) & task.usable, np.maximum(used - disk, 0), 0)


def relieve_disks(task: Task, replicas: Ints) -> Ints:
    """Replica sets [P, R] in which no known disk overflows; unchanged when none did.

    Raises CannotError that names the disk.
    """
    if not overfull(task, replicas).any():
        return replicas
    cluster = task.cluster
    size = np.maximum(cluster.size_bytes, 0)
    sets = replicas.copy()
    before = [set(row[row >= 0].tolist()) for row in cluster.replicas]
    disk = np.where(cluster.disk_bytes >= 0, cluster.disk_bytes, np.iinfo(np.int64).max)
    for _ in range(_STEPS):
        over = overfull(task, sets)
        if not over.any():
            return sets
        full = int(over.argmax())
        step = _best_step(task, sets, size, disk, before, full)
        if step is None:
            break
        for row, old, new in step:
            sets[row, int(np.flatnonzero(sets[row] == old)[0])] = new
    full = int(overfull(task, sets).argmax())
    raise CannotError(
        f"broker {cluster.broker_ids[full]}: found no fair placement that its disk of "
        f"{cluster.disk_bytes[full]} bytes holds ({overfull(task, sets)[full]} bytes too much): "
        "add disk or brokers"
    )


def _best_step(
    task: Task, sets: Ints, size: Ints, disk: Ints, before: list[set[int]], full: int
) -> list[tuple[int, int, int]] | None:
    """(row, from, to) changes: one exchange, or one relocation if no exchange brings relief."""
    cluster = task.cluster
    row, column = np.nonzero(sets >= 0)
    used = np.zeros(len(task.usable), dtype=np.int64)
    np.add.at(used, sets[row, column], size[row])
    holds = np.zeros((len(sets), len(task.usable)), dtype=np.bool_)
    holds[row, sets[row, column]] = True
    out = np.flatnonzero(holds[:, full] & task.chosen & (size > 0))
    rack = cluster.rack
    zoned = bool(cluster.rack_names)
    best: tuple[tuple[int, int, int, int, int], list[tuple[int, int, int]]] | None = None
    over = int(used[full] - disk[full])
    for other in np.flatnonzero(task.usable).tolist():
        if other == full or (zoned and rack[other] != rack[full]):
            continue
        leave = out[~holds[out, other]]
        come = np.flatnonzero(holds[:, other] & ~holds[:, full] & task.chosen)
        free = int(disk[other] - used[other])
        for p in leave.tolist():
            cost = (other not in before[p]) - (full not in before[p])
            fit = come[(size[come] < size[p]) & (size[p] - size[come] <= free)]
            if len(fit):
                back = np.array(
                    [(full not in before[q]) - (other not in before[q]) for q in fit.tolist()]
                )
                relief = np.minimum(size[p] - size[fit], over)
                k = int(np.lexsort((fit, -relief, back))[0])
                key = (0, cost + int(back[k]), -int(relief[k]), p, other)
                if best is None or key < best[0]:
                    best = (key, [(p, full, other), (int(fit[k]), other, full)])
            if size[p] <= free:
                key = (1, cost, -min(int(size[p]), over), p, other)
                if best is None or key < best[0]:
                    best = (key, [(p, full, other)])
    return None if best is None else best[1]
