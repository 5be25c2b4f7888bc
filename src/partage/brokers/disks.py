"""Disks never over capacity: a placement that overflows some is made anew, or mended.

The fairest placement counts replicas; where sizes differ much, a disk may still overflow. Bytes are
no flow (packing them is NP-hard). A small job is given to an integer program (HiGHS): the fairest
loads, then the fewest moves, that the disks allow, or the proof that nothing fits. A larger one, or
one that runs out of time, is mended by a search: from an overfull broker, exchange one of its
replicas with a smaller one of another broker, which changes no count, or move one away if no
exchange helps. Each step keeps the racks, puts no other disk over its capacity, and takes the
exchange that adds the fewest moves, then the one that brings the overflow down most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.brokers.task import Task
from partage.errors import CannotError
from partage.flow.sharing.problem import as_rows

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_STEPS = 10_000
_SMALL = 4_000
"""Replicas times brokers up to which the integer program is asked."""
_SECONDS = 20.0


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
    if task.sharing.items * task.sharing.slots <= _SMALL:
        try:
            slots = _by_integer_program(task)
        except _TooSmallError:
            raise _cannot(task, replicas, "proven: no placement fits all disks") from None
        if slots is not None:
            made = task.replicas_of(slots)
            if not overfull(task, made).any():
                return made
    return _by_exchanges(task, replicas)


class _TooSmallError(Exception):
    """No placement at all fits the disks."""


def _cannot(task: Task, replicas: Ints, why: str) -> CannotError:
    """Names the disk that overflows most."""
    over = overfull(task, replicas)
    full = int(over.argmax())
    return CannotError(
        f"broker {task.cluster.broker_ids[full]}: its disk of {task.cluster.disk_bytes[full]} "
        f"bytes overflows by {over[full]} ({why}): add disk or brokers"
    )


def _by_integer_program(task: Task) -> Ints | None:
    """Slots [I, any] with fairest loads, then fewest moves, within the disks; None when it ran out
    of time. Raises _TooSmallError when nothing fits."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    problem = task.sharing
    items, e, zones = problem.items, problem.slots, problem.zones
    least, most = (bound[problem.item_class] for bound in problem.bounds)
    placed = items * e
    # one binary per (item, slot), then one unit of load per (slot, level) whose cost rises
    item, slot = np.divmod(np.arange(placed), e)
    level = np.tile(np.arange(items), e)
    of_slot = np.repeat(np.arange(e), items)
    disk = task.cluster.disk_bytes[task.slot_brokers]
    room = (disk - problem.base_size).astype(np.float64)
    scale = np.maximum(np.abs(room), 1.0)
    rows = np.concatenate((item, items + item * zones + problem.zone_of[slot]))
    at = items + items * zones
    fits = np.flatnonzero(disk[slot] >= 0)
    rows = np.concatenate((rows, at + slot, at + of_slot, at + e + slot[fits]))
    columns = np.concatenate(
        (np.tile(np.arange(placed), 3), placed + np.arange(placed), np.arange(placed)[fits])
    )
    share_of_disk = problem.size[item[fits]] / scale[slot[fits]]
    values = np.concatenate((np.ones(3 * placed), -np.ones(placed), share_of_disk))
    matrix = coo_array((values, (rows, columns)), shape=(at + 2 * e, 2 * placed)).tocsr()
    within = np.where(disk >= 0, room / scale, np.inf)
    demand = problem.demand.astype(np.float64)
    low = np.concatenate((demand, np.repeat(least, zones), np.zeros(e), np.full(e, -np.inf)))
    high = np.concatenate((demand, np.repeat(most, zones), np.zeros(e), within))
    load = problem.weight[of_slot] * (2 * (problem.base[of_slot] + level) + 1)
    sits = np.zeros((items, e), dtype=np.bool_)
    sits[problem.owned] = True
    costs = (
        np.concatenate((np.zeros(placed), load)).astype(np.float64),
        np.concatenate((~sits.ravel(), np.zeros(placed))).astype(np.float64),
    )
    rules = [LinearConstraint(matrix, low, high)]
    answer = None
    for cost in costs:
        found = milp(
            cost,
            integrality=np.concatenate((np.ones(placed), np.zeros(placed))),
            bounds=Bounds(0, 1),
            constraints=rules,
            options={"time_limit": _SECONDS},
        )
        if found.status == 2 and answer is None:
            raise _TooSmallError
        if found.x is None:
            break
        answer = found.x[:placed].reshape(items, e) > 0.5
        rules.append(LinearConstraint(cost, -np.inf, round(float(found.fun)) + 0.5))
    if answer is None:
        return None
    return as_rows(problem, *(axis.astype(np.int64) for axis in np.nonzero(answer)))


def _by_exchanges(task: Task, replicas: Ints) -> Ints:
    """The sets mended step by step. CannotError, naming the disk, when no step is left."""
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
    raise _cannot(task, sets, "no exchange of replicas was found that helps")


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
