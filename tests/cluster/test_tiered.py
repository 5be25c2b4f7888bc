"""Topics with remote storage: marked in files and described topics; what is on brokers counts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import partage
from partage.brokers.posing import _sized
from partage.cluster import Cluster
from partage.errors import InputError
from partage.measured_loads import Measured, Profile

ROWS = [
    {"topic": topic, "partition": p, "replicas": [1, 2]} for topic in ("logs", "t") for p in (0, 1)
]


def described(settings: str) -> str:
    lines = [f"Topic: logs\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: {settings}"]
    return "\n".join([*lines, "\tTopic: logs\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", ""])


@pytest.mark.parametrize(
    ("settings", "tiered"),
    [
        ("remote.storage.enable=true,local.retention.bytes=1000", {"logs": 1000}),
        ("retention.bytes=700,remote.storage.enable=true", {"logs": 700}),
        ("local.retention.bytes=-2,retention.bytes=700,remote.storage.enable=true", {"logs": 700}),
        ("local.retention.bytes=-1,retention.bytes=-1,remote.storage.enable=true", {"logs": None}),
        ("remote.storage.enable=true", {"logs": None}),
        ("remote.storage.enable=false,local.retention.bytes=1000", {}),
        ("not.remote.storage.enable=true", {}),
        ("", {}),
    ],
)
def test_described_topics(settings: str, tiered: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(described(settings))
    assert Cluster.read(tmp_path / "topics.txt").tiered == tiered


def test_files() -> None:
    marked: dict[str, Any] = {"logs": {"local_retention_bytes": 500}, "gone": {}}
    value = {"brokers": [{"id": 1}, {"id": 2}], "partitions": ROWS, "tiered_topics": marked}
    cluster = Cluster.from_json(value)
    assert cluster.tiered == {"logs": 500}
    assert Cluster.from_json(cluster.to_json()).tiered == {"logs": 500}
    (sentence,) = partage.plan(cluster).document()["loads"]
    assert sentence.startswith("sizes of 1 topic with remote storage (logs): what is on brokers")
    with pytest.raises(InputError, match=r"tiered_topics\.logs\.local_retention_bytes: expected"):
        Cluster.from_json(value | {"tiered_topics": {"logs": {"local_retention_bytes": -1}}})


def test_measured_bytes_count_up_to_what_stays_on_brokers() -> None:
    value = {"brokers": [{"id": 1}, {"id": 2}], "partitions": [dict(row) for row in ROWS]}
    value["partitions"][0]["size_bytes"] = 900  # of a log dir: it is local
    value["tiered_topics"] = {"logs": {"local_retention_bytes": 500}}  # type: ignore[assignment]
    cluster = Cluster.from_json(json.loads(json.dumps(value)))
    unknown = np.full(4, -1)
    measured = SimpleNamespace(
        size_bytes=unknown, sampled=None, bytes=np.array([2000, 2000, 2000, 2000])
    )
    profile = SimpleNamespace(horizon=0)
    sized, *_ = _sized(cluster, cast(Profile, profile), cast(Measured, measured))
    assert sized.size_bytes.tolist() == [900, 500, 2000, 2000]
