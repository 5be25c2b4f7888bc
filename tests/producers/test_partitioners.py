"""The strategies for records without a key: round-robin, random, sticky, uniform and others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import partage
from partage.producers import Keys, SerializedRecord, Topic
from partage.producers.partition import RECORD_BYTES
from partage.producers.partitioners import partitioner_named
from partage.producers.partitioners.uniform import picked
from tests.producers.test_partition import nulls


def test_round_robin_visits_every_partition_in_turn() -> None:
    found = partage.partition(nulls(70), 7, "round-robin", seed=11)
    start = int(found[0])
    assert found.tolist() == [(start + n) % 7 for n in range(70)]
    assert partage.partition(nulls(9), 7, "roundrobin", seed=11).tolist() == found[:9].tolist()


def test_round_robin_counts_records_without_a_key_only() -> None:
    found = partage.partition([None, b"k", None, b"k", None], 5, "round-robin")
    start, keyed = int(found[0]), partage.partition(b"k", 5)
    assert found.tolist() == [start, keyed, (start + 1) % 5, keyed, (start + 2) % 5]


def test_round_robin_continues_when_leaders_change() -> None:
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


def test_random_lingers_with_many_records_too() -> None:
    found = partage.partition(nulls(30), 50, "random", linger_ms=3_600_000)
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


def test_sticky_changes_when_a_batch_is_announced() -> None:
    decider = partitioner_named("sticky", 2, batch_size=1)
    topic, record = Topic(3, "t", announces_batches=True), SerializedRecord(size=1_000)
    before = decider.partition(record, topic)
    assert {decider.partition(record, topic) for _ in range(9)} == {before}
    after = decider.new_batch(record, topic, before)
    assert after != before
    assert decider.new_batch(record, topic, before) == after, "announced late by another thread"
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
    """With announced batches: 12 bytes are too few, 16 enough, 32 too many (KIP-794)."""
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


def test_uniform_gives_each_partition_the_same_bytes() -> None:
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
    found = partage.partition(nulls(50_000), partitions, name, sizes=20_000, **options)
    shares = np.bincount(found, minlength=partitions) / len(found)
    return [pytest.approx(share, abs=0.01 * (share > 0)) for share in shares]


@pytest.mark.long
def test_adaptive_prefers_short_queues() -> None:
    assert chosen(3, "adaptive", queues=[0, 3, 1]) == [4 / 8, 1 / 8, 3 / 8]
    assert chosen(4, "adaptive", queues=[2, 2, 2, 2]) == [0.25] * 4
    assert chosen(4, "adaptive") == [0.25] * 4
    some = chosen(4, "adaptive", queues=[9, 3, 1, 0], available=[1, 2, 3])
    assert some == [0, 1 / 8, 3 / 8, 4 / 8], (
        "4 - 3, 4 - 1, 4 - 0 of 8: the queue of 9 is not counted"
    )


def test_adaptive_leaves_out_brokers_that_do_not_accept() -> None:
    decider = partitioner_named("adaptive", 0, availability_timeout_ms=50)
    waiting = Topic(3, queues=[0, 1, 9], not_taken_ms=[51, 50, 0])
    record = SerializedRecord(size=20_000)
    found = Counter(decider.partition(record, waiting) for _ in range(2_000))
    assert set(found) == {1, 2}
    assert 1_700 < found[1] < 1_900, "9 of 10"
    nobody = Topic(3, queues=[0, 1, 9], not_taken_ms=[99] * 3)
    assert {decider.partition(record, nobody) for _ in range(99)} == {0, 1, 2}, "then uniform"


def test_weighted_follows_the_weights() -> None:
    assert chosen(3, "weighted", weights=[1, 0, 3]) == [0.25, 0, 0.75]
    assert chosen(3, "weighted", weights=[1, 0, 3], available=[0, 1]) == [1, 0, 0]
    none_left = chosen(3, "weighted", weights=[0, 0, 3], available=[0, 1])
    assert none_left == [0.5, 0.5, 0]
    decider = partitioner_named("weighted", weights={"a": [0, 1]})
    record = SerializedRecord(size=20_000)
    assert {decider.partition(record, Topic(2, "a")) for _ in range(99)} == {1}
    assert {decider.partition(record, Topic(2, "b")) for _ in range(99)} == {0, 1}


def test_sizes_by_default() -> None:
    found = partage.partition(nulls(64), 7, "uniform").tolist()
    assert found == partage.partition(nulls(64), 7, "uniform", sizes=RECORD_BYTES).tolist()
    assert all(length % 16 == 0 for _, length in runs(found))


@pytest.mark.parametrize("name", ["murmur2", "random", "round-robin", "uniform"])
def test_a_new_batch_leaves_keys_and_round_robin_where_they_are(name: str) -> None:
    decider, topic = partitioner_named(name), Topic(9, announces_batches=True)
    for record in (SerializedRecord(b"k"), SerializedRecord()):
        number = decider.partition(record, topic)
        assert decider.new_batch(record, topic, number) == number
