"""Replays of a history."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from partage.consumers.history import History, MemberSession
from partage.consumers.history.replay import cases, replay, scenario_of, to_text
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from tests.consumers.history.history_logs import CASES, name_of, one_group, recorded

WEEK = 7 * 86_400_000_000


def history(
    *members: MemberSession, until: int, settings: dict[str, float] | None = None
) -> History:
    return History(
        group="g",
        start=0,
        until=until,
        zoned=True,
        members=members,
        rounds=(),
        owned=(),
        topics={"t": 6, "u": 1},
        settings=settings or {},
        latency=0,
        unowned={},
        moved=0,
        owners_known=True,
        empty=0,
        unknown=(),
    )


def member(
    name: str, joins: int, ends: int | None = None, ended: str | None = None
) -> MemberSession:
    return MemberSession(name, "java", name, "log", None, ("t",), joins, ends, ended)


WEEKS = history(
    member("a", 0),
    member("b", 1_000_000, WEEK, "left"),
    member("c", WEEK + 500_000, 2 * WEEK, "gone"),
    until=3 * WEEK,
)


def test_members_become_scenario_members() -> None:
    scenario = scenario_of(WEEKS, shortened=False)
    told = [(one.id, one.joins_at, one.leaves_at, one.crashes_at) for one in scenario.members]
    assert told == [
        ("a", 0.0, None, None),
        ("b", 1.0, 604_800.0, None),
        ("c", 604_800.5, None, 1_209_600.0),
    ]
    assert scenario.topics == {"t": 6, "u": 1}
    assert {one.topics for one in scenario.members} == {("t",)}
    assert (scenario.session_timeout, scenario.heartbeat_interval) == (45.0, 3.0)
    assert scenario.until == 3 * 604_800.0


def test_settings_of_the_logs_are_used() -> None:
    told = replace(WEEKS, settings={"session_timeout": 6.0, "heartbeat_interval": 9.0})
    scenario = scenario_of(told)
    assert (scenario.session_timeout, scenario.heartbeat_interval) == (6.0, 2.0)


def test_a_member_without_a_known_subscription_has_all_topics() -> None:
    silent = replace(WEEKS, members=(replace(WEEKS.members[0], topics=()),))
    assert scenario_of(silent).members[0].topics == ("t", "u")


def test_weeks_are_shortened_with_the_same_result() -> None:
    short = scenario_of(WEEKS)
    assert short.until < 600
    days = replace(
        WEEKS,
        members=tuple(
            replace(one, joins=one.joins // 1000, ends=one.ends and one.ends // 1000)
            for one in WEEKS.members
        ),
        until=WEEKS.until // 1000,
    )
    for assignor, protocol in cases():
        long = replay(scenario_of(days, shortened=False), assignor, protocol)
        assert replay(scenario_of(days), assignor, protocol) == long


def test_a_replay_equals_simulate() -> None:
    scenario = scenario_of(WEEKS)
    again = Scenario.from_json(json.loads(to_text(scenario)))
    assert again == scenario
    found = simulate(again, "range", "eager")
    assert replay(scenario, "range", "eager") == {
        "moved": found.moved,
        "unowned_partition_seconds": pytest.approx(found.unowned, abs=0.0005),
        "rounds": len([one for one in found.rounds if one.assignment]),
    }
    assert found.moved > 0


def test_an_assignor_that_cannot_gives_the_reason() -> None:
    assert set(replay(scenario_of(WEEKS), "nobody", "eager")) == {"cannot"}


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("whole")])
def test_with_its_own_assignor_as_much_moves_as_in_the_logs(case: str) -> None:
    """Range and sticky leave no choice here: a, b, c join, b leaves, c crashes."""
    real = one_group(recorded(case))
    assignor = real.rounds[0].assignor
    assert assignor is not None
    again = replay(scenario_of(real), assignor, str(real.rounds[0].protocol))
    assert again["moved"] == real.moved
    assert [name_of(one.id) for one in scenario_of(real).members] == ["a", "b", "c"]


def test_a_setting_of_zero_in_a_log_does_not_count() -> None:
    head = "2026-01-02 03:04:0{},678 INFO "
    lines = [
        head.format(1) + "ConsumerConfig values: ",
        "\tclient.id = c",
        "\tgroup.id = g",
        "\theartbeat.interval.ms = 0",
        "\tsession.timeout.ms = 0",
        head.format(2)
        + "[Consumer clientId=c, groupId=g] Successfully joined group with generation 7",
        head.format(3) + "[Consumer clientId=c, groupId=g] Adding newly assigned partitions: t-0",
    ]
    scenario = scenario_of(one_group({"a.log": lines}))
    assert (scenario.session_timeout, scenario.heartbeat_interval) == (45, 3)
