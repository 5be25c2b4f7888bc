"""A cluster file for the watch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from tests.matrices import cluster_json


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    """Partitions 0 and 1 of t are led by broker 1, partition 2 by broker 2."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster_json("1,2 1,2 2,1", "1 2")), encoding="utf-8")
    return path
