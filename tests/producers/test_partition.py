"""partage.partition: every partitioner by name, scalar and in bulk, and what is no good."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import confluent_kafka
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partage
from partage.errors import InputError, PartageError
from partage.producers import Keys, Partitioner, SerializedRecord, Topic
from partage.producers.draws import Draws
from partage.producers.partition import RECORD_BYTES
from partage.producers.partitioners import PARTITIONERS, partitioner_named
from partage.producers.partitioners.uniform import picked
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
def test_a_key_may_go_where_there_is_no_leader(name: str) -> None:
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
def test_in_bulk_as_one_by_one(
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
def test_records_without_a_key_go_to_what_has_a_leader(name: str) -> None:
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
def test_each_topic_has_a_state_of_its_own(name: str) -> None:
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


# ---------------------------------------------------------------------- habits


def test_round_robin_visits_every_partition_in_turn() -> None:
    found = partage.partition(nulls(70), 7, "round-robin", seed=11)
    start = int(found[0])
    assert found.tolist() == [(start + n) % 7 for n in range(70)]
    assert partage.partition(nulls(9), 7, "roundrobin", seed=11).tolist() == found[:9].tolist()


def test_round_robin_counts_records_without_a_key_only() -> None:
    found = partage.partition([None, b"k", None, b"k", None], 5, "round-robin")
    start, keyed = int(found[0]), partage.partition(b"k", 5)
    assert found.tolist() == [start, keyed, (start + 1) % 5, keyed, (start + 2) % 5]


def test_round_robin_goes_on_when_leaders_come_and_go() -> None:
    """The count goes on; what changes is by how many it is taken."""
    decider = partitioner_named("round-robin", 4)
    record = SerializedRecord()
    first = decider.partition(record, Topic(6))
    number = next(n for n in range(10**9) if n % 6 == first)  # the count, as far as 6 tells
    some = [decider.partition(record, Topic(6, available=[0, 2, 5])) for _ in range(3)]
    place = (number + 1) % 3
    assert some == [[0, 2, 5][(place + n) % 3] for n in range(3)]
    assert decider.partition(record, Topic(6)) == (first + 4) % 6


@pytest.mark.parametrize("name", ["random", "murmur2_random", "consistent_random"])
def test_random_is_even(name: str) -> None:
    count = np.bincount(partage.partition(nulls(70_000), 7, name), minlength=7)
    expected = 10_000
    assert ((count - expected) ** 2 / expected).sum() < 22.5  # chi², 6 degrees: once in 1,000


def test_random_may_linger() -> None:
    """librdkafka keeps to one partition for so many milliseconds."""
    now = [100.0]
    decider = partitioner_named("consistent_random", 1, linger_ms=10, clock=lambda: now[0])
    record, topic = SerializedRecord(), Topic(50)
    seen = []
    for _ in range(20):
        seen.append({decider.partition(record, topic)})
        for _ in range(9):
            now[0] += 0.001
            seen[-1].add(decider.partition(record, topic))
        now[0] += 0.001
    assert all(len(partitions) == 1 for partitions in seen)
    assert len(set.union(*seen)) > 10
    lost = seen[-1].pop()
    left = Topic(50, available=[number for number in range(50) if number != lost])
    assert decider.partition(record, left) != lost


def test_random_lingers_in_bulk_too() -> None:
    options: dict[str, Any] = {"linger_ms": 10, "clock": lambda: 5.0}
    found = partage.partition(nulls(30), 50, "random", **options)
    assert len(set(found.tolist())) == 1


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """(number, how often in a row)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][0] == number:
            found[-1] = (number, found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found


def test_sticky_fills_a_batch_and_changes() -> None:
    found = partage.partition(nulls(1_000), 4, "sticky", sizes=30, batch_size=100)
    assert {length for _, length in runs(found.tolist())[:-1]} == {3}, "four do not fit"
    large = partage.partition(nulls(50), 4, "sticky", sizes=101, batch_size=100)
    assert {length for _, length in runs(large.tolist())} == {1}, "always another one"


def test_sticky_changes_when_it_is_told() -> None:
    decider = partitioner_named("sticky", 2, batch_size=1)
    topic, record = Topic(3, "t", announces_batches=True), SerializedRecord(size=1_000)
    before = decider.partition(record, topic)
    assert {decider.partition(record, topic) for _ in range(9)} == {before}
    after = decider.new_batch(record, topic, before)
    assert after != before
    assert decider.new_batch(record, topic, before) == after, "told late by another thread"
    assert decider.partition(record, topic) == after
    columns, sizes = Keys.of(nulls(4)), np.full(4, 9)
    assert decider.partitions(columns, topic, sizes).tolist() == [after] * 4


def test_sticky_with_a_single_partition() -> None:
    assert set(partage.partition(nulls(9), 1, "sticky", sizes=20_000).tolist()) == {0}


def test_sticky_leaves_a_partition_that_loses_its_leader() -> None:
    decider, record = partitioner_named("sticky", 2), SerializedRecord(size=1)
    held = decider.partition(record, Topic(3))
    others = tuple(number for number in range(3) if number != held)
    assert decider.partition(record, Topic(3, available=others)) in others


def test_uniform_changes_when_a_batch_is_reached() -> None:
    """Not before: the record that reaches it is still in."""
    found = partage.partition(nulls(4_000), 40, "uniform", sizes=30, batch_size=100).tolist()
    assert all(length % 4 == 0 for _, length in runs(found)), "three make 90, four make 120"
    exact = partage.partition(nulls(4_000), 40, "uniform", sizes=25, batch_size=100).tolist()
    assert all(length % 4 == 0 for _, length in runs(exact)), "four make 100"
    assert 900 < len(runs(found)) < 1_000, "now and then it draws the same again"


def test_uniform_waits_for_the_end_of_a_batch_but_not_for_ever() -> None:
    """A producer that tells: batches of 12 end early, 16 make enough, 32 are too many (KIP-794)."""
    decider = partitioner_named("uniform", 8, batch_size=16)
    topic, record = Topic(100, announces_batches=True), SerializedRecord(size=4)
    held = decider.partition(record, topic)

    def ask() -> int:
        return decider.partition(record, topic)

    def open_batch() -> int:
        return decider.new_batch(record, topic, ask())

    assert open_batch() == held, "8 bytes: not enough yet"
    assert [ask(), ask()] == [held, held]
    assert ask() == held, "20 bytes, but no batch has ended"
    assert (other := open_batch()) != held, "20 bytes were enough when this one came"
    assert [ask() for _ in range(7)] == [other] * 7
    assert ask() != other, "32 bytes: twice the batch"


def test_uniform_gives_each_partition_as_many_bytes() -> None:
    """Whatever the sizes of the records: no partition gets more because its records are larger."""
    sizes = np.random.default_rng(0).integers(10, 5_000, 200_000)
    found = partage.partition(nulls(len(sizes)), 4, "uniform", sizes=sizes)
    share = np.bincount(found, weights=sizes) / sizes.sum()
    assert np.abs(share - 0.25).max() < 0.01


def test_queues_make_the_weights_of_kip_794() -> None:
    """Queues 0 3 1 → 4 1 3, the running sums 4 5 8: numbers 0–3, 4 and 5–7 of 8."""
    assert [picked([4, 1, 3], number / 8) for number in range(8)] == [0, 0, 0, 0, 1, 2, 2, 2]
    queues = [5, 0, 3, 0, 1]
    assert Counter(picked([6 - queue for queue in queues], n / 21) for n in range(21)) == {
        number: 6 - queue for number, queue in enumerate(queues)
    }


def chosen(partitions: int, name: str, **options: Any) -> list[Any]:
    """The share of each partition in many choices, give or take 1 %."""
    found = partage.partition(nulls(200_000), partitions, name, sizes=20_000, **options)
    shares = np.bincount(found, minlength=partitions) / len(found)
    return [pytest.approx(share, abs=0.01 * (share > 0)) for share in shares]


def test_adaptive_prefers_short_queues() -> None:
    assert chosen(3, "adaptive", queues=[0, 3, 1]) == [4 / 8, 1 / 8, 3 / 8]
    assert chosen(4, "adaptive", queues=[2, 2, 2, 2]) == [0.25] * 4
    assert chosen(4, "adaptive") == [0.25] * 4
    some = chosen(4, "adaptive", queues=[9, 3, 1, 0], available=[1, 2, 3])
    assert some == [0, 1 / 8, 3 / 8, 4 / 8], (
        "4 - 3, 4 - 1, 4 - 0 of 8: the queue of 9 is not counted"
    )


def test_adaptive_leaves_out_who_does_not_take() -> None:
    decider = partitioner_named("adaptive", 0, availability_timeout_ms=50)
    waiting = Topic(3, queues=[0, 1, 9], not_taken_ms=[51, 50, 0])
    record = SerializedRecord(size=20_000)
    found = Counter(decider.partition(record, waiting) for _ in range(2_000))
    assert set(found) == {1, 2}
    assert 1_700 < found[1] < 1_900, "9 of 10"
    nobody = Topic(3, queues=[0, 1, 9], not_taken_ms=[99] * 3)
    assert {decider.partition(record, nobody) for _ in range(99)} == {0, 1, 2}, "then uniform"


def test_weighted_gives_what_the_weights_say() -> None:
    assert chosen(3, "weighted", weights=[1, 0, 3]) == [0.25, 0, 0.75]
    assert chosen(3, "weighted", weights=[1, 0, 3], available=[0, 1]) == [1, 0, 0]
    none_left = chosen(3, "weighted", weights=[0, 0, 3], available=[0, 1])
    assert none_left == [0.5, 0.5, 0]
    decider = partitioner_named("weighted", weights={"a": [0, 1]})
    record = SerializedRecord(size=20_000)
    assert {decider.partition(record, Topic(2, "a")) for _ in range(99)} == {1}
    assert {decider.partition(record, Topic(2, "b")) for _ in range(99)} == {0, 1}


def test_draws_are_the_published_generator() -> None:
    """SplitMix64: its first numbers from the state 1234567."""
    draws = Draws(0)
    draws._state = 1234567
    assert [draws._next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


# ---------------------------------------------------------------------- one of your own


class ByRegion(Partitioner):
    """The first byte of the key; the first two partitions are for what has none."""

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        return record.key_bytes[0] % topic.partitions if record.key_bytes else 1


def to_the_last(key: bytes | None, partitions: int) -> int:
    return partitions - 1


@pytest.mark.parametrize("given", [ByRegion, ByRegion(), f"{__name__}:ByRegion"])
def test_one_of_your_own(given: Any) -> None:
    assert partage.partition([b"\x09z", None, b"\x02"], 7, given).tolist() == [2, 1, 2]
    assert partage.partition(b"\x09z", 7, given) == 2


def test_a_function_will_do() -> None:
    assert partage.partition([b"a", None], 7, to_the_last).tolist() == [6, 6]
    assert partage.partition([b"a"], 3, lambda key, count: len(key or b"") % count).tolist() == [1]


@pytest.mark.parametrize("answer", [7, -1, None, 1.0, True, "1"])
def test_an_answer_that_is_none(answer: Any) -> None:
    def odd(key: bytes | None, partitions: int) -> Any:
        return answer

    with pytest.raises(PartageError, match="odd returned") as caught:
        partage.partition([b"a"], 7, odd)
    assert caught.value.exit_code == 1


def test_a_partitioner_keeps_its_state_from_call_to_call() -> None:
    decider = partitioner_named("round-robin")
    first = partage.partition(nulls(3), 5, decider).tolist()
    second = partage.partition(nulls(3), 5, decider).tolist()
    assert second[0] == (first[-1] + 1) % 5


def test_one_that_tells_what_a_new_batch_changes() -> None:
    class Following(ByRegion):
        def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
            return previous + 1

    topic, record = Topic(3), SerializedRecord()
    assert partitioner_named(Following).new_batch(record, topic, 1) == 2
    assert partitioner_named(ByRegion).new_batch(record, topic, 1) == 1
    assert partitioner_named(to_the_last).new_batch(record, topic, 1) == 1
    with pytest.raises(PartageError, match="Following returned partition 3: expected 0 to 2"):
        partitioner_named(Following).new_batch(record, topic, 2)


@pytest.mark.parametrize("name", ["murmur2", "random", "round-robin", "uniform"])
def test_a_new_batch_leaves_keys_and_round_robin_where_they_are(name: str) -> None:
    decider, topic = partitioner_named(name), Topic(9, announces_batches=True)
    for record in (SerializedRecord(b"k"), SerializedRecord()):
        number = decider.partition(record, topic)
        assert decider.new_batch(record, topic, number) == number


# ---------------------------------------------------------------------- what is no good


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
def test_what_is_no_good(arguments: tuple[Any, ...], problem: str) -> None:
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
        (to_the_last, {"batch_size": 1}, "partitioner: your own takes no options: batch_size"),
        ("json:none", {"x": 1}, "partitioner: your own takes no options: x"),
    ],
)
def test_options_that_are_none(name: Any, options: dict[str, Any], problem: str) -> None:
    for keys in ([None], None):
        with pytest.raises(InputError, match=problem):
            partage.partition(keys, 3, name, **options)


def test_sizes_by_default() -> None:
    found = partage.partition(nulls(64), 7, "uniform").tolist()
    assert found == partage.partition(nulls(64), 7, "uniform", sizes=RECORD_BYTES).tolist()
    assert all(length % 16 == 0 for _, length in runs(found))


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


def test_the_bundled_records_lie_where_partition_says(change_events: str) -> None:
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
