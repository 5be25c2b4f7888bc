"""Fair replica counts within a budget: ``tolerance``, ``max_moves`` and ``max_bytes_moved``.

A tolerance widens each broker's fair count to a window; of all loads within the windows, those with
the fewest moves are chosen. With a limit on moves, the fairest loads that so many moves reach are
chosen. Both choices are made on classes of equal partitions (``flow.assignment.trade_off``), and
the placement is the assignment that aims at the chosen loads. In rare cases no placement has them:
within a tolerance, the assignment with these windows is then solved exactly. Bytes are not a flow
problem: where a plan moves too many, smaller partitions move instead of larger ones, of the same
topic first, which keeps every count. Where that is not enough, the plan makes fewer moves;
bisection finds how many fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Ints
from partage.brokers.options import Limits
from partage.errors import CannotError
from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem, assign
from partage.flow.assignment.trade_off import Trade, aimed, fairest, loads_for, loads_within
from partage.units import Bytes, at_least, plural

TOLERANCE, MAX_MOVES, MAX_BYTES = "tolerance", "max-moves", "max-bytes-moved"

_CORRECTIONS = 4
"""Attempts to reach a limit on moves; each aims at the moves that the last made too many."""


class Budgeted(Struct, frozen=True, eq=False):
    """An assignment within the limits.

    - ``sharing``: the problem solved, which may be one that aims at the loads ``aim`` [E]
    - ``slots`` [I, any]: the answer, which may differ from ``share.slots`` to move fewer bytes
    - ``kind``: the limit that takes effect, None without one; ``fair``: the loads without limits
    - ``trade``: the loads aimed at, and their prices
    - ``windows``: those of the tolerance, None without one
    """

    sharing: AssignmentProblem
    share: Assignment
    slots: Ints
    aim: Ints | None = None
    kind: str | None = None
    fair: Trade | None = None
    trade: Trade | None = None
    windows: Windows | None = None


class Windows(Struct, frozen=True, eq=False):
    """The loads that a tolerance allows, ``low`` to ``high`` [E], and the prices [E] that prove how
    many moves they need."""

    low: Ints
    high: Ints
    slot_price: Ints


def within_limits(sharing: AssignmentProblem, order: Sequence[str], limits: Limits) -> Budgeted:
    """The fairest assignment, or the best within the limits.

    Raises CannotError where the moves that the rules force break a limit.
    """
    if not limits.any or sharing.items == 0:
        fairest_of_all = assign(sharing, order)
        return Budgeted(sharing, fairest_of_all, fairest_of_all.slots)
    fair = fairest(sharing)
    found = _within_moves(sharing, order, limits, fair, limits.moves)
    if limits.bytes is None:
        return found
    return _within_bytes(sharing, order, limits, fair, found)


def fair_window(sharing: AssignmentProblem, price: Ints, tolerance: Fraction) -> tuple[Ints, Ints]:
    """[E] the fewest and the most replicas that are fair at the dual values ``price`` [E] (the next
    replica costs at least the price, the last one at most), widened by ``tolerance``. Where the
    replicas that stay force a higher count, or the partitions are too few, that count is fair."""
    low, high = [], []
    least, most = sharing.base, sharing.base + sharing.items
    for p, w, a, b in zip(
        price.tolist(), sharing.weight.tolist(), least.tolist(), most.tolist(), strict=True
    ):
        fewest, largest = (_between(a, n, b) for n in (-(-(p - w) // (2 * w)), (p + w) // (2 * w)))
        low.append(_between(a, ceil(fewest * (1 - tolerance)), b))
        high.append(_between(a, floor(largest * (1 + tolerance)), b))
    return np.array(low), np.array(high)


def _between(least: int, count: int, most: int) -> int:
    return min(max(count, least), most)


def _within_moves(
    sharing: AssignmentProblem, order: Sequence[str], limits: Limits, fair: Trade, moves: int | None
) -> Budgeted:
    """The best counts within the tolerance and with at most ``moves``."""
    trade, kind, windows = fair, None, None
    found: Budgeted | None = None
    if limits.tolerance:
        found = _within_windows(sharing, order, fair, limits.tolerance)
        trade, kind, windows = found.trade or fair, found.kind, found.windows
    allowed = moves
    for _ in range(_CORRECTIONS):
        if allowed is not None and trade.moves > allowed:
            fewer = loads_for(sharing, allowed)
            if fewer is None:
                break
            trade, kind, found = fewer, MAX_MOVES, None
        if found is None:
            found = _aim_at(sharing, order, fair, trade, kind, windows)
        made = found.sharing.costs(found.share.slots)[MOVES]
        if moves is None or made <= moves:
            return found
        # the loads chosen assumed that no partition is in the way of another
        allowed = (moves if allowed is None else allowed) - (made - moves)
    # the fewest moves that the rules force are known exactly
    assert moves is not None
    slots, fewest = _fewest(sharing)
    bound = loads_for(sharing, moves)
    if fewest > moves or bound is None:
        raise CannotError(f"`max_moves` {moves}: {_forced(sharing, fewest)}")
    trade = replace(bound, load=sharing.loads(slots), moves=fewest)
    return _aim_at(sharing, order, fair, trade, MAX_MOVES, windows)


def _within_windows(
    sharing: AssignmentProblem, order: Sequence[str], fair: Trade, tolerance: Fraction
) -> Budgeted:
    """The fewest moves to loads within the tolerance, then the fairest of these loads; without
    ``kind`` where the fairest loads of all need no more moves."""
    low, high = fair_window(sharing, fair.slot_price, tolerance)
    trade = loads_within(sharing, low, high)
    assert trade is not None, "the fairest loads are within their windows"
    windows = Windows(low, high, trade.slot_price)
    if trade.moves < fair.moves:
        found = _aim_at(sharing, order, fair, trade, TOLERANCE, windows)
        costs = found.sharing.costs(found.slots)
        if costs[LOAD] == 0 and costs[MOVES] == trade.moves:
            return found
    plain = _aim_at(sharing, order, fair, fair, None, windows)
    plain_moves = sharing.costs(plain.slots)[MOVES]
    if plain_moves == trade.moves:
        return plain
    # no assignment has these loads and moves: here items of equal demand are not interchangeable
    exact = assign(replace(sharing, window=(low, high)), (MOVES, LOAD, SPREAD))
    moves = sharing.costs(exact.slots)[MOVES]
    windows = Windows(low, high, exact.prices[MOVES][0])
    if plain_moves == moves:
        return replace(plain, windows=windows)
    trade = Trade(sharing.loads(exact.slots), moves, 0, windows.slot_price)
    return _aim_at(sharing, order, fair, trade, TOLERANCE, windows)


def _fewest(sharing: AssignmentProblem) -> tuple[Ints, int]:
    """The slots with the fewest moves that keep the rules, however unfair, and their moves."""
    slots = assign(sharing, (MOVES, LOAD, SPREAD)).slots
    return slots, sharing.costs(slots)[MOVES]


def _aim_at(
    sharing: AssignmentProblem,
    order: Sequence[str],
    fair: Trade,
    trade: Trade,
    kind: str | None,
    windows: Windows | None,
) -> Budgeted:
    if kind is None:
        found = assign(sharing, order)
        return Budgeted(sharing, found, found.slots, fair=fair, windows=windows)
    aim = aimed(sharing, trade.load)
    found = assign(aim, order)
    return Budgeted(aim, found, found.slots, trade.load, kind, fair, trade, windows)


def _within_bytes(
    sharing: AssignmentProblem, order: Sequence[str], limits: Limits, fair: Trade, found: Budgeted
) -> Budgeted:
    """As many of the moves of ``found`` as the limit on bytes allows."""
    assert limits.bytes is not None
    if sharing.size_moved(found.share.slots) <= limits.bytes:
        return found
    best = _with_smaller_partitions(sharing, found, limits.bytes)
    if best is not None:
        return best
    slots, fewest = _fewest(sharing)
    least = sharing.size_moved(slots)  # each partition makes its fewest moves
    if least > limits.bytes:
        forced = _forced(sharing, fewest, f" that copy {at_least(least)!s}")
        raise CannotError(f"`max_bytes_moved` {Bytes(limits.bytes)!s}: {forced}")
    low, high = fewest - 1, found.sharing.costs(found.share.slots)[MOVES]
    while high - low > 1:
        middle = (low + high) // 2
        try:
            tried = _within_moves(sharing, order, limits, fair, middle)
        except CannotError:
            low = middle
            continue
        cheap = _with_smaller_partitions(sharing, tried, limits.bytes)
        if cheap is None:
            high = middle
        else:
            low, best = middle, replace(cheap, kind=MAX_BYTES)
    assert best is not None, "the fewest moves fit"
    return best


def _forced(sharing: AssignmentProblem, fewest: int, copies: str = "") -> str:
    """Which rules force how many moves. ``copies``: what the moves copy, in words."""
    leaving = int(np.maximum(sharing.demand - (sharing.own >= 0).sum(axis=1), 0).sum())
    moves = f"{plural(fewest, 'move')}{copies}"
    others = "for replicas that must leave their broker or are added"
    if leaving == 0:
        return f"the rack rule alone forces {moves}"
    if leaving == fewest:
        return f"the rules alone force {moves}, {others}"
    by_racks = fewest - leaving
    return f"the rules alone force {moves}: {by_racks} for the rack rule, {leaving} {others}"


def _with_smaller_partitions(
    sharing: AssignmentProblem, found: Budgeted, limit: int
) -> Budgeted | None:
    """The same counts with smaller partitions moved; None if that is not enough."""
    from partage.flow.size_balancing import move_smaller_items

    slots = move_smaller_items(sharing, found.slots, limit)
    if sharing.size_moved(slots) > limit:
        return None
    return replace(found, slots=slots)
