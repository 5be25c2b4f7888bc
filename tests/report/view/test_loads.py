"""Loads of brokers and racks."""

from __future__ import annotations

import pytest

from partage.report.view import View, view
from tests.report import plan_documents as documents
from tests.report.plan_documents import broker


@pytest.fixture
def small() -> View:
    return view(documents.small(sizes=[100, 200, 300, 50], rates=[1.0, 2.0, 3.0, 4.0]))


def test_replicas_leaders_bytes_and_rates_per_broker(small):
    before = {load.key: load.before.tolist() for load in small.loads}
    after = {load.key: load.after.tolist() for load in small.loads}
    assert before == {
        "replicas": [2, 3, 0, 2],
        "leaders": [1, 1, 0, 2],
        "bytes": [300, 600, 0, 350],
        "rate": [1, 2, 0, 7],
    }
    assert after == {
        "replicas": [2, 2, 3, 0],
        "leaders": [1, 2, 1, 0],
        "bytes": [300, 500, 450, 0],
        "rate": [1, 5, 4, 0],
    }


def test_the_fair_share_is_of_usable_brokers_by_capacity():
    fleet = [broker(1), broker(2, capacity=3), broker(3, excluded=True)]
    rows = [("t", i, [3], [1 + i % 2]) for i in range(8)]
    counted = view(documents.document(fleet, rows))
    replicas, leaders = counted.loads
    assert replicas.fair.tolist() == [2, 6, 0]
    assert leaders.fair.tolist() == [4, 4, 0]
    assert replicas.fair_text == "2 – 6"
    assert leaders.fair_text == "4"
    assert [b.status for b in counted.brokers] == ["", "", "removed"]


def test_racks(small):
    assert [(r.name, r.brokers, r.replicas, r.leaders) for r in small.racks] == [
        ("x", 2, (2, 5), (1, 2)),
        ("y", 1, (5, 2), (3, 2)),
    ]
