"""The integer program against every placement there is."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from partage.brokers.placement import integer_program
from partage.brokers.placement.integer_program import SIZES, NothingFitsError, solve_within_disks
from partage.brokers.planning import problem_of
from partage.flow.assignment import LOAD, MOVES, AssignmentProblem
from tests.matrices import cluster_of


def job(rng: random.Random) -> tuple[AssignmentProblem, Any]:
    """Up to five partitions on three or four brokers whose disks are tight, and the disks."""
    brokers, factor = rng.randint(3, 4), rng.randint(1, 2)
    rows = [
        (rng.sample(range(brokers), factor), rng.randint(1, 30)) for _ in range(rng.randint(3, 5))
    ]
    matrix = " ".join(f"{','.join(map(str, held))}/{size}" for held, size in rows)
    racks = rng.random() < 0.5
    names = " ".join(f"{b}:{'ab'[b % 2]}" if racks else str(b) for b in range(brokers))
    problem = problem_of(cluster_of(matrix, names))
    mean = factor * sum(size for _, size in rows) // brokers
    return problem.sharing, np.array([mean + rng.randint(0, 15) for _ in range(brokers)])


def placements(sharing: AssignmentProblem) -> list[Any]:
    """Every arrangement that keeps the racks."""
    least, most = sharing.item_bounds
    choices = []
    for i, demand in enumerate(sharing.demand.tolist()):
        sets = itertools.combinations(range(sharing.slots), demand)
        held = [(s, np.bincount(sharing.zone_of[list(s)], minlength=sharing.zones)) for s in sets]
        choices.append([s for s, n in held if (n >= least[i]).all() and (n <= most[i]).all()])
    return [np.array(sets) for sets in itertools.product(*choices)]


@pytest.mark.parametrize("reach", [0, 1, 8])
@pytest.mark.parametrize("costs", [(LOAD, MOVES), (SIZES,)])
def test_no_placement_that_fits_is_better(
    costs: tuple[str, ...], reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However near to the fair share loads get columns of their own first."""
    monkeypatch.setattr(integer_program, "_REACHES", (reach,))
    rng = random.Random(3)
    fitted = proven = 0
    for _ in range(25):
        sharing, disk = job(rng)

        def cost(slots: Any, sharing: AssignmentProblem = sharing) -> list[int]:
            known = sharing.costs(slots) | {SIZES: sharing.size_moved(slots)}
            return [known[name] for name in costs]

        fit = [s for s in placements(sharing) if (sharing.size_on(s) <= disk).all()]
        if not fit:
            proven += 1
            with pytest.raises(NothingFitsError):
                solve_within_disks(sharing, disk, costs)
            continue
        fitted += 1
        least = min(placements(sharing), key=lambda s: sharing.costs(s)[LOAD])
        fairest = sharing.base + np.bincount(least[least >= 0], minlength=sharing.slots)
        for known in (None, fairest):
            found = solve_within_disks(sharing, disk, costs, known)
            assert found is not None
            assert (sharing.size_on(found) <= disk).all()
            assert cost(found) == min(map(cost, fit))
    assert fitted > 5
    assert proven > 1
