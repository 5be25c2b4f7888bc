"""The private parts of kafka-python that partage uses, in the release installed.

A failure here means that ``partage.live.compat_kafka_python`` must change, and nothing else.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.partitioner import Partitioner, StickyPartitioner
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.structs import TopicPartition

from partage.live.compat_kafka_python import owned_partitions, waiting_batches

HELD = [("t", 0), ("t", 1)]


class Recorder(AbstractPartitionAssignor):  # type: ignore[misc]
    """Notes what its coordinator owns when it calls ``metadata``."""

    name = "recorder"

    def __init__(self, *protocols: RebalanceProtocol) -> None:
        self.protocols = list(protocols)
        self.owned: list[tuple[str, int]] | None = []

    def supported_protocols(self) -> list[RebalanceProtocol]:
        return self.protocols

    def metadata(self, topics: set[str]) -> None:
        self.owned = owned_partitions(inspect.currentframe())

    def assign(self, cluster: Any, members: Any) -> None: ...

    def on_assignment(self, assignment: Any, generation: int) -> None: ...


def coordinator_of(assignor: Recorder) -> ConsumerCoordinator:
    """A ConsumerCoordinator without a connection, whose consumer owns HELD."""
    coordinator = ConsumerCoordinator.__new__(ConsumerCoordinator)
    coordinator._assignors = {assignor.name: assignor}
    coordinator._rebalance_protocol = coordinator._validate_rebalance_protocol()
    coordinator._subscription = SubscriptionState()
    coordinator._subscription.subscribe(topics=["t"])
    coordinator._subscription.assign_from_subscribed([TopicPartition(*one) for one in HELD])
    return coordinator


def test_the_coordinator_calls_metadata_itself() -> None:
    """ConsumerCoordinator: ``self`` of the calling frame, ``_subscription``,
    ``_rebalance_protocol``."""
    assignor = Recorder(RebalanceProtocol.COOPERATIVE)
    coordinator_of(assignor).group_protocols()
    assert sorted(assignor.owned or ()) == HELD


def test_an_eager_coordinator_owns_nothing() -> None:
    assignor = Recorder(RebalanceProtocol.EAGER)
    coordinator_of(assignor).group_protocols()
    assert assignor.owned == []


def test_any_other_caller_is_not_a_coordinator() -> None:
    assignor = Recorder(RebalanceProtocol.COOPERATIVE)
    assignor.metadata({"t"})
    assert assignor.owned is None


def test_a_coordinator_sets_the_attributes_itself() -> None:
    """The names that ``owned_partitions`` reads are those that ``__init__`` assigns."""
    source = inspect.getsource(ConsumerCoordinator.__init__)
    assert "self._subscription = subscription" in source
    assert "self._rebalance_protocol = " in source


def test_the_accumulator_keeps_batches_by_partition() -> None:
    """``KafkaProducer._accumulator`` is a RecordAccumulator with ``_batches``: a dict by (topic,
    partition), whose values have a length."""

    class Producer:
        _accumulator = RecordAccumulator(batch_size=1000)

    batches = waiting_batches(Producer())
    assert batches == {}
    partition = TopicPartition("t", 0)
    assert partition == ("t", 0)
    assert hash(partition) == hash(("t", 0))
    for _ in range(3):
        Producer._accumulator.append(partition, 0, None, b"x" * 600, [])
    assert len(batches["t", 0]) == 3


def test_a_producer_names_its_accumulator() -> None:
    from kafka import KafkaProducer

    assert "self._accumulator = RecordAccumulator(" in inspect.getsource(KafkaProducer.__init__)


@pytest.mark.parametrize("producer", [None, object()])
def test_what_is_not_a_producer_has_no_batches(producer: object) -> None:
    assert waiting_batches(producer) is None


def test_the_interface_of_an_assignor() -> None:
    """Not private, but undocumented: the plug-ins in ``live/plugins/kafka_python.py``."""
    assert AbstractPartitionAssignor.__abstractmethods__ == {
        "name",
        "assign",
        "metadata",
        "on_assignment",
    }
    parameters = inspect.signature(AbstractPartitionAssignor.on_assignment).parameters
    assert list(parameters) == ["self", "assignment", "generation"]


def test_the_interface_of_a_partitioner() -> None:
    """Undocumented, too: the plug-in in ``live/plugins/partitioners.py``."""
    parameters = list(inspect.signature(Partitioner.partition).parameters)
    assert parameters == [
        "self",
        "topic",
        "key",
        "serialized_key",
        "value",
        "serialized_value",
        "cluster",
    ]
    parameters = list(inspect.signature(StickyPartitioner.on_new_batch).parameters)
    assert parameters == ["self", "topic", "cluster", "prev_partition"]


def test_the_messages_of_the_consumer_protocol() -> None:
    """Subscription of version 3, assignment of version 0, there and back."""
    claim = ConsumerProtocolSubscription.TopicPartition(topic="t", partitions=[1])
    sent = ConsumerProtocolSubscription(
        version=3,
        topics=["t"],
        user_data=b"x",
        owned_partitions=[claim],
        generation_id=5,
        rack_id="a",
    )
    read = ConsumerProtocolSubscription.decode(bytes(sent.encode()))
    assert (read.topics, read.user_data, read.generation_id, read.rack_id) == (["t"], b"x", 5, "a")
    assert [(one.topic, list(one.partitions)) for one in read.owned_partitions] == [("t", [1])]
    assigned = ConsumerProtocolAssignment(
        version=0, assigned_partitions=[("t", [0, 2])], user_data=b"y"
    )
    answer = ConsumerProtocolAssignment.decode(bytes(assigned.encode()))
    assert [tuple(one) for one in answer.partitions()] == [("t", 0), ("t", 2)]
    assert answer.user_data == b"y"
