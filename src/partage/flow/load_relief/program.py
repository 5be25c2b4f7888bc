"""The choice among changes, at most one of each item, as a linear or an integer program (HiGHS).

What loads exceed their limits by costs a penalty, higher for the limits that count first. The dual
values are the prices at which ``changes`` looks for more. The integer program is limited by nodes,
not by time, so that the same input gives the same answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from partage.arrays import Floats, Ints
from partage.flow.load_relief.changes import Changes, cost_of
from partage.flow.load_relief.state import ReliefProblem

_FIRST, _OTHER = 1e5, 1e3
"""The penalties for a mean fair load above a limit, in mean sizes of an item."""

_EDGE = 2e-6
"""What the program keeps from a limit, in mean fair loads: more than it may be off. Where loads are
small whole numbers, half a unit above the limit is as good."""

_SECONDS, _GAP = 600.0, 1e-6
"""The time ends a search that hangs; a gap this small counts as none."""


class Solution(Struct, frozen=True, eq=False):
    """``over``: how far loads stay above their limits, in mean fair loads; ``part`` [C] of each
    change; ``price`` [K, E] of a mean fair load, 0 or more; ``rent`` [I]:
    what an item's changes gain; ``cost`` [C]: of each change at these prices, 0 or more."""

    over: float
    part: Floats
    price: Floats
    rent: Floats
    cost: Floats


class Program:
    """The program of changes to an assignment ``rows`` [I, R]."""

    def __init__(self, problem: ReliefProblem, rows: Ints, changes: Changes) -> None:
        from scipy.sparse import coo_array

        self.problem, self.changes = problem, changes
        slots, loads = problem.sharing.slots, len(problem.unit)
        self.limits = loads * slots
        row, column, value = _entries(problem, rows, changes)
        self.items, place = np.unique(changes.item, return_inverse=True)
        self.matrix: Any = coo_array((value, (row, column)), (self.limits, len(changes))).tocsr()
        self.matrix.eliminate_zeros()
        self.one: Any = coo_array(
            (np.ones(len(changes)), (place.ravel(), np.arange(len(changes)))),
            (len(self.items), len(changes)),
        ).tocsr()
        unit = problem.unit[:, None]
        small = 0.5 / unit > 2 * _EDGE
        space = (problem.high - problem.loads(rows)) / unit + np.where(small, 0.5 / unit, 0)
        # where a load is at its limit, the edge would ask for less
        self.space = np.where(space >= 0, np.maximum(space - _EDGE, 0), space - _EDGE).ravel()
        self.penalty = np.repeat(np.where(problem.first, _FIRST, _OTHER), slots)
        item = changes.item
        self.price = cost_of(problem, item, changes.rows) - cost_of(problem, item, rows[item])

    def relaxed(self) -> Solution:
        """The linear program."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, eye_array, hstack, vstack

        problem, count = self.problem, len(self.changes)
        soft: Any = -eye_array(self.limits)
        empty: Any = coo_array((len(self.items), self.limits))
        rules: Any = vstack([hstack([self.matrix, soft]), hstack([self.one, empty])]).tocsr()
        limits: Any = np.concatenate((self.space, np.ones(len(self.items))))
        found = linprog(
            np.concatenate((self.price, self.penalty)),
            A_ub=rules,
            b_ub=limits,
            bounds=(0, None),
            method="highs",
        )
        rent = np.zeros(problem.sharing.items)
        if found.status != 0 or found.x is None:
            nothing = np.zeros(count)
            return Solution(np.inf, nothing, np.zeros(problem.high.shape), rent, nothing)
        dual = -found.ineqlin.marginals
        price = np.maximum(dual[: self.limits], 0)
        rent[self.items] = np.maximum(dual[self.limits :], 0)
        cost = self.price + self.matrix.T @ price + rent[self.changes.item]
        over = float(found.x[count:].sum())
        return Solution(over, found.x[:count], price.reshape(problem.high.shape), rent, cost)

    def whole(self, nodes: int) -> Ints:
        """The changes chosen by the integer program, which ends after so many nodes."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array, eye_array, hstack

        count = len(self.changes)
        if not count:
            return np.zeros(0, dtype=np.int64)
        # a limit that no change touches needs no row
        touched = np.unique(self.matrix.nonzero()[0])
        soft: Any = -eye_array(len(touched))
        empty: Any = coo_array((len(self.items), len(touched)))
        rules = [
            LinearConstraint(
                hstack([self.matrix[touched], soft]).tocsr(), -np.inf, self.space[touched]
            ),
            LinearConstraint(hstack([self.one, empty]).tocsr(), -np.inf, 1.0),
        ]
        cost = np.concatenate((self.price, self.penalty[touched]))
        upper = np.concatenate((np.ones(count), np.full(len(touched), np.inf)))
        found = milp(
            cost,
            integrality=np.concatenate((np.ones(count), np.zeros(len(touched)))),
            bounds=Bounds(0, upper),
            constraints=rules,
            options={"node_limit": nodes, "time_limit": _SECONDS, "mip_rel_gap": _GAP},
        )
        if found.x is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(found.x[:count] > 0.5)


def _entries(problem: ReliefProblem, rows: Ints, changes: Changes) -> tuple[Ints, Ints, Floats]:
    """(limit, change, by how much): what the changes do to the loads, in mean fair loads."""
    slots, held = problem.sharing.slots, len(problem.held)
    both = np.concatenate(problem.each)
    every = np.arange(len(changes))
    parts: list[tuple[Ints, Ints, Floats]] = []
    for k in range(len(both)):
        for lists, sign in ((rows[changes.item], -1), (changes.rows, 1)):
            for slot in lists.T if k < held else lists.T[:1]:
                on = slot >= 0
                parts.append((k * slots + slot[on], every[on], sign * both[k, changes.item[on]]))
    row, which, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return row.astype(np.int64), which.astype(np.int64), value
