"""The fairness of leaders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from partage.cluster import Cluster
from partage.pipeline.watch import ClusterFile, Rules
from partage.pipeline.watch.fairness import Fairness, fairness
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


def test_little_traffic_is_not_judged() -> None:
    def found(rate: float, mean: float) -> Fairness:
        return Fairness(rate / mean, 1, rate, mean, ())

    rules = Rules(60, 0, 60, alert_above=1.5, moves=False, min_traffic=100.0)
    for before in (False, True):
        assert rules.unfair(before, found(99, 33)) is before
        assert rules.unfair(before, None) is before
        assert rules.unfair(before, found(100, 50)) is True
        assert rules.unfair(before, found(100, 90)) is False
    always = Rules(60, 0, 60, alert_above=1.5, moves=False)
    assert [always.unfair(True, one) for one in (found(3, 1), None)] == [True, False]


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
