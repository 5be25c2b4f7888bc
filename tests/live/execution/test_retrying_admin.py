"""Transient errors are retried, partition by partition, and not forever."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.live.admin.states import Key
from partage.live.execution import retrying_admin
from partage.live.execution.retrying_admin import RetryingAdmin
from partage.testing import FakeCluster
from tests.live.execution.builders import Clock


@pytest.mark.parametrize(
    "error", [kafka_errors.KafkaConnectionError(), kafka_errors.UnknownBrokerIdError(2)]
)
def test_a_broker_that_has_just_gone(error: Exception) -> None:
    pauses: list[float] = []
    waits: list[tuple[Exception, float]] = []
    admin = RetryingAdmin(
        None, 0.5, lambda: sum(pauses), pauses.append, lambda *wait: waits.append(wait)
    )

    def call() -> str:
        if len(pauses) < 2:
            raise error
        return "answered"

    assert admin.retry(call) == "answered"
    assert pauses == [0.5, 0.5]
    assert waits == [(error, 0.0), (error, 0.5)]


def responding(responses: list[Any], requests: list[list[Key]]) -> Any:
    """An admin client with these responses, one after the other."""

    def alter(wanted: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
        requests.append([(at.topic, at.partition) for at in wanted])
        response = responses.pop(0)
        if isinstance(response, BaseException):
            raise response
        return {at: response.get((at.topic, at.partition)) for at in wanted}

    return SimpleNamespace(alter_partition_reassignments=alter)


def test_only_partitions_with_a_transient_error_are_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retrying_admin, "PARTITIONS_PER_REQUEST", 3)
    requests: list[list[Key]] = []
    transient, permanent = (
        kafka_errors.NotControllerError,
        kafka_errors.UnknownTopicOrPartitionError,
    )
    responses: list[Any] = [
        kafka_errors.NodeNotReadyError(),
        {("t", 0): transient, ("t", 1): permanent},
        {("t", 0): transient},
        {},
        {("t", 3): kafka_errors.NoReassignmentInProgressError},
    ]
    clock = Clock()
    admin = RetryingAdmin(responding(responses, requests), 1.0, clock, clock.sleep)
    refused = admin.reassign({("t", n): (1, 2) for n in range(4)})
    assert refused == {("t", 1): "unknown topic or partition"}
    assert [len(keys) for keys in requests] == [3, 3, 1, 1, 1]
    assert requests[2] == [("t", 0)]
    assert clock.moment == 3.0


def test_retries_end() -> None:
    clock = Clock()

    def never(_: Any) -> Any:
        return {TopicPartition("t", 0): kafka_errors.NotControllerError}

    client = SimpleNamespace(alter_partition_reassignments=never)
    admin = RetryingAdmin(client, 1.0, clock, clock.sleep)
    assert admin.reassign({("t", 0): (1,)}) == {("t", 0): "not controller"}
    assert clock.moment <= retrying_admin.RETRY_SECONDS + 1

    def fail() -> None:
        raise kafka_errors.NodeNotReadyError

    with pytest.raises(kafka_errors.NodeNotReadyError):
        admin.retry(fail)


def test_partitions_whose_reassignments_end_all_the_time() -> None:
    """Each is read consistently, though one ends in every pause between two requests."""
    cluster = FakeCluster({("t", n): (1, 2) for n in range(100)}, brokers=(1, 2, 3))
    rate = {"follower.replication.throttled.rate": ("SET", "1000")}
    cluster.admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "3", rate)])
    for number in range(100):
        cluster.resize(("t", number), 100 * (number + 1))
        cluster.reassign(("t", number), (1, 3))
    states = RetryingAdmin(cluster.admin, 1.0, cluster.clock, cluster.sleep).partitions()
    assert [one.partition for one in states] == list(range(100))
    assert {one.replicas for one in states} == {(1, 3)}
    moving = [one.partition for one in states if one.adding]
    assert moving == list(range(100 - len(moving), 100))
    assert 0 < len(cluster.reassigning) <= len(moving)
