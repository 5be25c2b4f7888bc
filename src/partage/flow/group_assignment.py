"""How many items of each group go to each slot: even loads, near slots, few moves.

Items of a group are interchangeable; each takes one of the slots that are open to its group. Three
costs are minimised one after the other:

- *load*: sum of squares of the loads, whose minimum is the least majorised load vector;
- *far*: items on slots that are far from their group (in another rack);
- *new*: items on slots that do not hold them today.

One network, ``group -> slot -> sink``; each open pair is split into items held today and new ones,
and the loads have convex costs. Their windows are laid out around an estimate: group after group
distributes its items, as if they were divisible, over the least loaded of its slots until the loads
converge (coordinate descent on a convex cost), which ends near the optimum.

Where there are very many open pairs, only some are laid out (column generation): the others are
priced with the dual values, those that would improve the solution are added, and the network is
solved again until there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.network import EMPTY, FREE, FULL, Faces, Network, Squares, minimise_squares

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_ROUNDS, _CONVERGED = 20, 0.5
_WINDOW = 2
_ALL_PAIRS = 300_000
"""Up to this many open pairs, all are laid out at once."""
_INITIAL, _ADDED = 8, 8
"""Pairs of a group at first, and added at a time."""


@dataclass(frozen=True, eq=False)
class GroupProblem:
    """G groups, E slots, A open pairs.

    - ``count`` [G] items of each group; ``slots``: E
    - ``group``, ``slot`` [A]: the open pairs, ascending by group; every group has one
    - ``current`` [A]: items of the group that sit on the slot; ``far`` [A]: 1 where it is far
    - ``base`` [E]: load of the slots without the items; None: 0
    """

    count: Ints
    slots: int
    group: Ints
    slot: Ints
    current: Ints
    far: Ints
    base: Ints | None = None


@dataclass(frozen=True, eq=False)
class GroupSolution:
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
    pairs = len(problem.group)
    if pairs <= _ALL_PAIRS:
        return _with_face(problem, *_solve(problem, np.arange(pairs)))
    # few pairs at first: those held today, and some of each group that differ between groups
    first = np.searchsorted(problem.group, np.arange(len(problem.count)))
    width = np.bincount(problem.group)
    place = np.arange(pairs) - first[problem.group]
    stride = np.maximum(width // _INITIAL, 1)[problem.group]
    chosen = (problem.current > 0) | ((place + problem.group) % stride == 0)
    while True:
        some = np.flatnonzero(chosen)
        kept, new, distance = _solve(problem, some)
        pays = (_face(problem, distance, 1) == FULL) & ~chosen
        if not pays.any():
            return _with_face(problem, kept, new, distance)
        chosen |= pays & (_rank_in_group(problem.group, pays) < _ADDED)


def _with_face(problem: GroupProblem, kept: Ints, new: Ints, distance: Ints) -> GroupSolution:
    """The counts with the face of all optima, from the dual values ``distance`` [3, nodes]."""
    groups, slots = len(problem.count), problem.slots
    above = distance[:, groups + slots, None] - distance[:, groups : groups + slots]
    # units whose marginal load cost is below the dual value, then the one that equals it
    worth = above[0] + 1 - (0 if problem.base is None else 2 * problem.base)
    least = np.maximum((worth - 1) // 2, 0)
    last = np.where((worth > 0) & (worth % 2 == 0), _sign(-above[1:]), EMPTY)
    total = int(problem.count.sum())
    return GroupSolution(
        kept,
        new,
        kept_face=_face(problem, distance, 0),
        new_face=_face(problem, distance, 1),
        least=np.minimum(least + (last == FULL), total),
        most=np.minimum(least + (last != EMPTY), total),
    )


def _face(problem: GroupProblem, distance: Ints, moves: int) -> Faces:
    """[A] the face of items on each pair: new ones (``moves`` 1) or kept ones (0)."""
    head = len(problem.count) + problem.slot
    reduced = distance[:, problem.group] - distance[:, head]
    reduced[1] += problem.far
    reduced[2] += moves
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
    group, slot, far = problem.group[pairs], problem.slot[pairs], problem.far[pairs]
    current = problem.current[pairs]
    base = Network(groups + slots + 1, 3)
    base.supply[:groups] = problem.count
    base.supply[groups + slots] = -int(problem.count.sum())
    held = np.flatnonzero(current)
    kept_at = base.arcs(group[held], groups + slot[held], current[held], {1: far[held]})
    new_at = base.arcs(group, groups + slot, problem.count[group], {1: far, 2: 1})
    ground = np.zeros(slots, dtype=np.int64) if problem.base is None else problem.base
    guess = _guess(group, slot, problem.count, ground) - ground
    loads = Squares(
        tail=groups + np.arange(slots),
        head=np.full(slots, groups + slots),
        capacity=np.full(slots, int(problem.count.sum())),
        weight=np.ones(slots, dtype=np.int64),
        base=ground,
        low=np.floor(guess).astype(np.int64) - _WINDOW,
        high=np.ceil(guess).astype(np.int64) + _WINDOW,
    )
    optimum = minimise_squares(base, {0: loads})
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
