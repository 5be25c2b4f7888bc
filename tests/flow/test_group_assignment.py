"""The kernel of groups against enumeration, with all pairs laid out and with few of them."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from partage.flow import group_assignment
from partage.flow.group_assignment import GroupProblem, GroupSolution, assign_groups


def small(draw: random.Random) -> GroupProblem:
    slots = draw.randint(1, 4)
    group: list[int] = []
    slot: list[int] = []
    groups = draw.randint(1, 3)
    for number in range(groups):
        for place in sorted(draw.sample(range(slots), draw.randint(1, slots))):
            group.append(number)
            slot.append(place)
    count = np.array([draw.randint(0, 4) for _ in range(groups)])
    sits = np.zeros(len(group), dtype=np.int64)
    for number in range(groups):
        pairs = [at for at, g in enumerate(group) if g == number]
        for _ in range(draw.randint(0, int(count[number]))):
            sits[draw.choice(pairs)] += 1
    return GroupProblem(
        count=count,
        slots=slots,
        group=np.array(group),
        slot=np.array(slot),
        current=sits,
        far=np.array([draw.choice([0, 0, 1]) for _ in group]),
        base=None
        if draw.random() < 0.5
        else np.array([draw.choice([0, 1, 5]) for _ in range(slots)]),
    )


def cost(problem: GroupProblem, found: GroupSolution) -> tuple[int, int, int]:
    total = found.kept + found.new
    assert (found.kept >= 0).all()
    assert (found.new >= 0).all()
    assert (found.kept <= problem.current).all()
    given = np.bincount(problem.group, total, minlength=len(problem.count))
    assert (given == problem.count).all()
    load = np.bincount(problem.slot, total, minlength=problem.slots)
    load = load + (0 if problem.base is None else problem.base)
    return int((load**2).sum()), int((total * problem.far).sum()), int(found.new.sum())


def cheapest(problem: GroupProblem) -> tuple[int, int, int]:
    """By trying every way to split every group."""
    base = [0] * problem.slots if problem.base is None else problem.base.tolist()
    reached = {tuple(base): (0, 0)}
    for number, count in enumerate(problem.count.tolist()):
        pairs = np.flatnonzero(problem.group == number).tolist()
        splits = [s for s in product(range(count + 1), repeat=len(pairs)) if sum(s) == count]
        after: dict[tuple[int, ...], tuple[int, int]] = {}
        for load, (far, new) in reached.items():
            for split in splits:
                now, value = list(load), [far, new]
                for pair, size in zip(pairs, split, strict=True):
                    now[problem.slot[pair]] += size
                    value[0] += size * int(problem.far[pair])
                    value[1] += max(0, size - int(problem.current[pair]))
                key = tuple(now)
                after[key] = min(after.get(key, (10**9, 0)), (value[0], value[1]))
        reached = after
    return min((sum(x * x for x in load), *value) for load, value in reached.items())


@pytest.mark.parametrize("few", [False, True])
def test_split_is_the_cheapest(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if few:
        # one pair of each group at first, one more at a time
        monkeypatch.setattr(group_assignment, "_ALL_PAIRS", 0)
        monkeypatch.setattr(group_assignment, "_INITIAL", 1)
        monkeypatch.setattr(group_assignment, "_ADDED", 1)
    draw = random.Random(2)
    for _ in range(1_000):
        problem = small(draw)
        assert cost(problem, assign_groups(problem)) == cheapest(problem)


def wide(draw: random.Random) -> GroupProblem:
    """40 groups × 60 slots, some open, some items there."""
    open_to = np.array([[draw.random() < 0.4 for _ in range(60)] for _ in range(40)])
    open_to[:, 0] = True
    group, slot = np.nonzero(open_to)
    sits = np.array([draw.choice([0, 0, 0, 2, 9]) for _ in group])
    count = np.bincount(group, sits) + np.array([draw.randint(0, 200) for _ in range(40)])
    far = np.array([draw.choice([0, 1]) for _ in group])
    return GroupProblem(count.astype(np.int64), 60, group, slot, sits, far)


@pytest.mark.parametrize("seed", range(5))
def test_pricing_few_pairs_gives_the_same_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = wide(random.Random(seed))
    whole = cost(problem, assign_groups(problem))
    solved: list[int] = []
    solve = group_assignment._solve

    def counted(asked: GroupProblem, pairs: np.ndarray) -> tuple[GroupSolution, np.ndarray]:
        solved.append(len(pairs))
        return solve(asked, pairs)

    monkeypatch.setattr(group_assignment, "_ALL_PAIRS", 100)
    monkeypatch.setattr(group_assignment, "_solve", counted)
    assert cost(problem, assign_groups(problem)) == whole
    assert solved[0] < len(problem.group)
    assert solved == sorted(solved)


def test_level() -> None:
    assert group_assignment._level(np.array([0.0, 1.0, 5.0]), 3.0) == 2.0
    assert group_assignment._level(np.array([4.0]), 0.0) == 4.0
