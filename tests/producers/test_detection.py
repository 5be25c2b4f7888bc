"""Detected partitioners: real clients, distinguished by the partitions of their keys."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from partage.errors import InputError
from partage.producers.detection import distribution
from partage.producers.fitting import counts_to_try, hash_named, search, significant
from tests.profiles import seeds
from tests.written_topics import (
    BEGIN,
    ORACLES,
    SECOND,
    Client,
    at_random,
    detected,
    in_turn,
    java,
    keys_of,
    librdkafka,
    raw,
    sarama,
    topics,
    write,
)

TOPICS = topics()


@pytest.mark.parametrize("name", TOPICS)
def test_detected_partitioner(name: str) -> None:
    topic = TOPICS[name]
    found = detected(topic.records)
    assert found.partitioner == topic.by, found.reason
    assert topic.says in found.reason
    if topic.writers:
        writers = [writer["partitioner"] for writer in found.evidence["writers"]]
        assert tuple(sorted(writers)) == topic.writers, found.reason
    null = sum(key is None for _, _, key, _ in topic.records)
    assert found.evidence["null_keys"]["records"] == null
    assert found.evidence["reason"] == found.reason


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize(
    ("make", "by"), [(java, "murmur2"), (librdkafka, "crc32"), (sarama, "fnv1a")]
)
def test_one_client_is_detected_on_topics_of_all_sizes(make: object, by: str, seed: int) -> None:
    draw = random.Random(f"{seed} {by}")
    partitions = draw.choice([2, 3, 4, 7, 12, 24, 100])
    keys = keys_of(draw, 3000, draw.randrange(100, 1000), null=draw.choice([0, 0.2, 0.9]))
    found = detected(write(keys, make(partitions, draw)))  # type: ignore[operator]
    assert (found.partitioner, found.partitions) == (by, partitions), found.reason
    assert found.evidence["agreement"][by] == 1
    assert found.evidence["unexplained"] == {"placements": 0, "records": 0, "scatter": None}


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(10))
def test_two_clients_are_detected_with_their_shares(seed: int) -> None:
    draw = random.Random(seed)
    partitions = draw.choice([3, 6, 12, 50])
    pair = draw.sample([java, librdkafka, sarama], 2)
    first, second = (make(partitions, draw) for make in pair)
    share = draw.uniform(0.1, 0.9)
    written: Counter[str | None] = Counter()

    def either(_at: int) -> Client:
        client = first if draw.random() < share else second
        written[client.hash] += 1
        return client

    # all keys are equally frequent, so a share of the records is one of the keys
    keys = [f"k{draw.randrange(800)}".encode() for _ in range(5000)]
    found = detected(write(keys, either))
    assert found.partitioner == "mixed"
    shares = {writer["partitioner"]: writer["share"] for writer in found.evidence["writers"]}
    assert shares.keys() == written.keys()
    for name, number in written.items():
        assert shares[name or ""] == pytest.approx(number / 5000, abs=0.12)


def test_random_partitions_are_not_taken_for_a_hash() -> None:
    """Two hundred random topics: no hash explains them."""
    draw = random.Random(4)
    for _ in range(200):
        partitions = draw.choice([2, 3, 12, 30])
        keys = keys_of(draw, draw.choice([10, 100, 1000]), draw.choice([2, 20, 500]))
        client = Client(None, partitions, at_random(partitions, draw))
        found = detected(write(keys, client))
        assert found.partitioner in ("round-robin", "unknown"), found.reason
        assert found.leading is None


def test_a_client_replaced_has_its_times() -> None:
    found = detected(TOPICS["client-replaced"].records)
    first, last = found.evidence["writers"][::-1]  # the older one wrote less
    assert (first["partitioner"], last["partitioner"]) == ("crc32", "murmur2")
    assert first["first"] == "2023-11-14T22:13:20Z"
    assert first["last"] < last["first"] < last["last"] == "2023-11-14T23:19:59Z"


def test_growth_has_its_moment() -> None:
    found = detected(TOPICS["grown"].records)
    (step,) = found.evidence["grew"]
    moment = f"{(BEGIN + 2000 * SECOND) // 1000}"
    assert (step["from"], step["to"], found.partitions) == (12, 24, 24)
    assert moment == "1700002000"  # 22:46:40
    assert step["last_before"] < "2023-11-14T22:46:40Z" <= step["at"] < "2023-11-14T22:47:10Z"


class AbsoluteClient(Client):
    """It takes the absolute value of murmur2 where Kafka clears the sign."""

    def place(self, key: bytes | None) -> int:
        number = raw("murmur2", key or b"")
        negative = raw("crc32", key or b"") % 2
        return (2**31 - number if negative else number) % self.partitions


@pytest.mark.parametrize("partitions", [8, 12, 30])
def test_a_variant_of_a_hash_is_not_taken_for_growth(partitions: int) -> None:
    """Its remainders agree with those of murmur2 modulo common divisors."""
    draw = random.Random(partitions)
    client = AbsoluteClient(None, partitions, in_turn(partitions))
    found = detected(write(keys_of(draw, 8000, 4000), client))
    assert found.evidence["unexplained"]["placements"] > 0
    assert found.evidence["grew"] == []
    assert "grew" not in found.reason


def test_a_number_of_partitions_that_is_known_is_not_doubted() -> None:
    records = TOPICS["last-not-hit"].records
    for known in (None, 40):
        found = detected(records, known)
        assert (found.partitioner, found.partitions) == ("murmur2", 40)
    assert found.evidence["partitions_from"] == "given"
    assert "though the highest seen" in detected(records).reason


def test_nothing_but_one_record() -> None:
    for key in (None, b"", b"k"):
        assert detected([(3, BEGIN, key, 10)]).partitioner in ("round-robin", "unknown")
    assert detected([(3, BEGIN, b"k", 10)]).reason == "too few keys for a decision: 1"


def test_distribution() -> None:
    draw = random.Random(8)

    def spread(free: object, number: int = 6000) -> str | None:
        counts = Counter(next(free) for _ in range(number))  # type: ignore[call-overload]
        return distribution(np.array([counts[at] for at in range(12)]))

    assert spread(in_turn(12)) == "round-robin"
    assert spread(at_random(12, draw)) == "random"
    assert spread(java(12, draw).free) == "sticky"
    assert spread(in_turn(12), 30) is None
    assert distribution(np.array([100])) is None
    assert distribution(np.zeros(12, dtype=np.int64)) is None


def test_search_finds_what_was_there_before() -> None:
    draw = random.Random(2)
    keys = [draw.randbytes(8) for _ in range(600)]
    partition = np.array(
        [ORACLES["murmur2" if at % 3 else "fnv1a"](key, 7) for at, key in enumerate(keys)]
    )
    hashes = {name: np.array([raw(name, key) for key in keys]) for name in ORACLES}
    found = search(hashes, partition, range(2, 40))
    assert [(rule.hash, rule.partitions) for rule in found] == [("murmur2", 7), ("fnv1a", 7)]
    assert search(hashes, np.array([draw.randrange(7) for _ in keys]), range(2, 40)) == []
    assert search({name: own[:0] for name, own in hashes.items()}, partition[:0], range(9)) == []


def test_numbers_to_try() -> None:
    assert counts_to_try(12, 100_000, known=False)[-1] == 12
    assert counts_to_try(12, 20, known=False)[-1] == 19  # (12/19)^20 is just above 1e-4
    assert counts_to_try(12, 20, known=True)[-1] == 12
    assert counts_to_try(12, 1, known=False)[-1] == 136
    assert counts_to_try(100_000, 10**6, known=True)[-1] == 10_000
    assert list(counts_to_try(1, 0, known=False)) == []


def test_significant() -> None:
    assert not significant(0, 0, 0.5, 1)
    assert not significant(10, 120, 1 / 12, 1)
    assert not significant(4, 4, 1.0, 1)
    # all of k by a chance of 1/12: 12^-k against 1e-4
    assert significant(4, 4, 1 / 12, 1)
    assert not significant(3, 3, 1 / 12, 1)
    assert not significant(4, 4, 1 / 12, 10)


def test_names_of_hashes() -> None:
    expected = {
        "murmur2": "murmur2",
        "adaptive": "murmur2",
        "crc32": "crc32",
        "consistent_random": "crc32",
        "sarama": "fnv1a",
        "fnv1a_random": "fnv1a",
        "sarama-reference": "sarama-reference",
    }
    assert {name: hash_named(name) for name in expected} == expected
    with pytest.raises(InputError, match="'random': does not use the key"):
        hash_named("random")
    with pytest.raises(InputError, match="'md5': expected one of murmur2, crc32, "):
        hash_named("md5")
