"""How many items of each group go to each slot: even loads, near slots, few that change.

Items of a group are alike: each takes one slot of those open to its group. Three costs, minimised
one after the other:

- *load*: sum of squares of the loads, which yields the least majorised ones;
- *far*: items on slots that are far from their group (another rack);
- *new*: items that take a slot on which they do not already sit.

One network, ``group -> slot -> sink``, each open pair split into what sits there already and what
comes anew, the loads convex. The loads are first guessed: group after group pours its items, as if
they were divisible, into the lowest of its slots, given what the others pour there, until nothing
changes. That is coordinate descent on a convex cost and ends near its optimum, so that the windows
around the guess are narrow.

Where there are very many open pairs only some are laid out; those left out are priced with the dual
values, the ones that would pay are added, and it is solved again until none would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partage.flow.network import EMPTY, FREE, FULL, Faces, Network, Squares, minimise_squares

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_ROUNDS, _STILL = 20, 0.5
_REACH = 2
_LAID_OUT_WHOLE = 300_000
"""Open pairs up to which all are laid out at once."""
_SOME, _MORE = 8, 8
"""Pairs of a group to begin with, and to add at a time."""


@dataclass(frozen=True, eq=False)
class GroupProblem:
    """G groups, E slots, A open pairs.

    - ``count`` [G] items of each group; ``slots``: E
    - ``group``, ``slot`` [A]: the open pairs, ascending by group; every group has one
    - ``sits`` [A]: items of the group that sit on the slot; ``far`` [A]: 1 where it is far
    - ``base`` [E]: load that the slots have anyway (none unless given)
    """

    count: Ints
    slots: int
    group: Ints
    slot: Ints
    sits: Ints
    far: Ints
    base: Ints | None = None


@dataclass(frozen=True, eq=False)
class GroupSolution:
    """``stay``, ``come`` [A]: items on each open pair that sat there already, and new ones.

    What the optima have in common, that is which other counts cost the same:

    - ``staying``, ``coming`` [A]: FREE, or EMPTY or FULL in all of them
    - ``least``, ``most`` [E]: items on each slot, base aside
    """

    stay: Ints
    come: Ints
    staying: Faces
    coming: Faces
    least: Ints
    most: Ints


def assign_groups(problem: GroupProblem) -> GroupSolution:
    """The counts with the least costs, load first, then far, then new."""
    pairs = len(problem.group)
    if pairs <= _LAID_OUT_WHOLE:
        return _with_face(problem, *_solve(problem, np.arange(pairs)))
    # few pairs at first: where items sit, and some of each group that differ from group to group
    first = np.searchsorted(problem.group, np.arange(len(problem.count)))
    width = np.bincount(problem.group)
    place = np.arange(pairs) - first[problem.group]
    stride = np.maximum(width // _SOME, 1)[problem.group]
    chosen = (problem.sits > 0) | ((place + problem.group) % stride == 0)
    while True:
        some = np.flatnonzero(chosen)
        stay, come, distance = _solve(problem, some)
        pays = (_face(problem, distance, 1) == FULL) & ~chosen
        if not pays.any():
            return _with_face(problem, stay, come, distance)
        chosen |= pays & (_rank_in_group(problem.group, pays) < _MORE)


def _with_face(problem: GroupProblem, stay: Ints, come: Ints, distance: Ints) -> GroupSolution:
    """The counts with what the dual values ``distance`` [3, nodes] say of all optima."""
    groups, slots = len(problem.count), problem.slots
    beyond = distance[:, groups + slots, None] - distance[:, groups : groups + slots]
    # the unit that costs as much as it is worth, on the first cost, and all before it
    worth = beyond[0] + 1 - (0 if problem.base is None else 2 * problem.base)
    least = np.maximum((worth - 1) // 2, 0)
    last = np.where((worth > 0) & (worth % 2 == 0), _sign(-beyond[1:]), EMPTY)
    total = int(problem.count.sum())
    return GroupSolution(
        stay,
        come,
        staying=_face(problem, distance, 0),
        coming=_face(problem, distance, 1),
        least=np.minimum(least + (last == FULL), total),
        most=np.minimum(least + (last != EMPTY), total),
    )


def _face(problem: GroupProblem, distance: Ints, new: int) -> Faces:
    """[A] what the dual values leave of an item on the pair, ``new`` or (0) sitting there."""
    head = len(problem.count) + problem.slot
    reduced = distance[:, problem.group] - distance[:, head]
    reduced[1] += problem.far
    reduced[2] += new
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
    """What stays and what comes [A], with some of the ``pairs``, and the dual values [3, nodes]."""
    groups, slots = len(problem.count), problem.slots
    group, slot, far = problem.group[pairs], problem.slot[pairs], problem.far[pairs]
    sits = problem.sits[pairs]
    base = Network(groups + slots + 1, 3)
    base.supply[:groups] = problem.count
    base.supply[groups + slots] = -int(problem.count.sum())
    sitting = np.flatnonzero(sits)
    stay_at = base.arcs(group[sitting], groups + slot[sitting], sits[sitting], {1: far[sitting]})
    come_at = base.arcs(group, groups + slot, problem.count[group], {1: far, 2: 1})
    ground = np.zeros(slots, dtype=np.int64) if problem.base is None else problem.base
    guess = _guess(group, slot, problem.count, ground) - ground
    loads = Squares(
        tail=groups + np.arange(slots),
        head=np.full(slots, groups + slots),
        capacity=np.full(slots, int(problem.count.sum())),
        weight=np.ones(slots, dtype=np.int64),
        base=ground,
        low=np.floor(guess).astype(np.int64) - _REACH,
        high=np.ceil(guess).astype(np.int64) + _REACH,
    )
    optimum = minimise_squares(base, {0: loads})
    if optimum is None:
        raise AssertionError("every group has an open slot")
    stay, come = np.zeros_like(problem.sits), np.zeros_like(problem.sits)
    stay[pairs[sitting]] = optimum.flow[stay_at]
    come[pairs] = optimum.flow[come_at]
    return stay, come, optimum.distance


def _guess(group: Ints, slot: Ints, count: Ints, ground: Ints) -> Floats:
    """[E] loads, with what is there anyway, that are nearly even, were items divisible."""
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
            poured = np.maximum(_level(others, float(count[g])) - others, 0.0)
            moved = max(moved, float(np.abs(poured - part[arcs]).max()))
            part[arcs] = poured
            load[to] = others + poured
        if moved < _STILL:
            break
    return load


def _level(ground: Floats, amount: float) -> float:
    """The level that ``amount`` reaches when poured over ``ground``."""
    ordered = np.sort(ground)
    filled = np.arange(1, len(ordered) + 1)
    level: Floats = (np.cumsum(ordered) + amount) / filled
    # the last slot that the water still covers
    return float(level[np.flatnonzero(level >= ordered)[-1]])
