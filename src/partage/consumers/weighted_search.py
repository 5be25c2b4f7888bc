"""Balanced loads by weight: a local search, and a lower bound that shows how good its result is.

Weights are not units, so this is not a min-cost flow.

*Search.* It runs from two starts: the present owners, with the free partitions given to the least
loaded member by falling weight; and all partitions given that way. From both, the member with the
highest load moves partitions to members with less, or swaps one for a lighter one, as long as the
sum of squares of the loads falls. The result with the lower highest load is taken, then that with
the lower sum of squares, then the one from the present owners, so that a second run changes
nothing.

*Keeping partitions.* Of partitions of equal weight, each member keeps its own; and a partition
moves back to its owner where that does not raise the sum of squares. Members with the same
subscriptions may swap whole loads, so that most partitions stay.

*With a limit*, the search moves partitions of the present owners only until no load is above it.

*Lower bound.* Partitions that only a set of members may have give one of these members at least
their total weight divided by the size of the set (the best set is found by maximum flow, where each
cut names a better one). Of the k * M + 1 heaviest partitions some member has k + 1. And every load
is a multiple of the common divisor of the weights.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from partage.arrays import Bools, Ints
from partage.flow.bottleneck import find_bottleneck
from partage.group.model import NO_MEMBER

_MAX_SWEEPS = 40
_MAX_PARTNERS = 48
"""Number of least loaded members to which a member tries to move partitions."""


@dataclass(frozen=True, eq=False)
class WeightedProblem:
    """I items of K kinds, M members.

    - ``weight`` [I] above 0; ``kind`` [I]
    - ``open_to`` [K, M]: the members that may have a kind, at least one
    - ``owner`` [I]: the present owner, ``NO_MEMBER`` where there is none
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
    """[I] the member that gets each item."""
    fresh = _greedy(problem, np.full_like(problem.owner, NO_MEMBER))
    _improve(problem, fresh, None)
    _relabel_members(problem, fresh)
    today = _greedy(problem, problem.owner)
    _improve(problem, today, None)
    owner = min((today, fresh), key=lambda end: _unevenness(problem.loads(end)))
    _keep_equal_weights(problem, owner)
    _move_back(problem, owner, None)
    return owner


def relieve(problem: WeightedProblem, limit: int) -> Ints:
    """[I] the member that gets each item, moving only what brings the loads down to ``limit``. A
    load may stay above it."""
    owner = _greedy(problem, problem.owner)
    _improve(problem, owner, limit)
    _keep_equal_weights(problem, owner)
    _move_back(problem, owner, limit)
    return owner


def _unevenness(load: Ints) -> tuple[int, int]:
    return int(load.max(initial=0)), sum(x * x for x in load.tolist())


# -- starts


def _greedy(problem: WeightedProblem, owner: Ints) -> Ints:
    """Give free items, the heaviest first, to the least loaded member."""
    owner = owner.copy()
    held = owner != NO_MEMBER
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
    allowed = [np.flatnonzero(row) for row in problem.open_to]
    for item in free.tolist():
        members = allowed[problem.kind[item]]
        member = members[load[members].argmin()]
        owner[item] = member
        load[member] += problem.weight[item]
    return owner


# -- local search


def _improve(problem: WeightedProblem, owner: Ints, limit: int | None) -> None:
    """Improve ``owner`` in place, with a limit only until no load is above it."""
    load = problem.loads(owner)
    sorted_items = [_sorted(problem, np.flatnonzero(owner == m)) for m in range(problem.members)]
    for _ in range(_MAX_SWEEPS):
        better = False
        for giver in np.argsort(-load, kind="stable").tolist():
            while (limit is None or load[giver] > limit) and _move_one(
                problem, giver, owner, load, sorted_items
            ):
                better = True
        if not better:
            break


def _sorted(problem: WeightedProblem, items: Ints) -> Ints:
    """The items by weight, ties by position."""
    return items[np.argsort(problem.weight[items], kind="stable")]


def _move_one(
    problem: WeightedProblem, giver: int, owner: Ints, load: Ints, sorted_items: list[Ints]
) -> bool:
    """Make the best move or swap with the least loaded member that allows one. Returns whether
    there was one."""
    order = np.argsort(load, kind="stable")[:_MAX_PARTNERS]
    for taker in order[load[order] < load[giver] - 1].tolist():
        mine, theirs = sorted_items[giver], sorted_items[taker]
        mine = mine[problem.open_to[problem.kind[mine], taker]]
        theirs = theirs[problem.open_to[problem.kind[theirs], giver]]
        apart = int(load[giver] - load[taker])
        found = _best_swap(problem.weight[mine], problem.weight[theirs], apart)
        if found is None:
            continue
        moved, returned = [int(mine[found[0]])], [int(theirs[at]) for at in found[1]]
        owner[moved], owner[returned] = taker, giver
        change = int(problem.weight[moved].sum() - problem.weight[returned].sum())
        load[giver] -= change
        load[taker] += change
        for member, gone, came in ((giver, moved, returned), (taker, returned, moved)):
            kept = sorted_items[member][~np.isin(sorted_items[member], gone)]
            items = np.sort(np.append(kept, np.array(came, dtype=np.int64)))
            sorted_items[member] = _sorted(problem, items)
        return True
    return False


def _best_swap(mine: Ints, theirs: Ints, apart: int) -> tuple[int, list[int]] | None:
    """The move or swap that brings two members closest together: (position in ``mine``, position in
    ``theirs`` or nothing). None where none improves. ``mine``, ``theirs``: weights, ascending;
    ``apart``: how much more the first member has."""
    if len(mine) == 0:
        return None
    back = np.concatenate(([0], theirs))  # a move is a swap for an item of weight 0
    at = np.searchsorted(back, mine - apart // 2)
    best: tuple[int, int, int] | None = None
    for place in (np.clip(at, 0, len(back) - 1), np.maximum(at - 1, 0)):
        passed = mine - back[place]
        good = (passed > 0) & (passed < apart)
        if good.any():
            off = np.where(good, np.abs(2 * passed - apart), apart)
            chosen = int(off.argmin())
            if best is None or int(off[chosen]) < best[0]:
                best = int(off[chosen]), chosen, int(place[chosen])
    if best is None:
        return None
    _, chosen, swapped = best
    return chosen, [swapped - 1] if swapped else []


# -- keeping items


def _relabel_members(problem: WeightedProblem, owner: Ints) -> None:
    """Members that may have the same items swap whole loads, so that most items stay."""
    had = problem.owner != NO_MEMBER
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


def _keep_equal_weights(problem: WeightedProblem, owner: Ints) -> None:
    """Of items of one kind and weight every member gets as many as before, its own first."""
    label = np.unique(np.stack((problem.kind, problem.weight)), axis=1, return_inverse=True)[
        1
    ].ravel()
    due = np.bincount(label * problem.members + owner)
    mine = np.flatnonzero(problem.owner != NO_MEMBER)
    code = label[mine] * problem.members + problem.owner[mine]
    order = np.argsort(code, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(code[order], code[order])
    due = np.append(due, np.zeros(problem.members * (int(label.max(initial=0)) + 1), np.int64))
    keeps = mine[order[rank < due[code[order]]]]
    given = np.full_like(owner, NO_MEMBER)
    given[keeps] = problem.owner[keeps]
    due -= np.bincount(label[keeps] * problem.members + given[keeps], minlength=len(due))
    rest = np.flatnonzero(given == NO_MEMBER)
    rest = rest[np.argsort(label[rest], kind="stable")]
    given[rest] = np.repeat(np.arange(len(due)), due) % problem.members
    owner[:] = given


def _move_back(problem: WeightedProblem, owner: Ints, limit: int | None) -> None:
    """Move items back to their owners without a rise of the sum of squares, or up to the limit."""
    load = problem.loads(owner)
    moved = np.flatnonzero((problem.owner != NO_MEMBER) & (owner != problem.owner))
    for item in moved[np.argsort(problem.weight[moved], kind="stable")].tolist():
        here, there, weight = int(owner[item]), int(problem.owner[item]), int(problem.weight[item])
        after = int(load[there]) + weight
        if after <= int(load[here]) or (limit is not None and after <= limit):
            owner[item] = there
            load[here] -= weight
            load[there] += weight


# -- the bound


def load_bound(problem: WeightedProblem) -> int:
    """A lower bound on the highest load of any assignment."""
    if len(problem.weight) == 0:
        return 0
    level = max(_restricted_bound(problem), _heaviest_bound(problem))
    unit = math.gcd(*np.unique(problem.weight).tolist())
    return -(-level // unit) * unit


def _restricted_bound(problem: WeightedProblem) -> int:
    """The bound by sets of members that alone may have some kinds."""
    weight = np.zeros(len(problem.open_to), dtype=np.int64)
    np.add.at(weight, problem.kind, problem.weight)
    kind, member = np.nonzero(problem.open_to)
    able, place = np.unique(member, return_inverse=True)
    return find_bottleneck(kind, place, weight, np.zeros(len(able), dtype=np.int64)).level


def _heaviest_bound(problem: WeightedProblem) -> int:
    """Of the k * M + 1 heaviest items some member has k + 1: at best the lightest of them."""
    ordered = np.sort(problem.weight)[::-1]
    members = int(problem.open_to.any(axis=0).sum())
    many = np.arange(0, (len(ordered) - 1) // members + 1)
    total = np.concatenate(([0], np.cumsum(ordered)))
    last = many * members + 1
    return int((total[last] - total[last - many - 1]).max())
