"""The public fake cluster: its example, its resemblance to kafka-python, and to Kafka."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

import partage
import partage.testing
from partage.errors import InputError, SeveralError
from partage.live.admin.snapshot import take_snapshot
from partage.testing import FakeAdminClient, FakeCluster

AT = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster({("t", 0): (1, 2)}, brokers={1: "a", 2: "b", 3: None})


def throttle(broker: int, rate: int) -> ConfigResource:
    operations = {"follower.replication.throttled.rate": ("SET", str(rate))}
    return ConfigResource(ConfigResourceType.BROKER, str(broker), operations)


def test_the_example() -> None:
    failed, tried = doctest.testmod(partage.testing)
    assert (failed, tried > 0) == (0, True)


def test_methods_take_the_arguments_of_kafka_python() -> None:
    for name, method in inspect.getmembers(FakeAdminClient, inspect.isfunction):
        if name.startswith("_"):
            continue
        real = list(inspect.signature(getattr(KafkaAdminClient, name)).parameters)
        fake = list(inspect.signature(method).parameters)
        assert [one for one in fake if one in real] == fake, name


def test_a_reassignment_takes_as_long_as_its_throttle_allows(cluster: FakeCluster) -> None:
    cluster.admin.alter_configs([throttle(3, 1_000_000)])
    cluster.admin.alter_partition_reassignments({AT: [3, 2]})
    assert cluster.reassigning == [("t", 0)]
    cluster.sleep(9)
    assert cluster.admin.describe_log_dirs(brokers=[3])[0]["log_dirs"][0]["topics"] == [
        {
            "name": "t",
            "partitions": [
                {"partition_index": 0, "partition_size": 9_000_000, "is_future_key": False}
            ],
        }
    ]
    cluster.sleep(1)
    assert cluster.reassigning == []
    assert cluster.replicas == {("t", 0): (3, 2)}
    assert cluster.leaders == {("t", 0): 2}
    cluster.admin.elect_leaders(0, {"t": [0]})
    assert cluster.leaders == {("t", 0): 3}


def test_a_cancelled_reassignment_keeps_the_order_of_its_target(cluster: FakeCluster) -> None:
    cluster.admin.alter_configs([throttle(3, 1)])
    cluster.admin.alter_partition_reassignments({AT: [3, 2, 1]})
    assert cluster.admin.alter_partition_reassignments({AT: None}) == {AT: None}
    assert set(cluster.replicas["t", 0]) == {1, 2}
    cluster.sleep(1)
    refused = cluster.admin.alter_partition_reassignments({AT: None})
    assert refused == {AT: kafka_errors.NoReassignmentInProgressError}


def test_refused_reassignments(cluster: FakeCluster) -> None:
    for target in ([3, 3], [9]):
        refused = cluster.admin.alter_partition_reassignments({AT: target})
        assert refused == {AT: kafka_errors.InvalidReplicationAssignmentError}
    cluster.delete_topic("t")
    refused = cluster.admin.alter_partition_reassignments({AT: [1, 3]})
    assert refused == {AT: kafka_errors.UnknownTopicOrPartitionError}
    cluster.has_controller = False
    with pytest.raises(kafka_errors.NotControllerError):
        cluster.admin.alter_partition_reassignments({AT: [1, 3]})


def test_brokers_stop_and_start(cluster: FakeCluster) -> None:
    cluster.at(5, lambda: cluster.stop_broker(1))
    cluster.at(8, lambda: cluster.start_broker(1))
    cluster.sleep(5)
    assert cluster.leaders == {("t", 0): 2}
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        cluster.admin.alter_configs([throttle(1, 5)])
    assert take_snapshot(cluster.admin, sleep=cluster.sleep).partitions[0].isr == (2,)
    cluster.sleep(5)
    assert take_snapshot(cluster.admin, sleep=cluster.sleep).partitions[0].isr == (1, 2)


def test_a_snapshot(cluster: FakeCluster) -> None:
    found = take_snapshot(cluster.admin, sleep=cluster.sleep)
    assert found.warnings == ()
    assert [(one.id, one.rack, one.alive) for one in found.brokers] == [
        (1, "a", True),
        (2, "b", True),
        (3, None, True),
    ]
    assert found.partitions[0].sizes == {1: 10_000_000, 2: 10_000_000}


def test_apply_and_rollback(tmp_path: Path) -> None:
    cluster = FakeCluster({("t", n): (1, 2) for n in range(6)}, brokers=[1, 2, 3])
    before = cluster.replicas
    directory = tmp_path / "plan"
    fake: dict[str, Any] = {
        "admin": cluster.admin,
        "clock": cluster.clock,
        "sleep": cluster.sleep,
    }
    partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)).write(directory)
    assert partage.apply(directory, throttle="auto", **fake).state == "done"
    assert cluster.replicas != before
    assert partage.rollback(directory, **fake).state == "done"
    assert (cluster.replicas, cluster.throttles) == (before, {})
    cluster.stop_broker(3)
    with pytest.raises(SeveralError, match="broker 3 should receive replicas"):
        partage.apply(directory, **fake)
    with pytest.raises(InputError, match="throttle 0: must be above 0"):
        partage.apply(directory, throttle=0, **fake)
