"""The bytes across racks that a plan states, and those counted on a real Kafka: what connections of
brokers and clients carried. Brokers in two racks, partitions within one rack and in both. And a
group that assigns by racks first."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar

import pytest

pytest.importorskip("kafka")

from confluent_kafka import Consumer, Producer
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

import partage
from partage.cluster import Cluster
from partage.errors import InputError
from partage.live import CooperativeStickyAssignor
from partage.live.admin.connection import Connection
from partage.live.admin.groups import read_groups
from partage.live.admin.snapshot import take_snapshot
from tests.configured_sandbox import ConfiguredSandbox
from tests.live.execution.kafka_topics import until

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("ss") is None, reason="ss counts the bytes of connections"),
]

PLACES = {0: [1, 2], 1: [2, 1], 2: [3, 1], 3: [4, 2], 4: [1, 4], 5: [2, 3]}
"""Racks: brokers 1 and 3 in a, 2 and 4 in b."""

VALUE, RECORDS = 10_000, 30
"""Partition n gets n + 1 times so many records, of so many bytes."""

WRITTEN = {"a": 0.7, "b": 0.3}
"""The share that the producer in each rack writes."""

TOLERANCE = 0.01
"""Requests, headers and empty answers are not counted by a plan."""

Totals = dict[str, float]


class RackedSandbox(ConfiguredSandbox):
    """Consumers read from the closest replica (KIP-392)."""

    settings: ClassVar[dict[str, object]] = {
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    }


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RackedSandbox]:
    folder = tmp_path_factory.mktemp("racked") / "sandbox"
    with RackedSandbox.start(folder, brokers=4, racks=("a", "b")) as started:
        yield started


@pytest.fixture(scope="module")
def admin(sandbox: RackedSandbox) -> Iterator[KafkaAdminClient]:
    with Connection.of(sandbox.bootstrap_servers).admin() as client:
        client.create_topics({"orders": {"assignments": PLACES}})
        # a broker that does not lead yet refuses a batch, which is then sent again
        with closing(KafkaConsumer(bootstrap_servers=sandbox.bootstrap_servers)) as consumer:
            consumer.end_offsets([TopicPartition("orders", number) for number in PLACES])
        yield client


class Counted:
    """A client in a rack; librdkafka reports the bytes to and from each broker."""

    def __init__(self, sandbox: RackedSandbox, rack: str) -> None:
        self.rack = rack
        self.racks = {broker.id: broker.rack for broker in sandbox.brokers}
        self.brokers: list[dict[str, Any]] = []
        self.settings = {
            "bootstrap.servers": sandbox.bootstrap_servers,
            "statistics.interval.ms": 200,
            "stats_cb": self._reported,
        }

    def _reported(self, text: str) -> None:
        self.brokers = list(json.loads(text)["brokers"].values())

    def bytes(self, name: str) -> Totals:
        """``across`` and ``all`` of txbytes or rxbytes."""
        by_broker = {one["nodeid"]: one[name] for one in self.brokers if one["nodeid"] > 0}
        across = sum(n for broker, n in by_broker.items() if self.racks[broker] != self.rack)
        return {"across": across, "all": sum(by_broker.values())}


def produce(sandbox: RackedSandbox, rack: str, share: float) -> Totals:
    client = Counted(sandbox, rack)
    producer = Producer({**client.settings, "acks": "all", "linger.ms": 20})
    for number in PLACES:
        for _ in range(round(RECORDS * (number + 1) * share)):
            producer.produce("orders", os.urandom(VALUE), partition=number)
        producer.poll(0)
    producer.flush()
    client.brokers = []
    until(lambda: producer.poll(0.1) or client.brokers)
    return client.bytes("txbytes")


def consume(
    sandbox: RackedSandbox, rack: str, group: str, closest: bool
) -> tuple[Counted, Consumer]:
    """A consumer that has read the whole topic and stays in its group."""
    client = Counted(sandbox, rack)
    more: dict[str, Any] = {"auto.offset.reset": "earliest", "group.id": group}
    # all of a partition in one answer: a batch that does not fit in would be cut, and read again
    more["fetch.message.max.bytes"] = 10 * RECORDS * VALUE
    consumer = Consumer({**client.settings, **more, **({"client.rack": rack} if closest else {})})
    consumer.subscribe(["orders"])
    left = sum(RECORDS * (number + 1) for number in PLACES)
    deadline = time.monotonic() + 60
    while left:
        assert time.monotonic() < deadline, f"{left} records are missing"
        left -= sum(message.error() is None for message in consumer.consume(500, 0.2))
    client.brokers = []
    until(lambda: consumer.consume(1, 0.1) or client.brokers)
    return client, consumer


_CONNECTION = re.compile(r":(\d+)\s+users:\(\(.*?pid=(\d+),")
_RECEIVED = re.compile(r"bytes_received:(\d+)")


def replicated(sandbox: RackedSandbox) -> Counter[str]:
    """What brokers received so far over the connections that they opened to other brokers."""
    by_port = {int(node.addresses[0].rpartition(":")[2]): node for node in sandbox.brokers}
    by_pid = {node.pid: node for node in sandbox.brokers}
    shown = subprocess.run(["ss", "-HtinpO"], capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in shown.splitlines():
        ends, received = _CONNECTION.search(line), _RECEIVED.search(line)
        if ends is None or received is None:
            continue
        source, target = by_port.get(int(ends[1])), by_pid.get(int(ends[2]))
        if source is not None and target is not None and source.id != target.id:
            found["all"] += int(received[1])
            found["across"] += int(received[1]) * (source.rack != target.rack)
    return found


def predicted(admin: KafkaAdminClient, racks: Totals | None = None) -> Totals:
    """``zone_bytes`` of the running cluster; rates as if all was written and read in one second.
    ``racks``: those of consumers if they do not report theirs and read from leaders."""
    document = take_snapshot(admin).to_json()
    rows = [one for one in document["partitions"] if one["topic"] == "orders"]
    for one in rows:
        one["bytes_in_per_second"] = one["size_bytes"]
        one["bytes_out_per_second"] = 2 * one["size_bytes"]  # two groups
    document["partitions"] = rows
    if racks is None:
        assert document["clients"]["closest_replica"] is True
    else:
        document["clients"] = {"topics": {"orders": {"consumers": racks}}}
    document["clients"]["topics"]["orders"]["producers"] = WRITTEN
    found: Totals = partage.plan(Cluster.from_json(document), no_moves=True).figures_before[
        "zone_bytes"
    ]
    return found


def total(*counted: Totals) -> Totals:
    return {name: sum(one[name] for one in counted) for name in ("across", "all")}


def near(stated: Totals, name: str, counted: Totals) -> None:
    assert counted["across"] == pytest.approx(stated[name], rel=TOLERANCE)
    assert counted["all"] == pytest.approx(stated[f"{name}_total"], rel=TOLERANCE)


def test_stated_and_counted(sandbox: RackedSandbox, admin: KafkaAdminClient) -> None:
    before = replicated(sandbox)
    written = [produce(sandbox, rack, share) for rack, share in WRITTEN.items()]
    copied = {name: n - before[name] for name, n in replicated(sandbox).items()}

    readers = [consume(sandbox, rack, f"closest-{rack}", closest=True) for rack in WRITTEN]
    stated = predicted(admin)
    read = [client.bytes("rxbytes") for client, _ in readers]
    for _, consumer in readers:
        consumer.close()
    near(stated, "replication", copied)
    near(stated, "producers", total(*written))
    near(stated, "consumers", total(*read))

    # without client.rack they read from leaders
    readers = [consume(sandbox, rack, f"leaders-{rack}", closest=False) for rack in WRITTEN]
    from_leaders = total(*(client.bytes("rxbytes") for client, _ in readers))
    for _, consumer in readers:
        consumer.close()
    stated = predicted(admin, racks={"a": 0.5, "b": 0.5})
    near(stated, "consumers", from_leaders)
    assert from_leaders["across"] > 2 * total(*read)["across"]


def test_a_group_assigned_by_racks_first(sandbox: RackedSandbox, admin: KafkaAdminClient) -> None:
    """A topic in rack b: equal loads would be two partitions each, two of them across racks."""
    admin.create_topics({"west": {"assignments": {number: [4, 2] for number in range(4)}}})
    consumers = [
        KafkaConsumer(
            "west",
            bootstrap_servers=sandbox.bootstrap_servers,
            group_id="billing",
            client_rack=rack,
            partition_assignment_strategy=[CooperativeStickyAssignor(rack=rack, racks_first=True)],
        )
        for rack in ("a", "b")
    ]

    def stable() -> bool:
        for consumer in consumers:
            consumer.poll(timeout_ms=100)
        try:
            (group,) = read_groups(admin, [], ["billing"])
        except InputError:  # it has not joined yet
            return False
        return group.state == "Stable" and len(group.members or ()) == 2

    try:
        # the client may lead the group without knowing a topic that was created just now
        until(lambda: all(one.partitions_for_topic("west") for one in consumers))
        until(lambda: stable() and sum(len(one.assignment()) for one in consumers) == 4)
        (group,) = read_groups(admin, [], ["billing"])
    finally:
        for consumer in consumers:
            consumer.close()
    owned = {member.rack: len(member.owned) for member in group.members or ()}
    assert owned == {"a": 0, "b": 4}
    assert group.described()["exact"]["loads"] == [2, 2]
    exact = replace(group, racks_first=True).described()["exact"]
    assert (exact["moves"], exact["reads"]["before"]["within_rack"]) == (0, 4)
