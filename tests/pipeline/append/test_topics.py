"""A profile of topics that grows equals one of all their records, whatever became of the topics."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

import pyarrow as pa
import pyarrow.parquet as pq
from kafka import KafkaProducer, TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import TopicAlreadyExistsError

from partage.errors import InputError, PartageError
from partage.live.admin.offsets import offsets_at
from partage.measured_loads import Profile
from partage.measured_loads.offsets import TopicOffsets
from partage.pipeline import append_profile, profile_tables
from partage.pipeline.append.marks import Mark
from partage.pipeline.append.topics import new_records
from partage.pipeline.sources import kafka as source
from tests.live.execution.kafka_topics import until
from tests.pipeline.append.test_files import assert_measured_once, content, kill_when

NOON = 1_790_000_040_000


def unread(now: Mapping[str, TopicOffsets], before: Sequence[Mark], topics: str = "a") -> Any:
    """What is new of topics, without reading it."""
    return new_records(None, f"kafka://h:1/{topics}", before, lambda *_: now)  # type: ignore[arg-type]


def test_it_reads_from_where_the_last_run_ended() -> None:
    first = unread({"a": TopicOffsets("x", {0: (3, 10), 1: (0, 0)})}, [])
    assert first.marks == (Mark("topic", "a", 0, "x", 10), Mark("topic", "a", 1, "x", 0))
    assert (first.about["new_offsets"], first.about["removed_offsets"]) == (7, 0)
    # records came, and a partition, whose first two were removed before this run
    grown = unread({"a": TopicOffsets("x", {0: (3, 15), 1: (0, 0), 2: (2, 6)})}, first.marks)
    assert grown.marks == (Mark("topic", "a", 0, "x", 15), Mark("topic", "a", 2, "x", 6))
    assert grown.about["new_offsets"] == 5 + 4
    assert grown.about["removed_offsets"] == 2
    none = unread(
        {"a": TopicOffsets("x", {0: (15, 15), 1: (0, 0)})}, [*grown.marks, *first.marks[1:]]
    )
    assert (none.marks, none.about["new_offsets"]) == ((), 0)


def test_what_kafka_removed_is_named() -> None:
    before = [Mark("topic", "a", 0, "x", 10), Mark("topic", "a", 1, "x", 10)]
    found = unread({"a": TopicOffsets("x", {0: (25, 25), 1: (12, 20)})}, before)
    assert found.about["new_offsets"] == 8
    assert found.about["removed_offsets"] == 15 + 2
    assert found.about["removed_partitions"][0] == {
        "topic": "a", "partition": 0, "from": 10, "to": 25,
    }  # fmt: skip
    assert {mark.partition: mark.position for mark in found.marks} == {0: 25, 1: 20}


def test_offsets_that_went_back_are_named() -> None:
    found = unread({"a": TopicOffsets("x", {0: (0, 7)})}, [Mark("topic", "a", 0, "x", 10)])
    assert found.about["went_back"] == [{"topic": "a", "partition": 0, "from": 10, "to": 7}]
    assert found.about["new_offsets"] == 0
    assert found.marks == (Mark("topic", "a", 0, "x", 7),)


def test_a_topic_created_again_is_read_from_its_beginning() -> None:
    before = [Mark("topic", "a", 0, "x", 10)]
    found = unread({"a": TopicOffsets("y", {0: (0, 40)})}, before)
    assert (found.about["recreated_topics"], found.about["new_offsets"]) == (["a"], 40)
    both = [*before, *found.marks]
    again = unread({"a": TopicOffsets("x", {0: (0, 12)})}, both)  # of two clusters, in turns
    assert (again.about["recreated_topics"], again.about["new_offsets"]) == ([], 2)


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        ("a,b", "topic b does not exist"),
        ("c*", "no topic has such a name"),
        ("a?from=2026-01-01", "in place of from and to, use `--from`"),
    ],
)
def test_what_cannot_be_read(topics: str, problem: str) -> None:
    now = {} if "*" in topics else {"a": TopicOffsets("x", {0: (0, 1)})}
    with pytest.raises(InputError, match=problem):
        unread(now, [], topics)


# ---------------------------------------------------------------------- a real Kafka


class Topic:
    """A topic of the real Kafka, and all records that it ever had, in a file."""

    def __init__(self, kafka: Any, admin: Any, name: str, file: Path) -> None:
        self.admin, self.name, self.rng = admin, name, random.Random(name)
        self.url = f"kafka://{kafka.bootstrap_servers}/{name}"
        self.servers = kafka.bootstrap_servers
        self.records: list[dict[str, Any]] = []
        self.create(2)
        self._file = file

    def create(self, partitions: int) -> None:
        keep = {"retention.ms": "-1"}
        self.admin.create_topics([NewTopic(self.name, partitions, 1, topic_configs=keep)])

    def recreate(self) -> None:
        """Delete the topic and create it again, which Kafka allows when every broker knows; leaders
        answer a moment later."""
        self.admin.delete_topics([self.name])
        while True:
            try:
                self.create(2)
                break
            except TopicAlreadyExistsError:
                time.sleep(0.1)
        until(self._is_known)

    def _is_known(self) -> bool:
        try:
            return self.name in offsets_at(self.servers, {}, [self.name])
        except PartageError:
            return False

    def fill(self, count: int, partitions: int) -> None:
        producer = KafkaProducer(bootstrap_servers=self.servers)
        for _ in range(count):
            one = {
                "topic": self.name,
                "partition": self.rng.randrange(partitions),
                "timestamp": NOON + self.rng.randrange(9_000_000),
                "key": self.rng.choice((None, b"", b"k1", b"k2", b"\xff")),
                "value_bytes": self.rng.randrange(300),
            }
            sent = producer.send(
                self.name,
                bytes(one["value_bytes"]),
                key=one["key"],
                partition=one["partition"],
                timestamp_ms=one["timestamp"],
            )
            self.records.append({**one, "offset": sent.get(30).offset})
        producer.close()

    def measured_at_once(self, spark: Any) -> dict[str, pa.Table]:
        """The tables of all records, those that Kafka has no more too."""
        pq.write_table(pa.Table.from_pylist(self.records), self._file)
        return profile_tables(spark, [str(self._file)])


@pytest.fixture
def topic(
    kafka: Any,
    admin: Any,
    connector: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Topic]:
    monkeypatch.setenv(source.CONNECTOR, str(connector))
    name = f"append.{request.node.name}"
    yield Topic(kafka, admin, name, tmp_path / "all.parquet")
    admin.delete_topics([name])


def append(spark: Any, topic: Topic, out: Path) -> dict[str, Any]:
    return append_profile(spark, [topic.url], out, read_offsets=offsets_at)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
def test_a_growing_topic(spark: Any, topic: Topic, tmp_path: Path) -> None:
    out = tmp_path / "profile"
    with pytest.raises(InputError, match=r"no records: it is empty"):
        append(spark, topic, out)
    assert not out.exists()
    topic.fill(40, 2)
    assert append(spark, topic, out)["new_offsets"] == 40
    topic.admin.create_partitions({topic.name: NewPartitions(total_count=3)})
    topic.fill(50, 3)
    assert append(spark, topic, out)["new_offsets"] == 50
    before = content(out)
    assert append(spark, topic, out)["new_offsets"] == 0
    assert content(out) == before
    assert_measured_once(out, topic.measured_at_once(spark))


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
def test_records_that_are_gone(spark: Any, topic: Topic, tmp_path: Path) -> None:
    out = tmp_path / "profile"
    topic.fill(40, 2)
    append(spark, topic, out)
    topic.fill(30, 2)
    lost = [one for one in topic.records[40:] if one["partition"] == 1]
    topic.admin.delete_records({TopicPartition(topic.name, 1): -1})
    topic.records = [one for one in topic.records if one not in lost]
    found = append(spark, topic, out)
    assert (found["new_offsets"], found["removed_offsets"]) == (30 - len(lost), len(lost))
    assert found["removed_partitions"][0]["partition"] == 1
    topic.recreate()
    topic.fill(100, 2)  # more than before: offsets alone would show nothing
    found = append(spark, topic, out)
    assert (found["new_offsets"], found["recreated_topics"]) == (100, [topic.name])
    assert found["removed_offsets"] == len(lost), "of all runs"
    assert_measured_once(out, topic.measured_at_once(spark))


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
def test_killed_while_it_writes_it_counts_nothing_twice(
    spark: Any, topic: Topic, tmp_path: Path
) -> None:
    out = tmp_path / "profile"
    topic.fill(40, 2)
    first = append(spark, topic, out)
    topic.fill(30, 2)
    for written in ("new", "new/key_counts/*.parquet"):
        kill_when(written, topic.url, out)
        assert Profile.read(out).totals == first["totals"], "as it was"
    assert append(spark, topic, out)["new_offsets"] == 30
    assert_measured_once(out, topic.measured_at_once(spark))


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
def test_a_topic_replaced_while_it_is_read(spark: Any, topic: Topic, tmp_path: Path) -> None:
    topic.fill(10, 2)
    asked = []

    def recreating(*given: Any) -> Any:
        if asked:
            topic.recreate()
        asked.append(given)
        return offsets_at(*given)

    with pytest.raises(PartageError, match="was deleted while it was measured: run it again"):
        append_profile(spark, [topic.url], tmp_path / "profile", read_offsets=recreating)
    assert not (tmp_path / "profile").exists()
