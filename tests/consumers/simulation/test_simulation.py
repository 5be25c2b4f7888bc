"""Simulations of scenarios, on examples and random ones."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.consumers.protocol import Network
from partage.consumers.scenario import Scenario
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


def test_json_has_the_keys_of_the_design() -> None:
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
        "assignor": "sticky",
    }
    last = value["rounds"][-1]
    assert last["generation"] == 2
    assert (
        102 <= last["at"] <= 60 + 45 + 3
    )  # heartbeats every 3 s: C1 learns of the rebalance by one
    assert last["lost"] == {"C0": [["t0", 0], ["t0", 2]]}
    assert last["revoked"] == {"C1": [["t0", 1], ["t0", 3]]}
    assert value["moved"] == 2
    assert value["unowned_partition_seconds"] == 2 * (last["at"] - 60)
    json.dumps(value, allow_nan=False)


def test_cooperative_never_revokes_what_stays() -> None:
    found = simulate(Scenario.from_json(DESIGN), "cooperative-sticky", "cooperative")
    last = found.rounds[-1]
    assert last.revoked == {}
    assert last.added == {"C1": (("t0", 0), ("t0", 2))}
    assert len(last.assignment["C1"]) == 4


def test_eager_revokes_everything_cooperative_only_what_moves() -> None:
    members = [{"id": f"C{n}"} for n in range(4)]
    members[1]["leaves_at"] = 100  # type: ignore[assignment]
    members.append({"id": "C4", "joins_at": 200})  # type: ignore[dict-item]
    found = {
        protocol: simulate(scenario([dict(m) for m in members], {"t": 40}), "sticky", protocol)
        for protocol in ("eager", "cooperative")
    }
    eager, cooperative = found["eager"], found["cooperative"]
    assert len(eager.rounds) == 3
    assert len(cooperative.rounds) == 4  # a second round for the new member
    assert eager.unowned > 1.5 * cooperative.unowned > 0
    revoked = {
        name: sum(len(p) for r in one.rounds for p in r.revoked.values())
        for name, one in found.items()
    }
    assert revoked == {"eager": 80, "cooperative": 10 + 10}


def test_one_heartbeat_interval_between_the_rounds() -> None:
    found = simulate(
        scenario([{"id": "a"}, {"id": "b", "joins_at": 50}]), "cooperative-sticky", "cooperative"
    )
    assert [r.generation for r in found.rounds] == [1, 2, 3]
    assert found.rounds[2].at - found.rounds[1].at == 3.0
    assert found.unowned == 2 * 3.0


@pytest.mark.parametrize(("in_step", "gaps"), [(False, [0.0, 0.75, 1.5]), (True, [0.0])])
def test_in_step_all_members_learn_of_a_rebalance_at_once(in_step: bool, gaps: list[float]) -> None:
    """Three members send a heartbeat every 3 s, and a fourth joins. In step all of them rejoin at
    once, and no partition waits; otherwise they rejoin a quarter of the interval apart."""
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


def test_latency_delays_everything() -> None:
    members = [{"id": "a"}, {"id": "b", "joins_at": 50}]
    quick = simulate(scenario([dict(m) for m in members]), "sticky")
    slow = simulate(scenario([dict(m) for m in members], latency=0.25), "sticky")
    assert quick.rounds[0].at == 0.0
    # join, its answer, sync
    assert slow.rounds[0].at == 0.75
    assert slow.unowned > quick.unowned
    assert slow.violations == ()


def test_a_static_member_that_returns_in_time() -> None:
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


def test_members_that_join_too_late_or_never() -> None:
    found = simulate(
        scenario([{"id": "a", "joins_at": 299.5}, {"id": "b", "joins_at": 400}]), "range"
    )
    assert len(found.rounds) == 1
    assert found.unowned == 0.0  # no member subscribed before
    assert simulate(scenario([{"id": "b", "joins_at": 400}]), "range").rounds == ()


def test_all_members_leave() -> None:
    found = simulate(scenario([{"id": "a", "leaves_at": 10}]), "range")
    assert [(r.generation, dict(r.assignment)) for r in found.rounds[1:]] == [(2, {})]
    assert list(found.rounds[1].revoked) == ["a"]


def test_a_member_without_a_common_assignor() -> None:
    members: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "assignors": ["sticky"]}]
    found = simulate(scenario(members), "range")
    assert list(found.refused) == ["b"]
    assert found.refused["b"].startswith("INCONSISTENT_GROUP_PROTOCOL: The group member's")
    assert found.unowned == 0.0


def test_random_scenarios_keep_the_guarantees() -> None:
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


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_the_cost_grows_with_the_events_not_with_the_members(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of a thousand members would take minutes otherwise."""
    counted = 0
    counts = Network.counts

    def counting(*given: Any) -> bool:
        nonlocal counted
        counted += 1
        return counts(*given)

    monkeypatch.setattr(Network, "counts", counting)
    members = [{"id": f"m{number}", "topics": ["t"]} for number in range(200)]
    found = simulate(
        scenario(members, until=60), "range" if protocol == "eager" else "uniform", protocol
    )
    assert found.violations == ()
    assert counted < 10 * len(members)


def check_spans(found: Any) -> None:
    """Spans of a partition do not overlap; lag curves cover the whole time, never negative."""
    until = found.scenario.until
    for partition in found.produce:
        spans = [s for s in found.spans if s.partition == partition]
        assert all(a.end <= b.start for a, b in pairwise(spans))
        curve = found.lag[partition]
        assert curve[0] == (0.0, 0.0)
        assert curve[-1][0] == pytest.approx(until)
        assert all(lag >= 0 for _, lag in curve)
        assert all(a[0] <= b[0] for a, b in pairwise(curve))


def test_a_leader_that_does_not_withhold_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    members: list[dict[str, Any]] = [{"id": "b"}, {"id": "a", "leaves_at": 50}, {"id": "c"}]
    played = scenario(members, {"t": 7}, latency=0.1)
    assert simulate(played, "roundrobin", "cooperative").violations == ()
    wrong = hand_over(played.topics, "roundrobin")
    monkeypatch.setattr("partage.consumers.simulation.run.make_leader", lambda *_, **__: wrong)
    found = simulate(played, "roundrobin", "cooperative")
    assert found.violations[0].endswith("is owned by c and b")
    assert found.to_json()["invariants"] == list(found.violations)


def test_rates_become_weights_and_racks_count() -> None:
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


def test_invalid_arguments() -> None:
    played = Scenario.from_json(DESIGN)
    for options, problem in (
        (("none",), "assignor none: expected one of range"),
        (("range", "lazy"), "protocol lazy: expected one of eager, cooperative"),
        (("range", "eager", "fast"), "mode fast: expected one of optimal, java"),
        (("share",), "assignor share: share groups are not simulated"),
        (
            ("partage.assignor.EagerAssignor",),
            "assignor partage.assignor.EagerAssignor: decides as ",
        ),
    ):
        with pytest.raises(InputError) as error:
            simulate(played, *options)
        assert str(error.value).startswith(problem)
    asking = {"group.protocol": "consumer", "group.remote.assignor": "partage"}
    with pytest.raises(InputError, match="partage: decides as uniform does with `mode` optimal"):
        simulate(scenario([{"id": "a", "config": asking}]))
    with pytest.raises(
        InputError, match=r"^members: 'a': assignors: assignor odd: expected one of"
    ):
        simulate(scenario([{"id": "a", "assignors": ["odd"]}]), "range")
    odd = scenario([{"id": "a", "config": {"group.remote.assignor": "odd"}}])
    with pytest.raises(
        InputError, match=r"^members: 'a': config: group\.remote\.assignor: assignor"
    ):
        simulate(odd, protocol="consumer")
    with pytest.raises(InputError, match=r"^assignor odd: protocol consumer needs one of"):
        simulate(scenario([{"id": "a"}]), "odd", "consumer")


def test_repr_and_tables_for_notebooks() -> None:
    found = simulate(scenario([{"id": "a"}, {"id": "b", "joins_at": 50}]), "range")
    assert repr(found) == (
        "<Simulation of range, eager: 2 rounds, 2 partitions moved, "
        f"{found.unowned:,.1f} partition-seconds without an owner>"
    )
    assert "<td>a: t-0, t-1, t-2, t-3</td>" in found._repr_html_()
    pytest.importorskip("pyarrow")
    rows = found.to_arrow().to_pylist()
    assert rows[0] == {
        "topic": "t",
        "partition": 0,
        "member": "a",
        "start_seconds": 0.0,
        "end_seconds": found.spans[0].end,
    }
    pytest.importorskip("pandas")
    assert found.to_pandas().to_dict("records") == rows


def test_a_path_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(DESIGN))
    expected = simulate(Scenario.from_json(DESIGN), "sticky").to_json()
    assert simulate(path, "sticky").to_json() == expected
    assert partage.simulate(str(path), "sticky").to_json() == expected


def test_a_mode_that_no_assignor_has() -> None:
    with pytest.raises(InputError, match="mode java: range has no modes"):
        simulate(Scenario.from_json(DESIGN), "range", mode="java")
    listed = scenario([{"id": "a", "assignors": ["sticky"]}])
    assert simulate(listed, "range", mode="java").violations == ()


LISTS: list[tuple[list[str], str]] = [
    (["range"], "eager"),
    (["cooperative-sticky"], "cooperative"),
    (["org.apache.kafka.clients.consumer.CooperativeStickyAssignor"], "cooperative"),
    (["cooperative-sticky", "range"], "eager"),
    (["range", "cooperative-sticky"], "eager"),
    (["sticky", "weighted"], "eager"),
]


@pytest.mark.parametrize(("names", "protocol"), LISTS)
def test_a_member_plays_what_all_of_its_assignors_support(names: list[str], protocol: str) -> None:
    members = [{"id": "a", "assignors": names}, {"id": "b", "assignors": names}]
    listed = simulate(scenario(members))
    default = simulate(scenario([{"id": "a"}, {"id": "b"}]), names)
    for found in (listed, default):
        assert found.protocol == protocol
        assert found.to_json()["protocols"] == {"a": protocol, "b": protocol}
    assert listed.rounds == default.rounds
    for overriding in ("eager", "cooperative"):
        assert simulate(listed.scenario, names, overriding).protocol == overriding


def test_the_protocol_by_default_is_that_of_the_assignor_alone() -> None:
    played = Scenario.from_json(DESIGN)
    for assignor, protocol in (("cooperative-sticky", "cooperative"), ("sticky", "eager")):
        found = simulate(played, assignor)
        assert found.to_json() == simulate(played, assignor, protocol).to_json()


def test_members_of_both_protocols_share_a_group() -> None:
    """While a group changes to cooperative, eager members revoke everything and the others
    nothing; all have cooperative-sticky."""
    both = ["cooperative-sticky", "range"]
    members: list[dict[str, Any]] = [
        {"id": "a", "assignors": both},
        {"id": "b", "assignors": ["cooperative-sticky"]},
        {"id": "c", "assignors": both, "joins_at": 50},
    ]
    found = simulate(scenario(members, {"t": 9}))
    assert found.protocol == "eager, cooperative"
    assert {one.assignor for one in found.rounds} == {"cooperative-sticky"}
    assert (found.violations, dict(found.refused)) == ((), {})
    last = {name: len(held) for name, held in found.rounds[0].assignment.items()}
    assert sorted(last) == ["a", "b"]
    for one in found.rounds[1:]:
        for name in {"a", "c"} & set(last):
            assert len(one.revoked[name]) == last[name], "an eager member revokes everything"
        last = {name: len(held) for name, held in one.assignment.items()}
    assert sum(len(one.revoked.get("b", ())) for one in found.rounds) == 1


def test_a_static_member_that_returns_with_nothing_in_common_is_refused() -> None:
    """The coordinator compares with the former list of the member itself: its entry stays until
    the session expires."""
    one = {"id": "a", "instance_id": "i", "assignors": ["range"], "leaves_at": 50}
    for joins, refused in ((60, True), (50 + 46, False)):
        again = {"id": "b", "instance_id": "i", "assignors": ["sticky"], "joins_at": joins}
        found = simulate(scenario([dict(one), again]))
        assert (list(found.refused) == ["b"]) == refused


def test_streams_and_connect_cannot_be_eager() -> None:
    value = {
        "topics": {},
        "connect": {"tasks": ["a-0"]},
        "members": [{"id": "w", "topics": []}],
        "until": 9,
    }
    problem = "protocol eager: members of connect are always cooperative: leave it out"
    with pytest.raises(InputError, match=problem):
        simulate(Scenario.from_json(value), "connect", "eager")
    assert simulate(Scenario.from_json(value), "connect").protocol == "cooperative"


def test_a_member_without_assignors() -> None:
    members = [{"id": "a", "assignors": ["range"]}, {"id": "b"}]
    with pytest.raises(InputError, match="assignor: is missing: member 'b' does not list its own"):
        simulate(scenario(members))


@pytest.mark.parametrize("client", ["java", "librdkafka", "kafka-python"])
def test_only_java_lists_assignors_of_both_protocols(client: str) -> None:
    """The clients' own errors: ``test_clients_that_refuse_a_list``."""
    both = {"assignors": ["cooperative-sticky", "range"], "client": client}
    members: list[dict[str, Any]] = [{"id": "a", "client": client}, {"id": "b", **both}]
    found = simulate(scenario(members), "range")
    assert list(found.refused) == ([] if client == "java" else ["b"])
    assert found.violations == ()
    assert sorted(found.rounds[-1].assignment) == (["a", "b"] if client == "java" else ["a"])


def test_clients_that_refuse_a_list() -> None:
    """librdkafka and kafka-python refuse to start with what the simulation refuses for them."""
    confluent = pytest.importorskip("confluent_kafka")
    kafka = pytest.importorskip("kafka")
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.consumer import ConsumerCoordinator

    settings = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
    for names in ("cooperative-sticky", "range,roundrobin"):
        confluent.Consumer({**settings, "partition.assignment.strategy": names}).close()
    with pytest.raises(confluent.KafkaException, match="must have the same protocol type"):
        confluent.Consumer(
            {**settings, "partition.assignment.strategy": "cooperative-sticky,range"}
        )
    coordinator = object.__new__(ConsumerCoordinator)
    one, other = CooperativeStickyAssignor(), RangePartitionAssignor()
    coordinator._assignors = {one.name: one, other.name: other}
    with pytest.raises(kafka.errors.KafkaConfigurationError, match="Mixing EAGER and COOPERATIVE"):
        coordinator._validate_rebalance_protocol()
