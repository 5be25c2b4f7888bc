"""The private parts of kafka-python that partage uses, in the release installed.

A failure here means that ``partage.live.compat_kafka_python`` must change, and nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource
from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.net.manager import KafkaConnectionManager
from kafka.partitioner import Partitioner, StickyPartitioner
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.structs import TopicPartition

from partage.live.compat_kafka_python import (
    PatchedAdminClient,
    accept_all_brokers,
    again_where_not_sent,
    learn_brokers,
    owned_partitions,
    send_to_coordinators,
    waiting_batches,
)

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
def test_other_clients_have_no_batches(producer: object) -> None:
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


# ---------------------------------------------------------------------- the admin client


class Manager:
    """The part of a client's ``_manager`` that partage uses, without a connection."""

    def __init__(self) -> None:
        self.cluster = SimpleNamespace(
            brokers=lambda: [SimpleNamespace(node_id=1)], refresh_metadata=self._refresh
        )
        self.refreshed = 0
        self.sent: list[tuple[Any, int]] = []

    async def _refresh(self) -> None:
        self.refreshed += 1

    def run(self, call: Any, *args: Any) -> Any:
        return asyncio.run(call(*args))

    async def send(self, request: Any, node_id: int) -> Any:
        self.sent.append((request, node_id))
        return f"from {node_id}"


class Client:
    """An admin client with groups a and c on broker 1, b on broker 2."""

    def __init__(self) -> None:
        self._manager = Manager()

    async def _find_coordinator_ids(self, names: list[str]) -> dict[str, int]:
        return {name: 2 if name == "b" else 1 for name in names}


def test_the_admin_clients_private_methods() -> None:
    """``_send_request_to_controller`` caches ``_controller_id`` and is used for reassignments;
    ``_describe_configs_process_responses`` gets the responses; ``_find_coordinator_ids`` takes
    names; ``_manager`` is the connection manager."""
    sends = KafkaAdminClient._send_request_to_controller
    assert inspect.iscoroutinefunction(sends)
    assert "if self._controller_id is None" in inspect.getsource(sends)
    reassigns = inspect.getsource(KafkaAdminClient.alter_partition_reassignments)
    assert "_send_request_to_controller" in reassigns
    processes = KafkaAdminClient._describe_configs_process_responses
    assert list(inspect.signature(processes).parameters) == ["responses", "config_filter"]
    assert inspect.iscoroutinefunction(KafkaAdminClient._find_coordinator_ids)
    first, *_ = list(inspect.signature(KafkaAdminClient._find_coordinator_ids).parameters)[1:]
    assert first == "keys"
    assert "self._manager = self._client._manager" in inspect.getsource(KafkaAdminClient.__init__)


def test_the_connection_manager() -> None:
    assert list(inspect.signature(KafkaConnectionManager.run).parameters) == [
        "self",
        "coro",
        "args",
    ]
    sends = inspect.signature(KafkaConnectionManager.send).parameters
    assert list(sends)[:3] == ["self", "request", "node_id"]
    assert "self.cluster = " in inspect.getsource(KafkaConnectionManager.__init__)


def test_the_cluster_metadata_of_a_client() -> None:
    assert inspect.iscoroutinefunction(ClusterMetadata.refresh_metadata)
    assert hasattr(ClusterMetadata, "brokers")


class Described:
    """What a broker before Kafka 3.7 answers to a request to describe the cluster."""

    error_message = "no"

    def __init__(self, error_code: int = 0) -> None:
        self.error_code = error_code

    def to_dict(self) -> dict[str, Any]:
        brokers = [{"broker_id": 1, "host": "h", "port": 9092, "rack": None}]
        found = {"error_code": 0, "error_message": None, "throttle_time_ms": 0}
        return found | {"cluster_id": "c", "controller_id": 1, "brokers": brokers}


async def describe(answer: Described) -> dict[str, Any]:
    async def send(_: Any) -> Described:
        return answer

    client = PatchedAdminClient.__new__(PatchedAdminClient)
    client._manager = SimpleNamespace(send=send)
    found: dict[str, Any] = await client._describe_cluster()
    return found


def test_brokers_before_3_7_describe_the_cluster() -> None:
    """They do not name the kind of the endpoint, which the original takes out of every answer."""
    assert "metadata.pop('endpoint_type')" in inspect.getsource(KafkaAdminClient._describe_cluster)
    found = asyncio.run(describe(Described()))
    assert (found["cluster_id"], found["brokers"][0]["broker_id"]) == ("c", 1)
    with pytest.raises(kafka_errors.ClusterAuthorizationFailedError):
        asyncio.run(describe(Described(31)))


def test_configurations_that_may_not_be_read_raise() -> None:
    forbidden = SimpleNamespace(error_code=29, error_message="no")
    with pytest.raises(kafka_errors.TopicAuthorizationFailedError):
        PatchedAdminClient._describe_configs_process_responses(
            [SimpleNamespace(results=[forbidden])], "all"
        )


def test_log_directories_that_may_not_be_read_raise() -> None:
    """The original does not look at the code of the answer."""
    original = inspect.getsource(KafkaAdminClient._async_describe_log_dirs)
    assert "error_code" not in original
    codes = {1: 0, 2: 31}

    async def send(request: Any, node_id: int) -> Any:
        assert request.topics is None
        log_dir = SimpleNamespace(to_dict=lambda: {"log_dir": f"/{node_id}"})
        return SimpleNamespace(error_code=codes[node_id], results=[log_dir])

    client = PatchedAdminClient.__new__(PatchedAdminClient)
    brokers = [SimpleNamespace(node_id=1)]
    cluster = SimpleNamespace(brokers=lambda: brokers)
    client._manager = SimpleNamespace(send=send, cluster=cluster)
    found = asyncio.run(client._async_describe_log_dirs(None))
    assert found == [{"broker": 1, "log_dirs": [{"log_dir": "/1"}]}]
    with pytest.raises(kafka_errors.ClusterAuthorizationFailedError):
        asyncio.run(client._async_describe_log_dirs(None, [1, 2]))


def test_metadata_is_refreshed_for_unknown_brokers_only() -> None:
    client = Client()
    learn_brokers(client, [1])
    assert client._manager.refreshed == 0
    learn_brokers(client, [1, 2])
    assert client._manager.refreshed == 1


def test_a_refused_connection_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another broker may be chosen; what may have been sent is not sent again."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    refused = kafka_errors.KafkaConnectionError("111 ECONNREFUSED")
    results: list[Any] = [refused, kafka_errors.NodeNotReadyError(5), "answer"]

    def run(request: str) -> str:
        if isinstance(result := results.pop(0), Exception):
            raise result
        return f"{result} to {request}"

    assert again_where_not_sent(run, "the request") == "answer to the request"
    for error in (refused, kafka_errors.KafkaConnectionError("104 ECONNRESET")):
        results = [error] * 9
        with pytest.raises(kafka_errors.KafkaConnectionError):
            again_where_not_sent(run, "the request")
        assert len(results) == (5 if error is refused else 8)


def test_a_request_goes_to_each_coordinator() -> None:
    client = Client()
    assert send_to_coordinators(client, "abc", tuple) == ["from 1", "from 2"]
    assert client._manager.sent == [(("a", "c"), 1), (("b",), 2)]


def test_the_sasl_mechanisms() -> None:
    """Undocumented: ``live/admin/handshake.py`` logs in with them."""
    from kafka.net.sasl import get_sasl_mechanism

    login = get_sasl_mechanism("PLAIN")(
        host="", sasl_plain_username="user", sasl_plain_password="secret"
    )
    assert login.auth_bytes().endswith(b"user\0secret")
    login.receive(b"")
    assert login.is_done()


def test_a_request_from_a_schema() -> None:
    """Undocumented: ``live/admin/newer_group_describe.py``."""
    from partage.live.admin.newer_group_describe import ConsumerGroupDescribeRequest

    request = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    assert request.API_KEY == 69
    assert list(request.group_ids) == ["g"]


def test_all_brokers_are_a_resource() -> None:
    admin = KafkaAdminClient.__new__(KafkaAdminClient)
    for _ in range(2):  # the second call changes nothing
        accept_all_brokers(admin)
    everyone, one, topic = (
        ConfigResource(kind, name)
        for kind, name in (("BROKER", ""), ("BROKER", "1"), ("TOPIC", "t"))
    )
    by_broker, others = admin._group_config_resources([everyone, one, topic])
    assert dict(by_broker) == {1: [one]}
    assert others == [topic, everyone]
