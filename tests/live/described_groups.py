"""Groups of a fake cluster with members, as Kafka describes them."""

from __future__ import annotations

from typing import Any

from partage.testing import FakeCluster


def member(number: int, topics: dict[str, list[int]], **other: Any) -> dict[str, Any]:
    """A classic member that subscribes to topics and owns partitions of them, as Kafka describes
    it."""
    owned = [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]
    return {
        "member_id": f"app-{str(number) * 4}",
        "client_id": "app",
        "client_host": "/10.0.0.1",
        "group_instance_id": None,
        "member_metadata": {"topics": list(topics), "rack_id": None},
        "member_assignment": {"assigned_partitions": owned},
        **other,
    }


def of_groups(cluster: FakeCluster, groups: dict[str, dict[str, Any]]) -> None:
    """Have the cluster list and describe these groups: a type, a state, an assignor, members."""
    admin: Any = cluster.admin
    admin.list_groups = lambda: [
        {
            "group_id": name,
            "group_state": group.get("state", "Stable"),
            "group_type": group.get("type", "classic"),
            "protocol_type": "consumer",
        }
        for name, group in groups.items()
    ]
    admin.describe_groups = lambda names: {
        name: {
            "protocol_data": groups[name].get("assignor", "range"),
            "members": groups[name].get("members", []),
        }
        for name in names
    }


def cluster_of(topics: dict[str, int]) -> FakeCluster:
    return FakeCluster({(t, n): (1,) for t, count in topics.items() for n in range(count)}, [1])
