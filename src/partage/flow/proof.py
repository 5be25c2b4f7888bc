"""Prices made ready for the certificate: one proof per cost of a share.

The dual values of a later cost only speak about the optima of the earlier ones. Added to a large
enough multiple of the earlier prices they speak about everything, and the bound of the weighted
sum, less the earlier costs, bounds the later one. The multiples follow from the range of the later
prices; should one be too small, it is raised until the bound meets the cost.
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
    """That ``cost`` is at least ``bound`` wherever the costs before it have the values they have.

    ``weights`` of (load, moves, spread) and prices for ``certificate.assignment_bound``;
    ``family_price`` None stands for the slot's price in every family.
    """

    cost: str
    value: int
    bound: int
    weights: dict[str, int]
    slot_price: Ints
    family_price: Ints | None


def prove(problem: AssignmentProblem, share: Assignment) -> list[Proof]:
    """A proof for each cost, in the share's order."""
    value = problem.costs(share.slots)
    return [_prove(problem, share, value, stage) for stage in range(len(share.order))]


def _prove(
    problem: AssignmentProblem, share: Assignment, value: dict[str, int], stage: int
) -> Proof:
    order = share.order[: stage + 1]
    factor = 1
    proof: Proof | None = None
    for _ in range(_TRIES):
        weights = dict.fromkeys((LOAD, MOVES, SPREAD), 0)
        weights[order[-1]] = 1
        later = 0
        for cost, after in zip(order[-2::-1], order[:0:-1], strict=True):
            later += weights[after] * _reach(share, after)
            weights[cost] = factor * (later + 1)
        slot = np.zeros(problem.slots, dtype=np.int64)
        family = np.zeros_like(problem.family_base)
        shared = True
        for cost in order:
            of_slot, of_family = share.prices[cost]
            slot += weights[cost] * of_slot
            family += weights[cost] * (of_slot[None, :] if of_family is None else of_family)
            shared &= of_family is None
        if weights[SPREAD]:
            family = _settled(problem, share, weights[SPREAD], slot, family)
            shared = False
        try:
            total = _bound(problem, weights, slot, family)
        except ValueError:
            # multiples beyond what 64 bits can sum: what was proven so far has to do
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
    """A lower bound on the load's cost plus ``move_price`` for each move, of any arrangement."""
    family_price = np.repeat(slot_price[None, :], len(problem.family_base), axis=0)
    return _bound(problem, {LOAD: 1, MOVES: move_price, SPREAD: 0}, slot_price, family_price)


def _bound(problem: AssignmentProblem, weights: dict[str, int], slot: Ints, family: Ints) -> int:
    """The certificate's bound on the weighted sum of the costs, out of prices."""
    least, most = problem.item_bounds
    return assignment_bound(
        family=problem.family,
        demand=problem.demand,
        least=least,
        most=most,
        sits=problem.owned,
        zone=problem.zone_of,
        base=problem.base,
        family_base=problem.family_base,
        load_weight=weights[LOAD] * problem.weight,
        move_weight=weights[MOVES],
        spread_weight=weights[SPREAD],
        slot_price=slot,
        family_price=family,
    )


def _reach(share: Assignment, cost: str) -> int:
    """No reduced cost of this layer is larger."""
    of_slot, of_family = share.prices[cost]
    every = of_slot if of_family is None else np.concatenate((of_slot, of_family.ravel()))
    return 4 * (int(np.ptp(every)) + int(np.abs(every).max()) + 2) if len(every) else 1


def _settled(
    problem: AssignmentProblem, share: Assignment, weight: int, slot: Ints, family: Ints
) -> Ints:
    """Prices of (family, slot) pairs that the network left undecided, set between the marginal
    costs of the count found; the others lie there already."""
    item, column = np.nonzero(share.slots >= 0)
    count = problem.family_base.copy()
    np.add.at(count, (problem.family[item], share.slots[item, column]), 1)
    members = np.bincount(problem.family, minlength=len(count))
    full = count - problem.family_base >= members[:, None]
    upper = weight * (2 * count + 1)
    above = np.where(full, family - slot, np.minimum(family - slot, upper))
    return np.asarray(slot + np.maximum(above, weight * (2 * count - 1)), dtype=np.int64)
