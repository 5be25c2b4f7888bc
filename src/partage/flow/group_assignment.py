"""How many items of each group go to each slot: even loads, near slots, few moves.

Items of a group are interchangeable; each takes one of the slots that are open to its group. Three
costs are minimised one after the other:

- *load*: sum of squares of the loads, whose minimum is the least majorised load vector;
- *far*: items on slots that are far from their group (in another rack), or what that costs;
- *new*: items on slots that do not hold them today.

``assign_nearest`` minimises far first, then load, then new, with a limit on the highest load.

One network, ``group -> slot -> sink``; each open pair is split into items held today and new ones,
and the loads have convex costs. Their windows are laid out around an estimate: group after group
distributes its items, as if they were divisible, over the least loaded of its slots until the loads
converge (coordinate descent on a convex cost), which ends near the optimum.

Where there are very many open pairs, only some are laid out (column generation): the others are
priced with the dual values, those that would improve the solution are added, and the network is
solved again until there are none.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from partage.arrays import Bools, Floats, Ints
from partage.flow.network import EMPTY, FREE, FULL, Faces, Network, Squares, minimise

_ROUNDS, _CONVERGED = 20, 0.5
_WINDOW = 2
_ALL_PAIRS = 300_000
"""Up to this many open pairs, all are laid out at once."""
_INITIAL, _ADDED = 8, 8
"""Pairs of a group at first, and added at a time."""
_NEW = 2
"""The last layer of costs; load and far are the other two."""


class GroupProblem(Struct, frozen=True, eq=False):
    """G groups, E slots, A open pairs.

    - ``count`` [G] items of each group; ``slots``: E
    - ``group``, ``slot`` [A]: the open pairs, ascending by group; every group has one
    - ``current`` [A]: items of the group that sit on the slot
    - ``far`` [A]: what an item of the group costs on the slot because it is far; 0 where it is near
    - ``base`` [E]: load of the slots without the items; None: 0
    - ``nearest``: far comes before load; ``limit``: the highest load of a slot, None: any
    """

    count: Ints
    slots: int
    group: Ints
    slot: Ints
    current: Ints
    far: Ints
    base: Ints | None = None
    nearest: bool = False
    limit: int | None = None

    @property
    def ground(self) -> Ints:
        """[E] ``base``, 0 where it is None."""
        return np.zeros(self.slots, dtype=np.int64) if self.base is None else self.base

    @property
    def layers(self) -> tuple[int, int]:
        """The layers of load and far."""
        return (1, 0) if self.nearest else (0, 1)

    @property
    def capacity(self) -> Ints:
        """[E] the most items that a slot may get."""
        total = np.full(self.slots, int(self.count.sum()))
        return total if self.limit is None else np.clip(self.limit - self.ground, 0, total)


class GroupSolution(Struct, frozen=True, eq=False):
    """``kept``, ``new`` [A]: items on each open pair that were there already, and new ones.

    What all optimal solutions have in common:

    - ``staying``, ``coming`` [A]: FREE, or EMPTY or FULL in all of them
    - ``least``, ``most`` [E]: range of the items on each slot, without base
    """

    kept: Ints
    new: Ints
    kept_face: Faces
    new_face: Faces
    least: Ints
    most: Ints


def assign_groups(problem: GroupProblem) -> GroupSolution:
    """The counts with the smallest costs: load first, then far, then new."""
    return _assign(problem, problem.current > 0)


def assign_nearest(problem: GroupProblem, skew: float | None) -> GroupSolution:
    """The counts with the smallest costs: far first, then load, then new. With ``skew``, no load is
    higher than the highest one of ``assign_groups`` by more than this fraction of it."""
    seen = (problem.current > 0) | (problem.far == _nearest(problem.group, problem.far))
    limit = None
    if skew is not None:
        even = assign_groups(problem)
        items = even.kept + even.new
        load = np.bincount(problem.slot, items, minlength=problem.slots) + problem.ground
        limit = math.floor(int(load.max(initial=0)) * (1 + Fraction(str(skew))))
        seen |= items > 0  # so that the pairs laid out first are enough within the limit
    return _assign(replace(problem, nearest=True, limit=limit), seen)


def _nearest(group: Ints, far: Ints) -> Ints:
    """[A] the least far of the group's pairs."""
    least = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, group, far)
    return np.asarray(least[group])


def _assign(problem: GroupProblem, first: Bools) -> GroupSolution:
    """The counts; ``first`` [A]: pairs that are laid out in any case."""
    pairs = len(problem.group)
    if pairs <= _ALL_PAIRS:
        return _with_face(problem, *_solve(problem, np.arange(pairs)))
    # few pairs at first: the given ones, and some of each group that differ between groups
    start = np.searchsorted(problem.group, np.arange(len(problem.count)))
    width = np.bincount(problem.group)
    place = np.arange(pairs) - start[problem.group]
    stride = np.maximum(width // _INITIAL, 1)[problem.group]
    chosen = first | ((place + problem.group) % stride == 0)
    while True:
        some = np.flatnonzero(chosen)
        kept, new, distance = _solve(problem, some)
        pays = (_face(problem, distance, 1) == FULL) & ~chosen
        if not pays.any():
            return _with_face(problem, kept, new, distance)
        chosen |= pays & (_rank_in_group(problem.group, pays) < _ADDED)


def _with_face(problem: GroupProblem, kept: Ints, new: Ints, distance: Ints) -> GroupSolution:
    """The counts with the face of all optima, from the dual values ``distance`` [3, nodes]."""
    least, most = _loads(problem, distance)
    return GroupSolution(
        kept,
        new,
        kept_face=_face(problem, distance, 0),
        new_face=_face(problem, distance, 1),
        least=least,
        most=most,
    )


def _loads(problem: GroupProblem, distance: Ints) -> tuple[Ints, Ints]:
    """[E] the fewest and the most items on each slot in all optima."""
    groups, slots = len(problem.count), problem.slots
    above = distance[:, groups + slots, None] - distance[:, groups : groups + slots]
    load, _ = problem.layers
    # units whose marginal load cost is below the dual value, then the one that equals it
    worth = above[load] + 1 - 2 * problem.ground
    least = np.maximum((worth - 1) // 2, 0)
    last = np.where((worth > 0) & (worth % 2 == 0), _sign(-above[load + 1 :]), EMPTY)
    # a cost before the load's decides about all units of a slot
    before = _sign(-above[:load])
    capacity = problem.capacity
    bounds = []
    for some in (least + (last == FULL), least + (last != EMPTY)):
        decided = np.where(before == EMPTY, 0, np.where(before == FULL, capacity, some))
        bounds.append(np.minimum(decided, capacity))
    return bounds[0], bounds[1]


def _face(problem: GroupProblem, distance: Ints, moves: int) -> Faces:
    """[A] the face of items on each pair: new ones (``moves`` 1) or kept ones (0)."""
    head = len(problem.count) + problem.slot
    reduced = distance[:, problem.group] - distance[:, head]
    _, far = problem.layers
    reduced[far] += problem.far
    reduced[_NEW] += moves
    return _sign(reduced)


def _sign(reduced: Ints) -> Faces:
    """FREE, EMPTY or FULL by the first reduced cost [layers, n] that is not 0."""
    found = np.full(reduced.shape[1], FREE, dtype=np.int8)
    for costs in reduced:
        undecided = found == FREE
        found[undecided & (costs > 0)] = EMPTY
        found[undecided & (costs < 0)] = FULL
    return found


def _rank_in_group(group: Ints, marked: Bools) -> Ints:
    """[A] how many marked pairs of the group come before."""
    before: Ints = np.cumsum(marked) - marked
    return np.asarray(before - before[np.searchsorted(group, group)])


def _solve(problem: GroupProblem, pairs: Ints) -> tuple[Ints, Ints, Ints]:
    """Kept and new items [A], using only these ``pairs``, and the dual values [3, nodes]."""
    groups, slots = len(problem.count), problem.slots
    load_layer, far_layer = problem.layers
    group, slot, far = problem.group[pairs], problem.slot[pairs], problem.far[pairs]
    current = problem.current[pairs]
    base = Network(groups + slots + 1, 3)
    base.supply[:groups] = problem.count
    base.supply[groups + slots] = -int(problem.count.sum())
    held = np.flatnonzero(current)
    kept_at = base.arcs(group[held], groups + slot[held], current[held], {far_layer: far[held]})
    new_at = base.arcs(group, groups + slot, problem.count[group], {far_layer: far, _NEW: 1})
    ground = problem.ground
    likely = far == _nearest(group, far) if problem.nearest else np.ones(len(pairs), np.bool_)
    guess = _guess(group[likely], slot[likely], problem.count, ground) - ground
    loads = Squares(
        tail=groups + np.arange(slots),
        head=np.full(slots, groups + slots),
        capacity=problem.capacity,
        weight=np.ones(slots, dtype=np.int64),
        base=ground,
        low=np.floor(guess).astype(np.int64) - _WINDOW,
        high=np.ceil(guess).astype(np.int64) + _WINDOW,
    )
    optimum = minimise(base, {load_layer: loads})
    if optimum is None:
        raise AssertionError("every group has an open slot")
    kept, new = np.zeros_like(problem.current), np.zeros_like(problem.current)
    kept[pairs[held]] = optimum.flow[kept_at]
    new[pairs] = optimum.flow[new_at]
    return kept, new, optimum.distance


def _guess(group: Ints, slot: Ints, count: Ints, ground: Ints) -> Floats:
    """[E] nearly even loads, base included, as if items were divisible."""
    first = np.searchsorted(group, np.arange(len(count) + 1))
    part = count[group] / np.diff(first)[group]
    load: Floats = np.bincount(slot, part, minlength=len(ground)).astype(np.float64)
    load += ground
    if len(count) == 1 and not ground.any():
        return load
    for _ in range(_ROUNDS):
        moved = 0.0
        for g in range(len(count)):
            arcs = slice(int(first[g]), int(first[g + 1]))
            to = slot[arcs]
            others = load[to] - part[arcs]
            placed = np.maximum(_level(others, float(count[g])) - others, 0.0)
            moved = max(moved, float(np.abs(placed - part[arcs]).max()))
            part[arcs] = placed
            load[to] = others + placed
        if moved < _CONVERGED:
            break
    return load


def _level(ground: Floats, amount: float) -> float:
    """The level that ``amount`` reaches when it fills up ``ground`` (water filling)."""
    ordered = np.sort(ground)
    filled = np.arange(1, len(ordered) + 1)
    level: Floats = (np.cumsum(ordered) + amount) / filled
    # the last slot below the level
    return float(level[np.flatnonzero(level >= ordered)[-1]])
