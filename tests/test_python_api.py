"""What Python callers try first: wrong types are refused in one line, and results can be copied to
another process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage.errors import SeveralError
from partage.live.execution.outcome import Outcome

CLUSTER = str(files("partage") / "data" / "cluster-grown.json")


@pytest.fixture(scope="module")
def cluster() -> partage.Cluster:
    return partage.Cluster.read(CLUSTER)


@pytest.fixture(scope="module")
def planned(cluster: partage.Cluster) -> partage.Plan:
    return partage.plan(cluster)


@pytest.mark.parametrize(
    "error",
    [partage.InputError("a", "b"), SeveralError(["one", "two"]), partage.CannotError("no")],
)
def test_errors_can_be_pickled(error: partage.PartageError) -> None:
    """A process pool returns them so; an error that cannot be read back breaks the pool."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.lines) == (type(error), str(error), error.lines)


def test_plans_can_be_pickled(planned: partage.Plan, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(planned))
    assert again.document() == planned.document()
    planned.write(tmp_path / "plan")
    read = partage.Plan.read(tmp_path / "plan")
    assert pickle.loads(pickle.dumps(read)).moves == planned.moves
    reported = partage.plan(CLUSTER, balance="load", progress=[].append)
    assert pickle.loads(pickle.dumps(reported)).moves == reported.moves


def test_a_cluster_cannot_be_written_to(cluster: partage.Cluster) -> None:
    for name in ("replicas", "size_bytes", "topic", "partition"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(cluster, name)[0] = 0


def twice(cluster: partage.Cluster) -> Any:
    replicas = cluster.replicas.copy()
    replicas[0, 2] = replicas[0, 0]
    return cluster.with_replicas(replicas)


def beyond(cluster: partage.Cluster) -> Any:
    replicas = cluster.replicas.copy()
    replicas[1, 0] = 99
    return cluster.with_replicas(replicas)


def group(*members: Any) -> partage.Group:
    return partage.Group({"orders": 3}, members)


WRONG: list[tuple[Callable[[partage.Cluster, partage.Plan], Any], str]] = [
    (lambda c, _: twice(c), "replicas: [a-z-]*-0: broker [0-9] holds two replicas"),
    (lambda c, _: beyond(c), "replicas: [a-z-]*-[0-9]: position 99 of 9 brokers"),
    (
        lambda c, _: c.with_replicas(c.replicas[:3]),
        r"replicas: the shape is \(3, 3\): expected 162",
    ),
    (lambda c, _: c.with_sizes(np.full(162, -7)), "cluster: sizes: expected a whole number"),
    (lambda c, _: c.with_brokers(c.brokers[1:]), "cluster: broker 1 holds replicas and is not"),
    (
        lambda c, _: partage.plan(c.to_json()),  # type: ignore[arg-type]
        "cluster: expected a Cluster, got a dict: Cluster.from_json reads it",
    ),
    (
        lambda _, __: partage.plan(None),  # type: ignore[arg-type]
        "cluster: expected the path of a file, or a Cluster, got NoneType",
    ),
    (lambda _, __: partage.plan(""), "path: is empty: is a variable unset"),
    (
        lambda c, _: partage.plan(c, profile={}),  # type: ignore[arg-type]
        "profile: expected the path of a profile directory, or a Profile, got dict",
    ),
    (
        lambda c, _: partage.place(c, "new", 3, 2.5),  # type: ignore[arg-type]
        "replication_factor 2.5: expected a whole number",
    ),
    (
        lambda _, __: partage.snapshot(["broker-1:9092"]),  # type: ignore[arg-type]
        "bootstrap_server: expected HOST:PORT, or several separated by commas, got list",
    ),
    (
        lambda _, __: partage.assign({}, "range"),  # type: ignore[arg-type]
        "group: expected a Group, got a dict: Group.from_json reads it",
    ),
    (
        lambda _, __: partage.simulate({}, "range"),  # type: ignore[arg-type]
        "scenario: expected a Scenario, got a dict: Scenario.from_json reads it",
    ),
    (
        lambda _, __: partage.assign(group(partage.Member("a", ["orders"])), 5),  # type: ignore[arg-type]
        "assignor 5: expected the name of an assignor as text",
    ),
    (
        lambda _, __: group({"id": "a", "topics": ["orders"]}),
        "group: members: expected each as a Member, got dict: Group.from_json reads dicts",
    ),
    (
        lambda _, __: group(partage.Member("a", None)),  # type: ignore[arg-type]
        "group: topics of a: expected a list, got NoneType",
    ),
    (
        lambda _, __: group(partage.Member("a", ["orders"], priority="high")),  # type: ignore[arg-type]
        "group: priority of a: high: expected a whole number",
    ),
    (
        lambda _, __: group(partage.Member("a", ["orders"], rack=5)),  # type: ignore[arg-type]
        "group: rack of a: 5: expected text",
    ),
    (
        lambda _, p: partage.check(p),  # type: ignore[arg-type]
        "plan: expected the path of a plan directory, got Plan",
    ),
    (
        lambda _, p: partage.apply(p),  # type: ignore[arg-type]
        "plan: expected the path of a plan directory, got Plan",
    ),
    (lambda c, _: partage.compare(c, strategy="greedy"), "strategy greedy: a comparison takes"),
    (
        lambda c, _: partage.plan(c, tolerance=5),
        "tolerance 5: a number is a share of 1: for 5",
    ),
    (lambda c, _: partage.compare(c, strategies=[]), "strategies: none is named"),
    (lambda _, p: p.to_pandas("Moves"), "table Moves: expected one of moves, brokers, waves"),
    (lambda _, p: p.to_arrow(None), "table None: expected one of moves, brokers, waves"),
    (lambda _, p: partage.explain(p, None), "explain None: expected a partition"),  # type: ignore[arg-type]
    (
        lambda _, __: partage.explain("plan", "x-0"),  # type: ignore[arg-type]
        "explain: expected a Plan, got str: Plan.read reads a plan directory",
    ),
    (lambda c, _: partage.size(c, headroom="100%"), "headroom 100%: must be below 100%"),
    (lambda c, _: partage.size(c, headroom=30), "headroom 30: a number is a share of 1: for 30"),
    (lambda c, _: partage.size(c, survive="rocks"), "survive rocks: expected broker or rack or n"),
    (lambda c, _: partage.place(c, "kafka", "80"), "partitions 80: expected"),  # type: ignore[arg-type]
    (lambda c, _: partage.place(c, None, 3), "topic None: a name has"),  # type: ignore[arg-type]
    (lambda _, __: group(partage.Member("a", "orders")), "group: topics of a: expected a list"),
    (lambda _, __: group(partage.Member(1, ["orders"])), "group: members: id 1: expected a text"),  # type: ignore[arg-type]
    (
        lambda _, __: partage.Group([("orders", 3)], []),  # type: ignore[arg-type]
        "group: topics: expected numbers of partitions by name",
    ),
]


@pytest.mark.parametrize(("call", "problem"), WRONG, ids=[problem for _, problem in WRONG])
def test_wrong_values_are_refused(
    cluster: partage.Cluster,
    planned: partage.Plan,
    call: Callable[[partage.Cluster, partage.Plan], Any],
    problem: str,
) -> None:
    with pytest.raises(partage.InputError, match=f"^{problem}"):
        call(cluster, planned)


def test_an_outcome_that_is_not_done_can_raise() -> None:
    Outcome().raise_unless_done()
    for outcome in (Outcome("stopped", waves_left=2), Outcome(dead=[4])):
        with pytest.raises(partage.PartageError, match=r"2 waves left|not restored on brokers 4"):
            outcome.raise_unless_done()


def test_a_broker_takes_any_number_as_capacity(cluster: partage.Cluster) -> None:
    first = partage.Broker(1, "a", capacity=2.5)  # type: ignore[arg-type]
    assert first.capacity == 5 / 2
    changed = cluster.with_brokers([first, *cluster.brokers[1:]])
    assert changed.to_json()["brokers"][0]["capacity"] == 2.5


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        ("kafka,console", r"it is a regular expression; kafka\|console matches either name"),
        ("afk|onsol", r"the whole name must match; \.\*\(afk\|onsol\)\.\* matches console, kafka"),
        ("", "matches no topic of the cluster$"),
    ],
)
def test_patterns_that_match_nothing(topics: str, problem: str) -> None:
    with pytest.raises(partage.InputError, match=problem):
        partage.plan(CLUSTER, topics=topics)


def test_numbers_of_data_frames_are_taken() -> None:
    one, two = np.int64(1), np.int32(2)
    form = {
        "brokers": [{"id": one, "rack": "a"}, {"id": two, "rack": "b"}],
        "partitions": [
            {"topic": "t", "partition": one - 1, "replicas": np.array([2]), "size_bytes": two},
        ],
    }
    cluster = partage.Cluster.from_json(form)
    assert cluster.to_json()["partitions"][0]["replicas"] == [2]
    assert cluster.size_bytes.tolist() == [2]

    members = [
        partage.Member("a", ["t"], owned=[("t", one)], generation=two, priority=one),  # type: ignore[arg-type]
        partage.Member("b", ["t"], priority=two),  # type: ignore[arg-type]
    ]
    group = partage.Group({"t": np.int64(2)}, members)  # type: ignore[dict-item]
    assert partage.assign(group, "sticky").as_dict() == {"a": [("t", 1)], "b": [("t", 0)]}
    assert partage.assign(group, "failover").as_dict() == {"a": [], "b": [("t", 0), ("t", 1)]}

    scenario = {
        "topics": {"t": two},
        "produce": {"t": np.float64(5)},
        "members": [{"id": "a", "topics": np.array(["t"]), "rate": one}],
        "until": np.int64(60),
    }
    assert partage.simulate(partage.Scenario.from_json(scenario), "range").moved == 0
    with pytest.raises(partage.InputError, match=r"^scenario: topics\.t: expected .* got 2\.5"):
        partage.Scenario.from_json({**scenario, "topics": {"t": np.float64(2.5)}})
