"""``--demote-broker``: brokers that lead nothing, compared with brute force and a MIP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partage
from partage.brokers.explain import explain
from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.cluster.model import Cluster
from partage.errors import InputError
from tests.brokers.leaders.orders import check_order
from tests.oracles import brute_force, mip
from tests.profiles import examples
from tests.strategies import jobs


@st.composite
def demoting_jobs(draw: st.DrawFn, **limits: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Some brokers are demoted; in every third cluster with racks, racks must lead, too."""
    cluster, options = draw(jobs(**limits))
    ids = sorted(b["id"] for b in cluster["brokers"])
    assume(len(ids) > 1)
    some = st.lists(st.sampled_from(ids), min_size=1, max_size=len(ids) - 1, unique=True)
    options = options | {"demote_broker": [str(b) for b in draw(some)]}
    racks = sorted({b["rack"] for b in cluster["brokers"] if "rack" in b})
    if racks and draw(st.integers(0, 2)) == 0:
        options["leader_racks"] = [",".join(racks[: draw(st.integers(1, len(racks)))])]
    return cluster, options


def check_plan(planned: partage.Plan, folder: Path) -> None:
    planned.write(folder)
    assert partage.check(folder).defects == []


@examples(300)
@given(case=demoting_jobs(no_moves=True, max_factor=3))
def test_orders_of_small_clusters(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    check_plan(check_order(*case, brute_force), tmp_path_factory.mktemp("small") / "plan")


@examples(100)
@given(case=demoting_jobs(min_partitions=4, max_factor=3))
def test_orders_after_moves(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    check_plan(check_order(*case, mip), tmp_path_factory.mktemp("moved") / "plan")


def cluster(replicas: list[list[int]], brokers: int = 5) -> Cluster:
    """Partitions of topic t with these replicas, on brokers 1 to ``brokers``, each of its own
    rack."""
    return Cluster.from_json(
        {
            "brokers": [{"id": b, "rack": f"r{b}"} for b in range(1, brokers + 1)],
            "partitions": [
                {"topic": "t", "partition": p, "replicas": one, "size_bytes": 1}
                for p, one in enumerate(replicas)
            ],
        }
    )


def orders(made: partage.Plan) -> list[list[int]]:
    return made.after.replica_lists()


def test_it_leads_nothing_and_is_listed_last() -> None:
    made = partage.plan(cluster([[3, 1, 2, 4], [1, 3, 2], [3, 5]]), demote_broker=3, no_moves=True)
    assert [one[-1] for one in orders(made)] == [3, 3, 3]
    assert [one[0] for one in orders(made)[2:]] == [5]
    assert made.moves == 0
    assert made.settled


def test_it_leads_what_no_other_can() -> None:
    held = [[3], [3, 4], [3, 4, 1], [4, 2]]
    made = partage.plan(cluster(held), demote_broker="3,4", no_moves=True)
    assert orders(made)[0] == [3]
    assert sorted(orders(made)[1]) == [3, 4]
    assert [one[0] for one in orders(made)[2:]] == [1, 2]


def test_of_several_the_first_follower_is_the_best() -> None:
    """One may lead, and demoted ones take over: as evenly as they can."""
    made = partage.plan(cluster([[1, 3, 4]] * 4), demote_broker=["3", "4"], no_moves=True)
    assert sorted(one[1] for one in orders(made)) == [3, 3, 4, 4]


def test_a_rollback_gives_it_its_leaders_back(tmp_path: Path) -> None:
    before = cluster([[1, 2], [2, 1], [3, 1], [1, 3]])
    made = partage.plan(before, demote_broker=1, no_moves=True)
    assert orders(made) == [[2, 1], [2, 1], [3, 1], [3, 1]]
    made.write(tmp_path / "plan")
    back = partage.Cluster.read(tmp_path / "plan" / "rollback.json")
    assert back.replica_lists() == [[1, 2], [1, 3]]


def test_by_rate_too() -> None:
    held = cluster([[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2]] * 6, brokers=3)
    rates = np.random.default_rng(1).lognormal(8, 0.5, held.partitions)
    options = PlanOptions(leaders="rate", demote_broker=2, no_moves=True)
    made = solve(resolve(held, options, rates))
    assert {one[0] for one in orders(made)} == {1, 3}
    assert {one[2] for one in orders(made)} == {2}
    assert made.settled


def test_topics_that_are_left_out_keep_their_leaders() -> None:
    entries = [
        {"topic": topic, "partition": p, "replicas": [1 + p, 2 + p]}
        for topic in ("t", "u")
        for p in range(3)
    ]
    brokers = [{"id": b} for b in range(1, 5)]
    given = Cluster.from_json({"brokers": brokers, "partitions": entries})
    made = partage.plan(given, demote_broker=2, no_moves=True, topics="t")
    assert [one[0] == 2 for one in orders(made)] == [False, False, False, False, True, False]


def test_a_partition_is_explained() -> None:
    given = cluster([[1, 2], [2, 1]], brokers=2)
    made = partage.plan(given, demote_broker=1, no_moves=True)
    found = explain(made, "t-0")
    assert found.leader == "broker 2 leads instead of broker 1, which is demoted"


def test_what_it_costs_is_said() -> None:
    given = cluster([[1, 2], [2, 1], [3, 1], [1, 3]] * 4, brokers=3)
    made = partage.plan(given, demote_broker=1, no_moves=True)
    assert any(one.startswith("replica sets and demoted brokers: ") for one in made.binding)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("9", "demote_broker 9: broker 9 is not in the cluster"),
        ("1,2,3,4,5", "demote_broker: leaves no broker that may lead: name fewer"),
        ("1,1", "demote_broker 1: broker 1 is demoted twice"),
        ("a", "demote_broker a: expected a broker id"),
    ],
)
def test_bad_brokers_are_refused(asked: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}"):
        partage.plan(cluster([[1, 2, 3]]), demote_broker=asked)


@pytest.mark.parametrize("other", [{"balance": "load"}, {"relieve": "leaders=120%"}], ids=str)
def test_searches_that_choose_leaders_refuse_it(other: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"chooses leaders itself: leave out `demote_broker`$"):
        partage.plan(cluster([[1, 2, 3]]), demote_broker=1, **other)


def test_other_strategies_do_not_support_it() -> None:
    given = cluster([[1, 2, 3]])
    found = partage.compare(given, strategies=["exact", "greedy"], demote_broker=1)
    cannot = {"cannot": "does not support `demote_broker`: exact does"}
    assert found.to_json()["strategies"]["greedy"] == cannot
