"""First and next offsets by topic, of a fake cluster and of a real one."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaProducer
from kafka.admin import NewTopic

from partage.live.admin.offsets import offsets_at, read_offsets
from partage.measured_loads.offsets import TopicOffsets
from partage.testing import FakeCluster


def test_offsets_of_the_topics_that_exist() -> None:
    cluster = FakeCluster(
        {("a", 0): (1,), ("a", 1): (1,), ("a.b", 0): (1,), ("ab", 0): (1,)}, brokers=[1]
    )
    cluster.produce(("a", 1), 12, 10.0)
    cluster.delete_records(("a", 1), 5, 70.0)
    cluster.produce(("ab", 0), 3, 10.0)
    found = read_offsets(cluster.admin, ["a", "none"])
    (only,) = found.values()
    assert only == TopicOffsets(only.id, {0: (0, 0), 1: (5, 12)})
    assert list(read_offsets(cluster.admin, ["a*"])) == ["a", "a.b", "ab"]
    assert list(read_offsets(cluster.admin, ["a.*"])) == ["a.b"], "the dot is literal"
    cluster.delete_topic("a")
    cluster.create_topic("a", [(1,)])
    again = read_offsets(cluster.admin, ["a"])["a"]
    assert again.partitions == {0: (0, 0)}
    assert again.id != only.id


@pytest.mark.kafka
@pytest.mark.long
def test_a_real_cluster(kafka: Any, admin: Any) -> None:
    admin.create_topics([NewTopic("offsets.read", 2, 1)])
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for _ in range(3):
        producer.send("offsets.read", b"x", partition=1).get(30)
    producer.close()
    found = offsets_at(kafka.bootstrap_servers, {}, ["offsets.r*", "offsets.none"])
    assert found["offsets.read"].partitions == {0: (0, 0), 1: (0, 3)}
    assert "__consumer_offsets" not in offsets_at(kafka.bootstrap_servers, {}, ["*"])
