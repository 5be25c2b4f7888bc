"""Lag, pushed load and empty polls, on examples and against a simulation in small steps."""

from __future__ import annotations

import random

import pytest

from partage.consumers.record_flow import OwnershipSpan, empty_polls, pull, push
from partage.consumers.scenario import ScenarioMember


def naive_pull(
    spans: list[OwnershipSpan],
    produce: dict[tuple[str, int], float],
    members: dict[str, ScenarioMember],
    until: float,
    step: float = 0.005,
) -> dict[tuple[str, int], float]:
    """The lag at the end, in small time steps: a member reads equally from its partitions."""
    lag = dict.fromkeys(produce, 0.0)
    for tick in range(round(until / step)):
        now = (tick + 0.5) * step
        for partition in produce:
            lag[partition] += produce[partition] * step
        for name, member in members.items():
            has = [s.partition for s in spans if s.member == name and s.start <= now < s.end]
            budget = (member.rate or 1e9) * step
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
        members = {
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
        curves = pull(spans, produce, members, 20.0)
        slow = naive_pull(spans, produce, members, 20.0)
        for partition, curve in curves.items():
            assert curve[-1][1] == pytest.approx(slow[partition], abs=2.0), (
                spans,
                produce,
                members,
            )


def test_pull_absorbs_what_overruns_a_pushed_member() -> None:
    """A broker that pushes does not know how fast a consumer is."""
    produce = {("t", 0): 100.0}
    members = {
        "slow": ScenarioMember("slow", ("t",), rate=60.0),
        "fast": ScenarioMember("fast", ("t",), rate=400.0),
    }
    spans = [
        OwnershipSpan(("t", 0), "slow", 0.0, 100.0),
        OwnershipSpan(("t", 0), "fast", 100.0, 200.0),
    ]
    curve = pull(spans, produce, members, 200.0)[("t", 0)]
    assert curve == [(0.0, 0.0), (100.0, 4000.0), (100 + 4000 / 300, 0.0), (200.0, 0.0)]
    pushed = push(spans, produce, members)
    assert pushed["slow"].overrun_at == 500 / 40
    assert pushed["slow"].overrun == 4000 - 500
    assert pushed["slow"].most == 500
    assert pushed["fast"].overrun_at is None


def test_pull_ends_at_large_times() -> None:
    """On day 310 the floating-point resolution of time is 4 ns; a lag may be drained in less."""
    produce = {("t", 0): 1355.0244969246548, ("t", 1): 2310.612239128032, ("t", 2): 106.107554718}
    members = {"m": ScenarioMember("m", ("t",), rate=8504025.91601397)}
    start, end = 26715302.078397393, 26765302.078397393
    curves = pull([OwnershipSpan(p, "m", start, end) for p in produce], produce, members, end)
    for partition, curve in curves.items():
        assert curve[1] == (start, pytest.approx(produce[partition] * start))
        assert curve[-1] == (end, 0.0)
    # the lags are drained one after the other, the smallest first
    emptied = [curves[partition][-2] for partition in (("t", 2), ("t", 0), ("t", 1))]
    assert [lag for _, lag in emptied] == [0.0] * 3
    assert sorted(emptied) == emptied


def test_unowned_partitions_are_assigned_at_once() -> None:
    produce = {("t", 0): 100.0}
    members = {"a": ScenarioMember("a", ("t",), rate=200.0)}
    spans = [OwnershipSpan(("t", 0), "a", 20.0, 60.0)]
    assert pull(spans, produce, members, 60.0)[("t", 0)][:3] == [
        (0.0, 0.0),
        (20.0, 2000.0),
        (40.0, 0.0),
    ]
    pushed = push(spans, produce, members)["a"]
    assert (pushed.overrun_at, pushed.overrun) == (20.0, 1500.0)


def test_empty_polls() -> None:
    """A poll without a time-out is a busy loop; with one it returns empty."""
    produce = {("t", 0): 0.1, ("t", 1): 50.0}
    members = {
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
        curves = pull(spans, produce, members, 1000.0)
        found = empty_polls(spans, curves, produce, members, 1000.0)
        assert found[owner] == empty
        assert found["busy"] == 0
        assert found["idle"] == 1000
        assert found["spins"] is None
        assert found["late"] == 1000
