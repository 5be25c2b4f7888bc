"""Strategy ``given``: another tool's lists as a plan, with figures and waves like any other."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import CannotError, Cluster, InputError, plan
from partage.brokers.check import check
from partage.brokers.compare import deterministic, solve_with_each
from partage.brokers.explain import explain
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.planning import problem_of
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.brokers.strategies import STRATEGIES
from partage.cluster.reassignment import Reassignment
from tests.bundled import grown
from tests.matrices import cluster_of, text
from tests.oracles import brute_force, mip
from tests.oracles import naive_problem as counted
from tests.profiles import examples
from tests.strategies import clusters

Json = dict[str, Any]


def reassignment(words: str) -> Json:
    """``t-0=1,2 u-3=4``."""
    found = []
    for word in words.split():
        name, _, brokers = word.partition("=")
        topic, _, number = name.rpartition("-")
        entry = {"topic": topic, "partition": int(number)}
        found.append({**entry, "replicas": [int(b) for b in brokers.split(",")]})
    return {"version": 1, "partitions": found}


def lists_of(value: Json) -> dict[tuple[str, int], list[int]]:
    return {(p["topic"], p["partition"]): p["replicas"] for p in value["partitions"]}


@pytest.mark.parametrize(
    ("before", "brokers", "words", "options", "after"),
    [
        pytest.param("1,2 2,1", "1 2 3", "t-1=3,1", {}, "1,2 3,1", id="the others stay"),
        pytest.param("1,2 2,1", "1 2 3", "t-1=1,2", {}, "1,2 1,2", id="an order"),
        pytest.param("1,2 2,1", "1 2 3", "t-1=1", {}, "1,2 1", id="a factor down"),
        pytest.param("1,2 2,1", "1 2 3", "t-1=2,3,1", {}, "1,2 2,3,1", id="a factor up"),
        pytest.param("1,2 2,1", "1 2 3", "t-0=1,2", {}, "1,2 2,1", id="in place already"),
        pytest.param(
            "1,2", "1:a 2:b", "t-0=9,1", {"add_broker": ["9:a"]}, "9,1", id="a new broker"
        ),
        pytest.param(
            "1,2 u: 1,2", "1 2 3", "t-0=3,2 u-0=3,1", {"topics": "u"}, "1,2 3,1", id="topics"
        ),
        pytest.param("1,2", "1:a 2:b 3:a", "t-0=1,3", {}, "1,3", id="twice in a rack"),
        pytest.param("1,2", "1 2", "t-0=2,1", {"no_moves": True}, "2,1", id="no moves"),
        pytest.param("1,2 2,3", "1 2 3! 4", "t-0=1,4", {}, "1,4 2,3", id="others on a dead broker"),
        pytest.param("3,2", "1 2 3!", "t-0=3,1", {}, "3,1", id="it keeps a dead broker"),
    ],
)
def test_the_lists_stay_unchanged(
    before: str, brokers: str, words: str, options: Json, after: str
) -> None:
    made = plan(cluster_of(before, brokers), reassignment=reassignment(words), **options)
    assert text(made.after.replica_lists()) == after
    assert made.figures["strategy"] == "given"
    assert made.settled


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ("t-0=1,2", {"remove_broker": 2}, "t-0 has a replica on broker 2, which must be empty"),
        ("t-0=3,1", {"remove_broker": 2}, "t-1 has a replica on broker 2, which must be empty"),
        ("t-0=1", {"replication_factor": 2}, "t-0 has 1 replicas, 2 are asked for"),
        ("t-0=1,3", {"no_moves": True}, "`no_moves` forbids the moves of t-0"),
        ("t-0=1", {"no_moves": True}, "`no_moves` forbids the moves of t-0"),
        ("t-0=1,3", {"max_moves": 0}, "does not support `max_moves`: exact does"),
    ],
)
def test_lists_that_contradict_other_options_are_refused(
    words: str, options: Json, message: str
) -> None:
    cluster = cluster_of("1,2 2,1", "1 2 3")
    with pytest.raises(CannotError) as refused:
        plan(cluster, reassignment=reassignment(words), **options)
    assert str(refused.value) == message
    assert (
        solve_with_each(problem_of(cluster, reassignment=reassignment(words), **options), [])[
            "given"
        ]
        == message
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "exact"}, "reassignment: the lists decide: leave out `strategy` exact"),
        ({"strategy": "best"}, "reassignment: the lists decide: leave out `strategy` best"),
        ({"reassignment": 7}, "reassignment: expected an object with partitions, got 7"),
        (
            {"reassignment": None, "strategy": "given"},
            "strategy given: needs replica lists: give `reassignment`",
        ),
    ],
)
def test_strategy_and_reassignment(options: Json, message: str) -> None:
    with pytest.raises(InputError) as refused:
        plan(cluster_of("1,2", "1 2"), **{"reassignment": reassignment("t-0=2,1")} | options)
    assert str(refused.value) == message
    named = plan(cluster_of("1,2", "1 2"), reassignment=reassignment("t-0=2,1"), strategy="given")
    assert text(named.after.replica_lists()) == "2,1"


@pytest.mark.parametrize(
    ("before", "brokers", "words", "options", "message"),
    [
        ("1,2 2,1", "1 2 3", "t-1=3,1 t-0=1,2", {}, []),
        (
            "1,2 1,2",
            "1 2 3",
            "t-0=1 t-1=1,2,3",
            {},
            ["another replication factor for 2 partitions, among them t-0 from 2 to 1"],
        ),
        (
            "1,2 u: 1,2",
            "1 2 3",
            "t-0=3,2 u-0=3,1",
            {"topics": "u"},
            ["the topics left out have changes that are not made: 1 partition, t-0"],
        ),
        (
            "3,2 3,2",
            "1 2 3!",
            "t-0=3,1 t-1=2,3",
            {},
            [
                "broker 3 is dead: no replicas move from it or to it",
                "a replica stays on a dead broker while others move: 1 partition, t-0; "
                "Kafka ends such a move only when that broker is back",
            ],
        ),
        (
            "1,2,3 1,2",
            "1 2 3!",
            "t-1=2,1",
            {},
            [
                "broker 3 is dead: no replicas move from it or to it",
                "more replicas than live brokers, left as they are: 1 partition, t-0",
            ],
        ),
    ],
)
def test_warnings(before: str, brokers: str, words: str, options: Json, message: list[str]) -> None:
    made = plan(cluster_of(before, brokers), reassignment=reassignment(words), **options)
    assert made.document()["warnings"] == message


def test_a_warning_about_log_dirs() -> None:
    value = reassignment("t-0=3,1")
    value["partitions"][0]["log_dirs"] = ["/d/3", "any"]
    made = plan(cluster_of("1,2", "1 2 3"), reassignment=value)
    assert made.document()["warnings"] == ["log_dirs are ignored, each broker chooses: 1 partition"]


def test_more_replicas_than_brokers() -> None:
    """Partitions that the file does not change are ignored; those that it changes must be
    possible."""
    cluster = cluster_of("1,2,3 1,2", "1 2 3!")
    made = plan(cluster, reassignment=reassignment("t-0=1,2,3 t-1=2,1"))
    assert made.document()["partitions"]["chosen"] == [False, True]
    with pytest.raises(InputError, match="t-0 needs 3 live brokers, 2 can be used"):
        plan(cluster, reassignment=reassignment("t-0=2,1,3"))


def test_another_tools_figures_are_those_of_its_strategy() -> None:
    theirs = plan(grown(), strategy="generate")
    wrapped = plan(grown(), reassignment=theirs.after.to_reassignment())
    skip = {"strategy", "seconds"}
    assert {k: v for k, v in wrapped.figures.items() if k not in skip} == {
        k: v for k, v in theirs.figures.items() if k not in skip
    }
    assert (wrapped.moves, wrapped.lower_bound) == (326, 200)


def test_the_exact_plan_wrapped_is_optimal() -> None:
    exact = plan(grown())
    wrapped = plan(grown(), reassignment=exact.after.to_reassignment(exact.changed))
    assert wrapped.figures["optimal"] is True
    assert wrapped.moves == wrapped.lower_bound == exact.moves


def test_compared_with_the_strategies() -> None:
    words = "t-0=3,1 t-1=3,1"
    problem = problem_of(cluster_of("1,2 2,1 1,2 2,1", "1 2 3"), reassignment=reassignment(words))
    answers = solve_with_each(problem)
    assert list(answers) == [*STRATEGIES, "given"]
    ours, theirs = answers["exact"], answers["given"]
    assert isinstance(ours, Plan)
    assert isinstance(theirs, Plan)
    assert theirs.lower_bound == ours.lower_bound == ours.moves == 2
    assert text(theirs.after.replica_lists()) == "3,1 3,1 1,2 2,1"
    assert list(solve_with_each(problem, ["given", "greedy"])) == ["given", "greedy"]
    assert deterministic(problem, {"given": theirs}) == {"given": True}
    without = solve_with_each(problem_of(cluster_of("1,2", "1 2")), ["given"])
    assert without == {"given": "needs replica lists: give `reassignment`"}


def test_other_strategies_get_the_factors_of_the_lists() -> None:
    """If the lists change a replication factor, the other strategies change it too."""
    problem = problem_of(cluster_of("1,2 2,1", "1 2 3"), reassignment=reassignment("t-0=1,2,3"))
    exact = solve_with_each(problem, ["exact"])["exact"]
    assert isinstance(exact, Plan)
    assert [len(row) for row in exact.after.replica_lists()] == [3, 2]


# ---------------------------------------------------------------- random clusters and proposals


@st.composite
def proposals(draw: st.DrawFn, dead_brokers: bool) -> tuple[Json, Json]:
    """A cluster, and new lists for some of its partitions that Kafka accepts."""
    cluster = draw(clusters())
    if not dead_brokers:
        for broker in cluster["brokers"]:
            broker.pop("alive", None)
    live = [b["id"] for b in cluster["brokers"] if b.get("alive", True)]
    entries = []
    for partition in cluster["partitions"]:
        can = [*live, *(b for b in partition["replicas"] if b not in live)]
        if can and draw(st.booleans()):
            count = draw(st.integers(1, min(4, len(can))))
            entry = {key: partition[key] for key in ("topic", "partition")}
            entries.append({**entry, "replicas": draw(st.permutations(can))[:count]})
    if not entries:  # one that changes nothing
        entries = [
            {key: cluster["partitions"][0][key] for key in ("topic", "partition", "replicas")}
        ]
    return cluster, {"version": 1, "partitions": entries}


def files_of(made: Plan) -> tuple[list[Json], Json, Json]:
    """Waves, reassignment and rollback, read from the files."""
    with tempfile.TemporaryDirectory() as folder:
        made.write(f"{folder}/plan")
        read = [json.loads(file.read_text()) for file in sorted(Path(folder).glob("plan/waves/*"))]
        both = [
            json.loads(Path(folder, "plan", name).read_text())
            for name in ("reassignment.json", "rollback.json")
        ]
        return read, both[0], both[1]


@examples(60)
@given(proposals(dead_brokers=False), st.sampled_from([None, 1, 2, 3]))
def test_waves_and_rollback_are_the_lists(job: tuple[Json, Json], batch: int | None) -> None:
    cluster, proposal = job
    today, wanted = lists_of(cluster), lists_of(proposal)
    made = plan(Cluster.from_json(cluster), reassignment=proposal, batch=batch, concurrency=1)
    waves, all_of_it, rollback = files_of(made)
    together = [p for wave in waves for p in wave["partitions"]]
    changed = {key: replicas for key, replicas in wanted.items() if replicas != today[key]}
    assert len(together) == len(changed)
    assert lists_of({"partitions": together}) == changed == lists_of(all_of_it)
    assert all(len(wave["partitions"]) <= (batch or len(together)) for wave in waves)
    assert lists_of(rollback) == {key: today[key] for key in changed}
    back = plan(made.after, reassignment=rollback if changed else proposal)
    assert back.after.replica_lists() == made.before.replica_lists()


@examples(60)
@given(proposals(dead_brokers=False))
def test_figures_are_a_plain_recount(job: tuple[Json, Json]) -> None:
    cluster, proposal = job
    lists = {**lists_of(cluster), **lists_of(proposal)}
    after = [lists[key] for key in sorted(lists)]
    reading = counted.read_problem(cluster, {})
    made = plan(Cluster.from_json(cluster), reassignment=proposal)
    figures = made.figures
    assert made.after.replica_lists() == after
    assert figures["moves"] == counted.moves(reading, after)
    assert figures["leader_changes"] == counted.leader_changes(reading, after)
    held = counted.loads(reading, after).values()
    assert figures["replicas_per_broker"] == [min(held), max(held)]
    led = counted.leader_counts(reading, after).values()
    assert figures["leaders_per_broker"] == [min(led), max(led)]
    assert figures["leaders_after_failure"]["max"] == max(counted.after_failure(reading, after))
    assert figures["settled"] is True
    # only the fairest loads with the fewest moves are optimal
    pairs = zip(reading.rows, after, strict=True)
    asked = replace(reading, rows=tuple(replace(row, factor=len(new)) for row, new in pairs))
    oracle = brute_force if brute_force.is_small(asked) else mip
    value = counted.placement_value(reading, after)[:2]
    assert not figures["optimal"] or value == oracle.best_placement(asked)[:2]


@examples(120)
@given(
    proposals(dead_brokers=True),
    st.sampled_from(
        [{}, {}, {"batch": 1}, {"balance": "bytes"}, {"spread": "topic"}, {"no_moves": True}]
    ),
    st.sampled_from([None, None, 0.0, 1.0, 2.5]),
)
def test_check_reports_only_broken_rules(
    job: tuple[Json, Json], options: Json, rate: float | None
) -> None:
    cluster = Cluster.from_json(job[0])
    rates = None if rate is None else np.arange(cluster.partitions) * rate
    asked = PlanOptions(reassignment=job[1], leaders="count" if rate is None else "rate", **options)
    try:
        made = solve(resolve(cluster, asked, rates))
    except (CannotError, InputError):  # no sizes known, more replicas than live brokers
        return
    with tempfile.TemporaryDirectory() as folder:
        made.write(f"{folder}/plan")
        defects = check(f"{folder}/plan").defects
    broken = made.figures["rack_violations"]
    assert all(defect.endswith("breaks the rack rule") for defect in defects)
    assert broken or not defects


def test_a_replica_that_stays_on_a_dead_broker_is_only_warned_about(tmp_path: Path) -> None:
    """``apply`` asks for plans that ``check`` finds no defect in."""
    cluster = cluster_of("3,2 3,2", "1 2 3!")
    plan(cluster, reassignment=reassignment("t-0=3,1 t-1=2,3")).write(tmp_path / "plan")
    verdict = check(tmp_path / "plan")
    assert (verdict.defects, verdict.optimal) == ([], False)


def test_check_reports_broken_racks(tmp_path: Path) -> None:
    made = plan(cluster_of("1,2 1,2", "1:a 2:b 3:a"), reassignment=reassignment("t-0=1,3 t-1=1,3"))
    made.write(tmp_path / "plan")
    verdict = check(tmp_path / "plan")
    assert verdict.defects == [f"plan.json: t-{n}: [1, 3] breaks the rack rule" for n in range(2)]
    assert made.figures["rack_violations"] == 2


@pytest.mark.parametrize(
    ("before", "words"),
    [("0,1,2 0,1", "t-0=2,1"), ("2,1 0,1", "t-1=1,0"), ("2,0,1 1,0", "t-0=2,0")],
)
def test_check_where_a_dead_broker_is_listed_first(before: str, words: str, tmp_path: Path) -> None:
    """A single live replica leads from any position: planner and checker agree on the bound."""
    made = plan(cluster_of(before, "0 1 2!"), reassignment=reassignment(words))
    made.write(tmp_path / "plan")
    assert check(tmp_path / "plan").defects == []


@pytest.mark.parametrize("field", ["replication_factor", "chosen"])
def test_check_detects_changed_partitions(field: str, tmp_path: Path) -> None:
    made = plan(cluster_of("1,2 1,2", "1 2 3"), reassignment=reassignment("t-0=1"))
    made.write(tmp_path / "plan")
    assert check(tmp_path / "plan").sound
    marker = tmp_path / "plan" / "plan.json"
    value = json.loads(marker.read_text())
    value["partitions"][field] = [2, 2] if field == "replication_factor" else [True, False]
    marker.write_text(json.dumps(value))
    defects = check(tmp_path / "plan").defects
    assert any(f"{field} is" in defect for defect in defects)


def test_explained_by_the_lists() -> None:
    made = plan(cluster_of("1,2 1,2", "1 2 3"), reassignment=reassignment("t-0=2,3"))
    found = explain(made, "t-0")
    assert [(one.broker, one.fate, one.why) for one in found.replicas] == [
        (1, "goes", "the given reassignment removes it"),
        (2, "stays", "the given reassignment keeps it"),
        (3, "comes", "the given reassignment adds it"),
    ]
    assert found.leader == "broker 2 leads: broker 1 no longer has a replica"
    swapped = plan(cluster_of("1,2", "1 2"), reassignment=reassignment("t-0=2,1"))
    assert explain(swapped, "t-0").leader == (
        "broker 2 leads instead of broker 1, as in the given reassignment"
    )


def test_options_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(reassignment("t-0=2,1")))
    made = plan(cluster_of("1,2", "1 2"), reassignment=file)
    assert made.document()["options"] == {"strategy": "given", "reassignment": str(file)}
    same = plan(cluster_of("1,2", "1 2"), reassignment=Reassignment.read(file))
    assert same.document() == made.document()
