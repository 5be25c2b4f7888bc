"""Leaders by measured rate: never below the bound, near it where partitions are many, settled."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from partage import InputError
from partage.brokers.leaders import rates as by_rate
from partage.brokers.leaders.rates import scaled
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.proofs import Stage
from partage.brokers.solving import solve
from partage.brokers.stages import RATE_SCALE as SCALE
from tests.matrices import Lists, cluster_of, problem_of, text


def made(lists: Lists, rates: Sequence[float], brokers: int | None = None, **options: Any) -> Plan:
    count = brokers if brokers is not None else max(map(max, lists)) + 1
    cluster = cluster_of(text(lists), " ".join(map(str, range(count))))
    asked = PlanOptions(leaders="rate", **({"no_moves": True} | options))
    return solve(resolve(cluster, asked, np.array(rates, dtype=float)))


def stage(found: Plan) -> Stage:
    return next(s for s in found.stages if s.name == "leader rate")


def led(found: Plan, rates: Sequence[float]) -> list[float]:
    total = [0.0] * len(found.after.brokers)
    for leader, rate in zip(found.after.replicas[:, 0].tolist(), rates, strict=True):
        total[leader] += rate
    return total


# ---------------------------------------------------------------- by hand


def test_two_halves() -> None:
    found = made([[0, 1]] * 4, [3, 1, 1, 1])
    assert led(found, [3, 1, 1, 1]) == [3, 3]
    assert stage(found).value == stage(found).bound
    assert found.gaps == {}
    assert found.leader_changes == 1


def test_one_that_outweighs_all_others() -> None:
    found = made([[0, 1, 2]] * 5, [100, 1, 1, 1, 1])
    assert max(led(found, [100, 1, 1, 1, 1])) == 100
    assert stage(found).value == stage(found).bound  # nobody can split a partition


def test_partitions_on_only_two_brokers() -> None:
    # four of five lie on 0 and 1, whoever leads: one of these leads half of theirs at least
    rates = [4, 4, 4, 4, 1]
    found = made([[0, 1], [0, 1], [1, 0], [0, 1], [2, 3]], rates)
    assert max(led(found, rates)) == 8
    assert stage(found).value == stage(found).bound
    assert sorted(stage(found).prices["confined"]) == [0, 1]


def test_kept_replicas_count() -> None:
    # t-0 has one replica: broker 0 leads it in any case, and the rest goes to 1
    rates = [6, 3, 3]
    found = made([[0], [0, 1], [0, 1]], rates)
    assert led(found, rates) == [6, 6]


def test_without_any_rate_leaders_are_counted() -> None:
    found = made([[0, 1, 2]] * 6, [0] * 6)
    assert found.figures["leaders_per_broker"] == [2, 2]
    assert stage(found).value == stage(found).bound == 0


def test_partitions_without_a_rate_are_shared_out_by_count() -> None:
    # the measured ones are led by 0, 1 and 2 each; the six others fill up evenly
    rates = [5, 5, 5] + [0] * 6
    found = made([[0, 1, 2]] * 9, rates)
    assert led(found, rates) == [5, 5, 5]
    assert found.figures["leaders_per_broker"] == [3, 3]


def test_equal_rates_give_what_counting_gives() -> None:
    rng = random.Random(2)
    lists = [rng.sample(range(6), 3) for _ in range(60)]
    found = made(lists, [7.0] * 60)
    assert found.figures["leaders_per_broker"] == [10, 10]


def test_an_even_load_is_not_changed() -> None:
    lists = [[0, 1], [1, 0], [0, 1], [1, 0]]
    found = made(lists, [2, 2, 1, 1])
    assert found.leader_changes == 0
    assert found.settled is True


def test_rates_are_needed() -> None:
    problem = "leaders rate: needs rates: give `profile`, or bytes_in_per_second of partitions"
    with pytest.raises(InputError, match=problem):
        problem_of("1", "1", leaders="rate")


def test_the_rates_of_the_cluster_file() -> None:
    """They count without a profile, and only then; an unknown one is 0."""
    cluster = cluster_of("0,1 0,1 0,1 0,1", "0 1")
    rates = np.array([3.0, 1.0, np.nan, 1.0])
    asked = PlanOptions(leaders="rate", no_moves=True)
    own = solve(resolve(dataclasses.replace(cluster, bytes_in=rates), asked))
    measured = solve(resolve(cluster, asked, np.nan_to_num(rates)))
    assert own.after.replica_lists() == measured.after.replica_lists()
    assert max(led(own, [3, 1, 0, 1])) == 3
    assert stage(own).value == stage(measured).value
    assert own.document()["loads"] == ["rates: bytes_in_per_second of the cluster file"]
    assert own.document()["warnings"][0].startswith("unknown rates count as 0: ")
    other = dataclasses.replace(cluster, bytes_in=rates[::-1])
    won = solve(resolve(other, asked, np.nan_to_num(rates)))
    assert won.after.replica_lists() == measured.after.replica_lists()


def test_scaled() -> None:
    assert scaled(np.array([1.0, 1.0, 2.0])).tolist() == [SCALE // 4, SCALE // 4, SCALE // 2]
    assert scaled(np.zeros(3)).tolist() == [0, 0, 0]
    assert scaled(np.array([1e-300, 1e300])).tolist() == [0, SCALE]
    some = np.random.default_rng(0).lognormal(0, 3, 500)
    assert 0 <= SCALE - scaled(some).sum() <= 500


# ---------------------------------------------------------------- against every choice there is


def best(lists: Lists, rates: list[float]) -> float:
    """The lowest highest rate over all choices of leaders."""
    answer = float("inf")
    for choice in itertools.product(*lists):
        total: dict[int, float] = {}
        for leader, rate in zip(choice, rates, strict=True):
            total[leader] = total.get(leader, 0) + rate
        answer = min(answer, max(total.values()))
    return answer


def test_tiny_cases_against_brute_force() -> None:
    """The bound is a bound; the answer is never better than the best, and seldom worse."""
    rng = random.Random(11)
    gaps = []
    for _ in range(150):
        brokers = rng.randint(2, 5)
        count = rng.randint(2, 7)
        lists = [rng.sample(range(brokers), rng.randint(1, min(3, brokers))) for _ in range(count)]
        # whole numbers whose sum is a power of two: scaling rounds nothing
        rates = [float(rng.randint(0, 50)) for _ in range(count)]
        rates[0] += 512 - sum(rates)
        found = made(lists, rates, brokers)
        unit = SCALE // 512
        reached, bound = stage(found).value / unit, stage(found).bound / unit
        optimum = best(lists, rates)
        assert reached == max(led(found, rates))
        assert bound <= optimum <= reached
        gaps.append(reached / optimum - 1)
        assert found.settled is True
    assert min(gaps) >= 0
    assert sum(gap == 0 for gap in gaps) >= 0.9 * len(gaps)
    assert max(gaps) < 0.35


# ---------------------------------------------------------------- many partitions


@pytest.mark.parametrize("seed", range(6))
def test_many_partitions_within_two_percent(seed: int) -> None:
    rng = random.Random(seed)
    brokers = rng.choice((6, 9, 12))
    count = 40 * brokers
    lists = [rng.sample(range(brokers), 3) for _ in range(count)]
    rates = [rng.lognormvariate(0, 1) for _ in range(count)]
    found = made(lists, rates, brokers)
    proof = stage(found)
    assert proof.bound <= proof.value <= 1.02 * proof.bound
    assert found.settled is True
    before = [0.0] * brokers
    for row, rate in zip(lists, rates, strict=True):
        before[row[0]] += rate
    assert max(led(found, rates)) <= max(before)
    assert found.optimal is True  # of the stages that are exact


@pytest.mark.parametrize("seed", range(3))
def test_with_moves_too(seed: int) -> None:
    rng = random.Random(seed)
    lists = [rng.sample(range(6), 3) for _ in range(200)]
    rates = [rng.lognormvariate(0, 1.5) if rng.random() < 0.8 else 0.0 for _ in range(200)]
    found = made(lists, rates, 8, no_moves=False)
    proof = stage(found)
    assert proof.bound <= proof.value <= max(1.02 * proof.bound, proof.bound + 1)
    assert found.figures["replicas_per_broker"] == [75, 75]
    assert found.moves == found.lower_bound
    again = solve(found.problem.again(found.after))
    assert again.after.replica_lists() == found.after.replica_lists()
    assert found.settled is True


def test_a_given_order_is_proven_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    lists = [rng.sample(range(6), 3) for _ in range(60)]
    rates = [rng.lognormvariate(0, 1) for _ in range(60)]
    searched = stage(made(lists, rates, 6))
    monkeypatch.delattr(by_rate, "_improve")
    given = cluster_of(text(lists), "0 1 2 3 4 5").to_reassignment()
    proof = stage(made(lists, rates, 6, no_moves=False, reassignment=given))
    assert (proof.bound, proof.prices) == (searched.bound, searched.prices)
    assert proof.value > searched.value


def test_the_same_answer_in_any_order_of_input() -> None:
    rng = random.Random(4)
    lists = [rng.sample(range(5), 2) for _ in range(50)]
    rates = [rng.lognormvariate(0, 1) for _ in range(50)]
    once = made(lists, rates, 5).after.replica_lists()
    assert made(lists, rates, 5).after.replica_lists() == once
    assert made(lists, [r * 1e9 for r in rates], 5).after.replica_lists() == once
