"""Unusual clusters and options, by name: tiny, unbalanced, with failures, extreme.

Strategy ``exact`` plans each one as well as an independent oracle, or raises an error of one line.
Each plan is written, checked from its files, and planned again, which changes nothing. The other
strategies may refuse, be less fair, or ignore racks and report that, but their lists must be valid.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage.brokers.check import check
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.brokers.strategies import STRATEGIES
from partage.cluster.model import Cluster
from partage.errors import CannotError, InputError, PartageError
from tests.matrices import Json, brokers_of, partitions
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import NaiveProblem, read_problem
from tests.oracles.verify import assert_best_order, assert_best_placement, assert_true_figures
from tests.strategies import options_of_second_run

Case = tuple[Json, Json]


def topic(name: str, *lists: list[int], size: int | None = None) -> list[Json]:
    return partitions(lists, [size] * len(lists), name)


def case(brokers: str, *topics: list[Json], **options: Any) -> Case:
    return {"brokers": brokers_of(brokers), "partitions": list(chain(*topics))}, options


def with_capacity(cluster_and_options: Case, **capacity: Any) -> Case:
    cluster, options = cluster_and_options
    for broker in cluster["brokers"]:
        broker["capacity"] = capacity.get(f"b{broker['id']}", 1)
    return cluster, options


def scattered(racks: tuple[int, ...], partitions: int, topics: int, seed: int = 1) -> Json:
    """RF 3 drawn at random among all brokers: most partitions break the rack rule."""
    random = np.random.default_rng(seed)
    rack = [chr(ord("a") + r) for r, size in enumerate(racks) for _ in range(size)]
    return {
        "brokers": [{"id": i + 1, "rack": r} for i, r in enumerate(rack)],
        "partitions": [
            {
                "topic": f"t{n % topics:03}",
                "partition": n // topics,
                "replicas": (random.permutation(len(rack))[:3] + 1).tolist(),
                "size_bytes": int(random.integers(1, 10**9)),
            }
            for n in range(partitions)
        ],
    }


CASES: dict[str, Case] = {
    # the number of brokers
    "one broker": case("1", topic("t", [1], [1], [1])),
    "one broker, in a rack": case("1:a", topic("t", [1], [1])),
    "one broker of two is dead": case("1 2!", topic("t", [2], [1], [2])),
    "all but one removed": case("1 2 3", topic("t", [1], [2], [3], [2]), remove_broker=[1, 3]),
    "a broker for a broker": case("1:a 2:b", topic("t", [1, 2], [2, 1]), replace_broker=["1=9"]),
    "the only broker replaced": case("1", topic("t", [1], [1]), replace_broker=["1=2"]),
    "all brokers replaced": case(
        "1:a 2:b", topic("t", [1, 2], [2, 1], [1, 2]), replace_broker=["1=3", "2=4"]
    ),
    "as many brokers left as replicas": case(
        "1 2 3 4 5 6",
        topic("t", [1, 2, 3], [4, 5, 6], [6, 1, 2], [3, 4, 5]),
        remove_broker=[1, 3, 5],
    ),
    "as many brokers left as replicas, one per rack": case(
        "1:a 2:a 3:b 4:b 5:c 6:c",
        topic("t", [1, 2, 3], [4, 5, 6], [6, 1, 2], [3, 4, 5]),
        remove_broker=[1, 3, 5],
    ),
    "all loads move to empty brokers": case(
        "1 2 3 4", topic("t", [1, 2], [1, 2], [2, 1]), remove_broker=[1, 2]
    ),
    "only new brokers are left": case(
        "1:a 2:b",
        topic("t", [1, 2], [2, 1], [1, 2]),
        remove_broker=[1, 2],
        add_broker=["3:a", "4:b", "5:c"],
    ),
    # racks
    "one rack": case("1:a 2:a 3:a 4:a", topic("t", [1, 2], [1, 2], [1, 2], [1, 3])),
    "a rack per broker": case("1:a 2:b 3:c 4:d", topic("t", [1, 2], [1, 2], [1, 2], [1, 3])),
    "two racks, three replicas": case(
        "1:a 2:a 3:b 4:b", topic("t", [1, 2, 3], [1, 2, 4], [1, 2, 3]), topic("u", [3, 4, 1])
    ),
    "racks of 4, 1 and 1": case(
        "1:a 2:a 3:a 4:a 5:b 6:c", topic("t", [1, 2, 3], [2, 3, 4], [1, 2, 4], [4, 3, 1], [1, 5, 6])
    ),
    "racks of 5 and 1, four replicas": case(
        "1:a 2:a 3:a 4:a 5:a 6:b",
        topic("t", [1, 2, 3, 4], [1, 2, 3, 5], [2, 3, 4, 5], [6, 1, 2, 3]),
    ),
    "racks of 4, 2 and 2, all in the first": case(
        "1:a 2:a 3:a 4:a 5:b 6:b 7:c 8:c",
        topic("t", *[[1, 2, 3]] * 4),
        topic("u", *[[2, 3, 4]] * 3),
    ),
    "racks of 3, 2 and 1, half of them scattered": case(
        "1:a 2:a 3:a 4:b 5:b 6:c",
        topic("t", [1, 2, 4], [4, 5, 6], [1, 2, 3], [3, 5, 6]),
        topic("u", [4, 5, 1], [2, 4, 6], [2, 3, 6]),
    ),
    "a rack whose brokers are all dead": case(
        "1:a 2:a 3:b 4:b 5:c! 6:c!", topic("t", [1, 3, 5], [2, 4, 6], [1, 4, 5], [5, 6, 2])
    ),
    # dead brokers
    "each partition has a replica on a dead broker": case(
        "1 2 3 4!", topic("t", [4, 1], [2, 4], [4, 3], [1, 4])
    ),
    "all replicas of some partitions on dead brokers": case(
        "1:a 2:b 3:c 4:a! 5:b! 6:c!", topic("t", [4, 5, 6], [1, 2, 3], [6, 5, 4])
    ),
    "all replicas of all partitions on dead brokers": case(
        "1 2 3 4! 5!", topic("t", [4, 5], [5, 4], [4, 5])
    ),
    "dead and removed": case("1 2 3 4! 5", topic("t", [4, 5], [5, 1], [2, 4]), remove_broker=[5]),
    "a dead broker is also removed": case("1 2 3!", topic("t", [3, 1], [1, 2]), remove_broker=[3]),
    "a dead broker replaced": case(
        "1:a 2:b 3:c!", topic("t", [3, 1], [1, 2]), replace_broker=["3=4"]
    ),
    "a left-out topic on a dead broker": case(
        "1 2 3 4!", topic("t", [1, 2], [1, 2], [2, 1]), topic("u", [4, 1]), topics="t"
    ),
    # replication factors
    "factor 1": case("1:a 2:a 3:b", topic("t", [1], [1], [1], [1], [2])),
    "a replica on every broker": case("1:a 2:a 3:b", topic("t", [1, 2, 3], [1, 2, 3], [1, 2, 3])),
    "up to a replica on every broker": case(
        "1:a 2:a 3:b 4:c", topic("t", [1], [2, 1], [4]), replication_factor=["4"]
    ),
    "down from every broker to one": case(
        "1 2 3 4", topic("t", *[[1, 2, 3, 4]] * 5), replication_factor=["1"]
    ),
    "one topic up, one down": case(
        "1:a 2:a 3:b 4:c",
        topic("t", [1, 3], [2, 3], [1, 4]),
        topic("u", [1, 3, 4], [2, 3, 4], [4, 3, 1]),
        replication_factor=["t=3", "u=2"],
    ),
    "all up but one down": case(
        "1 2 3 4 5",
        topic("t", [1, 3], [2, 3]),
        topic("u", [1, 3, 4], [2, 3, 4]),
        topic("v", [5], [5]),
        replication_factor=["3", "u=1"],
    ),
    "factors mixed within a topic": case(
        "1:a 2:a 3:b 4:c", topic("t", [1], [1, 2], [1, 2, 3], [4, 3, 2, 1], [2], [2, 1])
    ),
    "mixed factors become one": case(
        "1:a 2:a 3:b 4:c",
        topic("t", [1], [1, 2], [1, 2, 3], [4, 3, 2, 1]),
        replication_factor=["2"],
    ),
    "down, and off two brokers": case(
        "1 2 3 4 5",
        topic("t", [1, 2, 3], [3, 4, 5], [1, 4, 5], [5, 2, 1]),
        replication_factor=["2"],
        remove_broker=[1, 2],
    ),
    # sizes of topics
    "one partition": case("1:a 2:b 3:c", topic("t", [2])),
    "one partition on all brokers": case("1 2", topic("t", [2, 1])),
    "a partition moves off its broker": case("1 2 3", topic("t", [1]), remove_broker=[1]),
    "topics of one partition, all on one broker": case(
        "1 2 3", *[topic(name, [1, 2]) for name in "tuvwx"]
    ),
    "fewer partitions than brokers": case("1 2 3 4 5 6 7", topic("t", [1, 2], [2, 1])),
    "more partitions than brokers": case("1 2 3", topic("t", *[[1, 2]] * 17)),
    "all partitions equal": case("1:a 2:b 3:c 4:a 5:b 6:c", topic("t", *[[1, 2, 3]] * 6, size=7)),
    "all partitions empty": case("1 2 3", topic("t", *[[1, 2]] * 4, size=0)),
    "gaps in the numbers": case(
        "1 2 3",
        [{"topic": "t", "partition": n, "replicas": [1]} for n in (0, 7, 2**31 - 1)],
    ),
    # what is left out
    "topics left out fill the other brokers": case(
        "1 2 3", topic("t", [1], [1]), topic("u", *[[2, 3]] * 6), topics="t"
    ),
    "topics left out fill one broker": case(
        "1 2 3", topic("t", [1, 2], [1, 2], [1, 2]), topic("u", *[[1]] * 9), topics="t"
    ),
    "left out with more replicas than brokers live": case(
        "1 2 3!", topic("t", [1], [1]), topic("u", [1, 2, 3]), topics="t"
    ),
    # capacities
    "capacities 1 and 1,000": with_capacity(case("1 2 3", topic("t", [1], [2], [3], [1])), b1=1000),
    "a broker with the capacity for all": with_capacity(
        case("1:a 2:b", topic("t", [1], [2], [1], [2])), b2=20_000
    ),
    "capacities 1, 2 and 4": with_capacity(
        case("1 2 3", topic("t", *[[1, 2]] * 7)), b1=1, b2=2, b3=4
    ),
    "a capacity below 1": with_capacity(
        case("1:a 2:b 3:c", topic("t", *[[1, 2]] * 5)), b1=0.25, b2=0.5
    ),
    # spread first
    "spread by topic": case(
        "1:a 2:a 3:b 4:c", *[topic(name, [1, 3], [1, 3], [1, 4]) for name in "tu"], spread="topic"
    ),
    "spread by topic, rack rule broken": case(
        "1:a 2:a 3:a 4:b 5:c",
        *[topic(name, [1, 2, 3], [1, 2, 4]) for name in "tu"],
        spread="topic",
    ),
    # order only
    "no moves on dead brokers": case(
        "1 2 3! 4!", topic("t", [3, 1], [3, 4], [1, 2], [4, 3]), no_moves=True
    ),
    "no moves, one replica each": case("1 2", topic("t", [1], [1], [1]), no_moves=True),
}

REASONS = {
    "leader-flow": "changes only the order of lists: ",
    "greedy": "`no_moves` forbids the move that is needed: ",
    "bin-packing": "`no_moves` forbids the move that is needed: ",
    "permutation": "moves replicas by design: ",
    "generate": "moves replicas by design: |lays out a topic with one replication factor, ",
    "mip": "balances by moving replicas|has no way to change a replication factor: "
    "|no placement keeps all leaders, ",
    "rack-greedy": "moves replicas by design: |assigns a topic with one replication factor, "
    "|finds no place for |keeps every replica within its broker's capacity: ",
}
"""Why a strategy may refuse a case, as a pattern; those not listed plan every case."""

REFUSED: dict[str, tuple[Case, str]] = {
    "fewer brokers than replicas asked": (
        case("1 2 3", topic("t", [1, 2]), replication_factor=["4"]),
        "replica",
    ),
    "fewer live brokers than replicas": (
        case("1 2 3!", topic("t", [1, 2, 3])),
        "replica",
    ),
    "fewer brokers than replicas after removing": (
        case("1 2 3", topic("t", [1, 2, 3]), remove_broker=[2]),
        "replica",
    ),
    "no broker left": (case("1 2", topic("t", [1]), remove_broker=[1, 2]), "none is left"),
    "all brokers dead": (case("1! 2!", topic("t", [1])), "none is left"),
    "a left-out topic on a removed broker": (
        case("1 2 3", topic("t", [1]), topic("u", [2]), topics="t", remove_broker=[2]),
        "2",
    ),
    "capacities too different": (
        with_capacity(case("1 2", topic("t", [1], [2])), b1=20_001),
        "20001 is more than 20000 times 1",
    ),
    "an unknown topic": (
        case("1 2", topic("t", [1]), replication_factor=["u=2"]),
        "u",
    ),
    "no topic chosen": (case("1 2", topic("t", [1]), topics="nothing"), "matches no topic"),
    "no replica at all": (case("1 2", topic("t", [1]), replication_factor=["0"]), "0"),
}


def assert_one_line(error: PartageError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert len(text) < 300


def assert_checked(planned: Plan, folder: Path, *, racks: bool = True) -> None:
    """Without ``racks``, the plan may break the rack rule if its figures count the violations."""
    planned.write(folder / "plan")
    verdict = check(folder / "plan")
    broken = [defect for defect in verdict.defects if defect.endswith("breaks the rack rule")]
    assert verdict.defects == broken
    if racks:
        assert not broken
    assert len(broken) <= planned.figures["rack_violations"]


def assert_stable(planned: Plan, options: Json) -> None:
    assert planned.figures["settled"] is True
    second = plan(planned.after, **options_of_second_run(options))
    assert second.moves == 0
    assert second.after.replica_lists() == planned.after.replica_lists()


def assert_lists(job: NaiveProblem, planned: Plan) -> None:
    """Lists that Kafka accepts, with the requested factor, on usable brokers only."""
    for row, after in zip(job.rows, planned.after.replica_lists(), strict=True):
        assert len(set(after)) == len(after) > 0
        if not row.chosen:
            assert tuple(after) == row.before
        elif job.no_moves:
            assert sorted(after) == sorted(row.before)
        else:
            assert set(after) <= set(job.brokers)
            assert len(after) == row.factor


def plan_or_refusal(cluster: Json, **options: Any) -> Plan | CannotError:
    try:
        return plan(Cluster.from_json(cluster), **options)
    except CannotError as refusal:
        return refusal


def oracle_for(job: NaiveProblem) -> Any:
    return brute_force if brute_force.is_small(job) and len(job.rows) <= 6 else mip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_exact_is_optimal_and_stable(name: str, tmp_path: Path) -> None:
    cluster, options = CASES[name]
    job = read_problem(cluster, options)
    planned = plan(Cluster.from_json(cluster), **options)
    assert_best_placement(job, planned, oracle_for(job))
    assert_best_order(job, planned, oracle_for(job))
    assert_true_figures(job, planned)
    assert planned.optimal
    assert_checked(planned, tmp_path)
    assert_stable(planned, options)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_refused_in_one_line(name: str, strategy: str) -> None:
    (cluster, options), words = REFUSED[name]
    with pytest.raises(InputError) as refusal:
        plan(Cluster.from_json(cluster), **options, strategy=strategy)
    assert_one_line(refusal.value)
    assert words in str(refusal.value)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s != "exact"])
def test_other_strategies(name: str, strategy: str, tmp_path: Path) -> None:
    cluster, options = CASES[name]
    job = read_problem(cluster, options)
    planned = plan_or_refusal(cluster, **options, strategy=strategy)
    if isinstance(planned, CannotError):
        assert_one_line(planned)
        assert re.match(REASONS[strategy], str(planned))
        return
    assert_lists(job, planned)
    assert_checked(planned, tmp_path, racks=False)  # some ignore racks, as their sources do


@pytest.mark.parametrize(
    ("racks", "partitions", "topics", "options"),
    [
        pytest.param((16, 8, 6), 3000, 40, {}, marks=pytest.mark.long),
        pytest.param((16, 8, 6), 3000, 40, {"spread": "topic"}, marks=pytest.mark.long),
        pytest.param(
            *((16, 8, 6), 1500, 20),
            {"replication_factor": ["4"], "remove_broker": [1, 17, 25]},
            marks=pytest.mark.long,
        ),
        pytest.param(
            *((16, 8, 6), 1500, 20),
            {"replication_factor": ["2"], "add_broker": ["31:a", "32:d"]},
            marks=pytest.mark.long,
        ),
        ((8, 5, 4, 2, 1), 2000, 200, {}),
        pytest.param((20, 1), 1000, 10, {}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_thousands_of_violations(
    racks: tuple[int, ...], partitions: int, topics: int, options: Json, tmp_path: Path
) -> None:
    cluster = scattered(racks, partitions, topics)
    before = Counter(b["rack"] for b in cluster["brokers"])
    assert tuple(before.values()) == racks
    planned = plan(Cluster.from_json(cluster), **options)
    figures = planned.figures
    assert figures["optimal"] is True
    assert figures["gaps"].keys() <= {"joint failure balance"}
    assert figures["rack_violations"] == 0
    assert_lists(read_problem(cluster, options), planned)
    assert_checked(planned, tmp_path)
    assert_stable(planned, options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spread", ["cluster", "topic"])
@pytest.mark.parametrize("seed", range(3))
def test_violations_against_a_mip(seed: int, spread: str) -> None:
    cluster = scattered((5, 3, 2), 60, 7, seed)
    options = {"spread": spread}
    job = read_problem(cluster, options)
    planned = plan(Cluster.from_json(cluster), **options)
    assert_best_placement(job, planned, mip)
    assert_true_figures(job, planned)


def test_a_cluster_without_partitions_is_refused() -> None:
    with pytest.raises(InputError, match=r"^cluster: no partitions: nothing to plan$"):
        Cluster.from_json({"brokers": brokers_of("1 2"), "partitions": []})
