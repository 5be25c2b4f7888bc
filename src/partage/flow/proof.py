"""Prices for the certificate: one proof for each cost of an assignment.

The dual values of a later cost are valid only on the optimal face of the earlier ones. Added to a
large enough multiple of the earlier prices they are valid everywhere, and the bound of the weighted
sum, minus the earlier costs, bounds the later one. The multiples follow from the range of the later
prices; if one is too small, it is raised until the bound meets the cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.assignment import LOAD, MOVES, SPREAD, Assignment, AssignmentProblem
from partage.flow.certificate import assignment_bound

Ints = npt.NDArray[np.int64]

_TRIES = 4


@dataclass(frozen=True, eq=False)
class Proof:
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
        slot = np.zeros(problem.slots, dtype=np.int64)
        family = np.zeros_like(problem.family_base)
        shared = True
        for cost in order:
            of_slot, of_family = answer.prices[cost]
            slot += weights[cost] * of_slot
            family += weights[cost] * (of_slot[None, :] if of_family is None else of_family)
            shared &= of_family is None
        if weights[SPREAD]:
            family = _undecided_prices(problem, answer, weights[SPREAD], slot, family)
            shared = False
        try:
            total = _bound(problem, weights, slot, None if shared else family)
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
            family_price=None if shared else family,
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


def _reach(answer: Assignment, cost: str) -> int:
    """An upper bound on the reduced costs of this layer."""
    of_slot, of_family = answer.prices[cost]
    every = of_slot if of_family is None else np.concatenate((of_slot, of_family.ravel()))
    return 4 * (int(np.ptp(every)) + int(np.abs(every).max()) + 2) if len(every) else 1


def _undecided_prices(
    problem: AssignmentProblem, answer: Assignment, weight: int, slot: Ints, family: Ints
) -> Ints:
    """The prices with those of undecided (family, slot) pairs moved between the marginal costs of
    the count found; the others are there already."""
    item, column = np.nonzero(answer.slots >= 0)
    count = problem.family_base.copy()
    np.add.at(count, (problem.family[item], answer.slots[item, column]), 1)
    members = np.bincount(problem.family, minlength=len(count))
    full = count - problem.family_base >= members[:, None]
    upper = weight * (2 * count + 1)
    above = np.where(full, family - slot, np.minimum(family - slot, upper))
    return np.asarray(slot + np.maximum(above, weight * (2 * count - 1)), dtype=np.int64)
