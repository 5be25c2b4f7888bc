"""partage.partition: every partitioner by name, one key and many, and rejected arguments."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import confluent_kafka
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partage
from partage.errors import InputError
from partage.producers import Keys, SerializedRecord, Topic
from partage.producers.partitioners import PARTITIONERS, partitioner_named
from tests.profiles import examples

NAMES = [
    "murmur2",
    "murmur2_random",
    "consistent",
    "consistent_random",
    "fnv1a",
    "fnv1a_random",
    "sarama",
    "sarama-reference",
    "random",
    "round-robin",
    "sticky",
    "uniform",
    "adaptive",
    "weighted",
]
OPTIONS: dict[str, dict[str, Any]] = {"weighted": {"weights": [1, 2, 0, 4, 5, 1, 1]}}

keys = st.lists(st.none() | st.binary(max_size=6), max_size=40)


def nulls(count: int) -> list[None]:
    return [None] * count


def test_the_names() -> None:
    assert list(PARTITIONERS) == NAMES


# ---------------------------------------------------------------------- keys


@pytest.mark.parametrize("name", NAMES)
def test_a_key_goes_where_its_client_sends_it(name: str) -> None:
    hashed = {
        "consistent": confluent_kafka.consistent,
        "fnv1a": confluent_kafka.fnv1a,
        "sarama": confluent_kafka.fnv1a,
    }
    expected = hashed.get(name.removesuffix("_random"), confluent_kafka.murmur2)
    keys = [b"%d" % n for n in range(200)]
    found = partage.partition(keys, 7, name, **OPTIONS.get(name, {}))
    same = found.tolist() == [expected(key, 7) for key in keys]
    assert same is (name not in ("random", "sarama-reference"))


@pytest.mark.parametrize("name", NAMES)
def test_a_key_may_go_to_a_partition_without_a_leader(name: str) -> None:
    """Or it would move whenever a broker fails."""
    if name == "random":  # has no key
        return
    options = OPTIONS.get(name, {})
    keys = [b"%d" % n for n in range(50)]
    found = partage.partition(keys, 7, name, available=[2, 5], **options)
    assert found.tolist() == partage.partition(keys, 7, name, **options).tolist()
    assert set(found.tolist()) == set(range(7))


@pytest.mark.parametrize(
    ("name", "null", "empty"),
    [
        ("murmur2", "hashed", "hashed"),
        ("murmur2_random", "free", "hashed"),
        ("consistent", "hashed", "hashed"),
        ("consistent_random", "free", "free"),
        ("fnv1a", "hashed", "hashed"),
        ("fnv1a_random", "free", "hashed"),
        ("sarama", "free", "hashed"),
        ("sarama-reference", "free", "hashed"),
        ("random", "free", "free"),
        ("round-robin", "free", "hashed"),
        ("sticky", "free", "hashed"),
        ("uniform", "free", "hashed"),
        ("adaptive", "free", "hashed"),
        ("weighted", "free", "hashed"),
    ],
)
def test_null_and_empty_keys(name: str, null: str, empty: str) -> None:
    options = OPTIONS.get(name, {})
    hashed = {"consistent": 0, "fnv1a": 0x7EE3623B % 7, "sarama": 0x7EE3623B % 7}.get(
        name.removesuffix("_random"), 0x106E08D9 % 7
    )
    hashed = 0x011C9DC5 % 7 if name == "sarama-reference" else hashed
    for key, habit in ((None, null), (b"", empty)):
        found = set(partage.partition([key] * 300, 7, name, sizes=20_000, **options).tolist())
        assert found == {hashed} if habit == "hashed" else len(found) > 1, (key, habit)


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(
    keys=keys,
    partitions=st.integers(1, 9),
    seed=st.integers(-5, 2**70),
    sizes=st.lists(st.sampled_from([0, 1, 30, 100, 101, 250]), min_size=40, max_size=40),
    gone=st.sets(st.integers(0, 8)),
    queued=st.booleans(),
)
def test_many_keys_as_one_by_one(
    name: str,
    keys: list[bytes | None],
    partitions: int,
    seed: int,
    sizes: list[int],
    gone: set[int],
    queued: bool,
) -> None:
    """Every partitioner, in three parts whose state goes on, also where leaders are lost."""
    options: dict[str, Any] = {}
    if "batch_size" in PARTITIONERS[name].options:
        options["batch_size"] = 100
    if name == "weighted":
        options["weights"] = [1.5, 0, *[3] * (partitions - 2)][:partitions]
    available = [number for number in range(partitions) if number not in gone]
    queues = [5, 0, 1, 0, 2, 9, 1, 1, 3][:partitions] if queued else None
    one, many = (partitioner_named(name, seed, **options) for _ in range(2))
    for part, leaders in ((slice(0, 9), None), (slice(9, 30), available), (slice(30, 40), [0])):
        topic = Topic(partitions, "t", leaders, queues)
        expected = [
            one.partition(SerializedRecord(key, size=size), topic)
            for key, size in zip(keys[part], sizes[part], strict=False)
        ]
        size_of = np.array(sizes[part], dtype=np.int64)[: len(keys[part])]
        found = many.partitions(Keys.of(pa.array(keys[part], pa.binary())), topic, size_of)
        assert found.tolist() == expected
        assert found.dtype == np.int32


@pytest.mark.parametrize("name", NAMES)
def test_records_without_a_key_go_to_partitions_with_a_leader(name: str) -> None:
    if PARTITIONERS[name].keyless is None:
        return
    options = {**OPTIONS.get(name, {}), "sizes": 20_000}
    leaders = [1, 3, 4]
    found = partage.partition(nulls(200), 7, name, available=leaders, **options)
    assert set(found.tolist()) == set(leaders)
    if name != "weighted":
        everywhere = partage.partition(nulls(200), 7, name, available=[], **options)
        assert set(everywhere.tolist()) == set(range(7)), "all, as nothing has a leader"


@pytest.mark.parametrize("name", [name for name in NAMES if PARTITIONERS[name].keyless])
def test_the_seed_decides(name: str) -> None:
    options = {**OPTIONS.get(name, {}), "sizes": 20_000}

    def first(seed: int) -> tuple[int, ...]:
        return tuple(partage.partition(nulls(30), 7, name, seed=seed, **options).tolist())

    assert first(1) == first(1)
    assert len({first(seed) for seed in range(20)}) >= (6 if name == "round-robin" else 20)


@pytest.mark.parametrize("name", [name for name in NAMES if PARTITIONERS[name].keyless])
def test_each_topic_has_its_own_state(name: str) -> None:
    """What goes to one topic changes nothing for another."""
    options = OPTIONS.get(name, {})
    alone, mixed = (partitioner_named(name, 3, **options) for _ in range(2))
    a, b = Topic(7, "a"), Topic(7, "b")
    record = SerializedRecord(None, size=9_000)
    expected = [alone.partition(record, a) for _ in range(40)]
    found = []
    for _ in range(40):
        mixed.partition(record, b)
        found.append(mixed.partition(record, a))
    assert found == expected


@pytest.mark.parametrize("name", [name for name in NAMES if PARTITIONERS[name].keyless])
def test_keys_can_be_ignored(name: str) -> None:
    options = {**OPTIONS.get(name, {}), "ignore_keys": True, "sizes": 20_000}
    found = partage.partition([b"same"] * 300, 7, name, **options)
    assert found.tolist() == partage.partition(nulls(300), 7, name, **options).tolist()
    assert len(set(found.tolist())) >= 6


# ---------------------------------------------------------------------- rejected arguments


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([b"a"], 0), "partitions: expected 1 to 2147483647, got 0"),
        ((b"a", -3), "partitions: expected 1 to 2147483647, got -3"),
        (([b"a"], 2**31), "partitions: expected 1 to 2147483647, got 2147483648"),
        (([b"a"], 2.0), r"partitions: expected a number of partitions, got 2\.0"),
        (([b"a"], True), "partitions: expected a number of partitions, got True"),
        (([b"a"], "3"), "partitions: expected a number of partitions, got '3'"),
        (([b"a"], 3, "murmur3"), "partitioner: 'murmur3': expected one of murmur2, murmur2_random"),
        (([b"a"], 3, 7), "partitioner: expected a name, a Partitioner or a function, got 7"),
        (([b"a"], 3, dict), "partitioner: expected a name, a Partitioner or a function"),
        (
            ([b"a"], 3, "nowhere:Class"),
            "partitioner: 'nowhere:Class': .* No module named 'nowhere'",
        ),
        (([b"a"], 3, "json:none"), "partitioner: 'json:none': .* module 'json' has no attribute"),
        (([b"a"], 3, ".json:none"), "partitioner: '.json:none': TypeError: the 'package' argument"),
        (([b"a"], 3, "math:pi"), "partitioner: expected a name, a Partitioner or a function"),
    ],
)
def test_rejected_arguments(arguments: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        partage.partition(*arguments)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("murmur2", {"ignore_keys": True}, "murmur2: has no option 'ignore_keys': expected none"),
        ("random", {"batch_size": 1}, "random: has no option 'batch_size': expected linger_ms"),
        ("sticky", {"batch_size": 0}, "batch_size: expected 1 byte or more, got 0"),
        ("uniform", {"batch_size": "16k"}, "batch_size: expected 1 byte or more, got '16k'"),
        ("random", {"linger_ms": -1}, "linger_ms: expected 0 or more, got -1"),
        ("weighted", {}, "weighted: expected the option weights: a number for each partition"),
        ("weighted", {"weights": [1, 2]}, "weights: expected 3 for topic '', got 2"),
        ("weighted", {"weights": [1, -2, 0]}, "weights: expected numbers of 0 or more, got -2"),
        ("weighted", {"weights": [1, "2", 0]}, "weights: expected numbers of 0 or more, got '2'"),
        ("weighted", {"weights": [1, float("nan"), 0]}, "weights: .* got nan"),
        ("weighted", {"weights": [0, 0, 0]}, "weights: expected a number that is not 0"),
        ("random", {"seed": "x"}, "seed: expected a whole number, got 'x'"),
        ("random", {"sizes": [1, 2]}, "sizes: expected a number of bytes, or 1 of them"),
        ("random", {"sizes": "x"}, "sizes: expected a number of bytes, or 1 of them"),
        ("random", {"sizes": [0.5]}, "sizes: expected a number of bytes, or 1 of them"),
        ("random", {"sizes": -1}, "sizes: expected 0 bytes or more, got -1"),
        ("random", {"available": [3]}, r"available: .*\[3\].*: expected numbers below 3"),
        ("random", {"available": ["a"]}, "available: expected the numbers of partitions, got"),
        ("random", {"available": 3}, "available: expected numbers, got 3"),
        ("random", {"linger_ms": "x"}, "linger_ms: expected 0 or more, got 'x'"),
        ("weighted", {"weights": 5}, "weights: expected a number for each partition, got 5"),
        ("adaptive", {"queues": [1, 2]}, "queues: expected 3 numbers, got 2"),
        ("uniform", {"queues": [1, 2, 3]}, "queues: uniform does not use them: expected adaptive"),
        ("adaptive", {"queues": [1, "a", 2]}, "queues: expected numbers of 0 or more, got 'a'"),
        ("adaptive", {"queues": [1, -1, 2]}, "queues: expected numbers of 0 or more, got -1"),
        ("adaptive", {"availability_timeout_ms": -1}, "availability_timeout_ms: expected 0 or"),
        ("uniform", {"batch_size": float("inf")}, "batch_size: expected 1 byte or more, got inf"),
        ("adaptive", {"batch_size": float("nan")}, "batch_size: expected 1 byte or more, got nan"),
        (
            "adaptive",
            {"queues": [1, float("nan"), 2]},
            "queues: expected numbers of 0 or more, got nan",
        ),
        ("sticky", {"batch_size": 1.5}, "batch_size: expected 1 byte or more, got 1.5"),
        (
            lambda key, count: 0,
            {"batch_size": 1},
            "partitioner: your own takes no options: batch_size",
        ),
        ("json:none", {"linger_ms": 1}, "partitioner: your own takes no options: linger_ms"),
    ],
)
def test_rejected_options(name: Any, options: dict[str, Any], problem: str) -> None:
    for keys in ([None], None):
        with pytest.raises(InputError, match=problem):
            partage.partition(keys, 3, name, **options)


@pytest.mark.parametrize("name", ["murmur2", "random"])
def test_numbers_of_numpy_are_numbers(name: str) -> None:
    found = partage.partition(b"a", np.int32(7), name, seed=np.int64(3))
    assert type(found) is int
    assert found == partage.partition(b"a", 7, name, seed=3)
    options: dict[str, Any] = {"queues": np.array([0, 3, 1]), "available": np.array([2, 0])}
    assert partage.partition(None, 3, "adaptive", **options) in (0, 2)
    options = {"weights": np.array([0, 0, 3.5]), "batch_size": np.int64(9)}
    assert partage.partition(None, 3, "weighted", **options) == 2


def test_lists_need_no_pyarrow() -> None:
    code = "import sys, partage; partage.partition([b'a'], 3); assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------- real records


WRITTEN_BY = {"hypothesis": "consistent", "librdkafka": "consistent", "sarama": "sarama"}
"""The partitioner of each topic of the bundled records; all others: murmur2."""


def test_the_bundled_records_are_where_partition_puts_them(change_events: str) -> None:
    table = pq.read_table(change_events, columns=["topic", "partition", "key"])
    names = table["topic"].unique().to_pylist()
    assert (len(names), table.num_rows) == (12, 378_940)
    for name in names:
        part = table.filter(pa.compute.equal(table["topic"], name))
        partitions = pa.compute.max(part["partition"]).as_py() + 1
        written = part["partition"].to_numpy()
        matching = {
            other
            for other in ("murmur2", "consistent", "fnv1a", "sarama", "sarama-reference")
            if np.array_equal(partage.partition(part["key"], partitions, other), written)
        }
        expected = WRITTEN_BY.get(name, "murmur2")
        assert matching == ({"fnv1a", "sarama"} if expected == "sarama" else {expected}), name
