"""The sentences about constraints that prevent perfect balance."""

from __future__ import annotations

import pytest

from partage import Cluster
from partage.brokers.planning import plan
from tests.matrices import cluster_of, partitions


@pytest.mark.parametrize(
    ("matrix", "brokers", "sentence"),
    [
        (
            "1 1 1 2",
            "1 2 3",
            "3 partitions can only be led by broker 1: 3 leaders on one of them, an even share "
            "would be 2",
        ),
        (
            "1,2 2,1 1,2 1,2 1,2 3",
            "1 2 3",
            "5 partitions can only be led by the 2 brokers 1, 2: 3 leaders on one of them, an even "
            "share would be 2",
        ),
    ],
)
def test_counts_of_leaders(matrix: str, brokers: str, sentence: str) -> None:
    made = plan(cluster_of(matrix, brokers), no_moves=True)
    assert any(one.endswith(sentence) for one in made.binding), made.binding


def a_racked(racks: str, capacity: str, replicas: int) -> Cluster:
    """24 partitions on the first brokers; a letter and a capacity for each broker."""
    pairs = zip(racks, map(int, capacity), strict=True)
    rows = [list(range(replicas))] * 24
    brokers = [{"id": b, "rack": rack, "capacity": one} for b, (rack, one) in enumerate(pairs)]
    return Cluster.from_json({"brokers": brokers, "partitions": partitions(rows)})


@pytest.mark.parametrize("limit", [{}, {"max_moves": 50}])
@pytest.mark.parametrize(
    ("racks", "capacity", "replicas", "sentence"),
    [
        # a must hold a replica of each partition
        ("abbcc", "11111", 3, "a has 1 of 5 brokers: {} it holds 24 replicas, {} 15"),
        # the larger brokers of b hold as many
        (
            "aaaaaabbcc",
            "1111114411",
            3,
            "c has 2 of 10 brokers: {} they hold 12 replicas each, {} 4",
        ),
        # b and c cannot hold more
        ("abbc", "1331", 2, "b has 2 of 4 brokers: {} they hold 12 replicas each, {} 18"),
        ("abcccddd", "11111111", 3, "c has 3 of 8 brokers: {} they hold 8 replicas each, {} 9"),
    ],
)
def test_the_rack_that_must_hold_more_or_cannot(
    racks: str, capacity: str, replicas: int, sentence: str, limit: dict[str, int]
) -> None:
    made = plan(a_racked(racks, capacity, replicas), **limit)
    expected = sentence.format("in the fairest placement", "without the rule")
    assert [one for one in made.binding if "rack rule" in one] == [f"rack rule: rack {expected}"]


def test_replica_sets_that_could_have_even_leaders_are_no_constraint() -> None:
    lists = {"version": 1, "partitions": partitions([[1, 2], [1, 2]])}
    made = plan(cluster_of("2,1 1,2", "1 2 3"), reassignment=lists)
    assert made.figures["leaders_per_broker"] == [0, 2]
    assert [one for one in made.binding if "can only be led" in one] == []
