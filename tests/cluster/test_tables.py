"""A cluster in a notebook: its text and its tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from partage import Broker, Cluster
from tests.bundled import grown

SMALL = Cluster.build(
    [Broker(1, "a"), Broker(2, "b", alive=False), Broker(5, "b")],
    ["t", "t"],
    [0, 3],
    [[2, 1], [1, 5]],
    [100, -1],
)


def test_repr_of_a_cluster() -> None:
    assert repr(SMALL) == (
        "<Cluster of 3 brokers in 2 racks (1 dead), 1 topic, 2 partitions, 4 replicas, 200 bytes>"
    )
    bare = Cluster.build([Broker(1)], ["t"], [0], [[1]])
    assert repr(bare) == "<Cluster of 1 broker, 1 topic, 1 partition, 1 replica>"
    assert len(repr(grown())) < 120


def test_repr_of_a_broker() -> None:
    assert repr(Broker(1)) == "Broker(id=1)"
    broker = Broker(1, "a", capacity=Fraction(3, 2), alive=False)
    assert repr(broker) == "Broker(id=1, rack='a', capacity=Fraction(3, 2), alive=False)"
    assert repr(replace(broker, capacity=Fraction(1), alive=True)) == "Broker(id=1, rack='a')"


def test_html_lists_the_brokers() -> None:
    text = SMALL._repr_html_()
    assert "<th>broker</th><th>rack</th><th>replicas</th><th>leaders</th><th>bytes</th>" in text
    assert "<td>1</td><td>a</td><td>2</td><td>1</td><td>100</td>" in text
    assert "<td>5</td><td>b</td><td>1</td><td>0</td><td>0</td>" in text
    assert "<td>unknown</td>" in Cluster.build([Broker(1)], ["t"], [0], [[1]])._repr_html_()


def test_tables_have_ids_and_names() -> None:
    pytest.importorskip("pandas")
    columns = {
        "topic": ["t", "t", "t", "t"],
        "partition": [0, 0, 3, 3],
        "broker": [2, 1, 1, 5],
        "rack": ["b", "a", "a", "b"],
        "leader": [True, False, True, False],
        "bytes": [100, 100, None, None],
    }
    assert SMALL.to_arrow().to_pydict() == columns
    frame = SMALL.to_pandas()
    assert list(frame.columns) == list(columns)
    assert frame["broker"].tolist() == columns["broker"]
