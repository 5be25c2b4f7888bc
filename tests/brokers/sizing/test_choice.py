"""Which brokers are removed, and where new ones go."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from partage.brokers.option_values import NewBroker
from partage.brokers.sizing.choice import fewer, more
from partage.brokers.sizing.resources import Resource
from partage.cluster import Cluster
from partage.cluster.broker import MAX_BROKER_ID

DISK = Resource("disk", np.array([1]), 0, Fraction(1))


def cluster(racks: str, sizes: dict[int, int] | None = None, dead: tuple[int, ...] = ()) -> Cluster:
    """A broker per letter, numbered from 1; a partition on each of ``sizes``."""
    return Cluster.from_json(
        {
            "brokers": [
                {"id": k, "rack": rack, "disk_bytes": 100, "alive": k not in dead}
                for k, rack in enumerate(racks, start=1)
            ],
            "partitions": [
                {"topic": "t", "partition": k, "replicas": [k], "size_bytes": size}
                for k, size in (sizes or {1: 1}).items()
            ],
        }
    )


@pytest.mark.parametrize(
    ("racks", "brokers", "removed"),
    [
        ("aabbcc", 6, ()),
        ("aabbcc", 5, (6,)),
        ("aabbcc", 3, (2, 4, 6)),
        ("aaaabc", 4, (3, 4)),
        ("abc", 2, (3,)),
    ],
)
def test_racks_stay_even(racks: str, brokers: int, removed: tuple[int, ...]) -> None:
    found = fewer(cluster(racks), [DISK], brokers)
    assert len(found) == len(racks) - brokers
    left = Counter(r for k, r in enumerate(racks, start=1) if k not in found)
    full = Counter(racks)
    level = max(left.values())
    assert all(left[r] >= min(full[r], level - 1) for r in full)
    assert len(removed) == len(found)


def test_small_brokers_go_first_then_those_with_few_bytes() -> None:
    value = cluster("aaaa", {1: 5, 2: 3, 3: 4, 4: 9}).to_json()
    assert fewer(Cluster.from_json(value), [DISK], 2) == (2, 3)
    value["brokers"][3]["disk_bytes"] = 50
    assert fewer(Cluster.from_json(value), [DISK], 2) == (2, 4)


def test_new_brokers_go_to_the_smallest_racks() -> None:
    assert more(cluster("aaabbc"), 9) == (NewBroker(7, "c"), NewBroker(8, "b"), NewBroker(9, "c"))
    assert more(cluster("aab"), 3) == ()
    assert more(cluster("aab", dead=(3,)), 3) == (NewBroker(4, "b"),)


def test_new_brokers_without_racks_and_with_free_ids() -> None:
    value = cluster("a").to_json()
    value["brokers"] = [{"id": 1}, {"id": MAX_BROKER_ID}]
    assert more(Cluster.from_json(value), 4) == (NewBroker(0, None), NewBroker(2, None))
