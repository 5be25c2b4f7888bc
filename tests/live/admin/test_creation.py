"""Partitions are created where ``place`` puts them, on a running Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("kafka")

from kafka import KafkaAdminClient

from partage.brokers.new_partitions import place
from partage.errors import PartageError
from partage.live.admin import creation
from partage.live.admin.connection import Connection
from partage.live.admin.snapshot import take_snapshot

pytestmark = pytest.mark.kafka
TOPIC = "placed"


@pytest.fixture
def admin(kafka: Any) -> Iterator[KafkaAdminClient]:
    with Connection.of(kafka.bootstrap_servers).admin() as client:
        client.create_topics({"there": {"assignments": {0: [1, 2]}}}, wait_for_metadata=True)
        yield client
        client.delete_topics(["there", TOPIC])


def test_a_topic_and_more_of_it(admin: KafkaAdminClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (3, 5):
        found = place(take_snapshot(admin, groups=False).cluster(), TOPIC, count, 2)
        creation.create_partitions(admin, TOPIC, found.lists, found.first)
        there = take_snapshot(admin, groups=False).partitions
        assert [one.replicas for one in there if one.topic == TOPIC] == list(found.lists)
        assert len(found.lists) == count
    monkeypatch.setattr(creation, "_PATIENCE", 0)
    monkeypatch.setattr(creation, "_replicas", lambda *_: [[9]])
    with pytest.raises(PartageError, match="placed: the cluster shows"):
        creation.create_partitions(admin, TOPIC, [*found.lists, (1, 2)], 5)
