"""The plug-ins on librdkafka's mock cluster: without Java, and with another group coordinator.

It waits three seconds for the first members of a group. It answers a second member of kafka-python
with errors now and then, and aiokafka's JoinGroup never. So a member joins alone, and another one
takes over after it has left; larger groups are tested on a real Kafka (``test_groups.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")
pytest.importorskip("kafka")

from confluent_kafka import Producer

from tests.live.plugins.groups import Consumers, wait

pytestmark = pytest.mark.long

# the newest version that the mock cluster answers in a form that kafka-python can read
CONFIG = {"api_version": [2, 3], "session_timeout_ms": 6000}

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


def one_after_the_other(servers: str, name: str) -> list[Any]:
    """A member reads all partitions and leaves, another one takes over; returns partitions that
    had two owners at the same time."""
    assignor = ["partage.live.plugins.kafka_python", f"{name}Assignor", {}]
    with Consumers(servers, f"group-{name}", {name: 4}) as group:
        first = group.join("a", [assignor], **CONFIG)
        group.settle(4)
        assert wait(lambda: first.calls("read") != [])
        first.leave()
        group.join("b", [assignor], **CONFIG)
        group.settle(4)
        return group.two_owners()


def test_groups_on_the_mock_cluster(mock_cluster: str) -> None:
    with ThreadPoolExecutor(len(NAMES)) as pool:
        running = {name: pool.submit(one_after_the_other, mock_cluster, name) for name in NAMES}
    assert {name: group.result() for name, group in running.items()} == {name: [] for name in NAMES}
