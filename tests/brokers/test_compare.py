"""Every strategy on the same job, or why it cannot do it."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from partage import CannotError, Cluster, InputError
from partage.brokers.compare import compare, comparison
from partage.brokers.plan import Plan, task_of
from partage.brokers.strategies import STRATEGIES, Strategy
from partage.brokers.task import Task


def grown() -> Cluster:
    text = files("partage.data").joinpath("cluster-grown.json").read_text(encoding="utf-8")
    return Cluster.from_json(json.loads(text))


def small() -> Cluster:
    rows = [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in range(6)]
    return Cluster.from_json({"brokers": [{"id": b} for b in (1, 2, 3)], "partitions": rows})


def test_all_strategies_on_one_job() -> None:
    task = task_of(grown())
    answers = compare(task)
    assert list(answers) == list(STRATEGIES)
    plans = {name: answer for name, answer in answers.items() if isinstance(answer, Plan)}
    assert {"exact", "generate", "leader-flow"} <= plans.keys()
    exact = plans["exact"]
    for name, other in plans.items():
        # they are all measured against the same bounds, and none beats them
        assert other.figures["strategy"] == name
        assert other.lower_bound == exact.lower_bound
        assert other.figures["moves_lower_bound"] == 173
        for stage, best in zip(other.stages[:2], exact.stages[:2], strict=True):
            assert (stage.name, stage.bound) == (best.name, best.bound)
        if other.figures["rack_violations"] == 0:
            assert other.stages[0].value >= exact.stages[0].value
        assert other.before.replica_lists() == exact.before.replica_lists()
    assert comparison(answers)["strategies"]["exact"] == exact.figures


def test_only_these_in_this_order() -> None:
    answers = compare(task_of(small()), ["leader-flow", "exact"])
    assert list(answers) == ["leader-flow", "exact"]


def test_a_strategy_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="--strategy: 'best': expected one of exact, generate"):
        compare(task_of(small()), ["exact", "best"])
    with pytest.raises(InputError, match="--strategy: 'best'"):
        task_of(small(), strategy="best")


def test_a_strategy_that_cannot_says_why() -> None:
    answers = compare(task_of(small(), replication_factor=3), ["exact", "leader-flow"])
    assert isinstance(answers["exact"], Plan)
    assert answers["leader-flow"] == (
        "changes only the order of lists: t-0 has 2 replicas and needs 3"
    )
    found = comparison(answers)["strategies"]
    assert found["leader-flow"] == {"cannot": answers["leader-flow"]}


def test_every_strategy_has_an_answer_or_a_reason() -> None:
    for options in (
        {"no_moves": True},
        {"remove_broker": 3},
        {"replication_factor": 1},
        {"add_broker": ["4", "5"]},
        {"spread": "topic"},
    ):
        for name, answer in compare(task_of(small(), **options)).items():
            if isinstance(answer, str):
                assert answer.strip(), name
                assert answer.splitlines() == [answer]
            else:
                lists = answer.after.replica_lists()
                assert all(len(set(row)) == len(row) for row in lists), name
                if not answer.task.options.no_moves:
                    assert [len(row) for row in lists] == answer.task.target.tolist(), name


def test_a_strategy_that_fails_otherwise_is_not_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: Task) -> None:
        raise ZeroDivisionError

    def cannot(task: Task) -> None:
        raise CannotError("has no hands")

    monkeypatch.setitem(STRATEGIES, "broken", Strategy(broken))  # type: ignore[arg-type]
    monkeypatch.setitem(STRATEGIES, "cannot", Strategy(cannot))  # type: ignore[arg-type]
    assert compare(task_of(small()), ["cannot"]) == {"cannot": "has no hands"}
    with pytest.raises(ZeroDivisionError):
        compare(task_of(small()), ["broken"])


def test_progress_names_the_strategy() -> None:
    said: list[str] = []
    compare(task_of(small()), ["exact", "generate"], said.append)
    assert said[0].startswith("exact: ")
    assert said[-1].startswith("generate: ")


def test_the_task_is_left_as_it_was() -> None:
    task = task_of(small(), no_moves=True)
    warnings = list(task.warnings)
    compare(task)
    assert task.warnings == warnings
    assert task.options.strategy == "exact"
