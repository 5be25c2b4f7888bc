"""SCENARIO.json: what is refused, and how the error names it."""

from __future__ import annotations

from typing import Any

import pytest

from partage.consumers.scenario import Scenario
from partage.errors import InputError

VALID: dict[str, Any] = {
    "topics": {"t0": 4},
    "produce": {"t0": 50},
    "members": [{"id": "C0", "topics": ["t0"], "crashes_at": 60, "rate": 100}],
    "session_timeout": 45,
    "until": 600,
}

BAD: list[tuple[dict[str, Any], str]] = [
    ({"topics": None}, "topics: expected an object, got null"),
    ({"topics": {"t0": -1}}, "topics.t0: expected a whole number from 0"),
    ({"topics": {"t0": True}}, "topics.t0: expected a whole number from 0"),
    ({"topics": {"t0": 100_001}}, "topics: more than 100000 partitions"),
    ({"produce": {"x": 1}}, "produce: topic 'x' is not listed"),
    (
        {"produce": {"t0": -1}},
        "produce.t0: expected 0, or a number from 0.001 to 1,000,000,000, got -1",
    ),
    (
        {"produce": {"t0": "5"}},
        'produce.t0: expected 0, or a number from 0.001 to 1,000,000,000, got "5"',
    ),
    ({"produce": [1]}, "produce: expected an object or null, got [1]"),
    ({"members": []}, "members: expected a list with at least one member"),
    ({"members": {}}, "members: expected a list with at least one member"),
    ({"members": [3]}, "members[0]: expected an object with id, topics, got 3"),
    ({"members": [{"topics": []}]}, "members[0].id: missing, expected"),
    ({"members": [{"id": "a"}]}, "members[0].topics: missing, expected a list of"),
    ({"members": [{"id": "a", "topics": [], "rat": 1}]}, "members[0].rat: unknown key"),
    ({"members": [{"id": "a", "topics": []}] * 2}, "members: 'a' is listed twice"),
    (
        {"members": [{"id": "a", "topics": [], "joins_at": 5, "leaves_at": 4}]},
        "members[0]: 'a' ends before it joins",
    ),
    (
        {"members": [{"id": "a", "topics": [], "leaves_at": 4, "crashes_at": 4}]},
        "members[0]: 'a' has leaves_at and crashes_at: expected one",
    ),
    (
        {"members": [{"id": "a", "topics": [], "rate": "fast"}]},
        'members[0].rate: expected 0, or a number from 0.001 to 1,000,000,000 or null, got "fast"',
    ),
    (
        {"members": [{"id": "a", "topics": [], "priority": 1.5}]},
        "members[0].priority: expected a whole number",
    ),
    ({"members": [{"id": "a", "topics": [], "instance_id": 5}]}, "members[0].instance_id: expect"),
    ({"until": None}, "until: expected 0, or a number from 0.001 to 1,000,000,000, got null"),
    ({"until": 0}, "until: expected more than 0 seconds"),
    ({"until": 1e9}, "until: more than 3000000 heartbeats to simulate"),
    ({"until": 1e10}, "until: expected 0, or a number from 0.001 to 1,000,000,000"),
    ({"until": 1e-12}, "until: 1e-12: expected 0, or a number from 0.001 to 1,000,000,000"),
    (
        {"rebalance_timeout": 5e-324},
        "rebalance_timeout: 4.94066e-324: expected 0, or a number from",
    ),
    ({"produce": {"t0": 1e-300}}, "produce.t0: 1e-300: expected 0, or a number from 0.001"),
    (
        {"members": [{"id": "a", "topics": [], "poll_timeout_ms": 1e-9}]},
        "members[0].poll_timeout_ms: 1e-09: expected 0, or a number from 0.001",
    ),
    (
        {"until": float("nan")},
        "until: expected 0, or a number from 0.001 to 1,000,000,000, got NaN",
    ),
    ({"session_timeout": 0}, "session_timeout: expected more than 0 seconds"),
    ({"session_timeout": 2}, "heartbeat_interval: expected less than session_timeout"),
    ({"in_step": 1}, "in_step: expected true or false, got 1"),
    ({"latency": 20}, "latency: expected less than a quarter of session_timeout"),
    ({"generation": -1}, "generation: expected a whole number from 0"),
    ({"racks": {"t0": [["a"]]}}, "racks.t0: expected 4 lists of racks"),
    ({"racks": {"x": []}}, "racks: topic 'x' is not listed"),
    (
        {"steps": [{"name": "a", "at": 5}, {"name": "b", "at": 5}]},
        "steps[1].at: expected more than 5 seconds",
    ),
    (
        {"members": [{"id": "a", "topics": [], "restarts": [{"at": 9}]}]},
        "members[0].restarts[0].back_at: missing",
    ),
    (
        {"members": [{"id": "a", "topics": [], "restarts": [{"at": 9, "back_at": 9}]}]},
        "members[0].restarts[0]: back_at: expected more than 9 seconds",
    ),
    (
        {
            "members": [
                {"id": "a", "topics": [], "joins_at": 5, "restarts": [{"at": 3, "back_at": 4}]}
            ]
        },
        "members[0].restarts[0]: 'a' does not run from 3 to 4 s",
    ),
    (
        {
            "members": [
                {"id": "a", "topics": [], "leaves_at": 9, "restarts": [{"at": 3, "back_at": 10}]}
            ]
        },
        "members[0].restarts[0]: 'a' does not run from 3 to 10 s",
    ),
    (
        {
            "members": [
                {"id": "a", "topics": [], "restarts": [{"at": 3, "back_at": 4}]},
                {"id": "a-2", "topics": []},
            ]
        },
        "members: 'a-2' is listed twice",
    ),
    (
        {"members": [{"id": "a", "topics": [], "client": "sarama"}]},
        "members[0].client: expected",
    ),
    ({"nonsense": 1}, "nonsense: unknown key, expected one of topics, members, until"),
]


@pytest.mark.parametrize(("change", "problem"), BAD, ids=lambda v: str(v)[:40])
def test_bad_scenarios(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as error:
        Scenario.from_json({**VALID, **change}, "s.json")
    assert str(error.value).startswith(f"s.json: {problem}")
    assert error.value.exit_code == 2


@pytest.mark.parametrize("value", [None, [], 3, "x"])
def test_not_a_scenario(value: Any) -> None:
    with pytest.raises(InputError, match="expected a scenario, an object with topics, members"):
        Scenario.from_json(value)


def test_null_is_the_default() -> None:
    plain = {key: VALID[key] for key in ("topics", "until")} | {
        "members": [{"id": "a", "topics": []}]
    }
    nulls = dict.fromkeys(("produce", "session_timeout", "latency", "racks"))
    member = dict.fromkeys(("joins_at", "rate", "poll_timeout_ms", "buffer", "rack", "assignors"))
    same = {**plain, **nulls, "members": [{"id": "a", "topics": [], **member}]}
    assert Scenario.from_json(same) == Scenario.from_json(plain)


def test_repr() -> None:
    scenario = Scenario.from_json(VALID)
    assert repr(scenario) == "<Scenario of 1 member, 1 topic, 4 partitions: 600 s>"
    assert repr(scenario.members[0]) == (
        "ScenarioMember(id='C0', topics=('t0',), crashes_at=60.0, rate=100.0)"
    )


def test_a_restart_is_another_process_with_the_same_settings() -> None:
    member = {
        "id": "a",
        "topics": ["t0"],
        "rate": 7,
        "assignors": ["range"],
        "crashes_at": 90,
        "restarts": [
            {"at": 10, "back_at": 12, "assignors": ["sticky", "range"]},
            {"at": 20, "back_at": 22},
        ],
    }
    value = {**VALID, "members": [member]}
    found = Scenario.from_json(value).members
    assert [(one.id, one.joins_at, one.leaves_at, one.crashes_at) for one in found] == [
        ("a", 0, 10, None),
        ("a-2", 12, 20, None),
        ("a-3", 22, None, 90),
    ]
    assert [one.assignors for one in found] == [("range",), *[("sticky", "range")] * 2]
    assert {one.rate for one in found} == {7}
