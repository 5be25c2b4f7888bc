"""The partitioners in real producers, on librdkafka's mock brokers and on a real Kafka.

What the clients' own partitioners and ours do with the same records is read back from the topics
and compared with ``partage.partition``.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("aiokafka")

import confluent_kafka
from aiokafka import AIOKafkaProducer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from kafka.partitioner import Partitioner as KafkaPythonPartitioner
from kafka.serializer import Serializer

import partage
from partage.errors import InputError
from partage.live.plugins.partitioners import Partitioner, _Queues
from partage.producers import Partitioner as AnyPartitioner
from partage.producers import ProducerPath, ProducerRecord, SerializedRecord, Topic

Record = tuple[bytes | None, bytes]

BATCH = 1_000
"""Bytes of a batch, where batches are watched."""

_numbers = count()


# ---------------------------------------------------------------------- brokers


@dataclass
class Brokers:
    """Brokers to produce to. ``kafka_python``: extra settings of kafka-python."""

    bootstrap_servers: str
    new_topics_have: int | None
    kafka_python: dict[str, Any] = field(default_factory=dict)

    def topic(self, partitions: int = 7) -> tuple[str, int]:
        """A new topic and how many partitions it has: the mock has its own idea of that."""
        name = f"partitioned-{next(_numbers)}"
        if self.new_topics_have is None:
            admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
            admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
            return name, partitions
        return name, self.new_topics_have

    def read(self, topic: str, partitions: int, expected: int) -> list[tuple[int, Record]]:
        """(partition, (key, value)) of all records, each partition's in order."""
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.assign(
            [confluent_kafka.TopicPartition(topic, number, 0) for number in range(partitions)]
        )
        found: list[tuple[int, Record]] = []
        while len(found) < expected:
            messages = consumer.consume(expected, timeout=20)
            assert messages, f"{len(found)} of {expected} records of {topic}"
            for message in messages:
                assert message.error() is None, message.error()
                found.append((message.partition(), (message.key(), message.value())))
        consumer.close()
        return found


@pytest.fixture(scope="session")
def mock() -> Iterator[Brokers]:
    """Three brokers inside librdkafka, with four partitions for every topic."""
    holder = confluent_kafka.Producer(
        {"bootstrap.servers": "none", "test.mock.num.brokers": 3, "log_level": 0}
    )
    known = holder.list_topics(timeout=20).brokers.values()
    # the mock does not answer kafka-python's question for versions
    yield Brokers(
        ",".join(f"{broker.host}:{broker.port}" for broker in known), 4, {"api_version": (2, 1)}
    )
    holder.flush(1)


@pytest.fixture(params=["mock", pytest.param("kafka", marks=pytest.mark.kafka)])
def brokers(request: pytest.FixtureRequest) -> Brokers:
    started = request.getfixturevalue(request.param)
    if isinstance(started, Brokers):
        return started
    servers = started.bootstrap_servers
    return Brokers(servers if isinstance(servers, str) else ",".join(servers), None)


# ---------------------------------------------------------------------- producers


def by_kafka_python(brokers: Brokers, topic: str, records: Sequence[Record], **own: Any) -> None:
    producer = KafkaProducer(
        bootstrap_servers=brokers.bootstrap_servers.split(","), **brokers.kafka_python, **own
    )
    for key, value in records:
        producer.send(topic, key=key, value=value)
    producer.flush(30)
    producer.close()


def by_aiokafka(brokers: Brokers, topic: str, records: Sequence[Record], **own: Any) -> None:
    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=brokers.bootstrap_servers, **own)
        await producer.start()
        try:
            for sent in [await producer.send(topic, value, key) for key, value in records]:
                await sent
        finally:
            await producer.stop()

    asyncio.run(produce())


def by_confluent(brokers: Brokers, topic: str, records: Sequence[Record], **own: Any) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers.bootstrap_servers, **own})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0


Produce = Callable[..., None]

OWN_PARTITIONERS: list[tuple[str, Produce, dict[str, str]]] = [
    ("murmur2_random", by_kafka_python, {}),
    ("murmur2_random", by_aiokafka, {}),
    *(
        (name, by_confluent, {"partitioner": name})
        for name in (
            "consistent",
            "consistent_random",
            "murmur2",
            "murmur2_random",
            "fnv1a",
            "fnv1a_random",
        )
    ),
]


def some_records() -> list[Record]:
    """Keys of all lengths up to 70, each with a value of its own; some more than once."""
    draw = random.Random(3)
    keys = [draw.randbytes(length) for length in range(1, 71)] + [b"user-%d" % n for n in range(99)]
    keys += keys[:30]
    return [(key, b"%d" % at) for at, key in enumerate(keys)]


# ---------------------------------------------------------------------- the clients' own


@pytest.mark.parametrize(
    ("name", "produce", "options"),
    OWN_PARTITIONERS,
    ids=[f"{p.__name__}-{name}" for name, p, _ in OWN_PARTITIONERS],
)
def test_clients_put_keys_where_partition_says(
    brokers: Brokers, name: str, produce: Produce, options: dict[str, str]
) -> None:
    topic, partitions = brokers.topic()
    records = some_records()
    if name != "consistent_random":  # where an empty key is none
        records += [(b"", b"empty")] * 5
    by_key_alone = name in ("consistent", "murmur2", "fnv1a")
    if by_key_alone:  # where no key is as an empty one
        records += [(None, b"null")] * 5
    produce(brokers, topic, records, **options)
    found = brokers.read(topic, partitions, len(records))
    keys = [key for _, (key, _) in found]
    assert sorted(value for _, (_, value) in found) == sorted(value for _, value in records)
    assert [number for number, _ in found] == partage.partition(keys, partitions, name).tolist()
    assert len({number for number, _ in found}) == partitions


@pytest.mark.parametrize("key", [None, b""])
def test_librdkafka_keeps_to_a_partition_for_a_while(brokers: Brokers, key: bytes | None) -> None:
    """Without a key, by default: no hash, and many records in a row on one partition. (Until it is
    connected to the leaders it counts none as available, and draws for each record.)"""
    topic, partitions = brokers.topic()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": brokers.bootstrap_servers, "sticky.partitioning.linger.ms": 60_000}
    )
    for number in range(partitions):
        producer.produce(topic, b"first", b"first", partition=number)
    assert producer.flush(30) == 0
    for _ in range(300):
        producer.produce(topic, b"v", key)
    assert producer.flush(30) == 0
    found = brokers.read(topic, partitions, partitions + 300)
    assert len({number for number, (_, value) in found if value == b"v"}) == 1


# ---------------------------------------------------------------------- ours in them

NAMES = [
    "murmur2",
    "consistent_random",
    "fnv1a",
    "sarama",
    "sarama-reference",
    "round-robin",
    "sticky",
    "uniform",
    "adaptive",
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("produce", [by_kafka_python, by_aiokafka])
@pytest.mark.parametrize("name", NAMES)
def test_ours_put_keys_where_partition_says(brokers: Brokers, name: str, produce: Produce) -> None:
    topic, partitions = brokers.topic()
    records = some_records()
    produce(brokers, topic, records, partitioner=Partitioner(name))
    found = brokers.read(topic, partitions, len(records))
    keys = [key for _, (key, _) in found]
    assert [number for number, _ in found] == partage.partition(keys, partitions, name).tolist()


@pytest.mark.parametrize("produce", [by_kafka_python, by_aiokafka])
@pytest.mark.parametrize("linger_ms", [0, 50])
def test_round_robin_visits_every_partition(
    brokers: Brokers, produce: Produce, linger_ms: int
) -> None:
    """Also where every record opens a batch, and kafka-python asks twice."""
    topic, partitions = brokers.topic()
    records: list[Record] = [(None, b"%d" % n) for n in range(partitions * 30)]
    produce(
        brokers, topic, records, partitioner=Partitioner("round-robin", seed=9), linger_ms=linger_ms
    )
    found = brokers.read(topic, partitions, len(records))
    assert Counter(number for number, _ in found) == dict.fromkeys(range(partitions), 30)
    at = {value: number for number, (_, value) in found}
    start = at[b"0"]
    assert all(at[b"%d" % n] == (start + n) % partitions for n in range(len(records)))


class Asked(Partitioner):
    """Counts kafka-python's questions."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.questions = self.batches = 0

    def partition(self, *args: Any) -> int:
        self.questions += 1
        return super().partition(*args)

    def on_new_batch(self, *args: Any) -> None:
        self.batches += 1
        super().on_new_batch(*args)


def test_kafka_python_does_ask_twice(mock: Brokers) -> None:
    """The defect that round-robin is guarded against is there."""
    topic, partitions = mock.topic()
    asked = Asked("round-robin")
    producer = KafkaProducer(
        bootstrap_servers=mock.bootstrap_servers.split(","), partitioner=asked, **mock.kafka_python
    )
    found = [producer.send(topic, b"x").get(20).partition for _ in range(20)]
    producer.close()
    assert (asked.questions, asked.batches) == (40, 20)
    assert sorted(found) == sorted([*range(partitions)] * 5)


def test_round_robin_from_several_threads(mock: Brokers) -> None:
    topic, partitions = mock.topic()
    producer = KafkaProducer(
        bootstrap_servers=mock.bootstrap_servers.split(","),
        partitioner=Partitioner("round-robin"),
        **mock.kafka_python,
    )
    found: list[int] = []

    def send() -> None:
        sent = [producer.send(topic, b"x") for _ in range(200)]
        found.extend(future.get(20).partition for future in sent)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.close()
    assert Counter(found) == dict.fromkeys(range(partitions), 800 // partitions)


def runs_of(found: list[tuple[int, Record]]) -> list[tuple[int, int]]:
    """(partition, records in a row), in the order in which they were sent."""
    runs: list[tuple[int, int]] = []
    for _, number in sorted((int(value.split()[0]), number) for number, (_, value) in found):
        if runs and runs[-1][0] == number:
            runs[-1] = (number, runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


def test_sticky_changes_with_the_batches_of_kafka_python(brokers: Brokers) -> None:
    """Each run of records is a batch, and no partition follows itself."""
    topic, partitions = brokers.topic()
    records: list[Record] = [(None, b"%d %s" % (n, b"x" * 100)) for n in range(400)]
    by_kafka_python(
        brokers,
        topic,
        records,
        partitioner=Partitioner("sticky", seed=2),
        batch_size=BATCH,
        linger_ms=60_000,
    )
    runs = runs_of(brokers.read(topic, partitions, len(records)))
    longest = max(length for _, length in runs)
    assert longest in (7, 8, 9), "of about 110 bytes each, framed"
    # an open batch ends early when a full one is sent to the same broker
    assert sum(length == longest for _, length in runs) > len(runs) / 2
    assert {number for number, _ in runs} == set(range(partitions))


def test_uniform_changes_after_as_many_bytes(brokers: Brokers) -> None:
    """In kafka-python, between batches: from one to two batches' bytes a time."""
    topic, partitions = brokers.topic()
    records: list[Record] = [(None, b"%d %s" % (n, b"x" * 100)) for n in range(2_000)]
    by_kafka_python(
        brokers,
        topic,
        records,
        partitioner=Partitioner("uniform", seed=2, batch_size=BATCH),
        batch_size=BATCH,
        linger_ms=60_000,
    )
    runs = runs_of(brokers.read(topic, partitions, len(records)))
    # a partition may follow itself: the runs are whole numbers of its turns
    assert min(length for _, length in runs[:-1]) * 104 >= BATCH - 104
    assert 2_000 * 110 / (2 * BATCH) / 2 < len(runs) < 2_000 * 110 / BATCH
    assert {number for number, _ in runs} == set(range(partitions))


def test_uniform_and_sticky_in_aiokafka_count_for_themselves(brokers: Brokers) -> None:
    """They get neither values nor batches: ten records of 100 bytes make a batch."""
    for name in ("uniform", "sticky"):
        topic, partitions = brokers.topic()
        records: list[Record] = [(None, b"%d" % n) for n in range(700)]
        partitioner = Partitioner(name, seed=5, batch_size=BATCH, record_bytes=100)
        by_aiokafka(brokers, topic, records, partitioner=partitioner)
        runs = runs_of(brokers.read(topic, partitions, len(records)))
        assert all(length % 10 == 0 for _, length in runs)
        assert {number for number, _ in runs} == set(range(partitions))
        if name == "sticky":
            assert {length for _, length in runs} == {10}


def test_the_path_in_front_of_any_producer(brokers: Brokers) -> None:
    """confluent-kafka takes no partitioner from Python, but a partition for each record."""
    topic, partitions = brokers.topic()
    path = ProducerPath("round-robin", value_serializer=str.encode)
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers.bootstrap_servers})
    for n in range(partitions * 10):
        routed = path.send(ProducerRecord(topic, str(n)), {topic: partitions})
        producer.produce(routed.topic, routed.value, routed.key, partition=routed.partition)
    assert producer.flush(30) == 0
    found = brokers.read(topic, partitions, partitions * 10)
    assert Counter(number for number, _ in found) == dict.fromkeys(range(partitions), 10)


# ---------------------------------------------------------------------- calls of the clients


class Metadata:
    """kafka-python's ClusterMetadata, as far as a partitioner looks into it."""

    def __init__(self, partitions: int, available: set[int] | None = None) -> None:
        self._all = set(range(partitions))
        self._available = self._all if available is None else available

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return None if topic == "none" else set(self._all)

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        return None if topic == "none" else set(self._available)


def ask(
    partitioner: Partitioner, cluster: Metadata, topic: str = "t", key: Any = None, value: Any = b""
) -> int:
    return partitioner.partition(topic, key, key, value, value, cluster)


def test_it_passes_for_a_partitioner_of_kafka_python() -> None:
    assert isinstance(Partitioner("sticky"), KafkaPythonPartitioner)


def test_only_partitions_with_a_leader_for_records_without_a_key() -> None:
    partitioner, some = Partitioner("round-robin"), Metadata(7, {5, 1, 3})
    found = [ask(partitioner, some) for _ in range(6)]
    assert sorted(found[:3]) == [1, 3, 5]
    assert found[3:] == found[:3]
    assert {ask(partitioner, some, key=b"%d" % n) for n in range(50)} == set(range(7))
    assert {ask(partitioner, Metadata(3, set())) for _ in range(9)} == {0, 1, 2}
    assert ask(partitioner, Metadata(3, {1, 9})) == 1, "what is not counted yet is left out"
    assert {partitioner(None, [2, 0, 1], [2]) for _ in range(9)} == {2}
    assert {partitioner(b"%d" % n, [2, 0, 1], [2]) for n in range(50)} == {0, 1, 2}


def test_an_answer_is_kept_for_the_same_record_only() -> None:
    """Should the second question not come, the next record is another one."""
    partitioner, cluster = Partitioner("round-robin", seed=1), Metadata(5)
    value = b"a value"
    first = ask(partitioner, cluster, value=value)
    partitioner.on_new_batch("t", cluster, first)
    assert ask(partitioner, cluster, value=b"another") == (first + 1) % 5
    partitioner.on_new_batch("t", cluster, (first + 1) % 5)
    assert ask(partitioner, cluster, value=b"another", key=b"k") == partage.partition(b"k", 5)
    again = ask(partitioner, cluster, value=value)
    assert again == (first + 2) % 5
    partitioner.on_new_batch("t", cluster, again)
    assert ask(partitioner, cluster, value=value) == again
    assert ask(partitioner, cluster, value=value) == (first + 3) % 5


def test_a_new_batch_of_nothing_is_let_pass() -> None:
    partitioner, cluster = Partitioner("sticky"), Metadata(5)
    partitioner.on_new_batch("t", cluster, 3)
    held = ask(partitioner, cluster)
    partitioner.on_new_batch("u", cluster, held)
    assert ask(partitioner, cluster) == held


def test_adaptive_looks_at_what_waits_in_the_producer() -> None:
    class Accumulator:
        _batches = {  # noqa: RUF012
            ("t", 0): [b"batch"] * 9,
            ("t", 1): [],
            ("other", 2): [b"batch"] * 99,
            ("t", 7): [b"batch"],  # a partition that the metadata does not know yet
        }

    class Producer:
        _accumulator = Accumulator()

    partitioner, cluster = Partitioner("adaptive", seed=4, batch_size=1), Metadata(3)

    def share_of_the_first() -> float:
        asked = Counter(turn(partitioner, cluster) for _ in range(3_000))
        return asked[0] / 3_000

    assert share_of_the_first() == pytest.approx(1 / 3, abs=0.04)
    partitioner.watch(Producer())
    assert share_of_the_first() == pytest.approx(1 / 21, abs=0.02)
    Accumulator._batches["t", 0] = []
    assert share_of_the_first() == pytest.approx(1 / 3, abs=0.04)


def test_queues_are_read_when_they_are_needed() -> None:
    batches = {("t", 0): [b"batch"] * 2, ("t", 2): [b"batch"]}
    queues = _Queues(batches, "t", 3)
    assert [*queues] == [2, 0, 1]
    assert queues[1:] == [0, 1]
    batches["t", 1] = [b"batch"] * 5
    assert queues[1] == 5


def turn(partitioner: Partitioner, cluster: Metadata) -> int:
    """A record, which opens a batch."""
    value = b"x" * 10
    partitioner.on_new_batch("t", cluster, ask(partitioner, cluster, value=value))
    return ask(partitioner, cluster, value=value)


def test_watching_a_real_producer(mock: Brokers) -> None:
    topic, partitions = mock.topic()
    partitioner = Partitioner("adaptive")
    producer = KafkaProducer(
        bootstrap_servers=mock.bootstrap_servers.split(","),
        partitioner=partitioner,
        **mock.kafka_python,
    )
    partitioner.watch(producer)
    found = {producer.send(topic, b"x" * 9_000).get(20).partition for _ in range(100)}
    producer.close()
    assert found == set(range(partitions))


@pytest.mark.parametrize("producer", [None, object(), by_aiokafka])
def test_a_producer_that_cannot_be_watched(producer: Any) -> None:
    with pytest.raises(InputError, match="watch: finds no batches in this producer"):
        Partitioner("adaptive").watch(producer)


class Utf8(Serializer):  # type: ignore[misc]
    def serialize(self, topic: str, headers: Any, data: str) -> bytes:
        return data.encode()


class ByValue(AnyPartitioner):
    """By the value, before it is serialized."""

    def configure(self, config: Any) -> None:
        self.wide = config["wide"]

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        return self.wide if record.value == "wide" else 0


def test_one_of_your_own_in_kafka_python(mock: Brokers) -> None:
    topic, _ = mock.topic()
    producer = KafkaProducer(
        bootstrap_servers=mock.bootstrap_servers.split(","),
        partitioner=Partitioner(ByValue, config={"wide": 3}),
        value_serializer=Utf8(),
        **mock.kafka_python,
    )
    found = [producer.send(topic, value).get(20).partition for value in ("wide", "narrow")]
    producer.close()
    assert found == [3, 0]


def test_invalid_values() -> None:
    with pytest.raises(InputError, match="partitioner: 'best': expected one of"):
        Partitioner("best")
    with pytest.raises(ValueError, match="there is no topic 'none'"):
        ask(Partitioner("sticky"), Metadata(3), topic="none")


def test_without_a_seed_producers_do_not_go_together() -> None:
    starts = {ask(Partitioner("round-robin"), Metadata(1_000)) for _ in range(20)}
    assert len(starts) > 10
