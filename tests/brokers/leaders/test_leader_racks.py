"""``--leader-racks``: the fairest leaders within racks, compared with brute force and a MIP."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.planning import plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.cluster.model import Cluster
from partage.errors import CannotError, InputError
from tests.brokers.leaders.orders import check_order
from tests.oracles import brute_force, mip
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.profiles import examples
from tests.strategies import jobs


@st.composite
def racked_jobs(draw: st.DrawFn, **limits: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    cluster, options = draw(jobs(**limits))
    racks = sorted({b["rack"] for b in cluster["brokers"] if "rack" in b})
    assume(len(racks) > 1)
    chosen = sorted({p["topic"] for p in cluster["partitions"]})
    some = st.lists(st.sampled_from(racks), min_size=1, max_size=3, unique=True)
    names = st.sampled_from(["", *chosen])
    asked = draw(st.dictionaries(names, some, min_size=1, max_size=2))
    words = [f"{topic}={','.join(r)}" if topic else ",".join(r) for topic, r in asked.items()]
    return cluster, options | {"leader_racks": words}


@examples(300)
@given(racked_jobs(no_moves=True, max_factor=3))
def test_orders_of_small_clusters(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, brute_force)


@examples(100)
@given(racked_jobs(min_partitions=4))
def test_orders_after_moves(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_order(*case, mip)


@examples(200)
@given(racked_jobs(no_moves=True))
def test_it_fails_where_a_partition_has_no_replica_there(
    case: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    cluster, options = case
    try:
        job = read_problem(cluster, options)
    except BadProblemError:
        assume(False)
    wanting = [row for row in job.rows if not job.can_lead(row, row.before)]
    found = ""
    try:
        plan(Cluster.from_json(cluster), **options)
    except InputError:
        assume(False)
    except CannotError as error:
        found = str(error)
    first = f"`leader_racks`: {wanting[0].topic}-{wanting[0].number} " if wanting else ""
    assert found.startswith(first)
    assert bool(found) == bool(wanting)


def racked(partitions: int, seed: int = 1) -> Cluster:
    random = Random(seed)
    rows = [
        {"topic": topic, "partition": p, "replicas": random.sample(range(6), 3), "size_bytes": p}
        for topic in ("orders", "payments")
        for p in range(partitions)
    ]
    return Cluster.from_json(
        {"brokers": [{"id": b, "rack": "abc"[b % 3]} for b in range(6)], "partitions": rows}
    )


def leaders_in(made: partage.Plan, topic: str) -> set[str]:
    after = made.after
    rows = after.topic == after.topics.index(topic)
    racks = after.rack[after.replicas[rows, 0]]
    return {after.rack_names[rack] for rack in racks.tolist()}


def test_leaders_of_a_topic_stay_in_its_racks() -> None:
    made = partage.plan(racked(24), leader_racks="orders=a,b")
    assert leaders_in(made, "orders") == {"a", "b"}
    assert leaders_in(made, "payments") == {"a", "b", "c"}
    assert made.optimal
    assert made.settled
    assert made.figures["leaders_per_broker"] == [8, 8]


def test_what_the_racks_cost_is_said() -> None:
    made = partage.plan(racked(24), leader_racks=["a,b", "payments=a"])
    assert leaders_in(made, "payments") == {"a"}
    # rack a leads all 24 of payments; the 24 of orders go to rack b
    assert made.figures["leaders_per_broker"] == [0, 12]
    assert any(one.startswith("replica sets and leader racks: ") for one in made.binding)


def test_by_rate_too() -> None:
    cluster = racked(24)
    rates = np.random.default_rng(1).lognormal(8, 0.5, cluster.partitions)
    options = PlanOptions(leaders="rate", leader_racks="orders=a")
    made = solve(resolve(cluster, options, rates))
    assert leaders_in(made, "orders") == {"a"}
    assert made.settled


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("orders=d", r"leader_racks orders=d: no broker is in rack d \(a, b, c\)"),
        ("order=a", "leader_racks order=a: topic 'order' is not in the cluster"),
        (["orders=a", "orders=b"], "leader_racks orders=b: racks of orders are given twice"),
        (["a", "b"], "leader_racks b: racks of all topics are given twice"),
        ("orders=a,a", "leader_racks orders=a,a: a rack is given twice"),
        ("orders=", "leader_racks orders=: expected racks, or a topic and racks: topic=a,b"),
        (7, "leader_racks 7: expected racks"),
    ],
)
def test_bad_racks_are_refused(asked: Any, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}"):
        partage.plan(racked(3), leader_racks=asked)


def test_a_topic_left_out_is_refused() -> None:
    with pytest.raises(InputError, match=r"topic 'orders' is left out by `topics`$"):
        partage.plan(racked(3), topics="payments", leader_racks={"orders": ["a"]})


@pytest.mark.parametrize("other", [{"balance": "load"}, {"relieve": "leaders=120%"}], ids=str)
def test_searches_that_choose_leaders_refuse_it(other: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"chooses leaders itself: leave out `leader_racks`$"):
        partage.plan(racked(3), leader_racks=("orders", ("a",)), **other)


def test_other_strategies_do_not_support_it() -> None:
    found = partage.compare(racked(6), strategies=["exact", "greedy"], leader_racks="orders=a,b")
    cannot = {"cannot": "does not support `leader_racks`: exact does"}
    assert found.to_json()["strategies"]["greedy"] == cannot
