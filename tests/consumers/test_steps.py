"""The steps of a scenario, on the migration from range to cooperative-sticky."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from partage.consumers.record_flow import OwnershipSpan
from partage.consumers.scenario import Scenario, Step
from partage.consumers.simulation import SimulatedRound, simulate
from partage.consumers.steps import Pause, PauseCost, pauses_of, step_costs

MIGRATION = files("partage") / "data" / "groups" / "migration-scenario.json"


def migration(**changed: Any) -> Scenario:
    return Scenario.from_json(json.loads(MIGRATION.read_text(encoding="utf-8")) | changed)


def test_a_pause_counts_for_the_step_in_which_it_begins() -> None:
    one, other = ("t", 0), ("t", 1)
    spans = [
        OwnershipSpan(one, "a", 0, 4),
        OwnershipSpan(one, "b", 6, 9),
        OwnershipSpan(one, "b", 9, 30),  # no pause: the member changed, the owner did not
        OwnershipSpan(other, "a", 2, 12),  # not owned before: no pause
    ]
    rounds = [
        SimulatedRound(0, 1, {"a": (one,)}, "range", revoked={}),
        SimulatedRound(5, 2, {"a": (), "b": (one,)}, "sticky", revoked={"a": (one, other)}),
        SimulatedRound(11, 3, {}, ""),
    ]
    steps = [Step("before", 0), Step("after", 5)]
    before, after = step_costs(
        steps, rounds, pauses_of(spans, {one: 30, other: 30}), {"a": "eager", "b": "cooperative"}
    )
    assert (before.rounds, before.assignors, before.protocols) == (1, ("range",), ("eager",))
    assert (before.revoked, before.pauses) == (0, PauseCost(1, 2, 2))
    assert (after.rounds, after.assignors, after.protocols) == (
        2,
        ("sticky",),
        ("eager", "cooperative"),
    )
    assert (after.revoked, after.pauses) == (2, PauseCost(1, 18, 18))
    assert after.to_json()["paused_partition_seconds"] == 18


def test_a_deleted_partition_is_not_paused() -> None:
    spans = [OwnershipSpan(("t", 0), "a", 0, 4), OwnershipSpan(("t", 1), "a", 0, 9)]
    assert pauses_of(spans, {("t", 0): 4, ("t", 1): 12}) == [Pause(("t", 1), 9, 3)]


def test_a_scenario_without_steps_has_none() -> None:
    found = simulate(migration(steps=None))
    assert found.steps == []
    assert "steps" not in found.to_json()


def test_two_rolling_restarts_make_a_group_cooperative() -> None:
    found = simulate(migration())
    assert (found.violations, dict(found.refused)) == ((), {})
    start, both, alone, deploy = found.steps
    assert (start.assignors, start.protocols, start.revoked) == (("range",), ("eager",), 0)
    # the vote changes when the last member that lists range alone has left; all stay eager
    assert both.assignors == ("range", "cooperative-sticky")
    assert both.protocols == ("eager",)
    assert both.revoked == 12 * both.rounds
    assert (alone.assignors, alone.protocols) == (
        ("cooperative-sticky",),
        ("eager", "cooperative"),
    )
    assert (deploy.assignors, deploy.protocols) == (("cooperative-sticky",), ("cooperative",))
    assert deploy.revoked < alone.revoked < both.revoked
    # all pauses after the start, which waits for the first members
    first = min(span.start for span in found.spans)
    pauses = sum(step.pauses.partition_seconds for step in found.steps)
    assert pauses == pytest.approx(found.unowned - 12 * (first - 0.0), abs=1e-6)
    assert pauses == pytest.approx(found.pauses.partition_seconds)
    assert found.to_json()["paused_partition_seconds"] == round(pauses, 3)
    assert [step["name"] for step in found.to_json()["steps"]] == [
        "range",
        "list both",
        "drop range",
        "deploy",
    ]


def test_one_restart_alone_turns_members_away() -> None:
    """Members that change from range to cooperative-sticky at once have nothing in common with
    those that still run, so the coordinator refuses them: nothing is lost, but they are out."""
    value = json.loads(MIGRATION.read_text(encoding="utf-8"))
    for member in value["members"]:
        member["restarts"] = [{**member["restarts"][0], "assignors": ["cooperative-sticky"]}]
    found = simulate(Scenario.from_json(value))
    assert list(found.refused) == ["C0-2", "C1-2"]
    assert all(why.startswith("INCONSISTENT_GROUP_PROTOCOL") for why in found.refused.values())
    assert found.violations == ()
    # the last member of range has left when C2 returns: the group is empty, and it may join
    assert list(found.rounds[-1].assignment) == ["C2-2"]
