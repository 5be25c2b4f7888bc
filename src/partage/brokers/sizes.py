"""Bytes shared out instead of replicas: ``--balance bytes`` and ``--relieve``.

Balancing gives each broker a band around its fair share of the bytes, by ``--tolerance`` (2 %
unless asked otherwise), and moves as few bytes as the search finds. Relieving lets every disk be
full up to a part of it and no more, which says nothing of balance: brokers below that are only
touched as takers. A limit on moves or bytes widens the bands until what is moved fits into it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from partage.brokers.integer_program import SIZES, SMALL, NothingFitsError, packed
from partage.brokers.task import Task
from partage.errors import CannotError
from partage.flow.filling import Bands, Filled, fair_shares, fill
from partage.flow.sharing import Sharing

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NO_DISK = 2**62
_STEP, _WIDEST, _HALVINGS = 0.01, 1000.0, 8


def bands(task: Task) -> Bands:
    """What each slot should hold."""
    disk = task.cluster.disk_bytes[task.slot_brokers]
    ceiling = np.where(disk >= 0, disk, _NO_DISK)
    if task.options.relieve is None:
        return Bands(ceiling, fair_shares(task.sharing, ceiling))
    part = task.options.relief
    full = [d if d == _NO_DISK else int(d * part) for d in ceiling.tolist()]
    return Bands(np.array(full, dtype=np.int64), None)


def movable(task: Task) -> Bools:
    """[I] the items that may move: all of them; but relieving leaves those alone that only break
    the rack rule, since to mend that is another job."""
    problem = task.sharing
    if task.options.relieve is None:
        return np.ones(problem.items, dtype=np.bool_)
    item, slot = problem.owned
    held = np.zeros((problem.items, problem.zones), dtype=np.int64)
    np.add.at(held, (item, problem.zone_of[slot]), 1)
    least, most = (bound[problem.item_class][:, None] for bound in problem.bounds)
    breaks = ((held < least) | (held > most)).any(axis=1)
    complete = (held.sum(axis=1) == problem.demand) & (
        task.cluster.replication_factor[task.items] == problem.demand
    )
    return np.asarray(~(breaks & complete))


def sized(task: Task) -> tuple[Sharing, Bools]:
    """The problem of the items that may move, the others as base; and which these are [I]."""
    problem, free = task.sharing, movable(task)
    if free.all():
        return problem, free
    base_size = problem.base_size.copy()
    row, column = np.nonzero(problem.own[~free] >= 0)
    np.add.at(base_size, problem.own[~free][row, column], problem.size[~free][row])
    part = replace(
        problem,
        family=problem.family[free],
        demand=problem.demand[free],
        own=problem.own[free],
        size=problem.size[free],
        base_size=base_size,
    )
    return part, free


def fill_sizes(task: Task) -> Ints:
    """[I, any] slots of the items. Raises CannotError where a disk or a limit cannot be kept."""
    problem, free = sized(task)
    own = task.sharing.own
    if problem.items == 0:
        nothing, band = np.zeros((0, 1), dtype=np.int64), bands(task)
        if (problem.base_size > band.ceiling).any():
            raise CannotError(_overfull(task, problem, band, nothing))
        return own.copy()
    found = _filled(task, problem).slots
    slots = np.full((len(free), max(found.shape[1], own.shape[1])), -1, dtype=np.int64)
    slots[:, : own.shape[1]] = own
    slots[free] = -1
    slots[np.flatnonzero(free), : found.shape[1]] = found
    return slots


def _filled(task: Task, problem: Sharing) -> Filled:
    """Within the bands, or within the narrowest that the limits on what is moved allow."""
    limits, band = task.options.limits, bands(task)

    def affordable(found: Filled) -> bool:
        moved, size = _moved(problem, found.slots)
        return (limits.moves is None or moved <= limits.moves) and (
            limits.bytes is None or size <= limits.bytes
        )

    tolerance = float(limits.tolerance)
    found = fill(problem, band, tolerance)
    if found.tolerance is None:
        found = _packed(task, problem, band, found)
    if affordable(found):
        return found
    narrow, wide = tolerance, max(2 * tolerance, _STEP)
    cheapest = found
    while band.share is not None and wide < _WIDEST:
        cheapest = fill(problem, band, wide)
        if affordable(cheapest):
            break
        narrow, wide = wide, 2 * wide
    if not affordable(cheapest):
        moved, size = _moved(problem, cheapest.slots)
        option = "--max-moves" if limits.bytes is None else "--max-bytes-moved"
        raise CannotError(
            f"{option}: what the rules ask for moves {moved} replicas and {size} bytes"
        )
    for _ in range(_HALVINGS):
        middle = (narrow + wide) / 2
        tried = fill(problem, band, middle)
        if affordable(tried):
            wide, cheapest = middle, tried
        else:
            narrow = middle
    return cheapest


def _packed(task: Task, problem: Sharing, band: Bands, missed: Filled) -> Filled:
    """Below the ceilings by the integer program, where the search missed and the job is small."""
    if problem.items * problem.slots <= SMALL:
        room = np.where(band.ceiling >= _NO_DISK, -1, band.ceiling)
        try:
            slots = packed(problem, room, (SIZES,))
        except NothingFitsError:
            raise CannotError(
                _overfull(task, problem, band, missed.slots, "proven: no placement fits")
            ) from None
        if slots is not None and (_loads(problem, slots) <= band.ceiling).all():
            return Filled(slots, band.holding(_loads(problem, slots)))
    raise CannotError(_overfull(task, problem, band, missed.slots))


def _moved(problem: Sharing, slots: Ints) -> tuple[int, int]:
    own = np.zeros((problem.items, problem.slots), dtype=np.bool_)
    own[problem.owned] = True
    item, column = np.nonzero(slots >= 0)
    new = ~own[item, slots[item, column]]
    return int(new.sum()), int(problem.size[item[new]].sum())


def _loads(problem: Sharing, slots: Ints) -> Ints:
    """[E] sizes per slot, base included."""
    load = problem.base_size.copy()
    item, column = np.nonzero(slots >= 0)
    np.add.at(load, slots[item, column], problem.size[item])
    return load


def _overfull(
    task: Task,
    problem: Sharing,
    band: Bands,
    slots: Ints,
    why: str = "no placement that fits was found",
) -> str:
    """Names the disk that stays furthest above what it may hold."""
    load = _loads(problem, slots)
    worst = int((load - band.ceiling).argmax())
    broker = task.cluster.broker_ids[task.slot_brokers[worst]]
    allowed = int(band.ceiling[worst])
    what = f"its disk of {allowed} bytes"
    if task.options.relieve is not None:
        what = f"{task.options.relieve} of its disk, {allowed} bytes,"
    return f"broker {broker}: {what} would hold {load[worst]} ({why}): add disk or brokers"


def size_bands(task: Task, load: Ints) -> tuple[Ints, Ints]:
    """[E] the bands asked for, as far as the loads [E] keep them; where not, up to the load."""
    low, high = bands(task).at(float(task.options.limits.tolerance))
    return np.minimum(low, load), np.maximum(high, load)


def forced_moves(task: Task) -> int:
    """Replicas that must be placed anew whatever is balanced: too few are left where they may
    stay."""
    problem, _ = sized(task)
    if problem.items == 0:
        return 0
    item, slot = problem.owned
    held = np.zeros((problem.items, problem.zones), dtype=np.int64)
    np.add.at(held, (item, problem.zone_of[slot]), 1)
    least, most = (bound[problem.item_class][:, None] for bound in problem.bounds)
    kept = np.minimum(held, most).sum(axis=1)
    missing = np.maximum(least - held, 0).sum(axis=1)
    return int((problem.demand - np.minimum(kept, problem.demand - missing)).sum())
