"""The sentences about constraints that prevent perfect balance."""

from __future__ import annotations

import pytest

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


def test_replica_sets_that_could_have_even_leaders_are_no_constraint() -> None:
    lists = {"version": 1, "partitions": partitions([[1, 2], [1, 2]])}
    made = plan(cluster_of("2,1 1,2", "1 2 3"), reassignment=lists)
    assert made.figures["leaders_per_broker"] == [0, 2]
    assert [one for one in made.binding if "can only be led" in one] == []
