"""The fairness of leaders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from partage.cluster import Cluster
from partage.pipeline.watch import ClusterFile
from partage.pipeline.watch.fairness import fairness
from tests.matrices import cluster_json


def test_the_busiest_broker_over_the_mean_of_the_live_ones() -> None:
    import numpy as np

    value = cluster_json("1,2 1,3 2,3 4,2 4", "1 2 3 4!")
    cluster = Cluster.from_json(value)
    found = fairness(cluster, np.array([5.0, 7.0, 2.0, 4.0, 99.0]))
    # broker 4 is dead: 2 leads t-3 in its stead, and nobody leads t-4
    assert found is not None
    assert (found.broker, found.rate, found.mean, found.value) == (1, 12.0, 6.0, 2.0)
    assert found.heaviest == (("t-1", 7.0), ("t-0", 5.0))
    assert fairness(cluster, np.zeros(5)) is None


def test_a_cluster_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster_json("1,2", "1 2")))
    file = ClusterFile(path)
    assert file.now()[0].replica_lists() == [[1, 2]]
    path.write_text(json.dumps(cluster_json("2,1 1,2", "1 2")))
    assert file.now()[0].replica_lists() == [[2, 1], [1, 2]]
    path.write_text("nonsense")
    cluster, problem = file.now()
    assert cluster.replica_lists() == [[2, 1], [1, 2]]
    assert problem is not None
    assert "neither JSON nor" in problem
    assert problem.endswith("the cluster as read before is used")
    assert file.now() == (cluster, None), "said once"
