"""The search and the bound of relieved loads against brute force on small problems."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

from partage.flow.load_relief import ReliefProblem, least_cost, limit_prices, relieve_loads
from partage.flow.load_relief import search as searching
from tests.flow.load_balancing.test_load_balancing import a_problem
from tests.profiles import seeds

Ints = npt.NDArray[np.int64]


def to_relieve(seed: int) -> tuple[ReliefProblem, Ints]:
    """Five items on four slots, and where they are; an item that breaks the rules stays there."""
    sharing, held, led = a_problem(seed)
    sharing.own.setflags(write=False)
    in_zones = sharing.in_zones
    least, most = (bound[:, None] for bound in sharing.item_bounds)
    legal = ((least <= in_zones) & (in_zones <= most)).all(axis=1)
    fair = np.concatenate((held.bands.fair, led.bands.fair))
    problem = ReliefProblem(
        sharing=sharing,
        held=held.each,
        led=led.each,
        base=np.zeros_like(fair),
        high=np.full_like(fair, 2**40),
        fair=fair,
        first=np.array([False, False, False, True]),
        movable=legal,
        today=sharing.own[:, 0],
    )
    rng = np.random.default_rng(seed)
    today = problem.loads(sharing.own)
    for k in rng.choice(4, 2, replace=False).tolist():
        problem.high[k] = max(int(today[k].max() * rng.uniform(0.5, 1.0)), 1)
    return problem, sharing.own


def every_assignment(problem: ReliefProblem) -> list[Ints]:
    """All that keep the rules, the leader first."""
    sharing = problem.sharing
    least, most = sharing.item_bounds
    options = []
    for item, row in enumerate(sharing.own.tolist()):
        mine = [slot for slot in row if slot >= 0]
        sets = []
        for one in combinations(range(sharing.slots), len(mine)):
            held = np.bincount(sharing.zone_of[list(one)], minlength=sharing.zones)
            keeps = (least[item] <= held).all() and (held <= most[item]).all()
            if keeps if problem.movable[item] else sorted(mine) == list(one):
                sets += [
                    [slot, *(other for other in one if other != slot)] + [-1] * (2 - len(one))
                    for slot in one
                ]
        options.append(sets)
    return [np.array(rows, dtype=np.int64) for rows in product(*options)]


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(6))
def test_search_and_bound_against_all_assignments(seed: int) -> None:
    problem, rows = to_relieve(seed)
    found = problem.worth(relieve_loads(problem, rows))
    kept = [one for one in every_assignment(problem) if not problem.over(one).any()]
    fewest = [sum((problem.sharing.size * problem.new(one)).tolist()) for one in kept]
    size = problem.sharing.size
    price, scale = limit_prices(problem, rows)
    bound = least_cost(problem, size, price, scale, problem.high)
    assert bool(kept) == (found[0] == found[1] == 0)
    if kept:
        assert bound <= min(fewest) == found[2]


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(4))
def test_bound_holds_for_any_prices(seed: int) -> None:
    problem, _ = to_relieve(seed)
    rng = np.random.default_rng(seed + 100)
    cost = rng.integers(0, 9, problem.sharing.items)
    kept = [one for one in every_assignment(problem) if not problem.over(one).any()]
    least = min((int((cost * problem.new(one)).sum()) for one in kept), default=2**40)
    for _ in range(5):
        price = rng.integers(-3, 9, problem.high.shape) * (problem.high < 2**40)
        bound = least_cost(problem, cost, price, 4, problem.high)
        assert bound <= least or not kept


def test_an_assignment_within_the_limits_stays_as_it_is() -> None:
    problem, rows = to_relieve(0)
    problem.high[:] = 2**40
    assert relieve_loads(problem, rows) is rows


def test_few_changes_to_choose_from_are_enough_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST", 0)
    for seed in range(4):
        problem, rows = to_relieve(seed)
        found = relieve_loads(problem, rows)
        assert problem.worth(found)[:2] <= problem.worth(rows)[:2]
