"""Rates of partitions and the network of brokers in a cluster file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partage import Cluster, InputError


def a_cluster(**partition: Any) -> dict[str, Any]:
    return {
        "brokers": [{"id": 1, "network_in_bytes_per_second": 1e9}, {"id": 2}],
        "partitions": [
            {"topic": "t", "partition": 1, "replicas": [1, 2]} | partition,
            {"topic": "t", "partition": 0, "replicas": [2, 1], "bytes_in_per_second": 7},
        ],
    }


def test_rates_are_read_in_the_order_of_partitions() -> None:
    cluster = Cluster.from_json(a_cluster(bytes_in_per_second=1.5, bytes_out_per_second=3))
    assert cluster.bytes_in is not None
    assert cluster.bytes_out is not None
    assert cluster.bytes_in.tolist() == [7.0, 1.5]
    assert np.isnan(cluster.bytes_out[0])
    assert cluster.bytes_out[1] == 3
    assert [broker.network_in for broker in cluster.brokers] == [10**9, None]


def test_no_rates() -> None:
    value = a_cluster()
    del value["partitions"][1]["bytes_in_per_second"]
    cluster = Cluster.from_json(value)
    assert cluster.bytes_in is None
    assert cluster.bytes_out is None


def test_what_is_written_reads_as_the_same(tmp_path: Path) -> None:
    value = Cluster.from_json(a_cluster(bytes_in_per_second=1.5)).to_json()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(value))
    assert Cluster.read(path).to_json() == value


@pytest.mark.parametrize("rate", [-1, "fast", 2.0**61, True])
def test_wrong_rates_are_refused(rate: Any) -> None:
    with pytest.raises(InputError, match="bytes_in_per_second"):
        Cluster.from_json(a_cluster(bytes_in_per_second=rate))
