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

from partage.brokers.options import Limits
from partage.brokers.placing.integer_program import SIZES, SMALL, NothingFitsError, packed
from partage.brokers.problem import Problem
from partage.errors import CannotError
from partage.flow.assignment import MOVES, AssignmentProblem
from partage.flow.size_balancing import (
    BalancedSizes,
    Bands,
    balance_sizes,
    fair_shares,
    narrowest_width,
)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NO_DISK = 2**62
_STEP, _WIDEST, _HALVINGS = 0.01, 1000.0, 8


def bands(problem: Problem) -> Bands:
    """What each slot should hold."""
    disk = problem.cluster.disk_bytes[problem.slot_brokers]
    ceiling = np.where(disk >= 0, disk, _NO_DISK)
    if problem.options.relieve is None:
        return Bands(ceiling, fair_shares(problem.sharing, ceiling))
    part = problem.options.relief
    full = [d if d == _NO_DISK else int(d * part) for d in ceiling.tolist()]
    return Bands(np.array(full, dtype=np.int64), None)


def movable(problem: Problem) -> Bools:
    """[I] the items that may move: all of them; but relieving leaves those alone that only break
    the rack rule, since to mend that is another job."""
    sharing = problem.sharing
    if problem.options.relieve is None:
        return np.ones(sharing.items, dtype=np.bool_)
    held = sharing.in_zones
    least, most = (bound[:, None] for bound in sharing.item_bounds)
    breaks = ((held < least) | (held > most)).any(axis=1)
    complete = (held.sum(axis=1) == sharing.demand) & (
        problem.cluster.replication_factor[problem.items] == sharing.demand
    )
    return np.asarray(~(breaks & complete))


def sized(problem: Problem) -> tuple[AssignmentProblem, Bools]:
    """The problem of the items that may move, the others as base; and which these are [I]."""
    sharing, free = problem.sharing, movable(problem)
    if free.all():
        return sharing, free
    base_size = sharing.base_size.copy()
    row, column = np.nonzero(sharing.own[~free] >= 0)
    np.add.at(base_size, sharing.own[~free][row, column], sharing.size[~free][row])
    part = replace(
        sharing,
        family=sharing.family[free],
        demand=sharing.demand[free],
        own=sharing.own[free],
        size=sharing.size[free],
        base_size=base_size,
    )
    return part, free


def fill_sizes(problem: Problem) -> Ints:
    """[I, any] slots of the items. Raises CannotError where a disk or a limit cannot be kept."""
    sharing, free = sized(problem)
    own = problem.sharing.own
    if sharing.items == 0:
        nothing, band = np.zeros((0, 1), dtype=np.int64), bands(problem)
        if (sharing.base_size > band.ceiling).any():
            raise CannotError(
                _overfull(problem, sharing, band, nothing, "proven: nothing may move")
            )
        return own.copy()
    found = _filled(problem, sharing).slots
    slots = np.full((len(free), max(found.shape[1], own.shape[1])), -1, dtype=np.int64)
    slots[:, : own.shape[1]] = own
    slots[free] = -1
    slots[np.flatnonzero(free), : found.shape[1]] = found
    return slots


def _filled(problem: Problem, sharing: AssignmentProblem) -> BalancedSizes:
    """Within the bands, or within the narrowest that the limits on what is moved allow."""
    limits, band = problem.options.limits, bands(problem)
    narrow = float(limits.tolerance)
    cheapest = balance_sizes(sharing, band, narrow)
    if cheapest.tolerance is None:
        cheapest = _packed(problem, sharing, band, cheapest)
    if not _beyond(limits, sharing, cheapest.slots):
        return cheapest

    def tried(width: float) -> BalancedSizes | None:
        nonlocal cheapest
        found = balance_sizes(sharing, band, width)
        if found.tolerance is None:
            return None
        cheapest = found
        return None if _beyond(limits, sharing, found.slots) else found

    found = None
    if band.share is not None:
        found = narrowest_width(tried, narrow, max(2 * narrow, _STEP), _WIDEST, _HALVINGS)
    if found is None:
        raise CannotError(_beyond(limits, sharing, cheapest.slots))
    return found


def _beyond(limits: Limits, sharing: AssignmentProblem, slots: Ints) -> str:
    """Which limit on what is moved is not kept, in words; empty where all are."""
    least = "the least that was found to keep the rules"
    moves, size = sharing.costs(slots)[MOVES], sharing.size_moved(slots)
    if limits.moves is not None and moves > limits.moves:
        return f"--max-moves {limits.moves}: {least} moves {moves} replicas"
    if limits.bytes is not None and size > limits.bytes:
        return f"--max-bytes-moved {limits.bytes} bytes: {least} moves {size}"
    return ""


def _packed(
    problem: Problem, sharing: AssignmentProblem, band: Bands, missed: BalancedSizes
) -> BalancedSizes:
    """Below the ceilings by the integer program, where the search missed and the job is small."""
    why = "no placement that fits was found"
    if sharing.items * sharing.slots <= SMALL:
        room = np.where(band.ceiling >= _NO_DISK, -1, band.ceiling)
        try:
            slots = packed(sharing, room, (SIZES,))
        except NothingFitsError:
            slots, why = None, "proven: no placement fits"
        if slots is not None and (sharing.size_on(slots) <= band.ceiling).all():
            return BalancedSizes(slots, band.holding(sharing.size_on(slots)))
    raise CannotError(_overfull(problem, sharing, band, missed.slots, why))


def _overfull(
    problem: Problem, sharing: AssignmentProblem, band: Bands, slots: Ints, why: str
) -> str:
    """Names the disk that stays furthest above what it may hold, first of those that nothing can
    help; and ``why``, unless counting tells more."""
    load, stays = sharing.size_on(slots), sharing.base_size
    over = stays if (stays > band.ceiling).any() else load
    worst = int((over - band.ceiling).argmax())
    broker = problem.cluster.broker_ids[problem.slot_brokers[worst]]
    allowed = int(band.ceiling[worst])
    what = f"its disk of {allowed} bytes"
    if problem.options.relieve is not None:
        what = f"{problem.options.relieve} of its disk, {allowed} bytes,"
    why = _hopeless(sharing, band.ceiling, worst) or why
    return f"broker {broker}: {what} would hold {load[worst]} ({why}): add disk or brokers"


def _hopeless(sharing: AssignmentProblem, ceiling: Ints, worst: int) -> str:
    """Why no placement whatever keeps below the ceilings [E], where counting tells; else empty."""
    stays = sharing.base_size
    if stays[worst] > ceiling[worst]:
        return f"proven: {stays[worst]} of them are left in place"
    room = np.maximum(ceiling - stays, 0)
    wanted, free = sum((sharing.size * sharing.demand).tolist()), sum(room.tolist())
    if wanted > free:
        return f"proven: {wanted} bytes are to be placed, all brokers have room for {free}"
    able = len(room) - np.searchsorted(np.sort(room), sharing.size)
    if (able < sharing.demand).any():
        large = int(sharing.size[able < sharing.demand].max())
        return f"proven: replicas of {large} bytes find too few brokers with room for one"
    return ""


def size_bands(problem: Problem, load: Ints) -> tuple[Ints, Ints]:
    """[E] the bands asked for, as far as the loads [E] keep them; where not, up to the load."""
    low, high = bands(problem).at(float(problem.options.limits.tolerance))
    return np.minimum(low, load), np.maximum(high, load)


def forced_moves(problem: Problem) -> int:
    """Replicas that must be placed anew whatever is balanced: too few are left where they may
    stay."""
    sharing, _ = sized(problem)
    held = sharing.in_zones
    least, most = (bound[:, None] for bound in sharing.item_bounds)
    kept = np.minimum(held, most).sum(axis=1)
    missing = np.maximum(least - held, 0).sum(axis=1)
    return int((sharing.demand - np.minimum(kept, sharing.demand - missing)).sum())
