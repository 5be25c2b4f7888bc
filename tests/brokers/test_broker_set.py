"""``--broker-set``: the best plan on some of the brokers, compared with the oracles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import partage
from partage.brokers.planning import plan
from partage.cluster.model import Cluster
from partage.errors import CannotError, InputError
from tests.brokers.check.tampering import Files
from tests.oracles import brute_force
from tests.oracles.naive_problem import BadProblemError, read_problem
from tests.oracles.verify import assert_best_order, assert_best_placement, assert_true_figures
from tests.profiles import examples
from tests.strategies import jobs


@st.composite
def jobs_on_a_set(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    cluster, options = draw(jobs(no_moves=False))
    ids = sorted(broker["id"] for broker in cluster["brokers"])
    inside = draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    return cluster, options | {"broker_set": inside}


@examples(400)
@given(jobs_on_a_set())
def test_equals_the_oracle(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    cluster, options = case
    try:
        job = read_problem(cluster, options)
        made = plan(Cluster.from_json(cluster), **options)
    except (BadProblemError, InputError, CannotError):
        assume(False)
    assume(brute_force.is_small(job))
    assert_best_placement(job, made, brute_force)
    assert_best_order(job, made, brute_force)
    assert_true_figures(job, made)
    inside = set(options["broker_set"])
    for row, replicas in zip(job.rows, made.after.replica_lists(), strict=True):
        assert inside.issuperset(replicas) if row.chosen else replicas == list(row.before)


def crossed() -> Cluster:
    """Topics a and b on all four brokers."""
    rows = [
        {"topic": topic, "partition": p, "replicas": [p % 4, (p + 1) % 4], "size_bytes": 5}
        for topic in "ab"
        for p in range(8)
    ]
    return Cluster.from_json({"brokers": [{"id": b} for b in range(4)], "partitions": rows})


def test_a_set_for_each_of_two_topics(tmp_path: Path) -> None:
    made = crossed()
    for topic, inside in (("a", "0,1"), ("b", "2,3")):
        step = plan(made, topics=topic, broker_set=inside)
        step.write(tmp_path / topic)
        assert partage.check(tmp_path / topic).defects == []
        made = step.after
    lists = made.replica_lists()
    assert {b for replicas in lists[:8] for b in replicas} == {0, 1}
    assert {b for replicas in lists[8:] for b in replicas} == {2, 3}
    again = plan(made, topics="b", broker_set=[2, 3])
    assert (again.moves, again.settled) == (0, True)


def test_check_finds_a_replica_outside_and_another_set(tmp_path: Path) -> None:
    made = plan(crossed(), topics="a", broker_set=(0, 1, 2))
    made.write(tmp_path / "plan")
    files = Files(tmp_path / "plan")
    files.plan["partitions"]["after"][0] = [3, 0]
    files.write()
    found = partage.check(tmp_path / "plan").defects
    assert any("a-0: has a replica on broker 3, which is dead or excluded" in one for one in found)

    made.write(tmp_path / "other")
    files = Files(tmp_path / "other")
    files.plan["options"]["broker_set"] = "0,1,3"
    files.seal()
    files.write()
    found = partage.check(tmp_path / "other").defects
    assert "plan.json: broker 2: outside is False, expected True by the options" in found


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("0,9", "broker_set 0,9: broker 9 is not in the cluster"),
        ("0,0", "broker_set 0,0: a broker is given twice"),
        ("0;1", "broker_set 0;1: expected a broker id"),
        ([], "expected broker ids separated by commas, for instance 1,2,3"),
        ("0", "replication factor: a-0 needs 2 live brokers, 1 can be used"),
    ],
)
def test_bad_sets(asked: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        plan(crossed(), broker_set=asked)


def test_without_moves_a_set_has_nothing_to_do() -> None:
    with pytest.raises(InputError, match="no_moves: forbids the moves that `broker_set` needs"):
        plan(crossed(), broker_set="0,1", no_moves=True)
