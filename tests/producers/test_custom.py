"""Your own partitioners: objects, classes and functions, whose answers are checked."""

from __future__ import annotations

from typing import Any

import pytest

import partage
from partage.errors import PartageError
from partage.producers import Partitioner, SerializedRecord, Topic
from partage.producers.partitioners import partitioner_named
from tests.producers.test_partition import nulls


class ByRegion(Partitioner):
    """By the first byte of the key; partition 1 for records without one."""

    def partition(self, record: SerializedRecord, topic: Topic) -> int:
        return record.key_bytes[0] % topic.partitions if record.key_bytes else 1


def to_the_last(key: bytes | None, partitions: int) -> int:
    return partitions - 1


@pytest.mark.parametrize("given", [ByRegion, ByRegion(), f"{__name__}:ByRegion"])
def test_one_of_your_own(given: Any) -> None:
    assert partage.partition([b"\x09z", None, b"\x02"], 7, given).tolist() == [2, 1, 2]
    assert partage.partition(b"\x09z", 7, given) == 2


def test_a_function() -> None:
    assert partage.partition([b"a", None], 7, to_the_last).tolist() == [6, 6]
    assert partage.partition([b"a"], 3, lambda key, count: len(key or b"") % count).tolist() == [1]


@pytest.mark.parametrize("answer", [7, -1, None, 1.0, True, "1"])
def test_answers_that_are_not_partitions(answer: Any) -> None:
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


def test_a_partitioner_that_changes_with_batches() -> None:
    class Following(ByRegion):
        def new_batch(self, record: SerializedRecord, topic: Topic, previous: int) -> int:
            return previous + 1

    topic, record = Topic(3), SerializedRecord()
    assert partitioner_named(Following).new_batch(record, topic, 1) == 2
    assert partitioner_named(ByRegion).new_batch(record, topic, 1) == 1
    assert partitioner_named(to_the_last).new_batch(record, topic, 1) == 1
    with pytest.raises(PartageError, match="Following returned partition 3: expected 0 to 2"):
        partitioner_named(Following).new_batch(record, topic, 2)
