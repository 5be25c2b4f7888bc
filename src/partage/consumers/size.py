"""How many members a group needs: the fewest whose rate suffices, with the fewest moves.

Partitions are the items and members the bins of bin packing. From a lower bound upwards
(``flow/bin_packing.py``), each number of members is tried:

- small groups as an integer program (HiGHS): which members stay and what each owns, with the fewest
  partitions that a member must newly own. Where the program has no solution, one member more is
  proven to be necessary;
- others by keeping: the members stay that can keep the most partitions, each keeps its smallest as
  far as its rate suffices, and the rest goes, largest first, to the fullest member that still can
  take it (best fit). For one that no member can take, smaller ones leave. Where that fails, all
  partitions are packed again in this way, and the bins go to the members that own most of them
  (assignment problem).

No member can keep more partitions than its smallest ones that fit together. So all partitions less
what the best members can keep is a lower bound on the moves.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.errors import CannotError, InputError
from partage.flow.bin_packing import fewest_bins
from partage.group import Group

_MOST_VARIABLES = 3_000
"""Partitions times members up to which the integer program is tried."""

_TRIES = 10
"""Times the number of partitions: how often best fit puts one into a bin."""

_MAX_NODES, _MAX_SECONDS = 5_000, 30.0


@dataclass(frozen=True, eq=False)
class GroupSize:
    """The answer: ``owner`` [P] assigns the partitions to ``members``, some of today's and new ones
    (``new-1``). Fewer members than ``lower_bound``, and fewer moves than ``moves_lower_bound`` with
    this number of members, are impossible. ``capacity``: what a member may own, in the unit of the
    group's weights."""

    group: Group
    capacity: int
    members: tuple[str, ...]
    owner: Ints
    lower_bound: int
    moves: int
    moves_lower_bound: int

    @property
    def loads(self) -> list[int]:
        """Of each member."""
        total = np.zeros(len(self.members), dtype=np.int64)
        subscribed = self.owner >= 0
        np.add.at(total, self.owner[subscribed], self.group.weight[subscribed])
        loads: list[int] = total.tolist()
        return loads

    @property
    def removed(self) -> list[str]:
        """Members of today that are not needed."""
        return [one.id for one in self.group.members if one.id not in self.members]

    def to_json(self) -> dict[str, Any]:
        assignment: dict[str, list[list[Any]]] = {member: [] for member in self.members}
        for partition, owner in enumerate(self.owner.tolist()):
            if owner >= 0:
                topic = int(self.group.topic[partition])
                number = partition - int(self.group.offset[topic])
                assignment[self.members[owner]].append([self.group.names[topic], number])
        return {
            "members": len(self.members),
            "lower_bound": self.lower_bound,
            "proven": len(self.members) == self.lower_bound,
            "today": len(self.group.members),
            "capacity": self.capacity,
            "loads": dict(zip(self.members, self.loads, strict=True)),
            "moves": self.moves,
            "moves_lower_bound": self.moves_lower_bound,
            "remove": self.removed,
            "assignment": assignment,
            "warnings": list(self.group.warnings),
        }


def fewest_members(group: Group, capacity: int, why: str = "") -> GroupSize:
    """The fewest members found, each of which owns weights of at most ``capacity`` together;
    ``why``: what the capacity is, for the error.

    Raises InputError if the members do not all subscribe to the same topics, CannotError if one
    partition is more than a member can own.
    """
    if len(group.class_topics) > 1:
        raise InputError(
            group.where, "its members subscribe to different topics: size them one by one"
        )
    items = np.flatnonzero(group.subscribes[0][group.topic])
    weight, owner = group.weight[items], group.owner[items]
    if len(items) and int(weight.max()) > capacity:
        at = int(items[weight.argmax()])
        topic = int(group.topic[at])
        raise CannotError(
            f"{group.names[topic]}-{at - int(group.offset[topic])} alone has {weight.max():,}, "
            f"a member can own {capacity:,}{f' ({why})' if why else ''}: no number of members "
            "suffices"
        )
    today = len(group.members)
    bound = count = max(1, fewest_bins(weight, capacity))
    while True:
        bins = max(today, count)
        keepable = _keepable(weight, owner, bins, capacity)
        moves_bound = len(items) - sum(sorted(keepable, reverse=True)[:count])
        found, proven = None, False
        if len(items) * bins <= _MOST_VARIABLES:
            found, proven = _exact(weight, owner, bins, count, capacity)
        if found is None and not proven:
            found = _kept(weight, owner, keepable, count, capacity)
        if found is not None:
            break
        if proven and bound == count:
            bound += 1
        count += 1
    if proven:
        moves_bound = int((found != owner).sum())
    used = sorted(set(_stay(found, keepable, count)))
    names = [one.id for one in group.members] + [f"new-{k + 1}" for k in range(bins - today)]
    place = np.full(bins, -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    whole = np.full(group.partitions, -1, dtype=np.int64)
    whole[items] = place[found]
    return GroupSize(
        group,
        capacity,
        tuple(names[k] for k in used),
        whole,
        bound,
        int((found != owner).sum()),
        moves_bound,
    )


def fewest_for(weight: Ints, capacity: int) -> tuple[int, int]:
    """Members that can own partitions of these weights, as few as were found, and the proven lower
    bound. None of the weights is above ``capacity``."""
    bound = count = max(1, fewest_bins(weight, capacity))
    nowhere = np.full(len(weight), -1, dtype=np.int64)
    while not _best_fit(weight, nowhere.copy(), list(range(count)), capacity):
        if len(weight) * count <= _MOST_VARIABLES:
            found, proven = _exact(weight, nowhere, count, count, capacity)
            if found is not None:
                break
            if proven and bound == count:
                bound += 1
        count += 1
    return count, bound


def _stay(found: Ints, keepable: list[int], count: int) -> Iterable[int]:
    """The bins that own something, and empty ones up to ``count``."""
    used = sorted(set(found.tolist()))
    yield from used
    rest = [k for k in range(len(keepable)) if k not in used]
    yield from rest[: count - len(used)]


def _smallest(weight: Ints, rows: Ints, capacity: int) -> Ints:
    """The most of these rows that fit together: the smallest."""
    order = rows[np.argsort(weight[rows], kind="stable")]
    return order[np.cumsum(weight[order]) <= capacity]


def _keepable(weight: Ints, owner: Ints, bins: int, capacity: int) -> list[int]:
    """[bins] how many of its partitions each can keep."""
    return [len(_smallest(weight, np.flatnonzero(owner == k), capacity)) for k in range(bins)]


def _exact(
    weight: Ints, owner: Ints, bins: int, count: int, capacity: int
) -> tuple[Ints | None, bool]:
    """Owners [P] on at most ``count`` bins with the fewest moves, and whether the answer, or that
    there is none, is proven. An unused bin of today is as good as a new one."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    items = len(weight)
    item, slot = np.divmod(np.arange(items * bins), bins)
    variables = items * bins + bins
    every = np.arange(items * bins)
    slots = np.arange(bins)
    # each item in one bin; each bin up to its capacity, if used; so many bins used; and items
    # without weight in a bin that is used
    light = every[weight[item] == 0]
    last = items + bins
    used = items * bins
    rows = np.concatenate(
        (
            item,
            items + slot,
            items + slots,
            np.full(bins, last),
            *[last + 1 + np.arange(len(light))] * 2,
        )
    )
    columns = np.concatenate((every, every, used + slots, used + slots, light, used + slot[light]))
    ones = np.ones(len(light))
    values = np.concatenate(
        (np.ones(len(every)), weight[item] / capacity, -np.ones(bins), np.ones(bins), ones, -ones)
    )
    low = np.concatenate((np.ones(items), np.full(bins, -np.inf), [0.0], -ones))
    high = np.concatenate((np.ones(items), np.zeros(bins), [float(count)], 0 * ones))
    cost = np.concatenate(((owner[item] != slot).astype(np.float64), np.zeros(bins)))
    solved = milp(
        cost,
        integrality=np.ones(variables, dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(
            coo_array((values, (rows, columns)), shape=(last + 1 + len(light), variables)).tocsr(),
            low,
            high,
        ),
        options={"node_limit": _MAX_NODES, "time_limit": _MAX_SECONDS, "mip_rel_gap": 0},
    )
    if solved.status == 2:
        return None, True
    if solved.x is None:
        return None, False
    found: Ints = solved.x[: items * bins].reshape(items, bins).argmax(axis=1)
    total = np.zeros(bins, dtype=np.int64)
    np.add.at(total, found, weight)
    if (total > capacity).any():  # within the solver's tolerance only
        return None, False
    return found, solved.status == 0


def _kept(weight: Ints, owner: Ints, keepable: list[int], count: int, capacity: int) -> Ints | None:
    """Owners [P] on ``count`` bins by keeping, else by packing again; None if neither fits."""
    bins = len(keepable)
    stay = sorted(range(bins), key=lambda k: (-keepable[k], k))[:count]
    found = np.full(len(weight), -1, dtype=np.int64)
    for k in stay:
        found[_smallest(weight, np.flatnonzero(owner == k), capacity)] = k
    if _best_fit(weight, found, stay, capacity):
        return found
    packed = np.full(len(weight), -1, dtype=np.int64)
    if not _best_fit(weight, packed, list(range(count)), capacity):
        return None
    from scipy.optimize import linear_sum_assignment

    same = np.zeros((count, bins), dtype=np.int64)
    owned = owner >= 0
    np.add.at(same, (packed[owned], owner[owned]), 1)
    new, old = linear_sum_assignment(-same)
    place = np.full(count, -1, dtype=np.int64)
    place[new] = old
    return np.asarray(place[packed])


def _best_fit(weight: Ints, found: Ints, bins: list[int], capacity: int) -> bool:
    """Put what has no bin, largest first, into the fullest of ``bins`` that can take it. Where none
    can, smaller ones leave a bin for it, as few as possible. Whether all fits."""
    free = np.full(len(bins), capacity, dtype=np.int64)
    inside: list[list[tuple[int, int]]] = [[] for _ in bins]  # (weight, row), ascending
    place = {k: at for at, k in enumerate(bins)}
    for row in np.flatnonzero(found >= 0).tolist():
        at = place[int(found[row])]
        free[at] -= weight[row]
        insort(inside[at], (int(weight[row]), row))
    waiting = [(-int(weight[row]), row) for row in np.flatnonzero(found < 0).tolist()]
    heapify(waiting)
    for _ in range(_TRIES * len(weight)):
        if not waiting:
            return True
        load, row = heappop(waiting)
        load = -load
        left = free - load
        if (left >= 0).any():
            at = int(np.where(left >= 0, left, capacity + 1).argmin())
        else:
            at = int(free.argmax())
            for leaving in _to_leave(inside[at], load - int(free[at]), load):
                inside[at].remove(leaving)
                free[at] += leaving[0]
                heappush(waiting, (-leaving[0], leaving[1]))
            if free[at] < load:
                return False
        found[row] = bins[at]
        free[at] -= load
        insort(inside[at], (load, row))
    return not waiting


def _to_leave(inside: list[tuple[int, int]], missing: int, below: int) -> list[tuple[int, int]]:
    """Items of a bin, each ``below`` a weight, that weigh ``missing`` together: the smallest one
    that does alone, otherwise the largest ones."""
    smaller = inside[: bisect_left(inside, (below, -1))]
    enough = bisect_left(smaller, (missing, -1))
    if enough < len(smaller):
        return [smaller[enough]]
    leaving: list[tuple[int, int]] = []
    while smaller and missing > 0:
        leaving.append(smaller.pop())
        missing -= leaving[-1][0]
    return leaving
