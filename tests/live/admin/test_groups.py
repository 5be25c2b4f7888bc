"""Groups and their lags, as a fake cluster answers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.live.admin.groups import LiveGroup, read_groups
from partage.testing import FakeCluster
from tests.live.described_groups import cluster_of, member, of_groups


def read(cluster: FakeCluster) -> tuple[tuple[LiveGroup, ...], list[str]]:
    warnings: list[str] = []
    admin: Any = cluster.admin
    return read_groups(admin, warnings), warnings


def test_a_partition_without_a_commit_has_an_unknown_lag() -> None:
    cluster = cluster_of({"t": 3, "other": 1})
    cluster.produce(("t", 0), 100, 1)
    cluster.produce(("t", 1), 900, 1)
    cluster.commit("some", ("t", 0), 40)
    cluster.commit("none", ("t", 0), -1)
    subscribed = [member(1, {"t": [0, 1, 2]})]
    of_groups(cluster, {"some": {"members": subscribed}, "none": {"members": subscribed}})
    (none, some), warnings = read(cluster)
    assert some.to_json()["lag"] == {"t": [60, None, None]}
    assert none.to_json()["lag"] == {"t": [None, None, None]}
    described = [one.described() for one in (some, none)]
    assert [one["total_lag"] for one in described] == [60, None]
    assert [one["partitions_without_commit"] for one in described] == [2, 3]
    assert warnings == []


def test_a_group_that_has_committed_and_left() -> None:
    """Its subscription is not known: its topics are those of its commits."""
    cluster = cluster_of({"t": 2, "other": 1})
    cluster.produce(("t", 1), 5, 1)
    cluster.commit("g", ("t", 1), 5)
    cluster.commit("g", ("deleted", 0), 5)
    (group,), _ = read(cluster)
    assert group.lag == {("t", 0): None, ("t", 1): 0}


def test_the_lag_of_a_share_group_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partage.live.admin.groups.describe_newer_groups", lambda *_: {})
    cluster = cluster_of({"t": 2})
    of_groups(cluster, {"sharers": {"type": "share"}})
    (group,), _ = read(cluster)
    described = group.described()
    assert (described["lag"], described["total_lag"]) == (None, None)
    assert described["partitions_without_commit"] is None


def test_offsets_beyond_the_end_are_a_warning() -> None:
    """Kafka's tool shows a negative lag."""
    cluster = cluster_of({"t": 5})
    for number in range(5):
        cluster.commit("g", ("t", number), 1000 * number)
    (group,), warnings = read(cluster)
    assert set((group.lag or {}).values()) == {0}
    assert warnings == [
        "group g: 4 committed offsets beyond the end of the log, as after a topic was created "
        "again, lag counted as 0: t-1 by 1,000, t-2 by 2,000, t-3 by 3,000 and 1 more"
    ]


def test_an_empty_rack_is_none() -> None:
    """librdkafka sends one without ``client.rack``."""
    cluster = cluster_of({"t": 1})
    metadata = {"topics": ["t"], "rack_id": ""}
    of_groups(cluster, {"g": {"members": [member(1, {"t": [0]}, member_metadata=metadata)]}})
    (group,), _ = read(cluster)
    assert group.to_json()["members"][0]["rack"] is None
