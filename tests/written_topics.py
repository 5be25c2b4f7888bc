"""Topics as clients write them, by confluent-kafka's own hashes, and who wrote them.

A record is (partition, milliseconds, key, bytes of its value). Records are a second apart.
``detected`` counts in plain Python what Spark counts, and asks for the verdict.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import confluent_kafka
import numpy as np

from partage.producers.detection import Detection, Scatter, TopicCounts, detect_partitioner
from partage.producers.fitting import HASHES, PlacementGroups, Rule, choose, counts_to_try, search

Record = tuple[int, int, bytes | None, int]

BEGIN = 1_700_000_000_000
SECOND = 1000


def fnv1a_cleared(key: bytes) -> int:
    """Sarama's reference hash: FNV-1a with its sign bit cleared."""
    state = 0x811C9DC5
    for byte in key:
        state = (state ^ byte) * 0x01000193 % 2**32
    return state % 2**31


ORACLES: dict[str, Callable[[bytes, int], int]] = {
    "murmur2": confluent_kafka.murmur2,
    "crc32": confluent_kafka.consistent,
    "fnv1a": confluent_kafka.fnv1a,
    "sarama-reference": lambda key, partitions: fnv1a_cleared(key) % partitions,
}
"""(key, number of partitions) → partition, by the names that evidence has for hashes."""


@dataclass
class Client:
    """A producer: a hash for keys, and ``free`` for records whose key does not decide."""

    hash: str | None
    partitions: int
    free: Iterator[int]
    empty_is_null: bool = False

    def place(self, key: bytes | None) -> int:
        if self.hash is None or key is None or (self.empty_is_null and not key):
            return next(self.free)
        return ORACLES[self.hash](key, self.partitions)


def in_turn(partitions: int) -> Iterator[int]:
    number = 5
    while True:
        yield number % partitions
        number += 1


def at_random(partitions: int, draw: random.Random) -> Iterator[int]:
    while True:
        yield draw.randrange(partitions)


def in_batches(partitions: int, draw: random.Random, batch: int = 40) -> Iterator[int]:
    while True:
        yield from [draw.randrange(partitions)] * batch


def java(partitions: int, draw: random.Random) -> Client:
    return Client("murmur2", partitions, in_batches(partitions, draw))


def librdkafka(partitions: int, draw: random.Random) -> Client:
    return Client("crc32", partitions, at_random(partitions, draw), empty_is_null=True)


def sarama(partitions: int, draw: random.Random) -> Client:
    return Client("fnv1a", partitions, at_random(partitions, draw))


def keys_of(draw: random.Random, count: int, distinct: int, null: float = 0.0) -> list[Any]:
    """Keys, some of them far oftener than others, and some null."""
    names = [f"user-{draw.randrange(10**9)}".encode() for _ in range(distinct)]
    weights = [1 / (rank + 5) for rank in range(distinct)]
    keys: list[Any] = draw.choices(names, weights, k=count)
    return [None if draw.random() < null else key for key in keys]


@dataclass(frozen=True)
class Written:
    """``by``: the partitioner that is to be told; ``says``: a part of the reason, ``writers``: all
    that are named in the evidence."""

    records: Sequence[Record]
    by: str
    writers: tuple[str, ...] = ()
    says: str = ""


def write(keys: Sequence[bytes | None], client: Client | Callable[[int], Client]) -> list[Record]:
    """The keys one after the other; ``client`` may say which one it is by the number of the
    record."""
    return [
        (
            (client if isinstance(client, Client) else client(at)).place(key),
            BEGIN + at * SECOND,
            key,
            100 + at % 7,
        )
        for at, key in enumerate(keys)
    ]


def topics() -> dict[str, Written]:
    """By name, always the same."""
    draw = random.Random(11)
    made: dict[str, Written] = {}

    def one_of(*clients: Client) -> Callable[[int], Client]:
        return lambda _at: draw.choice(clients)

    none = [None] * 3000
    made["null-sticky"] = Written(
        write(none, java(12, draw)), "round-robin", says="no record has a key; spread as sticky"
    )
    made["null-in-turn"] = Written(
        write(none, Client("murmur2", 12, in_turn(12))), "round-robin", says="as round-robin does"
    )
    made["null-random"] = Written(
        write(none, sarama(12, draw)), "round-robin", says="spread as random does"
    )

    for name, client, by in (
        ("java", java(12, draw), "murmur2"),
        ("librdkafka", librdkafka(12, draw), "crc32"),
        ("sarama", sarama(12, draw), "fnv1a"),
    ):
        keys = keys_of(draw, 2000, 300)
        made[name] = Written(write(keys, client), by, (by,), f"{by} explains ")
        keys = keys_of(draw, 2000, 300, null=0.5)
        made[f"{name}-half-null"] = Written(write(keys, client), by, (by,))

    keys = keys_of(draw, 2000, 300)
    made["sarama-reference"] = Written(
        write(keys, Client("sarama-reference", 9, in_turn(9))), "fnv1a", ("sarama-reference",)
    )

    keys = keys_of(draw, 4000, 400, null=0.3)
    both = one_of(java(12, draw), librdkafka(12, draw))
    made["java-and-librdkafka"] = Written(
        write(keys, both), "mixed", ("crc32", "murmur2"), "besides"
    )
    all_three = one_of(java(10, draw), librdkafka(10, draw), sarama(10, draw))
    made["three-clients"] = Written(
        write(keys, all_three), "mixed", ("crc32", "fnv1a", "murmur2"), "murmur2 3"
    )
    few = one_of(*[java(12, draw)] * 19, sarama(12, draw))
    made["one-in-twenty"] = Written(write(keys, few), "mixed", ("fnv1a", "murmur2"))
    old, new = librdkafka(12, draw), java(12, draw)
    made["client-replaced"] = Written(
        write(keys_of(draw, 4000, 400), lambda at: old if at < 1500 else new),
        "mixed",
        ("crc32", "murmur2"),
        "murmur2 from 2023-11-14T22:38:20Z",
    )
    ignoring = one_of(java(12, draw), Client(None, 12, in_turn(12)))
    made["half-ignores-keys"] = Written(
        write(keys_of(draw, 4000, 400), ignoring), "mixed", ("murmur2", "round-robin")
    )

    small, large = java(12, draw), java(24, draw)
    made["grown"] = Written(
        write(keys_of(draw, 4000, 400), lambda at: small if at < 2000 else large),
        "murmur2",
        ("murmur2",),
        "grew from 12 to 24 partitions",
    )
    grown = keys_of(draw, 4000, 400)
    made["grown-and-mixed"] = Written(
        write(
            grown,
            lambda at: draw.choice([java, sarama])(6 if at < 2000 else 15, draw),
        ),
        "mixed",
        ("fnv1a", "murmur2"),
        "grew from 6 to 15 partitions, first seen 2023-11-14T22:46:4",
    )
    sparse = write(keys_of(draw, 200, 14), java(40, draw))
    made["last-not-hit"] = Written(
        [record for record in sparse if record[0] < 37],
        "murmur2",
        ("murmur2",),
        "with 40 partitions, though the highest seen is 3",
    )

    made["one-partition"] = Written(
        write(keys_of(draw, 500, 50), java(1, draw)), "unknown", says="one partition"
    )
    made["three-keys"] = Written(
        write(keys_of(draw, 500, 3), java(12, draw)),
        "unknown",
        says="too few keys for a decision: 3",
    )
    made["own-partitioner"] = Written(
        [(zlib.adler32(k) * 31 % 1009 % 12, t, k, n) for _, t, k, n in made["java"].records if k],
        "unknown",
        ("unknown",),
        "each key is on one partition",
    )
    made["keys-in-turn"] = Written(
        write(keys_of(draw, 4000, 300), Client(None, 12, in_turn(12))),
        "round-robin",
        ("round-robin",),
        "keys that come again are on other partitions",
    )
    unique = [f"{draw.randrange(10**12)}".encode() for _ in range(3000)]
    made["unique-in-turn"] = Written(
        write(unique, Client(None, 12, in_turn(12))), "round-robin", ("round-robin",), "more even"
    )

    with_empty = [b"" if draw.random() < 0.4 else key for key in keys_of(draw, 2000, 300)]
    made["java-empty"] = Written(write(with_empty, java(12, draw)), "murmur2", ("murmur2",))
    made["librdkafka-empty"] = Written(write(with_empty, librdkafka(12, draw)), "crc32", ("crc32",))
    made["only-empty"] = Written(
        write([b""] * 500, java(12, draw)), "unknown", says="every key is empty"
    )
    made["only-empty-spread"] = Written(
        write([b""] * 3000, librdkafka(12, draw)), "round-robin", says="no record has a key that is"
    )

    stray = list(made["java"].records)
    stray[77] = ((stray[77][0] + 1) % 12, *stray[77][1:])
    made["one-stray"] = Written(stray, "murmur2", ("murmur2",))
    return made


def detected(records: Sequence[Record], partitions: int | None = None) -> Detection:
    """The detection for a topic; ``partitions``: their count, if known."""
    count = partitions or max(record[0] for record in records) + 1
    places: dict[tuple[bytes, int], list[int]] = defaultdict(list)
    sums = {name: [0] * count for name in ("all", "bytes", "null", "null_bytes", "empty")}
    for partition, millis, key, size in records:
        sums["all"][partition] += 1
        sums["bytes"][partition] += size + len(key or b"")
        sums["null"][partition] += key is None
        sums["null_bytes"][partition] += size if key is None else 0
        sums["empty"][partition] += key == b""
        if key:
            places[key, partition].append(millis * 1000)
    of_key = Counter(key for key, _ in places)
    counted = TopicCounts(
        count,
        partitions is not None,
        *map(np.array, sums.values()),
        keys=len(of_key),
        several=sum(number > 1 for number in of_key.values()),
    )
    rules = [Rule(name, count) for name in HASHES]
    groups = groups_of(places, rules)
    if left := unexplained(places, groups):
        hashes = {name: np.array([raw(name, key) for key, _ in left]) for name in HASHES}
        counts = counts_to_try(count, len(of_key), partitions is not None)
        found = search(hashes, np.array([partition for _, partition in left]), counts)
        groups = groups_of(places, list(dict.fromkeys([*rules, *found])))
    again: Counter[bytes] = Counter()
    spots: Counter[bytes] = Counter()
    for key, partition in unexplained(places, groups):
        again[key] += len(places[key, partition])
        spots[key] += 1
    scatter = Scatter(
        again=sum(number >= 2 for number in again.values()),
        excess=sum(spots.values()) - len(spots),
        expected=sum(
            round(1000 * (count * (1 - (1 - 1 / count) ** number) - 1)) for number in again.values()
        )
        / 1000,
    )
    return detect_partitioner(counted, groups, scatter)


def groups_of(places: dict[tuple[bytes, int], list[int]], rules: Sequence[Rule]) -> PlacementGroups:
    """Each placement as a group."""
    return PlacementGroups(
        tuple(rules),
        np.array(
            [[ORACLES[r.hash](key, r.partitions) == at for r in rules] for key, at in places],
            dtype=bool,
        ).reshape(-1, len(rules)),
        *(
            np.array(column, dtype=np.int64)
            for column in (
                [partition for _, partition in places],
                [1] * len(places),
                *([of(times) for times in places.values()] for of in (len, min, max)),
            )
        ),
    )


def unexplained(places: dict[tuple[bytes, int], list[int]], groups: PlacementGroups) -> list[Any]:
    rest = groups.unexplained(choose(groups))
    return [place for place, left in zip(places, rest.tolist(), strict=True) if left]


def raw(name: str, key: bytes) -> int:
    """The number itself: the clients' functions give only remainders, by 2³¹ - 1 at most."""
    return zlib.crc32(key) if name == "crc32" else ORACLES[name](key, 2**31 - 1)
