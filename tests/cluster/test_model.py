"""The model: the same arrays for the same cluster, in any order and form of input."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import Broker, Cluster, InputError
from tests.profiles import examples
from tests.strategies import clusters, shuffled

HARD: dict[str, Any] = {
    "brokers": [{"id": i} for i in (1002, 0, 70000, 5, 2**31 - 1)],
    "partitions": [
        {"topic": "b", "partition": 2**31 - 1, "replicas": [2**31 - 1]},
        {"topic": "b", "partition": 4, "replicas": [5, 0, 70000, 1002]},
        {"topic": "a-1", "partition": 0, "replicas": [0]},
        {"topic": "a", "partition": 10, "replicas": [1002, 5]},
        {"topic": "a", "partition": 9, "replicas": [70000]},
    ],
}


def test_irregular_ids_gaps_in_numbers_and_mixed_factors() -> None:
    cluster = Cluster.from_json(HARD)
    assert cluster.broker_ids.tolist() == [0, 5, 1002, 70000, 2**31 - 1]
    assert cluster.names == ["a-9", "a-10", "a-1-0", "b-4", "b-2147483647"]
    assert cluster.replication_factor.tolist() == [1, 2, 1, 4, 1]
    assert cluster.replica_lists() == [[70000], [1002, 5], [0], [5, 0, 70000, 1002], [2**31 - 1]]
    assert cluster.holds().sum(axis=1).tolist() == [1, 2, 1, 4, 1]
    assert cluster.broker_position(1002) == 2
    assert cluster.broker_position(3) is None
    assert cluster.broker_position(2**31) is None


def test_shapes_of_one_partition_on_one_broker() -> None:
    value = {
        "brokers": [{"id": 3}],
        "partitions": [{"topic": "t", "partition": 0, "replicas": [3]}],
    }
    cluster = Cluster.from_json(value)
    assert cluster.replicas.shape == (1, 1)
    assert cluster.partitions == 1
    assert cluster.rack_names == ()


def test_columns_are_integers_of_64_bits() -> None:
    cluster = Cluster.from_json(HARD)
    for column in (cluster.topic, cluster.partition, cluster.replicas, cluster.size_bytes):
        assert column.dtype == np.int64


def test_cluster_is_immutable() -> None:
    cluster = Cluster.from_json(HARD)
    with pytest.raises(AttributeError):
        cluster.topics = ()  # type: ignore[misc]


def as_values(cluster: Cluster) -> list[Any]:
    columns = (cluster.topic, cluster.partition, cluster.replicas, cluster.size_bytes)
    return [cluster.brokers, cluster.topics, *(column.tolist() for column in columns)]


@examples(150)
@given(st.data())
def test_order_in_the_file_does_not_matter(data: st.DataObject) -> None:
    value = data.draw(clusters())
    other = data.draw(shuffled(value))
    assert as_values(Cluster.from_json(value)) == as_values(Cluster.from_json(other))


@examples(150)
@given(clusters())
def test_round_trips(value: dict[str, Any]) -> None:
    cluster = Cluster.from_json(value)
    again = Cluster.from_json(json.loads(json.dumps(cluster.to_json())))
    assert as_values(again) == as_values(cluster)
    kafka = Cluster.from_json(json.loads(json.dumps(cluster.to_reassignment())), "x")
    assert kafka.replica_lists() == cluster.replica_lists()
    assert kafka.names == cluster.names
    held = {b for row in cluster.replica_lists() for b in row}
    assert kafka.broker_ids.tolist() == sorted(held)


def test_ids_round_trip() -> None:
    """Of listed topics, where known."""
    value = {
        "cluster_id": "c",
        "topic_ids": {"t": "one", "gone": "two"},
        "brokers": [{"id": 1}],
        "partitions": [{"topic": t, "partition": 0, "replicas": [1]} for t in ("t", "u")],
    }
    written = Cluster.from_json(value).to_json()
    assert (written["cluster_id"], written["topic_ids"]) == ("c", {"t": "one"})
    again = Cluster.from_json(written)
    assert (again.cluster_id, again.topic_ids) == ("c", {"t": "one"})


@pytest.mark.parametrize("capacity", [1, 3, 0.1, 1 / 3, 2.5, 1e-9, 123456.789])
def test_capacities_round_trip(capacity: float) -> None:
    value = {
        "brokers": [{"id": 1, "capacity": capacity}],
        "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}],
    }
    assert Cluster.from_json(value).to_json()["brokers"][0]["capacity"] == capacity


# ---------------------------------------------------------------- racks and brokers


def test_racks_are_numbered_by_name() -> None:
    cluster = Cluster.build(
        [Broker(1, "z"), Broker(2, "a"), Broker(3, "z")], ["t"], [0], [[1, 2, 3]]
    )
    assert cluster.rack_names == ("a", "z")
    assert cluster.rack.tolist() == [1, 0, 1]


@pytest.mark.parametrize("racks", [(None, "a"), ("a", None), ("a", "b", None)])
def test_racks_for_some_brokers_only(racks: tuple[str | None, ...]) -> None:
    brokers = [Broker(i, rack) for i, rack in enumerate(racks)]
    with pytest.raises(InputError, match=r"x: broker \d has no rack but others have"):
        Cluster.build(brokers, ["t"], [0], [[0]], where="x")


def test_dead_brokers_stay_listed() -> None:
    cluster = Cluster.build([Broker(1), Broker(2, alive=False)], ["t"], [0], [[2, 1]])
    assert cluster.alive.tolist() == [True, False]
    assert cluster.replica_lists() == [[2, 1]]


def test_with_brokers_keeps_replicas() -> None:
    cluster = Cluster.from_json(HARD)
    more = cluster.with_brokers([*cluster.brokers, Broker(3), Broker(99999)])
    assert more.replica_lists() == cluster.replica_lists()
    assert len(more.brokers) == 7
    with pytest.raises(InputError, match="is not listed"):
        cluster.with_brokers(cluster.brokers[1:])
    idle = cluster.with_brokers([*cluster.brokers, Broker(3)])
    assert idle.with_brokers(cluster.brokers).replica_lists() == cluster.replica_lists()


def test_with_replicas_drops_empty_columns() -> None:
    cluster = Cluster.from_json(HARD)
    alone = np.where(np.arange(4) == 0, cluster.replicas, -1)
    assert cluster.with_replicas(alone).replicas.shape == (5, 1)


# ---------------------------------------------------------------- sizes that cannot be summed


def test_sum_of_sizes_out_of_range() -> None:
    rows = [{"topic": "t", "partition": p, "replicas": [1], "size_bytes": 2**60} for p in range(16)]
    with pytest.raises(InputError, match="cluster: the sizes of all replicas add up to more than"):
        Cluster.from_json({"brokers": [{"id": 1}], "partitions": rows})
