"""Strategy ``generate`` against lists that Kafka 4.3.0's own classes gave, random clusters, and the
properties that Kafka promises."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from itertools import product
from typing import Any

import pytest

from partage.brokers.options import PlanOptions
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.strategies.generate import Draw, generate, layout
from partage.cluster import Cluster
from partage.errors import CannotError
from tests.matrices import brokers_of, decided, matrix, partitions
from tests.profiles import seeds


def java_draws(seed: int) -> Draw:
    """``java.util.Random(seed).nextInt``, as its documentation defines it."""
    mask = (1 << 48) - 1
    state = (seed ^ 0x5DEECE66D) & mask

    def draw(below: int) -> int:
        nonlocal state
        while True:
            state = (state * 0x5DEECE66D + 0xB) & mask
            bits = state >> 17
            if below & (below - 1) == 0:
                return (below * bits) >> 31
            if bits - bits % below + below <= 1 << 31:
                return bits % below

    return draw


def scripted(*numbers: int) -> Draw:
    """The numbers one by one, then always the greatest: shuffles that change nothing."""
    rest = iter(numbers)
    return lambda below: next(rest, below - 1)


def racks_of(brokers: str) -> list[list[int]]:
    """The brokers of each rack, out of ``"4:a 7:b"`` (or ``"4 7"``: no racks)."""
    racks: dict[str, list[int]] = {}
    for word in brokers.split():
        name, _, rack = word.partition(":")
        racks.setdefault(rack, []).append(int(name))
    return [sorted(racks[rack]) for rack in sorted(racks)]


# ------------------------------------------------------------------ the method


@pytest.mark.parametrize(
    ("seed", "brokers", "factor", "expected"),
    [
        pytest.param(
            18798,
            "16 36 43 44 52",
            4,
            "52,16,36,43 16,36,43,44 36,43,44,52 43,44,52,16 44,52,16,36 44,43,16,36 43,16,36,52 "
            "16,36,52,44 36,52,44,43 52,44,43,16 16,44,36,43",
            id="no racks",
        ),
        pytest.param(
            1,
            "0:a 1:a 2:a 3:b 4:b 5:b 6:c 7:c 8:c",
            3,
            "0,4,7 5,8,1 6,2,3 0,4,7 5,8,1 6,2,3 0,4,7 5,8,1 6,2,3",
            id="the same three leaders until the shuffle",
        ),
        pytest.param(
            18798,
            "15:a 26:a 41:b 53:a 65:b",
            3,
            "15,41,26 65,26,41 53,41,15 65,15,41 26,41,53 65,26,41 53,41,15 65,15,41 26,41,53 "
            "65,53,41 26,65,53 41,53,65",
            id="more replicas than racks",
        ),
        pytest.param(
            18798,
            "16:a 28:c 41:b 55:b 70:c 79:b 85:a",
            3,
            "28,16,79 85,41,70 55,28,16 70,85,79 16,41,28 55,70,85 28,16,79 28,85,79 16,41,70 "
            "55,28,85 70,16,79 85,41,28 55,70,16 28,85,79 70,41,85 79,16,28",
            id="uneven racks",
        ),
        pytest.param(
            18798,
            "11:b 28:b 48:b 49:a 66:b",
            4,
            "49,28,48,66 48,49,66,11 49,66,11,28 11,49,28,48 49,28,48,66 11,49,66,48 49,66,48,28 "
            "48,49,28,11 49,28,11,66 11,49,66,48 49,28,66,48 66,49,48,11",
            id="a rack that has given all is passed over",
        ),
        pytest.param(
            18798,
            "7:d 3:c 9:a 5:b",
            1,
            "7 9 5 3 9 3 7 7 5 9 3 5",
            id="a rack that takes two partitions for one",
        ),
        pytest.param(
            18798,
            "11:a 12:a 13:a 21:b 22:b 23:b 31:c 41:d",
            2,
            "41,11 12,21 22,31 31,41 41,13 11,23 21,31 31,41 13,31 31,21 23,41 41,11",
            id="fewer replicas than racks",
        ),
        pytest.param(5, "9", 1, "9 9 9 9", id="one broker"),
    ],
)
def test_same_as_kafkas_placer(seed: int, brokers: str, factor: int, expected: str) -> None:
    lists = matrix(expected)
    assert layout(racks_of(brokers), len(lists), factor, java_draws(seed)) == lists


def test_stripes() -> None:
    """Everything begins with the first: the pattern that has given Kafka's placer its name."""
    racks = racks_of("10:a 11:a 12:a 20:b 21:b 22:b 30:c 31:c 32:c")
    expected = matrix("10,20,30 21,31,11 32,12,22")
    assert layout(racks, 3, 3, scripted(0, 0, 0, 0)) == expected


def test_begins_where_the_draws_say() -> None:
    """Racks first, in order, then the ring."""
    racks = racks_of("10:a 11:a 20:b 21:b 22:b 30:c")
    assert layout(racks, 1, 3, scripted(1, 2, 0, 1)) == [[22, 30, 11]]


def test_shuffles_the_ring_then_the_racks() -> None:
    """After four partitions: b before a, and rack a's brokers change places."""
    racks = racks_of("10:a 11:a 20:b 21:b")
    before = matrix("10,20 21,11 10,20 21,11")
    assert layout(racks, 6, 2, scripted(0, 0, 0, 0, 0)) == [*before, [20, 11], [10, 21]]


def drawn(
    seed: int, partitions: int | None = None
) -> tuple[list[list[int]], int, int, list[list[int]]]:
    """Racks, partitions, replication factor and their lists."""
    draw = random.Random(seed)
    racks: list[list[int]] = [[] for _ in range(draw.randint(1, 6))]
    size = draw.randint(len(racks), 14)
    for broker in range(size):
        (racks[broker] if broker < len(racks) else draw.choice(racks)).append(broker)
    factor = draw.randint(1, min(size, 5))
    most = draw.randint(1, 60)
    partitions = most if partitions is None else partitions
    return racks, partitions, factor, layout(racks, partitions, factor, draw.randrange)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(100))
def test_promises_of_the_method(seed: int) -> None:
    """Distinct brokers; no rack has a second replica of a partition while another could have one
    more and has fewer."""
    racks, partitions, factor, lists = drawn(seed)
    assert len(lists) == partitions
    for row in lists:
        assert len(row) == len(set(row)) == factor
        held = [len(set(rack) & set(row)) for rack in racks]
        for (mine, _), (others, rack) in product(zip(held, racks, strict=True), repeat=2):
            assert mine <= others + 1 or others == len(rack)
        distinct = min(factor, len(racks))
        assert sum(1 for rack in racks if set(rack) & set(row[:distinct])) == distinct


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(40))
def test_even_without_racks(seed: int) -> None:
    """Of as many partitions as brokers each broker leads one and has ``factor`` replicas."""
    draw = random.Random(seed)
    size = draw.randint(2, 9)
    factor = draw.randint(1, min(size, 4))
    lists = layout([list(range(size))], 3 * size, factor, draw.randrange)
    for turn in range(3):
        rows = lists[turn * size : (turn + 1) * size]
        assert sorted(row[0] for row in rows) == list(range(size))
        assert set(Counter(b for row in rows for b in row).values()) == {factor}


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(20))
def test_fewer_partitions_have_the_first_lists(seed: int) -> None:
    _, partitions, _, lists = drawn(seed)
    fewer = drawn(seed, partitions // 2)[3]
    assert fewer == lists[: partitions // 2]


# ------------------------------------------------------------------ the strategy


def problem_of(
    before: dict[str, list[list[int]]],
    brokers: str,
    numbers: list[int] | None = None,
    **options: Any,
) -> Problem:
    rows = [row for topic, lists in before.items() for row in partitions(lists, topic=topic)]
    for row, number in zip(rows, numbers or (), strict=False):
        row["partition"] = number
    cluster = Cluster.from_json({"brokers": brokers_of(brokers), "partitions": rows})
    return resolve(cluster, PlanOptions(**options))


proposed = partial(decided, generate)


def test_lays_out_on_usable_brokers_only() -> None:
    """Removed and dead brokers are not in the list that the method gets; added ones are."""
    problem = problem_of(
        {"t": [[1, 2], [2, 3], [3, 4], [4, 1]] * 3},
        "1:a 2:b 3:a 4:b!",
        remove_broker=[1],
        add_broker=["7:b", "9:a"],
    )
    lists = proposed(problem)
    assert {b for row in lists for b in row} == {2, 3, 7, 9}
    assert all({"ab"[b in (2, 7)] for b in row} == {"a", "b"} for row in lists)
    assert Counter(b for row in lists for b in row) == {2: 6, 3: 6, 7: 6, 9: 6}


def test_same_as_kafkas_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that the tool's own calculation gave for three topics, its random numbers fixed: one
    stream for all topics, in order of name."""
    monkeypatch.setitem(generate.__globals__, "_draws", java_draws)
    topics = {"c": [[4]] * 7, "a": [[1, 2]] * 5, "b": [[1, 2, 3]] * 4}
    assert proposed(problem_of(topics, "1:a 2:b 3:a 4:c")) == matrix(
        "4,1 3,2 2,4 4,1 4,3 4,3,2 1,2,4 2,4,3 4,1,2 1 2 4 3 2 4 3"
    )


def test_same_bytes_on_every_machine() -> None:
    """Python keeps ``Random.random`` as it is; whoever changes the draws changes proposals."""
    lists = proposed(problem_of({"s": [[1, 2]] * 3, "t": [[1, 2, 3]] * 3}, "1:a 2:b 3:a 4:c"))
    assert lists == matrix("1,2 2,4 4,3 1,2,4 2,4,3 4,1,2")


def test_replication_factor_is_the_one_asked() -> None:
    problem = problem_of({"t": [[1], [2, 3], [3]]}, "1 2 3 4", replication_factor="3")
    assert [len(row) for row in proposed(problem)] == [3, 3, 3]
    problem = problem_of({"t": [[1, 2, 3], [2, 3, 4]]}, "1 2 3 4", replication_factor="t=2")
    assert [len(row) for row in proposed(problem)] == [2, 2]


def test_mixed_factors_in_a_topic_are_refused() -> None:
    with pytest.raises(CannotError, match=r"the partitions of t need 1 and 2$"):
        generate(problem_of({"s": [[1]], "t": [[1], [2, 3]]}, "1 2 3"))


def test_factors_may_differ_between_topics() -> None:
    lists = proposed(problem_of({"s": [[1]], "t": [[1, 2, 3]] * 2}, "1 2 3"))
    assert [len(row) for row in lists] == [1, 3, 3]


def test_no_moves_is_refused() -> None:
    with pytest.raises(CannotError, match="moves replicas by design"):
        generate(problem_of({"t": [[1, 2]]}, "1 2", no_moves=True))


def test_topics_left_out_stay() -> None:
    topics = {"s": [[1, 2, 3, 4]] * 2, "t": [[1, 2]] * 4}
    lists = proposed(problem_of(topics, "1 2 3 4", topics="t"))
    assert lists[:2] == [[1, 2, 3, 4]] * 2
    assert {row[0] for row in lists[2:]} == {1, 2, 3, 4}


def test_partition_numbers_with_gaps_take_the_lists_in_order() -> None:
    topics = {"t": [[1, 2]] * 4}
    assert proposed(problem_of(topics, "1 2 3", [2, 3, 7, 40])) == proposed(
        problem_of(topics, "1 2 3")
    )


def test_same_input_in_another_order_gives_the_same() -> None:
    problem = problem_of({"s": [[1, 2]] * 5, "t": [[3, 2]] * 7}, "1:a 2:b 3:a")
    value = problem.cluster.to_json()
    value["brokers"].reverse()
    value["partitions"].reverse()
    other = resolve(Cluster.from_json(value), problem.options)
    assert proposed(other) == proposed(problem)


def test_second_run_proposes_the_same() -> None:
    problem = problem_of({"s": [[1, 2]] * 5, "t": [[3, 2]] * 7}, "1 2 3 4", remove_broker=[2])
    after = problem.cluster.with_replicas(generate(problem))
    assert proposed(problem.again(after)) == after.replica_lists()


def test_one_broker() -> None:
    assert proposed(problem_of({"t": [[5], [5]]}, "5")) == [[5], [5]]
    assert proposed(problem_of({"t": [[5], [5]]}, "5:a")) == [[5], [5]]
