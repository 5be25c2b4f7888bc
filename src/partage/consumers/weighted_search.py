"""Even loads by weight: a search, and a bound that tells how far from perfect it may be.

Weights are no units, so this is no flow. Two starts: today's owners, with what is free given, by
falling weight, to the member that has least; and everything given that way afresh. From both, the
member with the highest load passes partitions on, or changes one for a lighter one, to members that
have less, as long as the sum of squares of the loads falls. The end with the lower highest load
(then the lower sum of squares) is taken, today's on a tie: what was evened out once is left alone.
Then everyone keeps what it had among partitions of equal weight, and gets back what makes no
difference. A fresh start may hand whole loads to other members: those that subscribe alike change
them so that most is kept.

Where a limit is good enough, today's owners pass on only until no load is above it.

The bound: partitions that only some set of members may have weigh, divided by the set's size, on
some member of the set (the set that gives most is found by maximum flow, each cut naming a better
one); of the k * M + 1 heaviest partitions some member has k + 1; and loads are multiples of what
divides every weight.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.bottleneck import find_bottleneck
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SWEEPS = 40
_PARTNERS = 48
"""Members with less that one with more tries to pass something on to."""


@dataclass(frozen=True, eq=False)
class WeightedProblem:
    """I items, K kinds of them, M members.

    - ``weight`` [I] above 0, ``kind`` [I]; ``open_to`` [K, M]: who may have a kind, at least one
    - ``owner`` [I]: who has it, ``NOBODY`` where it is free
    """

    weight: Ints
    kind: Ints
    open_to: Bools
    owner: Ints

    @property
    def members(self) -> int:
        return len(self.open_to[0]) if len(self.open_to) else 0

    def loads(self, owner: Ints) -> Ints:
        load = np.zeros(self.members, dtype=np.int64)
        np.add.at(load, owner, self.weight)
        return load


def assign_by_weight(problem: WeightedProblem) -> Ints:
    """[I] who gets each item."""
    fresh = _poured(problem, np.full_like(problem.owner, NOBODY))
    _passed_on(problem, fresh, None)
    _hand_over(problem, fresh)
    today = _poured(problem, problem.owner)
    _passed_on(problem, today, None)
    owner = min((today, fresh), key=lambda end: _unevenness(problem.loads(end)))
    _keep_among_equals(problem, owner)
    _give_back(problem, owner, None)
    return owner


def relieve(problem: WeightedProblem, limit: int) -> Ints:
    """[I] who gets each item, where no more changes than it takes to bring loads to the limit; one
    may stay above it."""
    owner = _poured(problem, problem.owner)
    _passed_on(problem, owner, limit)
    _keep_among_equals(problem, owner)
    _give_back(problem, owner, limit)
    return owner


def _unevenness(load: Ints) -> tuple[int, int]:
    return int(load.max(initial=0)), sum(x * x for x in load.tolist())


# -- starts


def _poured(problem: WeightedProblem, owner: Ints) -> Ints:
    """What is free, heaviest first, to who has least."""
    owner = owner.copy()
    held = owner != NOBODY
    load = np.zeros(problem.members, dtype=np.int64)
    np.add.at(load, owner[held], problem.weight[held])
    free = np.flatnonzero(~held)
    free = free[np.lexsort((free, -problem.weight[free]))]
    if len(problem.open_to) == 1:
        heap = [(int(load[m]), m) for m in np.flatnonzero(problem.open_to[0]).tolist()]
        heapq.heapify(heap)
        for item, weight in zip(free.tolist(), problem.weight[free].tolist(), strict=True):
            has, member = heap[0]
            owner[item] = member
            heapq.heapreplace(heap, (has + weight, member))
        return owner
    who = [np.flatnonzero(row) for row in problem.open_to]
    for item in free.tolist():
        members = who[problem.kind[item]]
        member = members[load[members].argmin()]
        owner[item] = member
        load[member] += problem.weight[item]
    return owner


# -- passing on


def _passed_on(problem: WeightedProblem, owner: Ints, limit: int | None) -> None:
    """Improve ``owner`` in place."""
    load = problem.loads(owner)
    shelves = [_sorted(problem, np.flatnonzero(owner == m)) for m in range(problem.members)]
    for _ in range(_SWEEPS):
        better = False
        for giver in np.argsort(-load, kind="stable").tolist():
            while (limit is None or load[giver] > limit) and _pass_one(
                problem, giver, owner, load, shelves
            ):
                better = True
        if not better:
            break


def _sorted(problem: WeightedProblem, items: Ints) -> Ints:
    """By weight, ties by position."""
    return items[np.argsort(problem.weight[items], kind="stable")]


def _pass_one(
    problem: WeightedProblem, giver: int, owner: Ints, load: Ints, shelves: list[Ints]
) -> bool:
    """The best single change with the first member that has less and with which there is one."""
    order = np.argsort(load, kind="stable")[:_PARTNERS]
    for taker in order[load[order] < load[giver] - 1].tolist():
        apart = int(load[giver] - load[taker])
        mine = shelves[giver]
        mine = mine[problem.open_to[problem.kind[mine], taker]]
        if len(mine) == 0:
            continue
        weight = problem.weight[mine]
        theirs = shelves[taker]
        theirs = theirs[problem.open_to[problem.kind[theirs], giver]]
        # nothing comes back: as if for an item of no weight
        back = np.concatenate(([0], problem.weight[theirs]))
        at = np.searchsorted(back, weight - apart // 2)
        best: tuple[int, int, int] | None = None
        for place in (np.clip(at, 0, len(back) - 1), np.maximum(at - 1, 0)):
            passed = weight - back[place]
            good = (passed > 0) & (passed < apart)
            if good.any():
                off = np.where(good, np.abs(2 * passed - apart), apart)
                chosen = int(off.argmin())
                if best is None or int(off[chosen]) < best[0]:
                    best = int(off[chosen]), chosen, int(place[chosen])
        if best is None:
            continue
        _, chosen, place_ = best
        moved = [int(mine[chosen])]
        returned = [int(theirs[place_ - 1])] if place_ else []
        owner[moved], owner[returned] = taker, giver
        change = int(problem.weight[moved].sum() - problem.weight[returned].sum())
        load[giver] -= change
        load[taker] += change
        for member, gone, came in ((giver, moved, returned), (taker, returned, moved)):
            shelf = shelves[member]
            kept = shelf[~np.isin(shelf, gone)]
            shelves[member] = _sorted(
                problem, np.sort(np.append(kept, np.array(came, dtype=np.int64)))
            )
        return True
    return False


# -- keeping


def _hand_over(problem: WeightedProblem, owner: Ints) -> None:
    """Members that may have the same change whole loads, so that most is kept."""
    had = problem.owner != NOBODY
    if not had.any():
        return
    from scipy.optimize import linear_sum_assignment

    _, group_of = np.unique(problem.open_to.T, axis=0, return_inverse=True)
    group_of = group_of.ravel()
    kept = np.zeros((problem.members, problem.members), dtype=np.int64)
    np.add.at(kept, (owner[had], problem.owner[had]), 1)
    becomes = np.arange(problem.members)
    for group in range(int(group_of.max()) + 1):
        alike = np.flatnonzero(group_of == group)
        rows, columns = linear_sum_assignment(kept[np.ix_(alike, alike)], maximize=True)
        becomes[alike[rows]] = alike[columns]
    owner[:] = becomes[owner]


def _keep_among_equals(problem: WeightedProblem, owner: Ints) -> None:
    """Of items of one kind and weight everyone gets as many as before, its own first."""
    label = np.unique(np.stack((problem.kind, problem.weight)), axis=1, return_inverse=True)[
        1
    ].ravel()
    due = np.bincount(label * problem.members + owner)
    mine = np.flatnonzero(problem.owner != NOBODY)
    code = label[mine] * problem.members + problem.owner[mine]
    order = np.argsort(code, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(code[order], code[order])
    due = np.append(due, np.zeros(problem.members * (int(label.max(initial=0)) + 1), np.int64))
    keeps = mine[order[rank < due[code[order]]]]
    given = np.full_like(owner, NOBODY)
    given[keeps] = problem.owner[keeps]
    due -= np.bincount(label[keeps] * problem.members + given[keeps], minlength=len(due))
    rest = np.flatnonzero(given == NOBODY)
    rest = rest[np.argsort(label[rest], kind="stable")]
    given[rest] = np.repeat(np.arange(len(due)), due) % problem.members
    owner[:] = given


def _give_back(problem: WeightedProblem, owner: Ints, limit: int | None) -> None:
    """What its owner can have back without a rise of the sum of squares, or within the limit."""
    load = problem.loads(owner)
    moved = np.flatnonzero((problem.owner != NOBODY) & (owner != problem.owner))
    for item in moved[np.argsort(problem.weight[moved], kind="stable")].tolist():
        here, there, weight = int(owner[item]), int(problem.owner[item]), int(problem.weight[item])
        after = int(load[there]) + weight
        if after <= int(load[here]) or (limit is not None and after <= limit):
            owner[item] = there
            load[here] -= weight
            load[there] += weight


# -- the bound


def load_bound(problem: WeightedProblem) -> int:
    """What the highest load of any sharing out comes to at least."""
    if len(problem.weight) == 0:
        return 0
    level = max(_confined(problem), _heaviest_together(problem))
    unit = math.gcd(*np.unique(problem.weight).tolist())
    return -(-level // unit) * unit


def _confined(problem: WeightedProblem) -> int:
    """By the members that alone may have some kinds of items."""
    weight = np.zeros(len(problem.open_to), dtype=np.int64)
    np.add.at(weight, problem.kind, problem.weight)
    kind, member = np.nonzero(problem.open_to)
    able, place = np.unique(member, return_inverse=True)
    return find_bottleneck(kind, place, weight, np.zeros(len(able), dtype=np.int64)).level


def _heaviest_together(problem: WeightedProblem) -> int:
    """Of the k * M + 1 heaviest some member has k + 1, at best the lightest of them."""
    ordered = np.sort(problem.weight)[::-1]
    members = int(problem.open_to.any(axis=0).sum())
    many = np.arange(0, (len(ordered) - 1) // members + 1)
    total = np.concatenate(([0], np.cumsum(ordered)))
    last = many * members + 1
    return int((total[last] - total[last - many - 1]).max())
