"""Groups of the newer protocol (KIP-848), of real librdkafka consumers, as ``partage groups`` sees
them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("confluent_kafka")

import confluent_kafka
from kafka.admin import NewTopic

from partage.live.admin.consumer_group_describe import describe_consumer_groups
from partage.live.admin.groups import LiveGroup, read_groups

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
    found = describe_consumer_groups(admin, [GROUP, "nobody"])
    assert list(found) == [GROUP]
    assert describe_consumer_groups(admin, []) == {}
