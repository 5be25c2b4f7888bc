"""Fair replica counts within a budget: ``--tolerance``, ``--max-moves`` and ``--max-bytes-moved``.

A tolerance widens each broker's fair count to a window, and of all loads within the windows those
are chosen that take the fewest moves. A limit on the moves buys the fairest loads that so many
moves reach. Both choose loads, exactly (``flow.assignment.trade_off``); the placement is then the
share that aims at them. Bytes are no flow: where a plan moves too many, smaller partitions move
instead of larger ones, of the same topic first, which keeps every count; where that does not do,
fewer moves are made, as many as are found to fit by halving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from partage.brokers.options import Limits
from partage.errors import CannotError
from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem, assign
from partage.flow.assignment.trade_off import Trade, aimed, fairest, loads_for, loads_within
from partage.flow.size_balancing import move_smaller_items

Ints = npt.NDArray[np.int64]

TOLERANCE, MAX_MOVES, MAX_BYTES = "tolerance", "max-moves", "max-bytes-moved"

_CORRECTIONS = 4


@dataclass(frozen=True, eq=False)
class Budgeted:
    """A share within the limits.

    - ``sharing``: what it is a share of: the job, or the job aimed at the loads ``aim`` [E]
    - ``slots`` [I, any]: the answer, which for the sake of bytes may differ from the share's
    - ``kind``: the limit that binds, None where none does; ``fair``: the loads without limits
    - ``trade``: what proves the aim; ``low``, ``high`` [E]: the windows of a tolerance
    """

    sharing: AssignmentProblem
    share: Assignment
    slots: Ints
    aim: Ints | None = None
    kind: str | None = None
    fair: Trade | None = None
    trade: Trade | None = None
    low: Ints | None = None
    high: Ints | None = None


def within_limits(sharing: AssignmentProblem, order: Sequence[str], limits: Limits) -> Budgeted:
    """The share, or the best within the limits. Raises CannotError where the moves that the rules
    ask for break one."""
    if not limits.any or sharing.items == 0:
        fairest_of_all = assign(sharing, order)
        return Budgeted(sharing, fairest_of_all, fairest_of_all.slots)
    fair = fairest(sharing)
    found = _counted(sharing, order, limits, fair, limits.moves)
    if limits.bytes is None:
        return found
    return _in_bytes(sharing, order, limits, fair, found)


def fair_window(sharing: AssignmentProblem, price: Ints, tolerance: Fraction) -> tuple[Ints, Ints]:
    """[E] the counts that are fair at the load's dual values, give or take ``tolerance``: those
    whose next replica costs at least the price, and whose last one at most."""
    low, high = [], []
    least, most = sharing.base, sharing.base + sharing.items
    for p, w, a, b in zip(
        price.tolist(), sharing.weight.tolist(), least.tolist(), most.tolist(), strict=True
    ):
        fewest, largest = -(-(p - w) // (2 * w)), (p + w) // (2 * w)
        low.append(min(max(-(-fewest * (1 - tolerance) // 1), a), b))
        high.append(min(max(largest * (1 + tolerance) // 1, a), b))
    return np.array([int(x) for x in low]), np.array([int(x) for x in high])


def _counted(
    sharing: AssignmentProblem, order: Sequence[str], limits: Limits, fair: Trade, moves: int | None
) -> Budgeted:
    """Within the tolerance, and with at most ``moves``."""
    trade, kind = fair, None
    low = high = None
    if limits.tolerance:
        low, high = fair_window(sharing, fair.slot_price, limits.tolerance)
        within = loads_within(sharing, low, high)
        assert within is not None, "the fairest loads lie within their windows"
        if within.moves < fair.moves:
            trade, kind = within, TOLERANCE
    found: Budgeted | None = None
    allowed = moves
    for _ in range(_CORRECTIONS):
        if allowed is not None and trade.moves > allowed:
            fewer = loads_for(sharing, allowed)
            if fewer is None:
                break
            trade, kind = fewer, MAX_MOVES
        found = _reached(sharing, order, fair, trade, kind, low, high)
        made = found.sharing.costs(found.share.slots)[MOVES]
        if moves is None or made <= moves:
            return found
        # classes could not tell that two partitions have to change places
        allowed = (moves if allowed is None else allowed) - (made - moves)
    # what the rules alone ask for is known exactly, and as fair as so few moves can be
    assert moves is not None
    slots, fewest = _fewest(sharing)
    bound = loads_for(sharing, moves)
    if fewest > moves or bound is None:
        raise CannotError(f"--max-moves {moves}: the rules alone ask for {fewest}")
    load = sharing.base + np.bincount(slots[slots >= 0], minlength=sharing.slots)
    trade = replace(bound, load=load, moves=fewest)
    return _reached(sharing, order, fair, trade, MAX_MOVES, low, high)


def _fewest(sharing: AssignmentProblem) -> tuple[Ints, int]:
    """The slots with the fewest moves that the rules allow, however unfair, and these moves."""
    slots = assign(sharing, (MOVES, LOAD, SPREAD)).slots
    return slots, sharing.costs(slots)[MOVES]


def _reached(
    sharing: AssignmentProblem,
    order: Sequence[str],
    fair: Trade,
    trade: Trade,
    kind: str | None,
    low: Ints | None,
    high: Ints | None,
) -> Budgeted:
    if kind is None:
        found = assign(sharing, order)
        return Budgeted(sharing, found, found.slots, fair=fair)
    aim = aimed(sharing, trade.load)
    found = assign(aim, order)
    return Budgeted(aim, found, found.slots, trade.load, kind, fair, trade, low, high)


def _in_bytes(
    sharing: AssignmentProblem, order: Sequence[str], limits: Limits, fair: Trade, found: Budgeted
) -> Budgeted:
    """As many of the moves of ``found`` as the bytes allow."""
    assert limits.bytes is not None
    if sharing.size_moved(found.share.slots) <= limits.bytes:
        return found
    best = _cheap(sharing, found, limits.bytes)
    if best is not None:
        return best
    _, fewest = _fewest(sharing)
    low, high = fewest - 1, found.sharing.costs(found.share.slots)[MOVES]
    while high - low > 1:
        middle = (low + high) // 2
        try:
            tried = _counted(sharing, order, limits, fair, middle)
        except CannotError:
            low = middle
            continue
        cheap = _cheap(sharing, tried, limits.bytes)
        if cheap is None:
            high = middle
        else:
            low, best = middle, replace(cheap, kind=MAX_BYTES)
    if best is None:
        raise CannotError(
            f"--max-bytes-moved {limits.bytes} bytes: the {fewest} moves that the rules alone ask "
            "for were not found to fit into so few"
        )
    return best


def _cheap(sharing: AssignmentProblem, found: Budgeted, limit: int) -> Budgeted | None:
    """The same counts with smaller partitions moved; None where that is not enough."""
    slots = move_smaller_items(sharing, found.slots, limit)
    if sharing.size_moved(slots) > limit:
        return None
    return replace(found, slots=slots)
