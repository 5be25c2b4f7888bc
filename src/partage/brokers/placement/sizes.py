"""Balance bytes instead of replicas: ``balance="bytes"`` and ``relieve``.

Balancing gives each broker a band around its fair share of the bytes, by ``tolerance`` (2 % unless
given), and the search moves as few bytes as it finds. Relieving only limits how full every disk may
be: brokers below that only receive replicas. A limit on moves or bytes widens the bands until the
plan fits into it.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from partage.arrays import Bools, Ints, sums_on
from partage.brokers.options import Limits
from partage.brokers.placement.integer_program import (
    MAX_VARIABLES,
    SIZES,
    NothingFitsError,
    solve_within_disks,
)
from partage.brokers.problem import Problem
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow.assignment import MOVES, AssignmentProblem
from partage.flow.size_balancing import (
    BalancedSizes,
    Bands,
    Limit,
    balance_sizes,
    fair_shares,
    narrowest_width,
    with_single_moves,
)
from partage.units import Bytes, at_least, size

_NO_DISK = 2**62
_STEP, _WIDEST, _HALVINGS = 0.01, 1000.0, 8


def bands(problem: Problem) -> Bands:
    """The bytes that each slot may hold."""
    disk = problem.cluster.disk_bytes[problem.slot_brokers]
    ceiling = np.where(disk >= 0, disk, _NO_DISK)
    if problem.options.relieve is None:
        return Bands(ceiling, fair_shares(problem.sharing, ceiling))
    part = problem.options.relieve
    full = [d if d == _NO_DISK else int(d * part) for d in ceiling.tolist()]
    return Bands(np.array(full, dtype=np.int64), None)


def movable(problem: Problem) -> Bools:
    """[I] the items that may move: all, except that relieving disks does not repair items that only
    break the rack rule."""
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
    """The problem of the items that may move, the others as base; and which items these are [I]."""
    sharing, free = problem.sharing, movable(problem)
    if free.all():
        return sharing, free
    kept = sums_on(sharing.own[~free], sharing.size[~free], sharing.slots)
    part = replace(
        sharing,
        family=sharing.family[free],
        demand=sharing.demand[free],
        own=sharing.own[free],
        size=sharing.size[free],
        base_size=sharing.base_size + kept,
        copied=None if sharing.copied is None else sharing.copied[free],
    )
    return part, free


def balance_bytes(problem: Problem) -> Ints:
    """[I, any] slots of the items. Raises CannotError if a disk or a limit cannot be kept."""
    sharing, free = sized(problem)
    own = problem.sharing.own
    if sharing.items == 0:
        nothing, band = np.zeros((0, 1), dtype=np.int64), bands(problem)
        if (sharing.base_size > band.ceiling).any():
            raise CannotError(
                _too_full(problem, sharing, band, nothing, "proven: nothing may move")
            )
        return own.copy()
    found = _within_limits(problem, sharing).slots
    slots = np.full((len(free), max(found.shape[1], own.shape[1])), -1, dtype=np.int64)
    slots[:, : own.shape[1]] = own
    slots[free] = -1
    slots[np.flatnonzero(free), : found.shape[1]] = found
    return slots


def _within_limits(problem: Problem, sharing: AssignmentProblem) -> BalancedSizes:
    """Balanced within the bands, or within the narrowest bands that the limits on moves allow."""
    limits, band = problem.options.limits, bands(problem)
    narrow = float(limits.tolerance)
    cheapest = balance_sizes(sharing, band, narrow)
    if cheapest.tolerance is None:
        cheapest = _solve_small(problem, sharing, band, cheapest)
    if not broken_limit(limits, sharing, cheapest.slots):
        return cheapest

    def tried(width: float) -> BalancedSizes | None:
        nonlocal cheapest
        found = balance_sizes(sharing, band, width)
        if found.tolerance is None:
            return None
        cheapest = found
        return None if broken_limit(limits, sharing, found.slots) else found

    found = None
    if band.share is not None:
        found = narrowest_width(tried, narrow, max(2 * narrow, _STEP), _WIDEST, _HALVINGS)
    if found is None:
        raise CannotError(broken_limit(limits, sharing, cheapest.slots))
    limit = Limit(limits.moves, limits.bytes)
    return with_single_moves(sharing, band, narrow, found.slots, limit)


def broken_limit(limits: Limits, sharing: AssignmentProblem, slots: Ints) -> str:
    """The limit on moves or bytes that is broken, in words; empty if none is."""
    least = "the least that was found to keep the rules"
    moves, moved = sharing.costs(slots)[MOVES], sharing.size_moved(slots)
    if limits.moves is not None and moves > limits.moves:
        return f"`max_moves` {limits.moves}: {least} moves {moves} replicas"
    if limits.bytes is not None and moved > limits.bytes:
        return f"`max_bytes_moved` {Bytes(limits.bytes)!s}: {least} moves {at_least(moved)!s}"
    return ""


def _solve_small(
    problem: Problem, sharing: AssignmentProblem, band: Bands, missed: BalancedSizes
) -> BalancedSizes:
    """Below the ceilings by the integer program, for small problems in which the search failed."""
    why = "no placement that fits was found"
    if sharing.items * sharing.slots <= MAX_VARIABLES:
        capacity = np.where(band.ceiling >= _NO_DISK, -1, band.ceiling)
        try:
            slots = solve_within_disks(sharing, capacity, (SIZES,))
        except NothingFitsError:
            slots, why = None, "proven: no placement fits"
        if slots is not None and (sharing.size_on(slots) <= band.ceiling).all():
            return BalancedSizes(slots, band.holding(sharing.size_on(slots)))
    raise CannotError(_too_full(problem, sharing, band, missed.slots, why))


def _too_full(
    problem: Problem, sharing: AssignmentProblem, band: Bands, slots: Ints, why: str
) -> str:
    """A message with the disk that stays furthest above what it may hold, and ``why``, unless
    counting alone proves that nothing fits."""
    load, stays = sharing.size_on(slots), sharing.base_size
    over = stays if (stays > band.ceiling).any() else load
    worst = int((over - band.ceiling).argmax())
    broker = problem.cluster.broker_ids[problem.slot_brokers[worst]]
    allowed = int(band.ceiling[worst])
    what, where = f"its disk of {size(allowed)}", ""
    why = _proof_by_counting(sharing, band.ceiling, worst) or why
    if problem.options.relieve is not None:
        what = f"{problem.options.relieve} of its disk, {size(allowed)},"
    else:
        from partage.brokers.placement.rack_disks import too_small_rack

        rack = too_small_rack(problem)
        why, where = (f"proven: {rack.why}", f" to rack {rack.name}") if rack else (why, where)
    held = f"{size(int(load[worst]))}, {size(int(load[worst]) - allowed)} too much"
    return f"broker {broker}: {what} would hold {held} ({why}): add disk or brokers{where}"


def _proof_by_counting(sharing: AssignmentProblem, ceiling: Ints, worst: int) -> str:
    """Why no placement keeps below the ceilings [E], if counting proves it; else empty."""
    stays = sharing.base_size
    if stays[worst] > ceiling[worst]:
        return f"proven: {size(int(stays[worst]))} of them cannot move"
    free = np.maximum(ceiling - stays, 0)
    needed, total = sum((sharing.size * sharing.demand).tolist()), sum(free.tolist())
    if needed > total:
        more = f"{size(needed - total)} more than all brokers have space for"
        return f"proven: {size(needed)} must be placed, {more}"
    able = len(free) - np.searchsorted(np.sort(free), sharing.size)
    if (able < sharing.demand).any():
        large = int(sharing.size[able < sharing.demand].max())
        return f"proven: too few brokers have space for a replica of {size(large)}"
    return ""


def size_bands(problem: Problem, load: Ints) -> tuple[Ints, Ints]:
    """[E] the bands, widened to the ``load`` [E] where it is outside."""
    low, high = bands(problem).at(float(problem.options.limits.tolerance))
    return np.minimum(low, load), np.maximum(high, load)


def within_bands(problem: Problem, after: Cluster) -> bool:
    """Whether every broker's bytes are in the band that the options ask for."""
    load = problem.sharing.size_on(problem.broker_slot[after.replicas[problem.items]])
    low, high = bands(problem).at(float(problem.options.limits.tolerance))
    return bool(((low <= load) & (load <= high)).all())


def forced_moves(problem: Problem) -> int:
    """The moves that the rules force, whatever is balanced."""
    sharing, _ = sized(problem)
    held = sharing.in_zones
    least, most = (bound[:, None] for bound in sharing.item_bounds)
    kept = np.minimum(held, most).sum(axis=1)
    missing = np.maximum(least - held, 0).sum(axis=1)
    return int((sharing.demand - np.minimum(kept, sharing.demand - missing)).sum())
