"""Topics with remote storage on a real Kafka: a snapshot marks them, and a move copies what a plan
predicts, the part on brokers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAuthorizationFailedError

import partage
from partage.cluster import Cluster
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot
from partage.live.admin.states import Snapshot
from partage.testing import FakeCluster
from tests.live.execution.kafka_topics import until
from tests.tiered_sandbox import TieredSandbox

LOCAL, SEGMENT = 3_000_000, 1_048_576
SETTINGS = {
    "remote.storage.enable": "true",
    "local.retention.bytes": str(LOCAL),
    "segment.bytes": str(SEGMENT),
}
WRITTEN = 12_000_000
SETTING = "follower.fetch.last.tiered.offset.enable"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TieredSandbox]:
    folder = tmp_path_factory.mktemp("tiered") / "sandbox"
    with TieredSandbox.start(folder, brokers=3) as started:
        yield started


@pytest.fixture(scope="module")
def admin(sandbox: TieredSandbox) -> Iterator[KafkaAdminClient]:
    with Connection.of(sandbox.bootstrap_servers).admin() as client:
        yield client


def logs_of(admin: KafkaAdminClient) -> tuple[Snapshot, dict[int, int]]:
    """A snapshot, and the size of each replica of the topic."""
    taken = take_snapshot(admin, groups=False)
    (logs,) = (one for one in taken.partitions if one.topic == "logs")
    return taken, logs.sizes


def predicted(taken: Snapshot, source: int, target: int) -> int:
    """The bytes of a plan that moves the topic from one broker to the other."""
    document = taken.to_json()
    document["partitions"] = [one for one in document["partitions"] if one["topic"] == "logs"]
    document["brokers"] = [one for one in document["brokers"] if one["id"] in (source, target)]
    plan = partage.plan(Cluster.from_json(document), remove_broker=[source])
    (sentence,) = plan.document()["loads"]
    assert sentence.startswith("sizes of 1 topic with remote storage (logs): what is on brokers")
    assert plan.moves == 1
    assert plan.bytes_moved is not None
    return plan.bytes_moved


def copied(admin: KafkaAdminClient, target: int) -> int:
    """What a move to this broker copies: the size of the new replica on disk."""
    admin.alter_partition_reassignments({TopicPartition("logs", 0): [target]})
    until(lambda: not admin.list_partition_reassignments())
    until(lambda: set(logs_of(admin)[1]) == {target})
    return logs_of(admin)[1][target]


def skipping(brokers: Iterable[int]) -> FakeCluster:
    """A cluster with topics that have remote storage, and brokers that start at the last tiered
    offset."""
    cluster = FakeCluster({(topic, 0): (1, 2) for topic in ("all", "limited", "plain")}, [1, 2])
    enabled = {"remote.storage.enable": "true"}
    cluster.configs = {
        ("topic", "all"): enabled,
        ("topic", "limited"): {**enabled, "retention.bytes": "700"},
        ("topic", "plain"): {"remote.storage.enable": "false", "retention.bytes": "700"},
    }
    for broker in brokers:
        cluster.configs["broker", str(broker)] = {SETTING: "true"}
    return cluster


def test_min_insync_replicas() -> None:
    cluster = FakeCluster({("t", 0): (1, 2)}, [1, 2])
    taken = take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep)
    assert "min_insync_replicas" not in taken.to_json()  # Kafka's default
    cluster.min_insync_replicas = 2
    taken = take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep)
    assert taken.to_json()["min_insync_replicas"] == {"t": 2}
    assert taken.cluster().min_insync_replicas == {"t": 2}
    planned = partage.snapshot(admin=cluster.admin, sleep=cluster.sleep)
    assert planned.min_insync_replicas == {"t": 2}


def test_marks_and_limits() -> None:
    cluster = skipping([2])
    taken = take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep)
    assert taken.tiered == {"all": None, "limited": 700}
    assert taken.cluster().tiered == taken.tiered
    assert taken.cluster().copy_bytes is None
    (warning,) = taken.warnings
    assert warning.startswith("new replicas on brokers 2, not on others, start at the last tiered")
    del cluster.configs["broker", "2"]
    assert take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep).warnings == ()
    without = take_snapshot(cluster.admin, groups=False, settings=False, sleep=cluster.sleep)
    assert "tiered_topics" not in without.to_json()
    assert partage.snapshot(admin=cluster.admin, sleep=cluster.sleep).tiered == taken.tiered


@pytest.mark.parametrize(
    ("local", "uploaded", "end", "copied"),
    [
        (0, 799, 1000, 200_000),  # all is on brokers, the first 800 of 1,000 also uploaded
        (500, 799, 1000, 400_000),  # 200 of the last 500 are not uploaded
        (500, 999, 1000, 0),
        (500, 499, 1000, None),  # just what is on brokers is not uploaded: all of it
        (0, -1, 1000, None),  # nothing is uploaded
        (1000, 999, 1000, None),  # no record is on brokers
        (997, 998, 1000, 333_334),  # rounded up
    ],
)
def test_what_new_replicas_copy(local: int, uploaded: int, end: int, copied: int | None) -> None:
    cluster = skipping([1, 2])
    for topic in ("all", "plain"):
        cluster.resize((topic, 0), 1_000_000)
        one = cluster._partitions[topic, 0]
        one.local_offset, one.uploaded_offset, one.next_offset = local, uploaded, end
    taken = take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep)
    found = {one.topic: one.copy_bytes for one in taken.partitions}
    assert found["plain"] is None
    assert found["limited"] is None
    assert (found["all"] if found["all"] != 1_000_000 else None) == copied
    assert taken.warnings == ()
    if copied is not None:
        read = taken.cluster()
        assert read.copied[read.row_of["all", 0]] == copied


def test_topics_whose_offsets_cannot_be_read_count_in_full() -> None:
    cluster = skipping([1, 2])
    for topic in ("all", "limited"):
        one = cluster._partitions[topic, 0]
        one.uploaded_offset, one.next_offset = 49, 100
    answer = cluster.admin.list_partition_offsets

    def refusing(specs: dict[TopicPartition, Any], **options: Any) -> Any:
        if any(at.topic == "all" for at in specs):
            raise TopicAuthorizationFailedError("all")
        return answer(specs, **options)

    cluster.admin.list_partition_offsets = refusing  # type: ignore[method-assign, assignment]
    taken = take_snapshot(cluster.admin, groups=False, sleep=cluster.sleep)
    assert {one.topic: one.copy_bytes for one in taken.partitions} == {
        "all": None,
        "limited": 5_000_000,
        "plain": None,
    }
    (warning,) = taken.warnings
    assert warning.startswith("topic all: what is uploaded cannot be read, moves count all of")


@pytest.mark.kafka
@pytest.mark.long
def test_a_move_copies_what_is_on_brokers(sandbox: TieredSandbox, admin: KafkaAdminClient) -> None:
    admin.create_topics({"logs": {"assignments": {0: [1]}, "configs": SETTINGS}})
    admin.create_topics({"plain": {"assignments": {0: [1]}}})
    producer = KafkaProducer(bootstrap_servers=sandbox.bootstrap_servers, acks="all", linger_ms=5)
    for _ in range(WRITTEN // 1000):
        producer.send("logs", os.urandom(1000), partition=0)
    producer.close()
    # what is uploaded stays until the local retention is exceeded by a whole segment
    until(lambda: logs_of(admin)[1][1] < LOCAL + 2 * SEGMENT)

    taken, sizes = logs_of(admin)
    assert taken.tiered == {"logs": LOCAL}
    assert taken.to_json()["tiered_topics"] == {"logs": {"local_retention_bytes": LOCAL}}
    (warning,) = taken.warnings
    assert warning.startswith("new replicas on brokers 3, not on others, start at the last tiered")
    remote = Path(sandbox.directory).parent / "remote"
    stored = sum(file.stat().st_size for file in remote.rglob("*.log"))
    assert stored > WRITTEN - LOCAL
    assert LOCAL <= sizes[1] < WRITTEN / 2

    expected = predicted(taken, 1, 2)
    assert expected == sizes[1]
    assert copied(admin, 2) == pytest.approx(expected, rel=0.02)

    # with the setting on all brokers, a new replica copies only what is not uploaded
    for broker in (1, 2):
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {SETTING: "true"})
        admin.alter_configs([resource])
    until(lambda: logs_of(admin)[0].warnings == ())
    taken, sizes = logs_of(admin)
    expected = predicted(taken, 2, TieredSandbox.SKIPPING)
    assert 0 < expected <= SEGMENT < sizes[2]
    assert copied(admin, TieredSandbox.SKIPPING) == pytest.approx(expected, rel=0.02)
