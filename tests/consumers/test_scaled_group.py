"""Groups whose number of members changes, in the simulator."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from partage.consumers.backlog import COMMIT_INTERVAL, Backlog
from partage.consumers.lag_scaler import LagScaler, usual_threshold
from partage.consumers.protocol import Network
from partage.consumers.record_flow import OwnershipSpan, pull
from partage.consumers.scaled_group import ByLag, Played, Scheduled, play
from partage.consumers.scenario import ScenarioMember
from partage.consumers.schedule import PER_SECONDS, GroupLoads, cheapest_schedule
from tests.consumers.test_schedule import SECONDS, loads_of

RATE = 10.0


def day(*loads: float) -> GroupLoads:
    """Four partitions, which together get this much per second in each window."""
    return loads_of([[round(load * PER_SECONDS / 4)] * 4 for load in loads])


def by_schedule(loads: GroupLoads, assignor: str = "weighted") -> Played:
    found = cheapest_schedule(loads, round(RATE * PER_SECONDS), SECONDS // 4)
    return play(loads, Scheduled(found), found.stretches[0].members, RATE, assignor)


def by_lag(loads: GroupLoads, threshold: float, assignor: str = "cooperative-sticky") -> Played:
    plan = ByLag(LagScaler(threshold, 4), loads.seconds)
    first = -(-round(loads.load[0].sum() / PER_SECONDS) // round(RATE))
    return play(loads, plan, first, RATE, assignor)


@pytest.mark.parametrize("assignor", ["weighted", "cooperative-sticky", "range"])
def test_a_schedule(assignor: str) -> None:
    found = by_schedule(day(8, 30, 30, 8), assignor)
    assert found.changes == ((0.0, 1), (SECONDS, 4), (3 * SECONDS, 1))
    assert found.member_seconds == 10 * SECONDS
    # a cooperative rebalance that revokes takes two generations
    assert found.rebalances >= 2
    assert 3 <= found.moved <= 6 + 2
    # what comes in while partitions wait
    assert 0 < found.most_lag < 30 * 10
    assert 0 < found.paused.partition_seconds < 60


def test_enough_members_have_no_lag() -> None:
    found = by_schedule(day(30, 30))
    assert found.changes == ((0.0, 4),)
    assert (found.most_lag, found.moved, found.rebalances) == (0, 0, 0)
    assert found.paused.partition_seconds == 0


def test_too_few_members() -> None:
    """What one member cannot read becomes lag, which the total shows."""

    @dataclass(frozen=True)
    class Still:
        def next(self, now: float) -> float:
            return float("inf")

        def members(self, now: float, lag: float, members: int) -> int | None:
            return None

        def until(self, now: float) -> int:
            return 1

    found = play(day(25, 5), Still(), 1, RATE, "weighted")
    assert found.most_lag == pytest.approx(15 * SECONDS)
    assert found.member_seconds == 2 * SECONDS


def test_the_scaler_follows_the_lag() -> None:
    """With the usual threshold it has as many members as the load needs, after a lag."""
    found = by_lag(day(9, 29, 9), usual_threshold(RATE))
    counts = [members for _, members in found.changes]
    assert (counts[0], max(counts), counts[-1]) == (1, 4, 1)
    assert found.most_lag > 0
    assert found.member_seconds == sum(
        members * (end - at)
        for (at, members), (end, _) in zip(
            found.changes, [*found.changes[1:], (3 * SECONDS, 0)], strict=True
        )
    )


def test_a_high_threshold_swings() -> None:
    """Members that keep up show little lag, so it removes them, and the lag grows again."""
    calm, swinging = by_lag(day(29), usual_threshold(RATE)), by_lag(day(29), 20 * RATE)
    assert swinging.rebalances > calm.rebalances
    assert swinging.most_lag > calm.most_lag


@pytest.mark.parametrize("assignor", ["weighted", "cooperative-sticky"])
def test_skipping_heartbeats_changes_nothing(
    assignor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = replace(day(9, 29, 9), seconds=600)
    skipped = [by_schedule(loads, assignor), by_lag(loads, 2 * usual_threshold(RATE), assignor)]
    monkeypatch.setattr(Network, "settled", lambda self: False)
    played = [by_schedule(loads, assignor), by_lag(loads, 2 * usual_threshold(RATE), assignor)]
    for one, other in zip(skipped, played, strict=True):
        assert one.changes == other.changes
        assert (one.rebalances, one.moved) == (other.rebalances, other.moved)
        assert one.most_lag == pytest.approx(other.most_lag)
        paused = other.paused.partition_seconds
        assert one.paused.partition_seconds == pytest.approx(paused)


def test_the_lag_is_that_of_pulling() -> None:
    """The same spans of ownership, by ``record_flow``."""
    chance = random.Random(5)
    partitions = [("t", p) for p in range(5)]
    produce = {one: float(chance.randint(0, 9)) for one in partitions}
    backlog, spans = Backlog(RATE, partitions), []
    backlog.produce = produce
    members = {m: ScenarioMember(m, ("t",), rate=RATE) for m in "abc"}
    for at in range(0, 60, 10):
        owners = {one: chance.choice("abc") for one in partitions if chance.random() < 0.8}
        backlog.own(owners)
        backlog.advance(at + 10)
        spans += [OwnershipSpan(one, owner, at, at + 10) for one, owner in owners.items()]
        curves = pull(spans, produce, members, at + 10)
        assert backlog.total == pytest.approx(sum(curve[-1][1] for curve in curves.values()))
    assert backlog.most >= backlog.total


def test_lag_between_commits() -> None:
    backlog = Backlog(RATE, [("t", 0), ("t", 1)])
    backlog.produce = {("t", 0): 4.0, ("t", 1): 4.0}
    backlog.own({("t", 0): "a", ("t", 1): "a"})
    backlog.advance(100)
    assert backlog.total == 0
    assert backlog.reported == 8 * COMMIT_INTERVAL / 2
    backlog.produce = {("t", 0): 8.0, ("t", 1): 8.0}
    backlog.advance(110)
    assert backlog.reported == 60 + 10 * COMMIT_INTERVAL / 2


def test_the_rule_of_the_scaler() -> None:
    """Up at once, down to the most of the last 300 s; from one to the most."""
    scaler = LagScaler(100, 5)
    assert scaler.members(0, 450, 1) == 5
    assert scaler.members(30, 0, 5) == 5
    assert scaler.members(300, 210, 5) == 3
    assert scaler.members(330, 0, 3) == 3
    assert scaler.members(630, 0, 3) == 1
    assert scaler.members(660, 9999, 1) == 5
