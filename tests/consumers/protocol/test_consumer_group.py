"""The consumer protocol: epochs, reconciliation member by member, static members, fencing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import InputError
from partage.consumers.client_log import client_log
from partage.consumers.protocol import ConsumerGroupCoordinator, make_broker_assignor
from partage.consumers.protocol.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerHeartbeat,
    ConsumerHeartbeatAnswer,
    Error,
    Partitions,
)
from partage.consumers.scenario import Scenario
from partage.consumers.simulation import Simulation, simulate
from tests.profiles import seeds


class Group:
    """A coordinator and the heartbeats of hand-driven members."""

    def __init__(self, partitions: int = 4, interval: float = 0.0) -> None:
        self.coordinator = ConsumerGroupCoordinator(
            make_broker_assignor(), topics={"t": partitions}, assignment_interval=interval
        )
        self.now = 0.0

    def beat(
        self, member: str, epoch: int, owned: str | None = None, instance: str | None = None
    ) -> ConsumerHeartbeatAnswer:
        has: Partitions | None = None
        if owned is not None:
            has = tuple(("t", int(number)) for number in owned.split())
        request = ConsumerHeartbeat(member, member, instance, epoch, ("t",), None, None, 300.0, has)
        (answer,) = self.coordinator.handle(self.now, request)
        assert isinstance(answer, ConsumerHeartbeatAnswer)
        return answer


def numbers(answer: ConsumerHeartbeatAnswer) -> str | None:
    if answer.assigned is None:
        return None
    return " ".join(str(number) for _, number in answer.assigned)


def test_a_partition_moves_only_when_its_owner_has_confirmed() -> None:
    group = Group()
    first = group.beat("a", JOIN_EPOCH, "")
    assert (first.epoch, numbers(first)) == (1, "0 1 2 3")
    joins = group.beat("b", JOIN_EPOCH, "")
    assert (joins.epoch, numbers(joins)) == (2, "")
    # a is told at its next heartbeat, and stays in its epoch until it confirms
    told = group.beat("a", 1)
    assert (told.epoch, numbers(told)) == (1, "0 1")
    assert numbers(group.beat("b", 2)) is None
    assert group.beat("a", 1).epoch == 1
    assert group.beat("a", 1, "0 1 2").epoch == 1
    confirmed = group.beat("a", 1, "0 1")
    assert (confirmed.epoch, numbers(confirmed)) == (2, None)
    assert numbers(group.beat("b", 2)) == "2 3"


def test_members_that_keep_everything_are_not_concerned() -> None:
    group = Group(2)
    group.beat("a", JOIN_EPOCH, "")
    group.beat("b", JOIN_EPOCH, "")
    group.beat("a", 1)
    group.beat("a", 1, "0")
    group.beat("b", 2)
    group.beat("c", JOIN_EPOCH, "")
    for member in "ab":
        answer = group.beat(member, 2)
        assert (answer.epoch, numbers(answer)) == (3, None)


def test_targets_are_an_interval_apart() -> None:
    """A member that joins within the interval is assigned nothing until a later heartbeat."""
    group = Group(4, interval=1.0)
    group.beat("a", JOIN_EPOCH, "")
    group.now = 0.5
    assert numbers(group.beat("b", JOIN_EPOCH, "")) == ""
    assert numbers(group.beat("a", 1)) is None
    group.now = 1.0
    assert numbers(group.beat("a", 1)) == "0 1"
    group.beat("a", 1, "0 1")
    assert numbers(group.beat("b", 1)) == "2 3"


def test_fencing() -> None:
    group = Group()
    group.beat("a", JOIN_EPOCH, "")
    assert group.beat("a", 7).error is Error.FENCED_MEMBER_EPOCH
    assert group.beat("b", 1).error is Error.UNKNOWN_MEMBER_ID
    group.now = 45.0
    group.coordinator.tick(45.0)
    assert group.coordinator.removed == [(45.0, "a", "its session expired")]
    assert group.beat("a", 1).error is Error.UNKNOWN_MEMBER_ID
    assert numbers(group.beat("a", JOIN_EPOCH, "")) == "0 1 2 3"


def test_a_revocation_must_be_confirmed_in_time() -> None:
    group = Group()
    group.beat("a", JOIN_EPOCH, "")
    group.beat("b", JOIN_EPOCH, "")
    for group.now in range(0, 300, 20):
        group.beat("a", 1)
        group.beat("b", 2)
    assert group.coordinator.deadline == 300.0
    group.coordinator.tick(300.0)
    assert [reason for *_, reason in group.coordinator.removed] == [
        "it did not confirm a revocation in time"
    ]
    group.now = 300.0
    assert numbers(group.beat("b", 2)) == "0 1 2 3"


def test_a_static_member_takes_its_partitions_over() -> None:
    group = Group()
    group.beat("a", JOIN_EPOCH, "", "one")
    group.beat("b", JOIN_EPOCH, "")
    group.beat("a", 1, instance="one")
    group.beat("a", 1, "0 1", "one")
    group.beat("b", 2)
    assert group.beat("again", JOIN_EPOCH, "", "one").error is Error.UNRELEASED_INSTANCE_ID
    group.beat("a", LEAVE_STATIC_EPOCH, instance="one")
    assert numbers(group.beat("b", 2)) is None
    back = group.beat("again", JOIN_EPOCH, "", "one")
    assert (back.epoch, numbers(back)) == (2, "0 1")
    assert group.beat("a", 2, instance="one").error is Error.FENCED_INSTANCE_ID
    group.beat("again", LEAVE_EPOCH, instance="one")
    assert numbers(group.beat("b", 2)) == "0 1 2 3"


# -- over time


def played(value: dict[str, Any], **options: Any) -> Simulation:
    return simulate(Scenario.from_json(value), protocol="consumer", **options)


def test_no_barrier() -> None:
    """While one member joins, partitions that stay are read on."""
    members = [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"], "joins_at": 20}]
    found = played({"topics": {"t": 2}, "members": members, "until": 60})
    assert found.violations == ()
    of_a = [span for span in found.spans if span.member == "a"]
    assert [(span.partition, span.start, span.end) for span in of_a] == [
        (("t", 0), 0.0, 60.0),
        (("t", 1), 0.0, 22.5),
    ]
    # the heartbeats of a come at 2.5 s and then every 5 s, those of b 5 s after it joined
    assert [span.start for span in found.spans if span.member == "b"] == [25.0]
    assert found.unowned == 2.5


def test_a_static_member_restarts_without_a_new_epoch() -> None:
    members = [
        {"id": "a", "topics": ["t"]},
        {"id": "b", "topics": ["t"], "joins_at": 2, "instance_id": "i", "leaves_at": 30},
        {"id": "b2", "topics": ["t"], "joins_at": 33, "instance_id": "i"},
    ]
    found = played({"topics": {"t": 4}, "members": members, "until": 60})
    assert found.violations == ()
    assert [one.generation for one in found.rounds] == [1, 2, 2]
    spans = [span for span in found.spans if span.member == "b2"]
    assert [span.start for span in spans] == [33.0, 33.0]
    assert found.moved == 2  # only when b joined


def test_a_static_member_that_crashed_is_refused_until_its_session_expires() -> None:
    members = [
        {"id": "b", "topics": ["t"], "instance_id": "i", "crashes_at": 10},
        {"id": "b2", "topics": ["t"], "joins_at": 20, "instance_id": "i"},
        {"id": "b3", "topics": ["t"], "joins_at": 70, "instance_id": "i"},
    ]
    found = played({"topics": {"t": 1}, "members": members, "until": 80})
    assert list(found.refused) == ["b2"]
    assert found.refused["b2"].startswith("UNRELEASED_INSTANCE_ID")
    assert [span.member for span in found.spans] == ["b", "b3"]


def test_regular_expressions() -> None:
    members = [
        {"id": "a", "topics": [], "pattern": "orders-.*"},
        {"id": "b", "topics": ["clicks"], "pattern": "orders-e.*", "joins_at": 2},
    ]
    topics = {"orders-eu": 2, "orders-us": 2, "clicks": 1}
    found = played({"topics": topics, "members": members, "until": 60})
    held = {(span.member, span.partition[0]) for span in found.spans if span.end == 60}
    assert held >= {("a", "orders-us"), ("b", "clicks"), ("b", "orders-eu")}
    bad = {"topics": {}, "members": [{"id": "a", "topics": [], "pattern": "("}], "until": 1}
    with pytest.raises(InputError, match=r"members\[0\]: pattern \(: is not a regular expression"):
        Scenario.from_json(bad)


def test_no_log_of_classic_clients() -> None:
    found = played({"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t"]}], "until": 9})
    with pytest.raises(InputError, match="--client-log: needs a classic protocol"):
        client_log(found)


def test_the_assignor_is_the_brokers() -> None:
    members = [
        {"id": one, "topics": ["t"], "assignors": ["sticky"], "client": "librdkafka"}
        for one in "ab"
    ]
    value = {"topics": {"t": 3}, "members": members, "until": 60}
    assert played(value).assignor == "uniform"
    assert played(value, assignor="range").assignor == "range"
    assert simulate(Scenario.from_json(value), "uniform").protocol == "consumer"
    with pytest.raises(InputError, match="assignor sticky: protocol consumer needs one of"):
        played(value, assignor="sticky")
    members[0]["config"] = members[1]["config"] = {"group.remote.assignor": "range"}  # type: ignore[assignment]
    found = played(value)
    assert [one.assignor for one in found.rounds] == ["range", "range"]


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(200))
def test_random_histories(seed: int) -> None:
    """No partition has two owners, each has one when the group is settled, and the loads are those
    of the last target."""
    draw = random.Random(seed)
    topics = {f"t{n}": draw.randint(1, 7) for n in range(draw.randint(1, 3))}
    alike = draw.random() < 0.6
    members: list[dict[str, Any]] = []
    for number in range(draw.randint(1, 7)):
        names = list(topics) if alike else draw.sample(list(topics), draw.randint(1, len(topics)))
        member: dict[str, Any] = {"id": f"c{number}", "topics": names}
        member["joins_at"] = draw.choice([0, 0, round(draw.uniform(0, 60), 2)])
        end = round(member["joins_at"] + draw.uniform(0, 90), 2)
        if draw.random() < 0.5:
            member[draw.choice(["leaves_at", "crashes_at"])] = end
        if draw.random() < 0.3:
            member["instance_id"] = f"i{number}"
            if draw.random() < 0.6:
                back = round(end + draw.uniform(0, 60), 2)
                members.append({**member, "id": f"c{number}-again", "joins_at": back})
                for ends in ("leaves_at", "crashes_at"):
                    members[-1].pop(ends, None)
        members.append(member)
    value = {
        "topics": topics,
        "members": members,
        "until": 400,
        "in_step": draw.random() < 0.3,
        "latency": draw.choice([0, 0, 0.02, 0.4]),
        "assignment_interval": draw.choice([0, 1, 1, 7]),
    }
    found = played(value, assignor=draw.choice(["uniform", "range"]))
    assert found.violations == ()
    last = found.rounds[-1].assignment
    held = {(span.member, span.partition) for span in found.spans if span.end == 400}
    assert held == {(member, p) for member, parts in last.items() for p in parts}
    here = {m["id"] for m in members if "leaves_at" not in m and "crashes_at" not in m}
    assert set(last) == here - set(found.refused)
