"""Strategy ``generate`` against the examples in Kafka's documentation of the method, lists that
Kafka 4.0.0's own class gave for a fixed start, and the properties that Kafka promises."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from partage.brokers.strategies.generate import alternated, generate, layout
from partage.brokers.task import Options, Task
from partage.cluster import Cluster
from partage.errors import CannotError


def lists_on(brokers: str, partitions: int, factor: int, start: int, shift: int) -> list[list[int]]:
    """Lists of broker ids on ``"4:a 7:b"`` (or ``"4 7"``: no racks)."""
    named = [word.partition(":") for word in brokers.split()]
    ids = [int(name) for name, _, _ in named]
    racks = [rack for _, _, rack in named]
    if not racks[0]:
        return [[ids[i] for i in row] for row in layout(len(ids), partitions, factor, start, shift)]
    names = sorted(set(racks))
    rack_of = {b: names.index(rack) for b, rack in zip(ids, racks, strict=True)}
    ring = alternated(ids, [rack_of[b] for b in ids])
    places = layout(len(ring), partitions, factor, start, shift, [rack_of[b] for b in ring])
    return [[ring[i] for i in row] for row in places]


def matrix(text: str) -> list[list[int]]:
    return [[int(b) for b in word.split(",")] for word in text.split()]


# ------------------------------------------------------------------ the method


def test_documented_example_without_racks() -> None:
    """The table in Kafka's documentation: per broker the partitions it holds, place by place."""
    table = [
        ["0 1 2 3 4", "5 6 7 8 9"],  # leaders on brokers 0 to 4
        ["4 0 1 2 3", "8 9 5 6 7"],
        ["3 4 0 1 2", "7 8 9 5 6"],
    ]
    expected = [[-1] * 3 for _ in range(10)]
    for place, rounds in enumerate(table):
        for row in rounds:
            for broker, partition in enumerate(row.split()):
                expected[int(partition)][place] = broker
    assert lists_on("0 1 2 3 4", 10, 3, start=0, shift=0) == expected


def test_documented_example_with_racks() -> None:
    brokers = "0:rack1 1:rack3 2:rack3 3:rack2 4:rack2 5:rack1"
    expected = "0,3,1 3,1,5 1,5,4 5,4,2 4,2,0 2,0,3 0,4,2"
    assert lists_on(brokers, 7, 3, start=0, shift=0) == matrix(expected)


def test_documented_alternation_of_racks() -> None:
    assert alternated(range(9), [0, 0, 0, 1, 1, 1, 2, 2, 2]) == [0, 3, 6, 1, 4, 7, 2, 5, 8]


def test_alternation_passes_over_racks_that_have_run_out() -> None:
    assert alternated(range(6), [1, 1, 0, 1, 2, 2]) == [2, 0, 4, 1, 5, 3]


@pytest.mark.parametrize(
    ("brokers", "factor", "start", "expected"),
    [
        pytest.param(
            "16 36 43 44 52",
            4,
            2,
            "43,16,36,44 44,36,43,52 52,43,44,16 16,44,52,36 36,52,16,43 "
            "43,36,44,52 44,43,52,16 52,44,16,36 16,52,36,43",
            id="no racks",
        ),
        pytest.param(
            "15:r0 26:r0 41:r1 53:r0 65:r1",
            3,
            1,
            "41,53,15 26,41,65 65,26,53 53,65,15 15,65,53 41,26,65 26,65,53 65,53,15 53,41,26",
            id="more replicas than racks",
        ),
        pytest.param(
            "16:r0 28:r2 41:r1 55:r1 70:r2 79:r1 85:r0",
            3,
            5,
            "70,85,55 79,85,70 16,55,70 41,70,16 28,79,16 85,41,28 55,28,85 70,79,16 79,16,28 "
            "16,41,28",
            id="uneven racks",
        ),
        pytest.param(
            "11:r1 28:r1 48:r1 49:r0 66:r1",
            3,
            3,
            "48,49,11 66,49,11 49,48,66 11,49,28 28,49,11 48,49,11 66,49,11 49,11,28 11,49,28 "
            "28,49,11 48,49,11 66,49,11",
            id="a rack of one broker",
        ),
    ],
)
def test_same_as_kafkas_class(brokers: str, factor: int, start: int, expected: str) -> None:
    """Kafka's fixed start sets both the first place and the shift."""
    lists = matrix(expected)
    assert lists_on(brokers, len(lists), factor, start, start) == lists


@pytest.mark.parametrize("seed", range(60))
def test_promises_of_the_method(seed: int) -> None:
    """Distinct brokers; leaders as even as can be; a rack twice only when all have one."""
    draw = random.Random(seed)
    size = draw.randint(1, 12)
    factor = draw.randint(1, min(size, 5))
    partitions = draw.randint(1, 50)
    names = draw.randint(1, 5)
    rack_of = [draw.randrange(names) for _ in range(size)]
    ring = alternated(range(size), rack_of)
    racks = [rack_of[b] for b in ring] if draw.random() < 0.7 else None
    places = layout(size, partitions, factor, draw.randrange(size), draw.randrange(size), racks)

    assert len(places) == partitions
    assert all(len(row) == len(set(row)) == factor for row in places)
    leaders = Counter(row[0] for row in places)
    assert {leaders[i] for i in range(size)} <= {partitions // size, -(-partitions // size)}
    if racks is not None:
        distinct = min(factor, len(set(racks)))
        assert all(len({racks[i] for i in row[:distinct]}) == distinct for row in places)


# ------------------------------------------------------------------ the strategy


def task_of(
    before: dict[str, list[list[int]]],
    brokers: str,
    numbers: list[int] | None = None,
    **options: Any,
) -> Task:
    entries = []
    for word in brokers.split():
        name, _, rack = word.strip("!").partition(":")
        entries.append({"id": int(name), "rack": rack or None, "alive": not word.endswith("!")})
    partitions = [
        {"topic": topic, "partition": numbers[i] if numbers else i, "replicas": replicas}
        for topic, lists in before.items()
        for i, replicas in enumerate(lists)
    ]
    cluster = Cluster.from_json({"brokers": entries, "partitions": partitions})
    return Task.resolve(cluster, Options.of(**options))


def proposed(task: Task) -> list[list[int]]:
    return task.cluster.with_replicas(generate(task)).replica_lists()


def test_lays_out_on_usable_brokers_only() -> None:
    """Removed and dead brokers are not in the list that the method gets; added ones are."""
    task = task_of(
        {"t": [[1, 2], [2, 3], [3, 4], [4, 1]] * 3},
        "1:a 2:b 3:a 4:b!",
        remove_broker=[1],
        add_broker=["7:b", "9:a"],
    )
    lists = proposed(task)
    assert {b for row in lists for b in row} == {2, 3, 7, 9}
    assert all({"ab"[b in (2, 7)] for b in row} == {"a", "b"} for row in lists)
    assert Counter(row[0] for row in lists) == {2: 3, 3: 3, 7: 3, 9: 3}


def test_is_one_of_kafkas_proposals() -> None:
    """Each topic's lists are the method's for some start and shift, not the same for all topics."""
    topics = {name: [[1, 2, 3]] * 11 for name in "abcdef"}
    brokers = "1 2 3 4 5 6"
    lists = proposed(task_of(topics, brokers))
    found = [
        [
            (start, shift)
            for start in range(6)
            for shift in range(6)
            if lists_on(brokers, 11, 3, start, shift) == lists[11 * i : 11 * i + 11]
        ]
        for i in range(len(topics))
    ]
    assert all(found)
    assert len({tuple(starts) for starts in found}) > 1


def test_replication_factor_is_the_one_asked() -> None:
    task = task_of({"t": [[1], [2, 3], [3]]}, "1 2 3 4", replication_factor="3")
    assert [len(row) for row in proposed(task)] == [3, 3, 3]
    task = task_of({"t": [[1, 2, 3], [2, 3, 4]]}, "1 2 3 4", replication_factor="t=2")
    assert [len(row) for row in proposed(task)] == [2, 2]


def test_mixed_factors_in_a_topic_are_refused() -> None:
    with pytest.raises(CannotError, match=r"the partitions of t ask for 1 and 2$"):
        generate(task_of({"s": [[1]], "t": [[1], [2, 3]]}, "1 2 3"))


def test_factors_may_differ_between_topics() -> None:
    lists = proposed(task_of({"s": [[1]], "t": [[1, 2, 3]] * 2}, "1 2 3"))
    assert [len(row) for row in lists] == [1, 3, 3]


def test_no_moves_is_refused() -> None:
    with pytest.raises(CannotError, match="moves replicas by design"):
        generate(task_of({"t": [[1, 2]]}, "1 2", no_moves=True))


def test_topics_left_out_stay() -> None:
    topics = {"s": [[1, 2, 3, 4]] * 2, "t": [[1, 2]] * 4}
    lists = proposed(task_of(topics, "1 2 3 4", topics="t"))
    assert lists[:2] == [[1, 2, 3, 4]] * 2
    assert {row[0] for row in lists[2:]} == {1, 2, 3, 4}


def test_partition_numbers_with_gaps_take_the_lists_in_order() -> None:
    topics = {"t": [[1, 2]] * 4}
    assert proposed(task_of(topics, "1 2 3", [2, 3, 7, 40])) == proposed(task_of(topics, "1 2 3"))


def test_same_input_in_another_order_gives_the_same() -> None:
    task = task_of({"s": [[1, 2]] * 5, "t": [[3, 2]] * 7}, "1:a 2:b 3:a")
    value = task.cluster.to_json()
    value["brokers"].reverse()
    value["partitions"].reverse()
    other = Task.resolve(Cluster.from_json(value), task.options)
    assert proposed(other) == proposed(task)


def test_second_run_proposes_the_same() -> None:
    task = task_of({"s": [[1, 2]] * 5, "t": [[3, 2]] * 7}, "1 2 3 4", remove_broker=[2])
    after = task.cluster.with_replicas(generate(task))
    assert proposed(task.again(after)) == after.replica_lists()


def test_one_broker() -> None:
    assert proposed(task_of({"t": [[5], [5]]}, "5")) == [[5], [5]]
    assert proposed(task_of({"t": [[5], [5]]}, "5:a")) == [[5], [5]]
