"""Options resolved against a cluster: who is usable, what is chosen, how many replicas."""

from __future__ import annotations

from typing import Any

import pytest

from partage import Cluster, InputError
from partage.brokers.planning import problem_of
from partage.brokers.problem import Problem

RACKS: dict[str, Any] = {
    "brokers": [{"id": 1, "rack": "a"}, {"id": 3, "rack": "b"}, {"id": 7, "rack": "c"}],
    "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 3]},
        {"topic": "t", "partition": 4, "replicas": [3]},
        {"topic": "tt", "partition": 0, "replicas": [7, 1], "size_bytes": 5},
    ],
}
BARE: dict[str, Any] = {
    "brokers": [{"id": 1}, {"id": 3, "alive": False}, {"id": 7}],
    "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 3]},
    ],
}


def problem(value: dict[str, Any], **options: Any) -> Problem:
    return problem_of(Cluster.from_json(value), **options)


# ---------------------------------------------------------------- brokers


def test_add() -> None:
    found = problem(RACKS, add_broker=["5:b", "0:new"])
    assert found.cluster.broker_ids.tolist() == [0, 1, 3, 5, 7]
    assert [b.rack for b in found.cluster.brokers] == ["new", "a", "b", "b", "c"]
    assert found.added.tolist() == [True, False, False, True, False]
    assert found.usable.all()
    assert not found.excluded.any()
    assert found.cluster.replica_lists() == [[1, 3], [3], [7, 1]]
    assert found.slot_brokers.tolist() == [0, 1, 2, 3, 4]


def test_add_where_there_are_no_racks() -> None:
    assert problem(BARE, add_broker=["5"]).cluster.broker_ids.tolist() == [1, 3, 5, 7]
    with pytest.raises(InputError, match="the other brokers have no racks"):
        problem(BARE, add_broker=["5:a"])


def test_a_rack_may_hold_a_colon() -> None:
    found = problem(RACKS, add_broker=["9:eu:1a"])
    assert found.cluster.brokers[-1].rack == "eu:1a"


def test_a_new_broker_has_the_disk_that_most_have() -> None:
    brokers = [{"id": i, "disk_bytes": size} for i, size in enumerate((700, 500, 700))]
    value = BARE | {
        "brokers": brokers,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}],
    }
    found = problem(value, add_broker=["5"])
    assert found.cluster.disk_bytes.tolist() == [700, 500, 700, 700]
    (line,) = found.warnings
    assert "count with a disk of 700 bytes" in line
    same = problem(
        value | {"brokers": [b | {"disk_bytes": 700} for b in brokers]}, add_broker=["5"]
    )
    assert same.warnings == []
    del brokers[1]["disk_bytes"]
    found = problem(value, add_broker=["5"])
    assert found.cluster.disk_bytes.tolist() == [700, -1, 700, -1]
    (line,) = found.warnings
    assert "count with an unlimited disk" in line


def test_remove() -> None:
    found = problem(RACKS, remove_broker=[7])
    assert found.excluded.tolist() == [False, False, True]
    assert found.usable.tolist() == [True, True, False]
    assert found.slot_brokers.tolist() == [0, 1]
    assert found.broker_slot.tolist() == [0, 1, -1, -1]


def test_replace() -> None:
    found = problem(RACKS, replace_broker=["3=9"])
    assert found.cluster.broker_ids.tolist() == [1, 3, 7, 9]
    assert found.cluster.brokers[3].rack == "b"
    assert found.excluded.tolist() == [False, True, False, False]
    assert found.added.tolist() == [False, False, False, True]


def test_replace_by_one_that_is_being_added() -> None:
    found = problem(RACKS, add_broker=["9:c"], replace_broker=["3=9"])
    assert found.cluster.brokers[3].rack == "c"
    assert found.added.tolist() == [False, False, False, True]


def test_two_replaced_by_one() -> None:
    value = RACKS | {"partitions": RACKS["partitions"][1:2]}
    found = problem(value, replace_broker=["3=9", "7=9"])
    assert found.usable.tolist() == [True, False, False, True]


def test_a_dead_broker_is_replaced_by_a_live_one() -> None:
    found = problem(BARE, replace_broker=["3=9"])
    assert found.cluster.alive.tolist() == [True, False, True, True]
    assert found.usable.tolist() == [True, False, True, True]


def test_dead_brokers_are_not_usable() -> None:
    found = problem(BARE)
    assert found.usable.tolist() == [True, False, True]
    assert not found.excluded.any()


# ---------------------------------------------------------------- partitions


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        (None, [True, True, True]),
        (".*", [True, True, True]),
        ("t", [True, True, False]),
        ("t+", [True, True, True]),
        ("tt", [False, False, True]),
        ("(?i)T", [True, True, False]),
        ("x|tt", [False, False, True]),
    ],
)
def test_topics_match_whole(pattern: str | None, chosen: list[bool]) -> None:
    assert problem(RACKS, topics=pattern).chosen.tolist() == chosen


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ([], [2, 1, 2]),
        (["3"], [3, 3, 3]),
        (["t=3"], [3, 3, 2]),
        (["1", "tt=3"], [1, 1, 3]),
        (["tt=3", "1"], [1, 1, 3]),  # whatever the order: the general one first
        ("2", [2, 2, 2]),
        (2, [2, 2, 2]),
        (["003"], [3, 3, 3]),
    ],
)
def test_replication_factors(words: Any, target: list[int]) -> None:
    assert problem(RACKS, replication_factor=words).target.tolist() == target


def test_the_factor_of_topics_that_are_left_out_stays() -> None:
    assert problem(RACKS, topics="t", replication_factor=3).target.tolist() == [3, 3, 2]


@pytest.mark.parametrize("word", ["", "=", "t=", "=3", "t=0", "t=-1", "t=x", "3.0", "٣", "9" * 20])
def test_invalid_factors(word: str) -> None:
    with pytest.raises(InputError, match=r"replication.factor"):
        problem(RACKS, replication_factor=[word])


def test_a_factor_counts_usable_brokers_only() -> None:
    with pytest.raises(InputError, match="t-0 needs 3 live brokers, 2 can be used"):
        problem(RACKS, replication_factor=3, remove_broker=7)
    assert problem(RACKS, replication_factor=3, replace_broker="7=9").target.tolist() == [3, 3, 3]


def test_no_moves_on_a_cluster_that_would_need_some() -> None:
    value = BARE | {"brokers": [{"id": 1}, {"id": 3, "alive": False}]}
    with pytest.raises(InputError, match="needs 2 live brokers"):
        problem(value)
    assert problem(value, no_moves=True).target.tolist() == [2]
