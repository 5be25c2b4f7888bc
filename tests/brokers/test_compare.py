"""Every strategy on the same job, or why it cannot do it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from partage import CannotError, Cluster, InputError
from partage.brokers.compare import Comparison, deterministic, solve_with_each
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.planning import problem_of
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies import STRATEGIES, Strategy
from tests.brokers.load.cases import a_cluster
from tests.bundled import grown
from tests.matrices import cluster_of


def small() -> Cluster:
    return cluster_of("1,2 " * 6, "1 2 3")


def test_all_strategies_on_one_job() -> None:
    problem = problem_of(grown())
    answers = solve_with_each(problem)
    assert list(answers) == list(STRATEGIES)
    plans = {name: answer for name, answer in answers.items() if isinstance(answer, Plan)}
    assert {"exact", "generate", "leader-flow"} <= plans.keys()
    exact = plans["exact"]
    for name, other in plans.items():
        # they are all measured against the same bounds, and none beats them
        assert other.figures["strategy"] == name
        assert other.lower_bound == exact.lower_bound
        assert other.figures["moves_lower_bound"] == 200
        for stage, best in zip(other.stages[:2], exact.stages[:2], strict=True):
            assert (stage.name, stage.bound) == (best.name, best.bound)
        if other.figures["rack_violations"] == 0:
            assert other.stages[0].value >= exact.stages[0].value
        assert other.before.replica_lists() == exact.before.replica_lists()
    assert Comparison(answers).to_json()["strategies"]["exact"] == {
        **exact.figures,
        "deterministic": None,
    }


def test_leaders_by_rate_have_their_rates() -> None:
    cluster = cluster_of("1,2 " * 6, "1 2 3")
    rates = np.array([9.0, 1, 1, 1, 1, 1])
    problem = resolve(cluster, PlanOptions(leaders="rate", no_moves=True), rates)
    rows = Comparison(solve_with_each(problem, ["exact", "generate"])).to_json()["strategies"]
    led = rows["exact"]["leader_bytes_per_second"]
    assert led == [0.0, 9.0]  # broker 3 holds nothing, and one partition alone has 9
    by_count = Comparison(solve_with_each(problem_of(cluster), ["exact"])).to_json()
    assert "leader_bytes_per_second" not in by_count["strategies"]["exact"]


def test_only_these_in_this_order() -> None:
    answers = solve_with_each(problem_of(small()), ["leader-flow", "exact"])
    assert list(answers) == ["leader-flow", "exact"]


def test_a_strategy_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="strategy best: expected one of exact, generate"):
        solve_with_each(problem_of(small()), ["exact", "best"])
    with pytest.raises(InputError, match="strategy best"):
        problem_of(small(), strategy="best")


def test_a_strategy_that_fails_shows_why() -> None:
    answers = solve_with_each(problem_of(small(), replication_factor=3), ["exact", "leader-flow"])
    assert isinstance(answers["exact"], Plan)
    assert answers["leader-flow"] == (
        "changes only the order of lists: t-0 has 2 replicas and needs 3"
    )
    found = Comparison(answers).to_json()["strategies"]
    assert found["leader-flow"] == {"cannot": answers["leader-flow"]}


def test_a_limit_that_the_rules_do_not_allow_is_a_reason_like_any_other() -> None:
    answers = solve_with_each(
        problem_of(small(), remove_broker=[1], max_moves=2), ["exact", "greedy"]
    )
    assert answers == {
        "exact": "`max_moves` 2: the rules alone force 6 moves, for replicas that must leave their "
        "broker or are added",
        "greedy": "does not support `max_moves`: exact does",
    }


def test_every_strategy_has_an_answer_or_a_reason() -> None:
    for options in (
        {"no_moves": True},
        {"remove_broker": 3},
        {"replication_factor": 1},
        {"add_broker": ["4", "5"]},
        {"spread": "topic"},
    ):
        for name, answer in solve_with_each(problem_of(small(), **options)).items():
            if isinstance(answer, str):
                assert answer.strip(), name
                assert answer.splitlines() == [answer]
            else:
                lists = answer.after.replica_lists()
                assert all(len(set(row)) == len(row) for row in lists), name
                if not answer.problem.options.no_moves:
                    assert [len(row) for row in lists] == answer.problem.target.tolist(), name


def test_a_strategy_that_fails_otherwise_is_not_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(problem: Problem) -> None:
        raise ZeroDivisionError

    def cannot(problem: Problem) -> None:
        raise CannotError("has no hands")

    monkeypatch.setitem(STRATEGIES, "broken", Strategy(broken))  # type: ignore[arg-type]
    monkeypatch.setitem(STRATEGIES, "cannot", Strategy(cannot))  # type: ignore[arg-type]
    assert solve_with_each(problem_of(small()), ["cannot"]) == {"cannot": "has no hands"}
    with pytest.raises(ZeroDivisionError):
        solve_with_each(problem_of(small()), ["broken"])


def test_progress_names_the_strategy() -> None:
    said: list[str] = []
    solve_with_each(problem_of(small()), ["exact", "generate"], said.append)
    assert said[0].startswith("exact: ")
    assert said[-1].startswith("generate: ")


def test_loads_are_compared_where_they_are_known() -> None:
    cluster = Cluster.from_json(a_cluster(5))
    problem = problem_of(cluster)
    answers = solve_with_each(problem, ["exact"])
    assert deterministic(problem, answers) == {"exact": True}  # it knows the rates, too
    found = Comparison(answers).to_json()["strategies"]["exact"]["resources"]
    counts = [row["load"] for row in found["replicas"]["brokers"]]
    made = answers["exact"]
    assert isinstance(made, Plan)
    assert counts == np.bincount(made.after.replicas[made.after.replicas >= 0]).tolist()
    assert (
        "resources"
        not in Comparison(solve_with_each(problem_of(small()), ["exact"])).to_json()["strategies"][
            "exact"
        ]
    )


def test_the_problem_is_left_as_it_was() -> None:
    problem = problem_of(small(), no_moves=True)
    warnings = list(problem.warnings)
    solve_with_each(problem)
    assert problem.warnings == warnings
    assert problem.options.strategy == "exact"


# ---------------------------------------------------------------- deterministic


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_broker": ["10:c", "11:a"], "remove_broker": 2},
        {"replace_broker": "3=9", "replication_factor": "2"},
        {"topics": "k.*", "spread": "topic"},
        {"no_moves": True},
    ],
    ids=str,
)
def test_every_strategy_gives_the_same_bytes_from_shuffled_input(options: dict[str, Any]) -> None:
    problem = problem_of(grown(), **options)
    answers = solve_with_each(problem)
    same = deterministic(problem, answers)
    able = [name for name, answer in answers.items() if isinstance(answer, Plan)]
    assert same == dict.fromkeys(able, True)
    found = Comparison(answers, same).to_json()["strategies"]
    assert all(found[name]["deterministic"] is True for name in able)
    assert all("deterministic" not in found[name] for name in found.keys() - set(able))


def test_other_input_does_not_change_the_result() -> None:
    """Kafka's own id, where the loads come from, and what is to be minded."""
    cluster = replace(grown(), cluster_id="kraft", racks_known=False)
    problem = problem_of(cluster)
    problem.loads.append("rates: of yesterday")
    problem.warnings.append("half of them are guessed")
    assert deterministic(problem, solve_with_each(problem, ["exact"])) == {"exact": True}


def test_a_strategy_that_draws_lots_is_not_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Random(1)

    def by_lot(problem: Problem) -> Any:
        replicas = problem.cluster.replicas.copy()
        rows = [row for row in range(len(replicas)) if draw.random() < 0.5]
        replicas[rows] = replicas[rows][:, ::-1]
        return replicas

    def at_first(problem: Problem) -> Any:
        tired.append(True)
        if len(tired) > 2:  # the plan, and the run that finds out whether it is settled
            raise CannotError("is tired")
        return problem.cluster.replicas

    tired: list[bool] = []
    monkeypatch.setitem(STRATEGIES, "by-lot", Strategy(by_lot))
    monkeypatch.setitem(STRATEGIES, "at-first", Strategy(at_first))
    problem = problem_of(small())
    answers = solve_with_each(problem, ["by-lot", "at-first", "exact"])
    assert deterministic(problem, answers) == {"by-lot": False, "at-first": False, "exact": True}


def test_input_is_shuffled_and_the_job_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Problem] = []

    def look(problem: Problem) -> Any:
        seen.append(problem)
        return problem.cluster.replicas

    monkeypatch.setitem(STRATEGIES, "look", Strategy(look))
    problem = problem_of(small(), add_broker=["9", "4"], topics="t")
    problem.warnings.append("told before")
    build, written = Cluster.build, []
    monkeypatch.setattr(Cluster, "build", lambda *a, **k: (written.append(a), build(*a, **k))[1])
    deterministic(problem, solve_with_each(problem, ["look"]))
    ((brokers, _, partitions, _, _),) = written
    assert [b.id for b in brokers] != sorted(b.id for b in brokers)
    assert partitions != sorted(partitions)
    one, *_, other, _ = seen
    assert other.warnings == one.warnings == ["told before"]
    assert other.cluster.to_json() == one.cluster.to_json()
    assert other.added.tolist() == one.added.tolist() == [False] * 3 + [True] * 2
    assert other.options == one.options


def test_a_warning_of_the_plan_is_no_difference() -> None:
    """What the plan adds to the warnings of its job is the plan's alone."""
    problem = problem_of(cluster_of("1/9 " * 4, "1/10 2/99"))
    answers = solve_with_each(problem, ["greedy", "three-flows"])
    assert all(isinstance(a, Plan) and a.warnings for a in answers.values())
    assert problem.warnings == []
    assert deterministic(problem, answers) == {"greedy": True, "three-flows": True}


def test_a_broken_rack_rule_is_reported() -> None:
    """Only where a plan does so itself: what lay wrong before may stay."""
    answers = solve_with_each(problem_of(grown()), ["exact", "greedy", "bin-packing", "mip"])
    told = {
        name: [w for w in answer.warnings if "break the rack rule" in w]
        for name, answer in answers.items()
        if isinstance(answer, Plan)
    }
    mip = answers["mip"]
    assert isinstance(mip, Plan)
    broken = mip.figures["rack_violations"]
    said = f"{broken} partitions break the rack rule (41 before): partage check will report it"
    assert told == {"exact": [], "greedy": [], "bin-packing": [], "mip": [said]}


def test_progress_of_the_second_run_names_the_strategy() -> None:
    problem = problem_of(small())
    said: list[str] = []
    deterministic(problem, solve_with_each(problem, ["exact"]), said.append)
    assert said == ["exact: again from shuffled input"]
