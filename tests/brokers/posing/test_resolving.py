"""Options resolved against a cluster: who is usable, what is chosen, how many replicas."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import Cluster, InputError
from partage.brokers.planning import problem_of
from partage.brokers.problem import Problem, capacity_weights

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


def test_an_input_that_has_no_place_for_racks_is_a_warning() -> None:
    assert not any("racks" in one for one in problem(BARE).warnings)
    proposal, racks = problem({"version": 1, "partitions": BARE["partitions"]}).warnings
    assert "read as the current placement" in proposal
    assert "no place for racks" in racks
    assert racks.endswith(
        "plan from a file of partage snapshot, or from JSON that lists the brokers with their racks"
    )


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


def test_a_partition_whose_holders_are_all_dead_is_a_warning() -> None:
    value = BARE | {"partitions": [{"topic": "t", "partition": 0, "replicas": [3]}]}
    _, line = problem(value).warnings  # the first names the dead broker
    assert "no live replica to copy from" in line
    assert "t-0" in line


def test_sizes_that_are_known_for_some_are_a_warning() -> None:
    assert any("unknown sizes count as 0 bytes" in line for line in problem(RACKS).warnings)


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


def test_items_and_the_kernels_view() -> None:
    found = problem(RACKS, topics="t", add_broker=["9:b"])
    sharing = found.sharing
    assert found.items.tolist() == [0, 1]
    assert sharing.demand.tolist() == [2, 1]
    assert sharing.base.tolist() == [1, 0, 1, 0]  # tt-0 stays on 7 and 1
    assert sharing.zone.tolist() == [0, 1, 2, 1]
    assert found.order == ("load", "moves", "spread")
    assert problem(RACKS, spread="topic").order == ("spread", "load", "moves")
    slots = np.array([[3, 0], [1, -1]])
    assert found.replicas_of(slots).tolist() == [[3, 0], [1, -1], [2, 0]]


# ---------------------------------------------------------------- capacities


@pytest.mark.parametrize(
    ("capacities", "weights"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([2, 2], [1, 1]),
        ([1, 2], [2, 1]),
        ([1, 2, 3], [6, 3, 2]),
        (["0.5", "1.5"], [3, 1]),
        (["0.1", "0.2"], [2, 1]),
    ],
)
def test_capacity_weights(capacities: list[Any], weights: list[int]) -> None:
    found, exact = capacity_weights([Fraction(c) for c in capacities])
    assert (found.tolist(), exact) == (weights, True)


@given(st.lists(st.fractions(min_value="0.001", max_value=1000), min_size=1, max_size=12))
def test_capacity_weights_are_nearly_in_proportion(capacities: list[Fraction]) -> None:
    try:
        found, exact = capacity_weights(capacities)
    except InputError:
        return
    weights = found.tolist()
    assert all(1 <= weight <= 20_000 for weight in weights)
    products = [w * c for w, c in zip(weights, capacities, strict=True)]
    if exact:
        assert len(set(products)) == 1
    else:
        # each is rounded by at most a half
        ideal = [max(capacities) / c for c in capacities]
        finest = int(20_000 / max(ideal))
        assert all(abs(w - i * finest) <= 0.5 for w, i in zip(weights, ideal, strict=True))
    for one, first in zip(capacities, weights, strict=True):
        for other, second in zip(capacities, weights, strict=True):
            if one > other:
                assert first <= second
