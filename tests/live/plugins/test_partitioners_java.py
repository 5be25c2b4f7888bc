"""The partitioners against Kafka's own Java classes, and against its producer on a real Kafka."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("py4j")

import partage
from partage.live.sandbox.jars import kafka_jars
from partage.producers import SerializedRecord, Topic
from partage.producers.partitioners import partitioner_named
from partage.producers.partitioners.adaptive import Adaptive
from tests.live.kafka_in_java import java_with

pytestmark = [pytest.mark.long, pytest.mark.kafka]

PRODUCER = "org.apache.kafka.clients.producer"


class Java:
    """Kafka's classes by their full names."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self.jvm = gateway.jvm

    def named(self, name: str) -> Any:
        found = self.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def listed(self, items: list[Any]) -> Any:
        made = self.jvm.java.util.ArrayList()
        for item in items:
            made.add(item)
        return made

    def ints(self, numbers: list[int]) -> Any:
        array = self._gateway.new_array(self.jvm.int, len(numbers))
        for at, number in enumerate(numbers):
            array[at] = number
        return array

    def nodes(self, *nodes: Any) -> Any:
        array = self._gateway.new_array(self.named("org.apache.kafka.common.Node"), len(nodes))
        for at, node in enumerate(nodes):
            array[at] = node
        return array

    def cluster(self, topic: str, partitions: int, available: set[int]) -> Any:
        """A cluster in which one broker leads what is available."""
        node = self.named("org.apache.kafka.common.Node")(1, "localhost", 9092)
        nobody = self.jvm.java.util.HashSet()
        infos = self.listed(
            [
                self.named("org.apache.kafka.common.PartitionInfo")(
                    topic, n, node if n in available else None, self.nodes(node), self.nodes(node)
                )
                for n in range(partitions)
            ]
        )
        nodes = self.listed([node])
        return self.named("org.apache.kafka.common.Cluster")("id", nodes, infos, nobody, nobody)


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with java_with(kafka_jars()) as gateway:
        yield Java(gateway)


def some_keys(count: int) -> list[bytes]:
    draw = random.Random(8)
    return [b"", *(draw.randbytes(draw.randint(1, 60)) for _ in range(count))]


def test_a_key_goes_where_java_sends_it(java: Java) -> None:
    decide = java.named(f"{PRODUCER}.internals.BuiltInPartitioner").partitionForKey
    keys = some_keys(300)
    for partitions in (1, 7, 48, 2**31 - 1):
        expected = [decide(key, partitions) for key in keys]
        assert partage.partition(keys, partitions).tolist() == expected
        assert [partage.partition(key, partitions) for key in keys] == expected


def test_round_robin_goes_round_as_javas(java: Java) -> None:
    """Java's starts at 0 and ignores keys; leaders come and go on the way."""
    theirs = java.named(f"{PRODUCER}.RoundRobinPartitioner")()
    ours = partitioner_named("round-robin", ignore_keys=True)
    ours._keyless._next["t"] = 0  # type: ignore[attr-defined]
    draw = random.Random(1)
    for _ in range(12):
        available = set(draw.sample(range(5), draw.randint(0, 5)))
        cluster = java.cluster("t", 5, available)
        topic = Topic(5, "t", sorted(available))
        for key in (None, b"k", None):
            expected = theirs.partition("t", None, key, None, None, cluster)
            assert ours.partition(SerializedRecord(key), topic) == expected


def test_adaptive_weighs_as_javas(java: Java) -> None:
    """Java shows how far the numbers that it draws go: the sum of the weights."""
    context = java.named("org.apache.kafka.common.utils.LogContext")()
    draw = random.Random(2)
    for _ in range(30):
        queues = [draw.randint(0, 9) for _ in range(draw.randint(2, 9))]
        if len(set(queues)) == 1:
            continue
        theirs = java.named(f"{PRODUCER}.internals.BuiltInPartitioner")(context, "t", 1)
        theirs.updatePartitionLoadStats(
            java.ints(queues), java.ints([*range(len(queues))]), len(queues)
        )
        weights = Adaptive(0).weights(Topic(len(queues), "t", queues=queues))
        assert weights is not None
        assert sum(weights) == theirs.loadStatsRangeEnd()


@pytest.fixture(scope="module")
def topic(kafka: Any) -> str:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic("from-java", 7, 1)])["from-java"].result(30)
    return "from-java"


def producer_of(java: Java, kafka: Any, **config: Any) -> Any:
    serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
    properties = java.jvm.java.util.HashMap()
    for name, value in {
        "bootstrap.servers": kafka.bootstrap_servers,
        "key.serializer": serializer,
        "value.serializer": serializer,
        **config,
    }.items():
        properties.put(name, value)
    return java.named(f"{PRODUCER}.KafkaProducer")(properties)


def test_javas_producer_puts_keys_where_partition_says(java: Java, kafka: Any, topic: str) -> None:
    producer = producer_of(java, kafka)
    record = java.named(f"{PRODUCER}.ProducerRecord")
    keys = some_keys(200)
    sent = [producer.send(record(topic, key, b"v")) for key in keys]
    producer.flush()
    found = [metadata.get().partition() for metadata in sent]
    producer.close()
    assert found == partage.partition(keys, 7, "uniform").tolist()
    assert set(found) == set(range(7))


def test_javas_producer_keeps_to_a_partition_as_uniform_does(
    java: Java, kafka: Any, topic: str
) -> None:
    """Records of 100 bytes without a key, 109 as Java counts, in batches of 2,000: 17 fill a batch,
    which is too little to change, and so does the batch after it. When a batch of another partition
    is sent to the same broker, open ones go with it and end early."""
    batch, count = 2_000, 1_500
    producer = producer_of(
        java,
        kafka,
        **{"batch.size": str(batch), "linger.ms": "60000", "delivery.timeout.ms": "120000"},
    )
    record = java.named(f"{PRODUCER}.ProducerRecord")
    sent = [producer.send(record(topic, b"x" * 100)) for _ in range(count)]
    producer.flush()
    theirs = turns([metadata.get().partition() for metadata in sent])
    producer.close()
    ours = turns(filling_batches(batch, [109] * count, framing=61))
    assert {length % 34 for length in ours[:-1]} == {0}
    for found in (theirs, ours):
        assert min(found[:-1]) >= 18, "2,000 bytes"
        assert count / 37 * 0.7 < len(found) < count / 18, "one in seven draws gives the same again"


def filling_batches(batch: int, sizes: list[int], framing: int) -> list[int]:
    """The partitions of uniform, with batches announced when a record does not fit."""
    decider = partitioner_named("uniform", batch_size=batch)
    topic = Topic(7, "t", announces_batches=True)
    filled = [batch] * 7
    found = []
    for size in sizes:
        record = SerializedRecord(size=size)
        number = decider.partition(record, topic)
        if filled[number] + size > batch:
            number = decider.new_batch(record, topic, number)
            filled[number] = framing
        filled[number] += size
        found.append(number)
    return found


def turns(partitions: list[int]) -> list[int]:
    """How many records in a row go to one partition."""
    found = [1]
    for before, after in pairwise(partitions):
        if before == after:
            found[-1] += 1
        else:
            found.append(1)
    return found
