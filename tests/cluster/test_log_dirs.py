"""Log dirs in a CLUSTER."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from partage.cluster import Cluster
from partage.errors import InputError

VALUE: dict[str, Any] = {
    "brokers": [
        {
            "id": 1,
            "log_dirs": [
                {"path": "/b", "disk_bytes": 100, "cordoned": True},
                {"path": "/a", "disk_bytes": 50, "offline": "KafkaStorageError", "usable_bytes": 7},
            ],
        },
        {"id": 2, "log_dirs": [{"path": "/only"}]},
        {"id": 3},
    ],
    "partitions": [
        {"topic": "t", "partition": 1, "replicas": [2, 1], "log_dirs": ["any", "/b"]},
        {"topic": "t", "partition": 0, "replicas": [1, 3], "log_dirs": ["/a", "/unlisted"]},
        {"topic": "t", "partition": 2, "replicas": [3, 1]},
    ],
}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    value = deepcopy(VALUE)
    *way, last = path
    at: Any = value
    for key in way:
        at = at[key]
    at[last] = to
    return value


def test_where_replicas_are() -> None:
    """Dirs are in the order of their paths; a broker's only dir has all its replicas; what a broker
    without listed dirs names stays unknown."""
    cluster = Cluster.from_json(VALUE)
    assert [one.path for one in cluster.brokers[0].log_dirs] == ["/a", "/b"]
    assert [one.takes_replicas for one in cluster.brokers[0].log_dirs] == [False, False]
    assert cluster.log_dirs is not None
    assert cluster.log_dirs.tolist() == [[0, -1], [0, 1], [-1, -1]]
    assert [cluster.log_dir_paths(row) for row in range(3)] == [
        ["/a", "any"],
        ["/only", "/b"],
        ["any", "any"],
    ]


def test_round_trip() -> None:
    cluster = Cluster.from_json(VALUE)
    again = Cluster.from_json(json.loads(json.dumps(cluster.to_json())))
    assert again.brokers == cluster.brokers
    assert again.log_dirs is not None
    assert cluster.log_dirs is not None
    assert again.log_dirs.tolist() == cluster.log_dirs.tolist()


def test_without_several_log_dirs() -> None:
    value = changed("brokers", 0, "log_dirs", to=None)
    cluster = Cluster.from_json(value)
    assert cluster.log_dirs is None
    assert all("log_dirs" not in row for row in cluster.to_json()["partitions"])
    assert cluster.log_dir_paths(0) == ["any", "any"]


@pytest.mark.parametrize(
    ("log_dirs", "disk"),
    [
        ([{"disk_bytes": 5}, {"disk_bytes": 7}], 12),
        ([{"disk_bytes": 5}, {}], None),
        ([{"disk_bytes": 5}, {"offline": "I/O error"}], 5),
        ([{"offline": "I/O error"}], None),
        ([], None),
    ],
)
def test_a_disk_is_its_log_dirs(log_dirs: list[dict[str, Any]], disk: int | None) -> None:
    """Where the broker lists none."""
    named = [{"path": f"/{k}", **one} for k, one in enumerate(log_dirs)]
    value = {
        "brokers": [{"id": 1, "log_dirs": named}, {"id": 2, "disk_bytes": 3, "log_dirs": named}],
        "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}],
    }
    assert [one.disk_bytes for one in Cluster.from_json(value).brokers] == [disk, 3]


def test_a_changed_placement_leaves_them_open() -> None:
    cluster = Cluster.from_json(VALUE)
    assert cluster.with_replicas(cluster.replicas).log_dirs is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            changed("partitions", 0, "log_dirs", to=["/b"]),
            "cluster: t-1: 1 log dirs for 2 replicas",
        ),
        (
            changed("partitions", 0, "log_dirs", to=["any", "/c"]),
            "cluster: t-1: broker 1 has no log dir /c",
        ),
        (
            changed("brokers", 0, "log_dirs", 1, "path", to="/b"),
            "cluster: broker 1: log dir /b is listed twice",
        ),
        (
            changed("brokers", 1, "log_dirs", 0, "path", to=""),
            'cluster: brokers[1].log_dirs[0].path: expected non-empty printable text, got ""',
        ),
        (
            changed("brokers", 1, "log_dirs", to=[{"path": f"/{n}"} for n in range(1001)]),
            "cluster: broker 2: 1001 log dirs, expected up to 1000",
        ),
    ],
)
def test_refused(value: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        Cluster.from_json(value)
    assert str(raised.value) == problem
