"""Groups that the broker assigns, as ``partage groups`` sees them: real librdkafka consumers of the
newer protocol (KIP-848); share groups (KIP-932) and Streams groups (KIP-1071), whose members are
heartbeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("confluent_kafka")

import confluent_kafka
from kafka import errors as kafka_errors
from kafka.admin import NewTopic
from kafka.protocol.api_message import ApiMessage

from partage import Group, assign
from partage.live.admin.groups import LiveGroup, read_groups
from partage.live.admin.newer_group_describe import describe_newer_groups
from partage.live.compat_kafka_python import send_to_coordinators
from tests.live.admin import heartbeats

pytestmark = [pytest.mark.long, pytest.mark.kafka]

TOPIC, GROUP, PARTITIONS = "newer-protocol", "newer", 6


@pytest.fixture(scope="module")
def consumers(kafka: Any, admin: Any) -> Iterator[dict[str, Any]]:
    """Two members that share six partitions, by client id; one reads by a regular expression."""
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    settings = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": GROUP,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    members = {
        "plain": confluent_kafka.Consumer(
            settings | {"client.id": "plain", "client.rack": "a", "group.instance.id": "seat-1"}
        ),
        "by pattern": confluent_kafka.Consumer(settings | {"client.id": "by pattern"}),
    }
    members["plain"].subscribe([TOPIC])
    members["by pattern"].subscribe([f"^{TOPIC}$"])
    deadline = time.monotonic() + 60
    while sorted(len(one.assignment()) for one in members.values()) != [3, 3]:
        assert time.monotonic() < deadline, "they never shared the partitions out"
        for one in members.values():
            one.poll(0.2)
    yield members
    for one in members.values():
        one.close()


def read(admin: Any) -> LiveGroup:
    warnings: list[str] = []
    (group,) = read_groups(admin, warnings, [GROUP])
    assert warnings == []
    return group


def test_members_and_what_they_have(admin: Any, consumers: dict[str, Any]) -> None:
    group = read(admin)
    assert (group.kind, group.assignor) == ("consumer", "uniform")
    assert group.members is not None
    seen = {one.client_id: one for one in group.members}
    assert set(seen) == set(consumers)
    for name, consumer in consumers.items():
        owned = sorted((one.topic, one.partition) for one in consumer.assignment())
        assert seen[name].owned == tuple(owned)
        assert seen[name].topics == (TOPIC,)
        assert seen[name].host == "127.0.0.1"
    assert (seen["plain"].rack, seen["plain"].instance_id) == ("a", "seat-1")
    assert (seen["by pattern"].rack, seen["by pattern"].instance_id) == (None, None)


def test_exact_assignment_for_their_members(admin: Any, consumers: dict[str, Any]) -> None:
    """As fair as it is; by racks, which the first says, others may be nearer."""
    described = read(admin).described()
    assert described["loads"] == described["exact"]["loads"] == [3, 3]
    given = described["exact"]["assignment"].values()
    assert sorted(number for share in given for _, number in share) == list(range(PARTITIONS))
    assert described["type"] == "consumer"


def test_a_group_that_is_not_there_is_left_out(admin: Any, consumers: dict[str, Any]) -> None:
    found = describe_newer_groups(admin, "consumer", [GROUP, "nobody"])
    assert list(found) == [GROUP]
    assert describe_newer_groups(admin, "consumer", []) == {}


# -- share and Streams groups


class ShareGroupHeartbeatRequest(ApiMessage, load_json=heartbeats):  # type: ignore[call-arg, misc]
    pass


class ShareGroupHeartbeatResponse(ApiMessage, load_json=heartbeats):  # type: ignore[call-arg, misc]
    pass


class StreamsGroupHeartbeatRequest(ApiMessage, load_json=heartbeats):  # type: ignore[call-arg, misc]
    pass


class StreamsGroupHeartbeatResponse(ApiMessage, load_json=heartbeats):  # type: ignore[call-arg, misc]
    pass


def described_after(admin: Any, group: str, beats: Callable[[], list[Any]]) -> LiveGroup:
    """The group when heartbeats have gone on until every member has something."""
    deadline = time.monotonic() + 90
    while True:
        assert time.monotonic() < deadline, "the members were never assigned anything"
        try:
            answers = beats()
        except kafka_errors.CoordinatorNotAvailableError:  # its topic is being created
            answers = []
        if answers and all(answer.error_code == 0 for answer in answers):
            warnings: list[str] = []
            (found,) = read_groups(admin, warnings, [group])
            assert warnings == []
            members = found.members or ()
            if len(members) == len(answers) and all(one.owned for one in members):
                return found
        time.sleep(0.5)


def test_share_groups(admin: Any) -> None:
    """Three members of two partitions: some share one."""
    admin.create_topics([NewTopic("shared-topic", 2, 1)])
    epochs = dict.fromkeys((f"AAAAAAAAAAAAAAAAAAAAA{letter}" for letter in "QgA"), 0)

    def beat(member: str) -> Any:
        request = ShareGroupHeartbeatRequest(
            group_id="sharers",
            member_id=member,
            member_epoch=epochs[member],
            rack_id=None,
            subscribed_topic_names=["shared-topic"],
        )
        (answer,) = send_to_coordinators(admin, ["sharers"], lambda _: request)
        epochs[member] = max(answer.member_epoch, 0)
        return answer

    group = described_after(admin, "sharers", lambda: [beat(member) for member in epochs])
    assert (group.kind, group.assignor) == ("share", "simple")
    assert group.members is not None
    assert {one.topics for one in group.members} == {("shared-topic",)}
    owned = [pair for one in group.members for pair in one.owned]
    assert set(owned) == {("shared-topic", 0), ("shared-topic", 1)}
    assert group.exact is None
    members = [{"id": member, "topics": ["shared-topic"]} for member in epochs]
    ours = assign(Group.from_json({"topics": {"shared-topic": 2}, "members": members}), "share")
    assert len(owned) <= ours.loads.sum() == 4


def test_streams_groups(admin: Any) -> None:
    admin.create_topics([NewTopic("streams-topic", 3, 1)])
    structs: Any = StreamsGroupHeartbeatRequest
    subtopology = structs.Topology.Subtopology(subtopology_id="0", source_topics=["streams-topic"])
    topology = structs.Topology(epoch=0, subtopologies=[subtopology])
    epoch = 0

    def beat() -> list[Any]:
        nonlocal epoch
        joins = epoch == 0
        nothing = [] if joins else None
        request = StreamsGroupHeartbeatRequest(
            group_id="streamers",
            member_id="AAAAAAAAAAAAAAAAAAAAAQ",
            member_epoch=epoch,
            endpoint_information_epoch=0,
            rebalance_timeout_ms=60_000 if joins else -1,
            topology=topology if joins else None,
            active_tasks=nothing,
            standby_tasks=nothing,
            warmup_tasks=nothing,
            process_id="process" if joins else None,
            client_tags=nothing,
        )
        (answer,) = send_to_coordinators(admin, ["streamers"], lambda _: request)
        epoch = max(answer.member_epoch, 0)
        return [answer]

    group = described_after(admin, "streamers", beat)
    (member,) = group.members or ()
    assert group.kind == "streams"
    assert member.tasks == {"active": ["0_0", "0_1", "0_2"], "standby": [], "warmup": []}
    assert member.owned == tuple(("streams-topic", number) for number in range(3))
    assert group.to_json()["members"][0]["tasks"]["active"] == ["0_0", "0_1", "0_2"]
    assert group.exact is None
