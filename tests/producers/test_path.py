"""The path of a record: interceptors → serializers → partitioner, as the article draws it.

The article on producers and assignors gives four rules for the partition of a record; each is a
test here, under its words.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import confluent_kafka
import pytest

from partage import Cluster, partition
from partage.errors import InputError, PartageError
from partage.producers import (
    Partitioner,
    ProducerPath,
    ProducerRecord,
    RoutedRecord,
    SerializedRecord,
    Topic,
)

TOPICS = {"orders": 7, "clicks": 3}


def cluster() -> Cluster:
    rows = [
        {"topic": "orders", "partition": p, "replicas": [1 + p % 3, 1 + (p + 1) % 3]}
        for p in range(6)
    ]
    rows += [{"topic": "lonely", "partition": p, "replicas": [1 + p]} for p in range(3)]
    return Cluster.from_json(
        {"brokers": [{"id": 1}, {"id": 2, "alive": False}, {"id": 3}], "partitions": rows}
    )


# ---------------------------------------------------------------------- the four rules


class NeverAsked(Partitioner):
    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        raise AssertionError("the record names its partition")


def test_a_record_that_names_its_partition_goes_there() -> None:
    path = ProducerPath(NeverAsked())
    for number in range(7):
        sent = path.send(ProducerRecord("orders", b"v", b"k", partition=number), TOPICS)
        assert sent.partition == number


def test_one_with_a_key_goes_by_the_hash_of_the_key() -> None:
    path = ProducerPath("round-robin", key_serializer=str.encode)
    for key in ("a", "b", "user-42", ""):
        sent = path.send(ProducerRecord("orders", b"v", key), TOPICS)
        assert sent.partition == confluent_kafka.murmur2(key.encode(), 7)


def test_one_without_goes_round_robin_from_a_random_number() -> None:
    """The first call draws a number, every later one adds 1; the remainder is by the number of
    *available* partitions."""
    available = (0, 2, 3, 5)
    topics = {"orders": Topic(7, "orders", available)}
    starts = set()
    for seed in range(40):
        path = ProducerPath("round-robin", seed=seed)
        found = [path.send(ProducerRecord("orders", b"v"), topics).partition for _ in range(8)]
        start = available.index(found[0])
        assert found == [available[(start + n) % 4] for n in range(8)]
        starts.add(start)
    assert starts == {0, 1, 2, 3}


class BySize(Partitioner):
    """Large values to the partition that the configuration names, others to the rest."""

    large = 0

    def configure(self, config: Any) -> None:
        self.large = config["large.partition"]

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        assert record.value_bytes is not None
        if len(record.value_bytes) > 10:
            return self.large
        assert record.key == {"id": 3}, "the object, not only its bytes"
        assert record.key_bytes == b'{"id": 3}'
        return (self.large + 1) % topic.partitions


def test_a_class_of_your_own_decides_instead() -> None:
    path = ProducerPath(
        BySize,
        config={"large.partition": 2},
        key_serializer=lambda key: json.dumps(key).encode(),
    )
    large = ProducerRecord("clicks", b"x" * 11, {"id": 3})
    assert path.send(large, TOPICS).partition == 2
    assert path.send(replace(large, value=b"x"), TOPICS).partition == 0
    assert path.send(replace(large, partition=1), TOPICS).partition == 1, "unless it is named"


# ---------------------------------------------------------------------- interceptors


def test_interceptors_come_first_and_one_after_the_other() -> None:
    def add_source(record: ProducerRecord) -> ProducerRecord:
        return replace(record, headers=[*record.headers, ("source", b"web")])

    class Redirect:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            assert record.headers == [("source", b"web")]
            return replace(record, topic="clicks", key=f"{record.key}!")

    path = ProducerPath(
        "murmur2",
        interceptors=[add_source, Redirect()],
        key_serializer=str.encode,
        value_serializer=str.encode,
    )
    sent = path.send(ProducerRecord("orders", "v", "k", timestamp_ms=12), TOPICS)
    assert sent == RoutedRecord(
        topic="clicks",
        partition=confluent_kafka.murmur2(b"k!", 3),
        key=b"k!",
        value=b"v",
        headers=[("source", b"web")],
        timestamp_ms=12,
    )


def test_an_interceptor_may_name_the_partition() -> None:
    path = ProducerPath(NeverAsked(), interceptors=[lambda record: replace(record, partition=4)])
    assert path.send(ProducerRecord("orders", b"v"), TOPICS).partition == 4


@pytest.mark.parametrize("wrong", [lambda record: 1 / 0, lambda record: None])
def test_a_failing_partitioner_is_logged_and_the_record_is_sent(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """As it was after the last that did not fail."""
    path = ProducerPath(
        "murmur2",
        interceptors=[
            lambda record: replace(record, key=record.key + b"1"),
            wrong,
            lambda record: replace(record, key=record.key + b"2"),
        ],
    )
    with caplog.at_level(logging.WARNING):
        sent = path.send(ProducerRecord("orders", b"v", b"k"), TOPICS)
    assert sent.key == b"k12"
    assert [entry.getMessage() for entry in caplog.records] == [
        "an interceptor failed on a record of topic orders"
    ]


# ---------------------------------------------------------------------- serializers


def test_the_partitioner_sees_the_bytes() -> None:
    path = ProducerPath("murmur2", key_serializer=lambda key: key.to_bytes(8, "big"))
    sent = path.send(ProducerRecord("orders", b"v", 21), TOPICS)
    assert sent.partition == partition((21).to_bytes(8, "big"), 7)


def test_none_is_none_before_and_after() -> None:
    path = ProducerPath("murmur2_random", key_serializer=lambda key: None)
    sent = [path.send(ProducerRecord("orders", None, "k"), TOPICS) for _ in range(50)]
    assert {record.key for record in sent} == {record.value for record in sent} == {None}
    assert len({record.partition for record in sent}) > 3


@pytest.mark.parametrize(
    ("path", "record", "problem"),
    [
        (ProducerPath(), ProducerRecord("orders", b"v", "k"), "key: expected bytes or None"),
        (ProducerPath(), ProducerRecord("orders", 7), "value: expected bytes or None, got int"),
        (
            ProducerPath(value_serializer=json.dumps),  # type: ignore[arg-type]
            ProducerRecord("orders", {}),
            "value_serializer: expected bytes or None, got str",
        ),
        (ProducerPath(), ProducerRecord("other", b"v"), "topic: there is no topic 'other'"),
        (
            ProducerPath(),
            ProducerRecord("clicks", b"v", partition=3),
            "partition: 3: topic 'clicks' has partitions 0 to 2",
        ),
        (ProducerPath(), ProducerRecord("clicks", b"v", partition=-1), "partition: -1"),
        *(
            (
                ProducerPath(),
                ProducerRecord("clicks", b"v", partition=wrong),  # type: ignore[arg-type]
                f"partition: expected a number or None, got {wrong!r}",
            )
            for wrong in ("1", True, 1.0)
        ),
    ],
)
def test_invalid_values(path: ProducerPath, record: ProducerRecord, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        path.send(record, TOPICS)


def test_errors_of_serializers_are_raised() -> None:
    path = ProducerPath(value_serializer=str.encode)
    with pytest.raises(TypeError):
        path.send(ProducerRecord("orders", 3), TOPICS)


def test_an_answer_that_is_none() -> None:
    path = ProducerPath(lambda key, partitions: partitions)
    with pytest.raises(PartageError, match="returned partition 7: expected 0 to 6"):
        path.send(ProducerRecord("orders", b"v"), TOPICS)


# ---------------------------------------------------------------------- to the broker


def test_the_leader_if_the_cluster_is_given() -> None:
    """Broker 2 is dead: its partitions are led by the next of their lists."""
    path, known = ProducerPath("murmur2"), cluster()
    leaders = {
        number: path.send(ProducerRecord("orders", b"v", partition=number), known).leader
        for number in range(6)
    }
    assert leaders == {0: 1, 1: 3, 2: 3, 3: 1, 4: 3, 5: 3}
    assert path.send(ProducerRecord("lonely", b"v", partition=1), known).leader is None
    assert path.send(ProducerRecord("orders", b"v", b"k"), TOPICS).leader is None


def test_partitions_without_a_live_replica_get_only_keyed_records() -> None:
    path, known = ProducerPath("round-robin"), cluster()
    found = [path.send(ProducerRecord("lonely", b"v"), known).partition for _ in range(10)]
    assert set(found) == {0, 2}
    keyed = {
        path.send(ProducerRecord("lonely", b"v", b"%d" % n), known).partition for n in range(20)
    }
    assert keyed == {0, 1, 2}


def test_another_cluster_is_seen() -> None:
    path = ProducerPath("murmur2")
    path.send(ProducerRecord("orders", b"v", partition=5), cluster())
    smaller = Cluster.from_json(
        {
            "brokers": [{"id": 9}],
            "partitions": [{"topic": "orders", "partition": 0, "replicas": [9]}],
        }
    )
    assert path.send(ProducerRecord("orders", b"v", b"k"), smaller).leader == 9
    with pytest.raises(InputError, match="the cluster has no topic 'lonely'"):
        path.send(ProducerRecord("lonely", b"v"), smaller)


def test_a_cluster_without_all_partitions_of_a_topic() -> None:
    partial = Cluster.from_json(
        {
            "brokers": [{"id": 9}],
            "partitions": [{"topic": "orders", "partition": 4, "replicas": [9]}],
        }
    )
    with pytest.raises(InputError, match="the cluster lacks partitions of 'orders'"):
        ProducerPath().send(ProducerRecord("orders", b"v"), partial)


def test_sizes_count_key_value_and_headers() -> None:
    """A batch of 100 bytes: four records of 25."""
    path = ProducerPath("sticky", batch_size=100)
    record = ProducerRecord("orders", b"x" * 20, headers=[("ab", b"cde")])
    found = [path.send(record, TOPICS).partition for _ in range(40)]
    assert [len({*found[at : at + 4]}) for at in range(0, 40, 4)] == [1] * 10
    assert all(found[at] != found[at + 4] for at in range(0, 36, 4))
