"""Disks that would overflow are relieved by exchanges; where that is impossible the broker is
named."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from partage import CannotError
from partage.brokers.figures import Placement
from partage.brokers.placement import integer_program
from partage.brokers.placement.disks import disk_overflow, fit_disks
from partage.brokers.plan import Plan
from partage.brokers.planning import plan, problem_of
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from tests.matrices import cluster_of


@pytest.fixture(autouse=True, params=["integer program", "exchanges"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every case by both ways: as a small job, and as one that is too large for the program."""
    if request.param == "exchanges":
        monkeypatch.setattr(integer_program, "MAX_VARIABLES", 0)
    return str(request.param)


def used(made: Plan) -> dict[int, int]:
    held = Placement(made.after, made.problem.usable).byte_counts().tolist()
    return dict(zip(made.after.broker_ids.tolist(), held, strict=True))


def counts(problem: Problem, sets: Any) -> list[int]:
    return np.bincount(sets[sets >= 0], minlength=len(problem.usable)).tolist()


def test_nothing_overflows() -> None:
    problem = problem_of(cluster_of("1/10 2/10", "1/10 2/10"))
    sets = problem.cluster.replicas
    assert disk_overflow(problem, sets).tolist() == [0, 0]
    assert fit_disks(problem, sets) is sets


def test_unknown_disks_and_sizes_do_not_overflow() -> None:
    problem = problem_of(cluster_of("1/1000000000 2 2/5", "1 2/5"))
    assert disk_overflow(problem, problem.cluster.replicas).tolist() == [0, 0]


def test_disk_overflow_in_bytes() -> None:
    problem = problem_of(cluster_of("1,2/7 1/8 2/0", "1/10 2/3"))
    assert disk_overflow(problem, problem.cluster.replicas).tolist() == [5, 4]


def test_an_exchange_changes_no_count() -> None:
    cluster = cluster_of("1/60 1/60 2/10 2/10", "1/100 2/300")
    problem = problem_of(cluster)
    sets = fit_disks(problem, problem.cluster.replicas)
    assert not disk_overflow(problem, sets).any()
    assert counts(problem, sets) == [2, 2]


def test_of_exchanges_that_do_the_one_with_fewest_moves() -> None:
    # t-0 came from 2 in the first place: to send it back costs no move
    cluster = cluster_of("2/60 1/60 2/10 2/10", "1/100 2/300")
    problem = problem_of(cluster)
    sets = np.array([[0], [0], [1], [1]])
    relieved = fit_disks(problem, sets)
    assert relieved[0].tolist() == [1]
    assert relieved[1].tolist() == [0]


def test_a_plan_keeps_its_counts_and_racks() -> None:
    made = plan(cluster_of("1,3/50 " * 4 + "2,4/1 " * 4, "1:a/110 2:a 3:b 4:b", disk=500))
    assert used(made)[1] <= 110
    assert made.figures["replicas_per_broker"] == [4, 4]
    assert made.figures["rack_violations"] == 0
    assert not disk_overflow(made.problem, made.after.replicas).any()


def test_a_replica_moves_away_if_no_exchange_helps() -> None:
    # every partition weighs the same, so an exchange relieves nothing
    cluster = cluster_of("1/10 1/10 2/10 2/10", "1/10 2/100")
    made = plan(cluster)
    assert used(made) == {1: 10, 2: 30}
    assert made.figures["replicas_per_broker"] == [1, 3]
    assert made.optimal is False  # counts are not as fair as they could be without disks


def test_a_disk_that_cannot_be_relieved_is_named() -> None:
    cluster = cluster_of("1/10 2/10 9/10", "1/10 2/100 9/5")
    made = plan(cluster)
    assert used(made)[9] == 0
    full = cluster_of("1/10 9/10", "1/10 9/5")
    with pytest.raises(CannotError, match=r"broker 9: its disk of 5 B overflows by 5 B \("):
        plan(full)


def test_replicas_that_are_left_out_stay_though_they_overflow() -> None:
    cluster = cluster_of("kept: 1/50 t: 2/1", "1/10 2/100")
    with pytest.raises(CannotError, match="broker 1: its disk"):
        plan(cluster, topics="t")


def test_without_moves_an_overflow_is_a_warning() -> None:
    cluster = cluster_of("1,2/10 1,2/10", "1/10 2/100")
    problem = problem_of(cluster, no_moves=True)
    for _ in range(2):
        made = solve(problem)
        assert made.moves == 0
        assert made.warnings == ("broker 1: 10 bytes more than its disk holds",)
        assert made.document()["warnings"] == list(made.warnings)
    assert problem.warnings == []


def test_a_dead_brokers_disk_does_not_matter() -> None:
    made = plan(cluster_of("1,2/50", "1/1! 2 3"))
    assert made.after.replica_lists() == [[2, 3]]


@pytest.mark.long
def test_random_clusters_with_tight_disks() -> None:
    """Whatever comes out keeps every disk, the racks and the factor; it is settled; and no count
    has changed where exchanges were enough."""
    rng = random.Random(5)
    relieved = cannot = 0
    for _ in range(60):
        count = rng.randint(3, 6)
        sizes = [int(rng.lognormvariate(3, 1.5)) + 1 for _ in range(rng.randint(10, 30))]
        tight = rng.choice((1.05, 1.2, 1.5))
        disk = int(2 * sum(sizes) / count * tight) + max(sizes) // 2
        matrix = " ".join("{},{}/{}".format(*rng.sample(range(count), 2), size) for size in sizes)
        brokers = [str(b) for b in range(count)]
        if rng.random() < 0.5:
            brokers = [f"{b}:{'abc'[b % 3]}" for b in range(count)]
        free = plan(cluster_of(matrix, " ".join(brokers)))
        try:
            made = plan(cluster_of(matrix, " ".join(brokers), disk))
        except CannotError:
            cannot += 1
            continue
        assert max(used(made).values()) <= disk
        assert made.figures["rack_violations"] == 0
        assert {len(row) for row in made.after.replica_lists()} == {2}
        assert made.settled is True
        if max(used(free).values()) <= disk:
            assert made.after.replica_lists() == free.after.replica_lists()
        else:
            relieved += 1
    assert relieved > 10
    assert cannot < 20
