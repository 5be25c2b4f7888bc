"""Tampering with figures, gaps and warnings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partage import Cluster
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from tests.brokers.check.plans import LazyPlans
from tests.brokers.check.tampering import (
    Files,
    Tamperings,
    bent,
    judged,
    not_here,
)
from tests.matrices import cluster_of, partitions

TAMPERED = Tamperings()


def figure(when: str, key: str, inner: str | None = None) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        stated = f.plan["figures"][when]
        if inner is None:
            stated[key] = bent(stated[key])
        elif stated[key] is None:
            not_here()
        else:
            stated[key][inner] += 1

    return forge


_COUNTED = (
    *("replicas_per_broker", "leaders_per_broker", "leaders_after_failure", "rack_violations"),
    *("topic_spread", "bytes_max_over_mean", "leaders_after_rack_failure"),
    "worst_survivor_lower_bound",
)
_PLANNED = (
    *("strategy", "moves", "moves_lower_bound", "bytes_moved", "optimal", "leader_changes"),
    *("waves", "binding", "gaps"),
)
for _key in _COUNTED:
    TAMPERED[f"figures before: {_key}"] = figure("before", _key)
for _key in (*_COUNTED, *_PLANNED):
    TAMPERED[f"figures after: {_key}"] = figure("after", _key)


def of_deletion(change: Callable[[Files], None]) -> Callable[[Files], None]:
    def forge(f: Files) -> None:
        if "replicas_deleted" not in f.after:
            not_here()
        change(f)

    return forge


for _key in ("replicas_deleted", "partitions_with_fewer_replicas"):
    TAMPERED[f"figures after: {_key}"] = of_deletion(figure("after", _key))
    TAMPERED[f"figures after: {_key} hidden"] = of_deletion(lambda f, k=_key: f.after.pop(k))
    TAMPERED[f"figures after: {_key} invented"] = lambda f, k=_key: f.after.update(
        {k: f.after.get(k, 0) + 1}
    )
for _when in ("before", "after"):
    TAMPERED[f"figures {_when}: ideal"] = figure(_when, "leaders_after_failure", "ideal")
    for _inner in ("ideal", "offline"):
        TAMPERED[f"figures {_when}: {_inner} after a rack"] = figure(
            _when, "leaders_after_rack_failure", _inner
        )


@TAMPERED.add
def gaps_forged_in_both_places(f: Files) -> None:
    f.plan["gaps"] = f.after["gaps"] = bent(f.plan["gaps"])


@TAMPERED.add
def a_strategy_forged_in_both_places(f: Files) -> None:
    name = "generate" if f.plan["strategy"] == "exact" else "exact"
    f.plan["strategy"] = f.after["strategy"] = name


@TAMPERED.add
def settled_denied(f: Files) -> None:
    exact = f.plan["strategy"] == "exact" and all(
        stage["stage"] == "joint failure balance"
        or (stage["exact"] and stage["value"] == stage["bound"])
        for stage in f.plan["certificate"]["stages"]
    )
    if not exact:
        not_here()
    f.after["settled"] = False


@TAMPERED.add
def settled_missing(f: Files) -> None:
    del f.after["settled"]


@TAMPERED.add
def settled_as_text(f: Files) -> None:
    f.after["settled"] = str(f.after["settled"])


@TAMPERED.add
def figures_missing(f: Files) -> None:
    del f.after["topic_spread"]


@pytest.mark.sampled(2)
@pytest.mark.random
@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(sound_plans: LazyPlans, name: str) -> None:
    TAMPERED.assert_found(name, sound_plans)


def denied(made: Plan, folder: Path, key: str, value: Any) -> list[str]:
    """The defects of a plan once its figure, or what it says, is another."""
    made.write(folder / "plan")
    assert judged(folder / "plan").defects == []
    f = Files(folder / "plan")
    (f.after if key in f.after else f.plan)[key] = value
    return judged(f.write()).defects


def test_a_given_reassignment_is_settled(tmp_path: Path) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": [2, 3]}
    lists = {"version": 1, "partitions": [entry]}
    made = plan(cluster_of("1,2 2,3 3,1", "1 2 3"), reassignment=lists)
    assert made.changed.tolist() == [0]
    said = ["plan.json: figures.after.settled is False, expected True"]
    assert denied(made, tmp_path, "settled", False) == said


def test_a_plan_that_changes_nothing_is_settled(tmp_path: Path) -> None:
    made = plan(cluster_of("1 1 1 2", "1 2"), max_moves=0)
    assert not len(made.changed)
    assert "budget" in {stage.name for stage in made.stages}
    said = ["plan.json: figures.after.settled is False, expected True"]
    assert denied(made, tmp_path, "settled", False) == said


ABOUT_LOST = "'no live replica to copy from: N partitions'"


@pytest.mark.parametrize(
    "told",
    [
        [],
        ["no live replica to copy from: 1 partition, t-0; Kafka cannot move"],
        ["no live replica to copy from: 2 partitions, among them t-0"] * 2,
    ],
    ids=len,
)
def test_lost_partitions_must_be_in_the_warnings(tmp_path: Path, told: list[str]) -> None:
    made = plan(lost())
    said = [
        f"plan.json: warnings {ABOUT_LOST}: {[line.split()[6] for line in told]}, expected ['2']"
    ]
    dead = [one for one in made.warnings if "dead" in one]
    assert denied(made, tmp_path, "warnings", told + dead) == said


def test_partitions_that_are_not_lost_must_not_be_in_the_warnings(tmp_path: Path) -> None:
    told = ["no live replica to copy from: 1 partition, t-0; …"]
    said = [f"plan.json: warnings {ABOUT_LOST}: ['1'], expected []"]
    assert denied(plan(cluster_of("1,2 2,1", "1 2")), tmp_path, "warnings", told) == said


def test_what_moves_from_dead_brokers_must_be_in_the_warnings(tmp_path: Path) -> None:
    made = plan(lost())
    told = [one.replace("dead: 2", "dead: 3") for one in made.warnings]
    about = r"'brokers? .+ (?:is|are) dead: (no|[\\d,]+) replicas?'"
    said = [f"plan.json: warnings {about}: ['3'], expected ['2']"]
    assert denied(made, tmp_path, "warnings", told) == said


def lost() -> Cluster:
    """Two partitions whose one holder is dead."""
    return Cluster.from_json(
        {
            "brokers": [{"id": b, "alive": b != 1} for b in (1, 2, 3)],
            "partitions": partitions([[1], [1], [2], [3]]),
        }
    )
