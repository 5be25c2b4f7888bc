"""The plug-ins on the mock cluster in librdkafka: no Java, and another coordinator than Kafka's.

It waits three seconds for a group's first members, and answers the SyncGroup of a second member of
kafka-python with InvalidRequest now and then, aiokafka's JoinGroup never. So a member joins alone,
and another takes over when it has left; larger groups are for the real Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")
pytest.importorskip("kafka")

from confluent_kafka import Producer

from tests.live.plugins.groups import Consumers, wait

# the newest that the mock cluster answers in a form that kafka-python reads
CONFIG = {"api_version": [2, 3], "session_timeout_ms": 6000}

PATIENCE = 20.0

NAMES = ("Range", "RoundRobin", "Sticky", "CooperativeSticky", "Failover", "Weighted")


@pytest.fixture(scope="module")
def mock_cluster() -> Iterator[str]:
    producer = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 3})
    brokers = producer.list_topics(timeout=10).brokers.values()
    for name in NAMES:
        for number in range(4):
            producer.produce(name, b"x", partition=number)
    assert producer.flush(10) == 0
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del producer


def one_after_the_other(group: Consumers, assignor: list[Any]) -> list[Any]:
    with group:
        first = group.join("a", [assignor], **CONFIG)
        group.settle(4, patience=PATIENCE)
        assert wait(lambda: first.calls("read") != [])
        first.leave()
        group.join("b", [assignor], **CONFIG)
        group.settle(4, patience=PATIENCE)
        return group.two_owners()


def patiently(mock_cluster: str, name: str) -> list[Any]:
    """Once more in another group where the mock cluster let a member wait for ever."""
    for attempt in range(3):
        group = Consumers(mock_cluster, f"group-{name}-{attempt}", {name: 4})
        with suppress(AssertionError):
            return one_after_the_other(
                group, ["partage.live.plugins.kafka_python", f"{name}Assignor", {}]
            )
    pytest.fail(f"{name}: in three groups the second member got nothing")


def test_groups_on_the_mock_cluster(mock_cluster: str) -> None:
    with ThreadPoolExecutor(len(NAMES)) as pool:
        running = [pool.submit(patiently, mock_cluster, name) for name in NAMES]
    assert [group.result() for group in running] == [[]] * len(NAMES)
