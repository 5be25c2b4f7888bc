"""Simulations: what a scenario costs, counted and compared with a slow, naive reading."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from partage.consumers.record_flow import OwnershipSpan, empty_polls, pull, push
from partage.consumers.scenario import Scenario, ScenarioMember
from partage.consumers.simulation import simulate
from partage.errors import InputError
from tests.consumers.group_histories import hand_over

DESIGN: dict[str, Any] = {
    "topics": {"t0": 4},
    "produce": {"t0": 50},
    "members": [
        {
            "id": "C0",
            "topics": ["t0"],
            "joins_at": 0,
            "leaves_at": None,
            "crashes_at": 60,
            "rate": 100,
            "poll_timeout_ms": 500,
        },
        {"id": "C1", "topics": ["t0"], "rate": 300},
    ],
    "session_timeout": 45,
    "until": 600,
}


def scenario(members: list[dict[str, Any]], topics: Any = None, **options: Any) -> Scenario:
    topics = topics or {"t": 4}
    value = {"topics": topics, "members": members, "until": 300, **options}
    for member in members:
        member.setdefault("topics", list(topics))
    return Scenario.from_json(value)


def test_the_form_of_the_design() -> None:
    value = simulate(Scenario.from_json(DESIGN), "sticky", "eager").to_json()
    assert list(value)[:4] == ["rounds", "unowned_partition_seconds", "moved", "lag"]
    assert value["invariants"] == "hold"
    assert value["rounds"][0] == {
        "at": 0.0,
        "generation": 1,
        "assignment": {"C0": [["t0", 0], ["t0", 2]], "C1": [["t0", 1], ["t0", 3]]},
        "added": {"C0": [["t0", 0], ["t0", 2]], "C1": [["t0", 1], ["t0", 3]]},
        "revoked": {},
        "lost": {},
    }
    last = value["rounds"][-1]
    assert last["generation"] == 2
    assert 102 <= last["at"] <= 60 + 45 + 3  # it beats every 3 s, and C1 hears of it by a beat
    assert last["lost"] == {"C0": [["t0", 0], ["t0", 2]]}
    assert last["revoked"] == {"C1": [["t0", 1], ["t0", 3]]}
    assert value["moved"] == 2
    assert value["unowned_partition_seconds"] == 2 * (last["at"] - 60)
    json.dumps(value, allow_nan=False)


def test_cooperative_never_gives_up_what_stays() -> None:
    found = simulate(Scenario.from_json(DESIGN), "cooperative-sticky", "cooperative")
    last = found.rounds[-1]
    assert last.revoked == {}
    assert last.added == {"C1": (("t0", 0), ("t0", 2))}
    assert len(last.assignment["C1"]) == 4


def test_eager_stops_everybody_cooperative_only_what_moves() -> None:
    members = [{"id": f"C{n}"} for n in range(4)]
    members[1]["leaves_at"] = 100  # type: ignore[assignment]
    members.append({"id": "C4", "joins_at": 200})  # type: ignore[dict-item]
    played = {
        protocol: simulate(scenario([dict(m) for m in members], {"t": 40}), "sticky", protocol)
        for protocol in ("eager", "cooperative")
    }
    eager, cooperative = played["eager"], played["cooperative"]
    assert len(eager.rounds) == 3
    assert len(cooperative.rounds) == 4  # a second round for the member that comes
    assert eager.unowned > 1.5 * cooperative.unowned > 0
    given_up = {
        name: sum(len(p) for r in found.rounds for p in r.revoked.values())
        for name, found in played.items()
    }
    assert given_up == {"eager": 80, "cooperative": 10 + 10}


def test_one_heartbeat_interval_between_the_rounds() -> None:
    found = simulate(
        scenario([{"id": "a"}, {"id": "b", "joins_at": 50}]), "cooperative-sticky", "cooperative"
    )
    assert [r.generation for r in found.rounds] == [1, 2, 3]
    assert found.rounds[2].at - found.rounds[1].at == 3.0
    assert found.unowned == 2 * 3.0


@pytest.mark.parametrize(("in_step", "gaps"), [(False, [0.0, 0.75, 1.5]), (True, [0.0])])
def test_in_step_everybody_hears_of_a_rebalance_at_once(in_step: bool, gaps: list[float]) -> None:
    """Three members beat every 3 s, and a fourth comes. In step all of them come at once, and no
    partition waits; otherwise they come a quarter of the interval one after the other."""
    members: list[dict[str, Any]] = [{"id": name} for name in "ABC"]
    members.append({"id": "D", "joins_at": 31})
    found = simulate(scenario(members, initial_delay=0.5, in_step=in_step), "sticky", "eager")
    again = found.rounds[-1].at
    waited = set()
    for partition in found.produce:
        spans = [span for span in found.spans if span.partition == partition]
        stopped = max(span.end for span in spans if span.end <= again)
        waited.add(round(min(s.start for s in spans if s.start >= again) - stopped, 3))
    assert sorted(waited) == gaps


def test_latency_makes_everything_later() -> None:
    members = [{"id": "a"}, {"id": "b", "joins_at": 50}]
    quick = simulate(scenario([dict(m) for m in members]), "sticky")
    slow = simulate(scenario([dict(m) for m in members], latency=0.25), "sticky")
    assert quick.rounds[0].at == 0.0
    # the join and its answer, the sync: until the assignment is there
    assert slow.rounds[0].at == 0.75
    assert slow.unowned > quick.unowned
    assert slow.violations == ()


def test_a_static_member_that_comes_back_in_time() -> None:
    members: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "b", "instance_id": "one", "leaves_at": 100},
        {"id": "b2", "instance_id": "one", "joins_at": 120},
    ]
    found = simulate(scenario(members), "sticky")
    assert [(r.at, r.generation) for r in found.rounds] == [(0.0, 1), (120.0, 1)]
    assert found.rounds[1].added == {"b2": found.rounds[0].assignment["b"]}
    assert found.unowned == 2 * 20
    assert found.moved == 0


def test_members_that_come_too_late_or_not_at_all() -> None:
    found = simulate(
        scenario([{"id": "a", "joins_at": 299.5}, {"id": "b", "joins_at": 400}]), "range"
    )
    assert len(found.rounds) == 1
    assert found.unowned == 0.0  # nobody subscribed before
    assert simulate(scenario([{"id": "b", "joins_at": 400}]), "range").rounds == ()


def test_everybody_leaves() -> None:
    found = simulate(scenario([{"id": "a", "leaves_at": 10}]), "range")
    assert [(r.generation, dict(r.assignment)) for r in found.rounds[1:]] == [(2, {})]
    assert list(found.rounds[1].revoked) == ["a"]


def test_a_member_without_a_common_strategy() -> None:
    members: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "assignors": ["sticky"]}]
    found = simulate(scenario(members), "range")
    assert list(found.refused) == ["b"]
    assert found.refused["b"].startswith("INCONSISTENT_GROUP_PROTOCOL: The group member's")
    assert found.unowned == 0.0


def test_random_scenarios_hold() -> None:
    chance = random.Random(7)
    for _ in range(60):
        members: list[dict[str, Any]] = []
        for number in range(chance.randint(1, 6)):
            member: dict[str, Any] = {
                "id": f"m{number}",
                "topics": [t for t in ("a", "b") if chance.random() < 0.8],
                "joins_at": chance.choice([0, 0, chance.uniform(0, 200)]),
                "rate": chance.choice([None, chance.uniform(1, 200)]),
            }
            if chance.random() < 0.5:
                end = "leaves_at" if chance.random() < 0.5 else "crashes_at"
                member[end] = member["joins_at"] + chance.uniform(0, 100)
            if chance.random() < 0.3:
                member["instance_id"] = f"i{number}"
            members.append(member)
        value = {
            "topics": {"a": 3, "b": 5},
            "produce": {"a": chance.uniform(0, 30), "b": 10},
            "members": members,
            "until": 300,
            "latency": chance.choice([0, 0.1]),
            "initial_delay": chance.choice([0, 3]),
        }
        played = Scenario.from_json(value)
        for assignor, protocol in (("range", "eager"), ("cooperative-sticky", "cooperative")):
            found = simulate(played, assignor, protocol)
            assert found.violations == (), value
            check_spans(found)
            assert found.to_json() == simulate(played, assignor, protocol).to_json()


def check_spans(found: Any) -> None:
    """Spans of a partition do not overlap; lag is records in less records out."""
    until = found.scenario.until
    for partition in found.produce:
        spans = [s for s in found.spans if s.partition == partition]
        assert all(a.end <= b.start for a, b in pairwise(spans))
        curve = found.lag[partition]
        assert curve[0] == (0.0, 0.0)
        assert curve[-1][0] == pytest.approx(until)
        assert all(lag >= 0 for _, lag in curve)
        assert all(a[0] <= b[0] for a, b in pairwise(curve))


def test_a_leader_that_hands_over_directly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    members: list[dict[str, Any]] = [{"id": "b"}, {"id": "a", "leaves_at": 50}, {"id": "c"}]
    played = scenario(members, {"t": 7}, latency=0.1)
    assert simulate(played, "roundrobin", "cooperative").violations == ()
    wrong = hand_over(played.topics, "roundrobin")
    monkeypatch.setattr("partage.consumers.simulation._leader", lambda *_: wrong)
    found = simulate(played, "roundrobin", "cooperative")
    assert found.violations[0].endswith("is owned by c and b")
    assert found.to_json()["invariants"] == list(found.violations)


def test_rates_are_weights_and_racks_are_racks() -> None:
    topics = {"busy": 1, "calm": 3}
    members: list[dict[str, Any]] = [{"id": "a", "rack": "r1"}, {"id": "b", "rack": "r2"}]
    found = simulate(
        scenario([dict(m) for m in members], topics, produce={"busy": 30, "calm": 10}), "weighted"
    )
    loads = sorted(len(held) for held in found.rounds[0].assignment.values())
    assert loads == [1, 3]
    racks = {"busy": [["r2"]], "calm": [["r2"], ["r1"], ["r1"]]}
    found = simulate(scenario(members, topics, racks=racks), "sticky")
    assert found.rounds[0].assignment["b"] == (("busy", 0), ("calm", 0))


# ---------------------------------------------------------------------- pull and push


def naive_pull(
    spans: list[OwnershipSpan],
    produce: dict[tuple[str, int], float],
    actors: dict[str, ScenarioMember],
    until: float,
    step: float = 0.005,
) -> dict[tuple[str, int], float]:
    """The lag at the end, in small steps: each member's partitions take turns for its records."""
    lag = dict.fromkeys(produce, 0.0)
    for tick in range(round(until / step)):
        now = (tick + 0.5) * step
        for partition in produce:
            lag[partition] += produce[partition] * step
        for name, actor in actors.items():
            has = [s.partition for s in spans if s.member == name and s.start <= now < s.end]
            budget = (actor.rate or 1e9) * step
            while has and budget > 1e-12:
                share = budget / len(has)
                for partition in has:
                    taken = min(lag[partition], share)
                    lag[partition] -= taken
                    budget -= taken
                has = [p for p in has if lag[p] > 1e-12]
    return lag


def test_pull_equals_small_steps() -> None:
    chance = random.Random(3)
    for _ in range(25):
        produce = {("t", n): chance.choice([0.0, 5.0, 20.0, 60.0]) for n in range(4)}
        actors = {
            name: ScenarioMember(name, ("t",), rate=chance.choice([10.0, 50.0, 120.0, None]))
            for name in ("a", "b")
        }
        spans = []
        for partition in produce:
            time = 0.0
            while time < 20:
                end = min(time + chance.choice([2.0, 5.0, 9.0]), 20.0)
                if chance.random() < 0.8:
                    spans.append(OwnershipSpan(partition, chance.choice(["a", "b"]), time, end))
                time = end
        curves = pull(spans, produce, actors, 20.0)
        slow = naive_pull(spans, produce, actors, 20.0)
        for partition, curve in curves.items():
            assert curve[-1][1] == pytest.approx(slow[partition], abs=2.0), (spans, produce, actors)


def test_pull_absorbs_what_overruns_a_pushed_member() -> None:
    """The Russian article: the broker does not know how fast a consumer is."""
    produce = {("t", 0): 100.0}
    actors = {
        "slow": ScenarioMember("slow", ("t",), rate=60.0),
        "fast": ScenarioMember("fast", ("t",), rate=400.0),
    }
    spans = [
        OwnershipSpan(("t", 0), "slow", 0.0, 100.0),
        OwnershipSpan(("t", 0), "fast", 100.0, 200.0),
    ]
    curve = pull(spans, produce, actors, 200.0)[("t", 0)]
    assert curve == [(0.0, 0.0), (100.0, 4000.0), (100 + 4000 / 300, 0.0), (200.0, 0.0)]
    pushed = push(spans, produce, actors)
    assert pushed["slow"].overrun_at == 500 / 40
    assert pushed["slow"].overrun == 4000 - 500
    assert pushed["slow"].most == 500
    assert pushed["fast"].overrun_at is None


def test_pull_comes_to_its_end_late() -> None:
    """In the 310th day a float's step is 4 ns, and the rest of a lag may be read in less."""
    produce = {("t", 0): 1355.0244969246548, ("t", 1): 2310.612239128032, ("t", 2): 106.107554718}
    actors = {"m": ScenarioMember("m", ("t",), rate=8504025.91601397)}
    start, end = 26715302.078397393, 26765302.078397393
    curves = pull([OwnershipSpan(p, "m", start, end) for p in produce], produce, actors, end)
    for partition, curve in curves.items():
        assert curve[1] == (start, pytest.approx(produce[partition] * start))
        assert curve[-1] == (end, 0.0)
    # the three lose their lags one after the other, the smallest first
    emptied = [curves[partition][-2] for partition in (("t", 2), ("t", 0), ("t", 1))]
    assert [lag for _, lag in emptied] == [0.0] * 3
    assert sorted(emptied) == emptied


def test_what_gathered_without_an_owner_comes_at_once() -> None:
    produce = {("t", 0): 100.0}
    actors = {"a": ScenarioMember("a", ("t",), rate=200.0)}
    spans = [OwnershipSpan(("t", 0), "a", 20.0, 60.0)]
    assert pull(spans, produce, actors, 60.0)[("t", 0)][:3] == [
        (0.0, 0.0),
        (20.0, 2000.0),
        (40.0, 0.0),
    ]
    pushed = push(spans, produce, actors)["a"]
    assert (pushed.overrun_at, pushed.overrun) == (20.0, 1500.0)


def test_polls_that_wait_in_vain() -> None:
    """A poll without a time-out spins where there is nothing; with one it comes back empty."""
    produce = {("t", 0): 0.1, ("t", 1): 50.0}
    actors = {
        "rare": ScenarioMember("rare", ("t",), rate=100.0, poll_timeout_ms=500),
        "patient": ScenarioMember("patient", ("t",), rate=100.0, poll_timeout_ms=20_000),
        "busy": ScenarioMember("busy", ("t",), rate=100.0, poll_timeout_ms=500),
        "idle": ScenarioMember("idle", ("t",), rate=100.0, poll_timeout_ms=1000),
        "spins": ScenarioMember("spins", ("t",), rate=100.0, poll_timeout_ms=0),
        "late": ScenarioMember("late", ("t",), joins_at=500.0),
    }
    for owner, empty in (("rare", 2000), ("patient", 0)):
        spans = [
            OwnershipSpan(("t", 0), owner, 0.0, 1000.0),
            OwnershipSpan(("t", 1), "busy", 0.0, 1000.0),
        ]
        curves = pull(spans, produce, actors, 1000.0)
        found = empty_polls(spans, curves, produce, actors, 1000.0)
        assert found[owner] == empty
        assert found["busy"] == 0
        assert found["idle"] == 1000
        assert found["spins"] is None
        assert found["late"] == 1000


# ---------------------------------------------------------------------- bad input

BAD: list[tuple[dict[str, Any], str]] = [
    ({"topics": None}, "topics: partition counts by name: expected an object, got None"),
    ({"topics": {"t0": -1}}, "topics.t0: expected a number of partitions"),
    ({"topics": {"t0": True}}, "topics.t0: expected a number of partitions"),
    ({"topics": {"t0": 100_001}}, "topics: more than 100000 partitions"),
    ({"produce": {"x": 1}}, "produce: topic 'x' is not listed"),
    ({"produce": {"t0": -1}}, "produce.t0: expected a number from 0, got -1"),
    ({"produce": {"t0": "5"}}, "produce.t0: expected a number from 0, got '5'"),
    ({"produce": [1]}, "produce: records per second by topic: expected an object, got [1]"),
    ({"members": []}, "members: expected a list with at least one member"),
    ({"members": {}}, "members: expected a list with at least one member"),
    ({"members": [3]}, "members[0]: a member: expected an object, got 3"),
    ({"members": [{"topics": []}]}, "members[0].id: expected text, got None"),
    ({"members": [{"id": "a"}]}, "members[0].topics: expected a list of texts, got None"),
    ({"members": [{"id": "a", "topics": [], "rat": 1}]}, "members[0]: a member: has no 'rat'"),
    ({"members": [{"id": "a", "topics": []}] * 2}, "members: 'a' is listed twice"),
    (
        {"members": [{"id": "a", "topics": [], "joins_at": 5, "leaves_at": 4}]},
        "members[0]: 'a' ends before it joins",
    ),
    (
        {"members": [{"id": "a", "topics": [], "leaves_at": 4, "crashes_at": 4}]},
        "members[0]: 'a' leaves and crashes: expected one of them",
    ),
    (
        {"members": [{"id": "a", "topics": [], "rate": "fast"}]},
        "members[0].rate: expected a number from 0, got 'fast'",
    ),
    (
        {"members": [{"id": "a", "topics": [], "priority": 1.5}]},
        "members[0].priority: expected a whole number, got 1.5",
    ),
    (
        {"members": [{"id": "a", "topics": [], "instance_id": 5}]},
        "members[0].instance_id: expected text, got 5",
    ),
    ({"until": None}, "until: expected a number from 0, got None"),
    ({"until": 0}, "until: expected more than 0 seconds"),
    ({"until": 1e11}, "until: more than 3000000 heartbeats to play"),
    ({"session_timeout": 0}, "session_timeout: expected more than 0 seconds"),
    ({"session_timeout": 2}, "heartbeat_interval: expected less than session_timeout"),
    ({"in_step": 1}, "in_step: expected true or false, got 1"),
    ({"latency": 20}, "latency: expected less than a quarter of session_timeout"),
    ({"generation": -1}, "generation: expected a whole number, got -1"),
    ({"racks": {"t0": [["a"]]}}, "racks.t0: expected 4 lists of racks"),
    ({"racks": {"x": []}}, "racks: topic 'x' is not listed"),
    ({"nonsense": 1}, "a scenario: has no 'nonsense': expected topics, produce, members"),
]


@pytest.mark.parametrize(("change", "problem"), BAD, ids=lambda v: str(v)[:40])
def test_bad_scenarios(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as error:
        Scenario.from_json({**DESIGN, **change}, "s.json")
    assert str(error.value).startswith(f"s.json: {problem}")
    assert error.value.exit_code == 2


@pytest.mark.parametrize("value", [None, [], 3, "x"])
def test_no_scenario_at_all(value: Any) -> None:
    with pytest.raises(InputError, match="a scenario: expected an object"):
        Scenario.from_json(value)


def test_bad_choices() -> None:
    played = Scenario.from_json(DESIGN)
    for options, problem in (
        (("none",), "--assignor: 'none': expected one of range"),
        (("range", "lazy"), "--protocol: 'lazy': expected one of eager, cooperative"),
        (("range", "eager", "fast"), "--mode: 'fast': expected one of optimal, java"),
    ):
        with pytest.raises(InputError) as error:
            simulate(played, *options)
        assert str(error.value).startswith(problem)
    with pytest.raises(InputError, match="'odd': expected one of"):
        simulate(scenario([{"id": "a", "assignors": ["odd"]}]), "range")
