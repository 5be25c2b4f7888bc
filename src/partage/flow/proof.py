"""Prices for the certificate: one proof for each cost of an assignment.

The dual values of a later cost are valid only on the optimal face of the earlier ones. Added to a
large enough multiple of the earlier prices they are valid everywhere, and the bound of the weighted
sum, minus the earlier costs, bounds the later one. The multiples follow from the range of the later
prices; if one is too small, it is raised until the bound meets the cost.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from partage.arrays import Ints
from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem
from partage.flow.certificate import assignment_bound

_CELLS = 100_000
_TRIES = 4


class Proof(Struct, frozen=True, eq=False):
    """Proves that ``cost`` is at least ``bound`` in every assignment with the same earlier costs.

    ``weights`` of (load, moves, spread) and prices for ``certificate.assignment_bound``;
    ``family_price`` None: the slot's price in every family.
    """

    cost: str
    value: int
    bound: int
    weights: dict[str, int]
    slot_price: Ints
    family_price: Ints | None


def prove(problem: AssignmentProblem, answer: Assignment) -> list[Proof]:
    """A proof for each cost, in the order of the assignment."""
    value = problem.costs(answer.slots)
    return [_prove(problem, answer, value, stage) for stage in range(len(answer.order))]


def _prove(
    problem: AssignmentProblem, answer: Assignment, value: dict[str, int], stage: int
) -> Proof:
    order = answer.order[: stage + 1]
    factor = 1
    proof: Proof | None = None
    for _ in range(_TRIES):
        weights = dict.fromkeys((LOAD, MOVES, SPREAD), 0)
        weights[order[-1]] = 1
        later = 0
        for cost, after in zip(order[-2::-1], order[:0:-1], strict=True):
            later += weights[after] * _reach(answer, after)
            weights[cost] = factor * (later + 1)
        slot, family = _weighted(problem, answer, weights, order)
        if family is not None and weights[SPREAD]:
            _move_undecided_prices(problem, answer, weights[SPREAD], slot, family)
        try:
            total = _bound(problem, weights, slot, family)
        except ValueError:
            # the multiples no longer fit in 64 bits: use the best proof so far
            if proof is None:
                raise
            break
        bound = total - sum(weights[cost] * value[cost] for cost in order[:-1])
        found = Proof(
            cost=order[-1],
            value=value[order[-1]],
            bound=bound,
            weights=weights,
            slot_price=slot,
            family_price=family,
        )
        proof = found if proof is None or bound > proof.bound else proof
        if bound == value[order[-1]]:
            break
        factor *= 16
    assert proof is not None
    return proof


def fairest_loads_for(problem: AssignmentProblem, slot_price: Ints, move_price: int) -> int:
    """A lower bound on the load cost plus ``move_price`` per move, over all assignments."""
    return _bound(problem, {LOAD: 1, MOVES: move_price, SPREAD: 0}, slot_price, None)


def _bound(
    problem: AssignmentProblem, weights: dict[str, int], slot: Ints, family: Ints | None
) -> int:
    """The certificate's bound on the weighted sum of the costs, from prices; where every family
    has the slots' own prices and no cost (None), all items may as well be of one family."""
    least, most = problem.item_bounds
    one = family is None
    return assignment_bound(
        family=np.zeros_like(problem.family) if one else problem.family,
        demand=problem.demand,
        least=least,
        most=most,
        current=problem.owned,
        zone=problem.zone_of,
        base=problem.base,
        family_base=np.zeros((1, problem.slots), dtype=np.int64) if one else problem.family_base,
        load_weight=weights[LOAD] * problem.weight,
        move_weight=weights[MOVES],
        spread_weight=weights[SPREAD],
        slot_price=slot,
        family_price=slot[None, :] if family is None else family,
    )


def _weighted(
    problem: AssignmentProblem,
    answer: Assignment,
    weights: dict[str, int],
    order: tuple[str, ...],
) -> tuple[Ints, Ints | None]:
    """The weighted sums of the slots' and the families' prices; None for those if the slots' own
    are the price of every family."""
    slot = np.zeros(problem.slots, dtype=np.int64)
    family: Ints | None = None
    for cost in order:
        of_slot, of_family = answer.prices[cost]
        slot += weights[cost] * of_slot
        if of_family is not None:
            more = of_family - of_slot
            more *= weights[cost]
            family = more if family is None else np.add(family, more, out=family)
    if family is not None:
        family += slot
    elif weights[SPREAD]:
        family = np.tile(slot, (len(problem.family_base), 1))
    return slot, family


def _reach(answer: Assignment, cost: str) -> int:
    """An upper bound on the reduced costs of this layer."""
    of_slot, of_family = answer.prices[cost]
    known = [part for part in (of_slot, of_family) if part is not None and part.size]
    if not known:
        return 1
    low, high = min(int(part.min()) for part in known), max(int(part.max()) for part in known)
    return 4 * (high - low + max(-low, high) + 2)


def _move_undecided_prices(
    problem: AssignmentProblem, answer: Assignment, weight: int, slot: Ints, family: Ints
) -> None:
    """Move the prices of undecided (family, slot) pairs between the marginal costs of the count
    found; the others are there already."""
    item, column = np.nonzero(answer.slots >= 0)
    pair = problem.family[item] * problem.slots + answer.slots[item, column]
    added = np.bincount(pair, minlength=family.size).reshape(family.shape)
    members = np.bincount(problem.family, minlength=len(family))
    step = max(1, _CELLS // problem.slots)
    for start in range(0, len(family), step):
        part = slice(start, start + step)
        price, more = family[part] - slot, added[part]
        count = problem.family_base[part] + more
        np.minimum(price, weight * (2 * count + 1), out=price, where=more < members[part, None])
        family[part] = slot + np.maximum(price, weight * (2 * count - 1))
