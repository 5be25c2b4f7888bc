"""Lists of throttled replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("kafka")

from partage.live.execution import throttles
from partage.live.execution.changes import Change
from partage.live.execution.journal import Journal
from partage.testing import FakeCluster


def test_a_list_that_kafka_cannot_parse_becomes_every_replica() -> None:
    changes = [Change("t", n, (1, 2), (2, 3)) for n in range(4000)]
    senders, receivers = throttles._replica_lists(changes)
    assert throttles._merged(None, senders["t"]) == "*"
    assert throttles._merged("9:9", receivers["t"]).startswith("9:9,0:3,")
    assert throttles._merged("*", receivers["t"]) == "*"


def test_an_empty_list_is_restored_as_one(tmp_path: Path) -> None:
    cluster = FakeCluster({("t", 0): (1, 2)}, range(1, 4))
    cluster.configs["topic", "t"] = {throttles.FOLLOWER_LIST: ""}
    before = {name: dict(own) for name, own in cluster.throttles.items()}
    with Journal.open(tmp_path) as journal:
        own = throttles.ReplicationThrottles(cluster.admin, journal)
        own.set(1_000_000, [Change("t", 0, (1, 2), (2, 3))], [1, 2, 3])
        assert cluster.configs["topic", "t"][throttles.FOLLOWER_LIST] == "0:3"
        assert own.restore([1, 2, 3]) == []
    assert cluster.throttles == before
