"""A running cluster, seen: compared with what was done to it, and with what Kafka's tools print."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from partage.cluster import Cluster
from partage.errors import PartageError
from partage.live.admin.connection import Connection
from partage.live.admin.groups import read_groups
from partage.live.admin.snapshot import read_brokers, take_snapshot
from partage.live.admin.states import PartitionState
from tests.live.execution.kafka_topics import version_of

pytestmark = pytest.mark.kafka

VALUE = b"x" * 10_000
RECORDS = 60


@pytest.fixture(scope="module")
def admin(kafka: Any) -> Iterator[KafkaAdminClient]:
    with Connection.of(kafka.bootstrap_servers).admin() as client:
        client.create_topics({"seen": {"num_partitions": 3, "replication_factor": 2}})
        client.create_topics({"moving": {"assignments": {0: [1, 2]}}})
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
        for number in range(RECORDS):
            producer.send("seen", VALUE, partition=number % 2)
            producer.send("moving", VALUE * 10)  # more than a throttled replica gets at once
        producer.close()
        yield client
        client.delete_topics(["seen", "moving"])


def until(done: Callable[[], Any], patience: float = 30.0) -> Any:
    deadline = time.monotonic() + patience
    while not (found := done()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)
    return found


def cordoned(admin: KafkaAdminClient) -> list[int]:
    return [broker.id for broker in take_snapshot(admin, groups=False).brokers if broker.cordoned]


def test_brokers_topics_and_sizes(kafka: Any, admin: KafkaAdminClient) -> None:
    found = take_snapshot(admin)
    assert found.cluster_id == kafka.cluster_id
    assert found.warnings == ()
    assert [(b.id, b.rack, b.port) for b in found.brokers] == [
        (b.id, b.rack, b.port) for b in kafka.brokers
    ]
    assert all(b.alive and not b.cordoned for b in found.brokers)
    for broker in found.brokers:
        (log_dir,) = broker.log_dirs
        assert log_dir.total_bytes > log_dir.usable_bytes > 0
        assert broker.disk_bytes == log_dir.usable_bytes + broker.replica_bytes
    seen = [one for one in found.partitions if one.topic == "seen"]
    assert [one.partition for one in seen] == [0, 1, 2]
    for one in seen:
        assert one.leader == one.replicas[0]
        assert set(one.isr) == set(one.replicas) == set(one.sizes)
        written = RECORDS // 2 * len(VALUE) if one.partition < 2 else 0
        assert written <= (one.size_bytes or 0) <= written * 1.02


def test_it_is_a_cluster_for_every_command(kafka: Any, admin: KafkaAdminClient) -> None:
    found = take_snapshot(admin)
    cluster = Cluster.from_json(json.loads(json.dumps(found.to_json())))
    assert cluster.replica_lists() == [list(one.replicas) for one in found.partitions]
    assert [b.rack for b in cluster.brokers] == [b.rack for b in kafka.brokers]


@contextmanager
def throttled(admin: KafkaAdminClient, rate: str) -> Iterator[dict[str, str]]:
    own = {f"{who}.replication.throttled.rate": rate for who in ("leader", "follower")}
    who = {"leader.replication.throttled.replicas": "0:1,0:2"}
    who |= {"follower.replication.throttled.replicas": "0:3"}
    brokers = [
        ConfigResource(ConfigResourceType.BROKER, str(broker), dict(own)) for broker in (1, 2, 3)
    ]
    topic = [ConfigResource(ConfigResourceType.TOPIC, "moving", dict(who))]
    admin.alter_configs([*brokers, *topic], raise_on_unknown=False)
    try:
        yield own
    finally:
        admin.reset_configs([*brokers, *topic], raise_on_unknown=False)


def listed(admin: KafkaAdminClient, topic: str) -> list[int]:
    replicas: list[int] = admin.describe_topics([topic])[0]["partitions"][0]["replica_nodes"]
    return replicas


def test_a_reassignment_in_flight_is_taken_as_its_target(admin: KafkaAdminClient) -> None:
    moving = TopicPartition("moving", 0)
    with throttled(admin, "1000") as own:
        until(lambda: len(take_snapshot(admin, groups=False).throttles.brokers) == 3)
        admin.alter_partition_reassignments({moving: [3, 2]})
        # what planning on would raise the replication factor
        until(lambda: sorted(listed(admin, "moving")) == [1, 2, 3])
        found = take_snapshot(admin, groups=False)
        (one,) = found.reassigning
        assert (one.replicas, one.adding, one.removing) == ((3, 2), (3,), (1,))
        assert sorted(one.current) == [1, 2, 3]
        assert found.throttles.brokers == {1: own, 2: own, 3: own}
        assert found.throttles.topics == {
            "moving": {
                "leader.replication.throttled.replicas": "0:1,0:2",
                "follower.replication.throttled.replicas": "0:3",
            }
        }
    until(lambda: not admin.list_partition_reassignments())
    found = take_snapshot(admin, groups=False)
    assert found.throttles.brokers == {}
    assert found.throttles.topics == {}
    (one,) = (one for one in found.partitions if one.topic == "moving")
    assert (one.replicas, one.adding, one.removing) == ((3, 2), (), ())
    assert set(one.isr) == {2, 3}


def test_a_cordoned_broker(kafka: Any, admin: KafkaAdminClient) -> None:
    if version_of(kafka.kafka) < (4, 3):
        pytest.skip("directories can be cordoned since Kafka 4.3")
    setting = ConfigResource(ConfigResourceType.BROKER, "2", {"cordoned.log.dirs": "*"})
    admin.alter_configs([setting], raise_on_unknown=False)
    try:
        until(
            lambda: [b.id for b in take_snapshot(admin, groups=False).brokers if b.cordoned] == [2]
        )
    finally:
        admin.reset_configs([setting], raise_on_unknown=False)
    until(lambda: cordoned(admin) == [])


def test_brokers_that_are_gone() -> None:
    described = {
        "brokers": [
            {"broker_id": 1, "rack": "a", "host": "h", "port": 9, "is_fenced": False},
            {"broker_id": 2, "rack": "b", "host": "h", "port": 9, "is_fenced": True},
        ]
    }
    partition = PartitionState("t", 0, (1, 7), 1, (1,), removing=(9,))
    assert [(b.id, b.rack, b.alive) for b in read_brokers(described, [partition])] == [
        (1, "a", True),
        (2, "b", False),
        (7, "unknown", False),
        (9, "unknown", False),
    ]


def test_groups_with_what_they_have_not_read(kafka: Any, admin: KafkaAdminClient) -> None:
    consumer = KafkaConsumer(
        "seen",
        bootstrap_servers=kafka.bootstrap_servers,
        group_id="readers",
        client_id="reader",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=10,
    )
    try:
        until(lambda: consumer.poll(timeout_ms=200))
        consumer.commit()
        (group,) = read_groups(admin, [], ["readers"])
        assert (group.state, group.kind) == ("Stable", "classic")
        assert group.members is not None
        (member,) = group.members
        assert (member.client_id, member.topics) == ("reader", ("seen",))
        assert member.owned == (("seen", 0), ("seen", 1), ("seen", 2))
        assert group.described()["total_lag"] == RECORDS - 10
        described = group.described()
        assert described["exact"]["moves"] == 0
        assert described["exact"]["assignment"] == {
            member.id: [["seen", 0], ["seen", 1], ["seen", 2]]
        }
    finally:
        consumer.close()
    (group,) = read_groups(admin, [], ["readers"])
    assert (group.state, group.members) == ("Empty", ())
    assert group.described()["total_lag"] == RECORDS - 10
    assert "readers" in [one["group"] for one in take_snapshot(admin).groups]


def test_an_unreachable_broker_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partage.live.admin.connection._BOOTSTRAP_MS", 500)
    words = r"^no broker reachable at 127\.0\.0\.1:1 \(connection refused\)$"
    with (
        pytest.raises(PartageError, match=words),
        Connection.of("127.0.0.1:1").admin(),
    ):
        pass
