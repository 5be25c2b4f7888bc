"""Rates measured on a fake cluster, whose traffic is known, and on a real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.structs import OffsetAndMetadata

import partage
from partage.live.admin.rates import measure_rates
from partage.live.admin.snapshot import take_snapshot
from partage.measured_loads.rates import MeasuredRates, PartitionRates
from partage.testing import FakeCluster

BUSY, IDLE, READ = ("busy", 0), ("busy", 1), ("read", 0)


class Traffic:
    """A fake cluster on which something happens every second."""

    def __init__(self, every_second: Callable[[FakeCluster, int], None]) -> None:
        self.cluster = FakeCluster(
            {BUSY: (1, 2), IDLE: (2, 3), READ: (3, 1)}, brokers=[1, 2, 3], partition_bytes=0
        )
        self.cluster.produce(READ, 1000, 50.0)
        self.every_second = every_second
        self.seconds = 0

    def sleep(self, seconds: float) -> None:
        self.cluster.sleep(seconds)
        while self.seconds < int(self.cluster.now):
            self.seconds += 1
            self.every_second(self.cluster, self.seconds)

    def rates(self, seconds: float = 60, **keywords: Any) -> MeasuredRates:
        cluster = self.cluster
        return measure_rates(
            cluster.admin, seconds, clock=cluster.clock, sleep=self.sleep, **keywords
        )


def test_what_producers_write_and_groups_read() -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        cluster.commit("a", BUSY, 10 * second)
        cluster.commit("b", BUSY, 5 * second)
        cluster.commit("b", READ, second)

    found = Traffic(every_second).rates()
    assert (found.seconds, found.samples, found.warnings) == (60, 7, ())
    assert found.of == {
        BUSY: PartitionRates(2000, pytest.approx(15 * 200), 10, pytest.approx(15)),
        IDLE: PartitionRates(0, 0, 0, 0),
        # nothing was written meanwhile: the size of a record is that of the log's
        READ: PartitionRates(0, pytest.approx(50), 0, pytest.approx(1)),
    }


@pytest.mark.parametrize("moment", [1, 9, 10, 11, 25, 60])
def test_deletions_by_retention_take_nothing_off(moment: int) -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        if second == moment:
            cluster.delete_records(BUSY, 10 * second - 3, 600.0)

    found = Traffic(every_second).rates().of[BUSY]
    assert (found.bytes_in, found.records_in) == (pytest.approx(2000), 10)


def test_a_deletion_between_sizes_and_offsets() -> None:
    """The size is still large when the first offset has moved already."""
    traffic = Traffic(lambda cluster, _: cluster.produce(BUSY, 10, 200.0))
    admin, samples = traffic.cluster.admin, [0]
    real = admin.list_partition_offsets

    def offsets(specs: Any, **more: Any) -> Any:
        samples[0] += 1
        if samples[0] == 5:  # two requests for each sample
            traffic.cluster.delete_records(BUSY, 199, 200.0)
        return real(specs, **more)

    admin.list_partition_offsets = offsets  # type: ignore[method-assign]
    found = traffic.rates().of[BUSY]
    assert (found.bytes_in, found.records_in) == (pytest.approx(2000), 10)


def test_a_log_that_shrinks_without_moving_its_first_offset_was_compacted() -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        if second == 15:
            cluster.resize(BUSY, 400.0)

    assert Traffic(every_second).rates().of[BUSY].bytes_in == pytest.approx(2000)


def test_another_leader_with_another_size() -> None:
    """The new leader's log kept less: what it differs by was not written."""

    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        if second == 12:
            cluster.stop_broker(1)
            cluster.produce(BUSY, 0, 0.0)
            cluster.resize(BUSY, 90_000.0)

    traffic = Traffic(every_second)
    found = traffic.rates()
    assert found.of[BUSY].bytes_in == pytest.approx(2000)
    assert traffic.cluster.leaders[BUSY] == 2


def test_offsets_that_go_back_do_not_count() -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        cluster.commit("a", BUSY, 10 * second if second < 35 else 10 * (second - 30))
        if second == 25:
            cluster.delete_topic("busy")
            cluster.create_topic("busy", [(1, 2)])

    found = Traffic(every_second).rates()
    assert found.of[BUSY].records_in == pytest.approx(10)
    assert found.of[BUSY].records_out == pytest.approx(10)


def test_without_commits_reads_are_unknown() -> None:
    found = Traffic(lambda cluster, _: cluster.produce(BUSY, 10, 200.0)).rates()
    assert found.of[BUSY] == PartitionRates(2000, None, 10, None)
    assert [one.split(":")[0] for one in found.warnings] == ["no group has committed offsets"]


def test_what_cannot_be_measured_is_named() -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.commit("a", BUSY, second)
        cluster.commit("hidden", BUSY, second)

    traffic = Traffic(every_second)
    traffic.sleep(1)
    traffic.cluster.stop_broker(2)
    traffic.cluster.stop_broker(3)
    traffic.cluster.start_broker(3)
    real = traffic.cluster.admin.list_group_offsets

    def offsets(group: str) -> Any:
        if group == "hidden":
            raise kafka_errors.GroupAuthorizationFailedError
        return real(group)

    traffic.cluster.admin.list_group_offsets = offsets  # type: ignore[method-assign]
    traffic.cluster.create_topic("dead", [(2,)])
    traffic.cluster.stop_broker(2)
    found = traffic.rates()
    assert ("dead", 0) not in found.of
    assert found.warnings == (
        "group hidden: what it reads is not measured: not allowed: missing ACL: an operation on "
        "the group",
        "rates not measured: dead-0",
    )


@pytest.mark.parametrize(("after", "measured"), [(0, 0), (7, 7), (25, 25)])
def test_stopped_early_it_measures_until_then(after: int, measured: float) -> None:
    traffic = Traffic(lambda cluster, _: cluster.produce(BUSY, 10, 200.0))
    found = traffic.rates(stopped=lambda: traffic.cluster.now >= after)
    assert found.seconds == measured
    assert {key: one.bytes_in for key, one in found.of.items()} == (
        {BUSY: pytest.approx(2000), IDLE: 0, READ: 0} if measured else {}
    )


def test_a_snapshot_with_rates_is_a_cluster_with_rates() -> None:
    def every_second(cluster: FakeCluster, second: int) -> None:
        cluster.produce(BUSY, 10, 200.0)
        cluster.commit("a", BUSY, 5 * second)

    traffic = Traffic(every_second)
    cluster, found = traffic.cluster, traffic.rates(20)
    snapshot = take_snapshot(cluster.admin, sleep=cluster.sleep).with_rates(found).to_json()
    assert snapshot["rates"] == {"seconds": 20.0, "samples": 3}
    busy = snapshot["partitions"][0]
    names = ("bytes_in", "bytes_out", "records_in", "records_out")
    assert [busy[f"{name}_per_second"] for name in names] == [2000, 1000, 10, 5]

    read = partage.snapshot(
        watch="20s", admin=cluster.admin, clock=cluster.clock, sleep=traffic.sleep
    )
    assert read.bytes_in is not None
    assert read.bytes_in.tolist() == [2000, 0, 0]
    assert read.bytes_out is not None
    assert read.bytes_out.tolist() == pytest.approx([1000, 0, 0])


# ---------------------------------------------------------------------- on a real cluster

RECORD = 2_000
"""Bytes; uncompressed, one record a batch."""


@pytest.mark.long
@pytest.mark.kafka
def test_on_a_cluster_it_is_what_was_counted(kafka: Any, admin: Any) -> None:
    """Only traffic lets the time pass, so that its rates are known."""
    admin.create_topics({"metered": {"assignments": {0: [1, 2], 1: [2, 3], 2: [3, 1]}}})
    at = [TopicPartition("metered", number) for number in range(3)]
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all", batch_size=0)
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        group_id="meter-readers",
        enable_auto_commit=False,
    )
    consumer.assign(at)
    now = [0.0]

    def pass_time(seconds: float) -> None:
        """3 records a second to partition 0, 1 to partition 1; 2 a second are read of partition 0,
        without regard to where they are."""
        now[0] += seconds
        for partition, records in ((at[0], 3), (at[1], 1)):
            for _ in range(round(records * seconds)):
                producer.send("metered", b"x" * RECORD, partition=partition.partition).get(60)
        consumer.commit({at[0]: OffsetAndMetadata(round(2 * now[0]), "", -1)})

    try:
        pass_time(1)
        before = sizes(admin)
        found = measure_rates(admin, 20, clock=lambda: now[0], sleep=pass_time)
        grown = [size - earlier for size, earlier in zip(sizes(admin), before, strict=True)]
    finally:
        producer.close()
        consumer.close()
        admin.delete_topics(["metered"])
    assert (found.seconds, found.samples) == (20, 3)
    busy, slow, idle = (found.of["metered", number] for number in range(3))
    assert (busy.records_in, slow.records_in, idle.records_in) == (3, 1, 0)
    assert (busy.records_out, slow.records_out, idle.records_out) == (2, 0, 0)
    assert [busy.bytes_in, slow.bytes_in, idle.bytes_in] == [size / 20 for size in grown]
    assert 60 * RECORD < grown[0] < 60 * RECORD * 1.1
    assert busy.bytes_out == pytest.approx(grown[0] / 60 * 2)


def sizes(admin: Any) -> list[int]:
    """Of the leaders' logs of the topic."""
    taken = take_snapshot(admin, groups=False, throttles=False).partitions
    return [one.sizes[one.leader or 0] for one in taken if one.topic == "metered"]
