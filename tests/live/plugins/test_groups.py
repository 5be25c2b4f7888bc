"""Groups of real consumers on a real Kafka: they join, leave, crash, freeze and restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("aiokafka")
pytest.importorskip("confluent_kafka")

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from partage.live.sandbox.jars import kafka_jars
from tests.live.plugins.groups import Consumers, Member, Partition, wait

pytestmark = pytest.mark.kafka

KP, AIO = "partage.live.plugins.kafka_python", "partage.live.plugins.aiokafka"
_numbers = count()


def ours(name: str, where: str = KP, **options: Any) -> list[Any]:
    return [where, f"{name}Assignor", options]


@pytest.fixture(scope="module")
def start(kafka: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Consumers]:
    """Create a group with new topics: ``start(partitions, ...)``."""
    errors = tmp_path_factory.mktemp("members")

    def begin(*partitions: int) -> Consumers:
        number = next(_numbers)
        topics = {f"topic-{number}-{at}": many for at, many in enumerate(partitions)}
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
        try:
            admin.create_topics([NewTopic(name, many, 1) for name, many in topics.items()])
        finally:
            admin.close()
        folder = errors / str(number)
        folder.mkdir()
        return Consumers(kafka.bootstrap_servers, f"group-{number}", topics, folder)

    return begin


@contextmanager
def produced(group: Consumers, every: float = 0.02) -> Iterator[None]:
    """A record to each partition of the group's topics, again and again."""
    over = Event()

    def work() -> None:
        producer = KafkaProducer(bootstrap_servers=group.bootstrap, linger_ms=0)
        while not over.is_set():
            for topic, partition in group.partitions:
                producer.send(topic, b"x", partition=partition)
            over.wait(every)
        producer.close()

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# -- the life of a group, under every assignor and with both clients


@dataclass
class Life:
    """What each member held after each step."""

    shares: list[dict[str, frozenset[Partition]]] = field(default_factory=list)
    two_owners: list[Any] = field(default_factory=list)
    first: Member | None = None


def live(group: Consumers, assignors: list[Any], client: str) -> Life:
    """Three join one by one, the second leaves, the third crashes."""
    life = Life()

    def step(*sizes: int) -> None:
        life.shares.append(group.settle(*sizes))

    with group:
        life.first = group.join("a", assignors, client)
        step(6)
        second = group.join("b", assignors, client)
        step(3, 3)
        third = group.join("c", assignors, client)
        step(2, 2, 2)
        second.leave()
        step(3, 3)
        third.crash()
        step(6)
        life.two_owners = group.two_owners()
    return life


CASES = {
    "kafka-python range": (ours("Range"), "kafka-python"),
    "kafka-python roundrobin": (ours("RoundRobin"), "kafka-python"),
    "kafka-python sticky": (ours("Sticky"), "kafka-python"),
    "kafka-python cooperative-sticky": (ours("CooperativeSticky"), "kafka-python"),
    "kafka-python weighted": (ours("Weighted"), "kafka-python"),
    "aiokafka range": (ours("Range", AIO), "aiokafka"),
    "aiokafka roundrobin": (ours("RoundRobin", AIO), "aiokafka"),
    "aiokafka sticky": (ours("Sticky", AIO), "aiokafka"),
    "aiokafka weighted": (ours("Weighted", AIO), "aiokafka"),
}


DAILY = "kafka-python cooperative-sticky"
"""The one that ``make test`` runs."""


@pytest.fixture(scope="module")
def lives(
    start: Callable[..., Consumers], request: pytest.FixtureRequest
) -> dict[str, Future[Life]]:
    """Those of the selected tests at the same time: they mostly wait."""
    tests = [item for item in request.session.items if item.path == request.path]
    names = CASES if any(item.get_closest_marker("long") for item in tests) else [DAILY]
    with ThreadPoolExecutor(4) as pool:
        return {
            name: pool.submit(live, start(6), [CASES[name][0]], CASES[name][1]) for name in names
        }


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_group_is_stable_after_every_change(lives: dict[str, Future[Life]], name: str) -> None:
    assert len(lives[name].result().shares) == 5
    assert lives[name].result().two_owners == []


def numbers(share: frozenset[Partition]) -> list[int]:
    return sorted(number for _, number in share)


@pytest.mark.long
@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_range_and_roundrobin_assign_in_the_order_of_the_members(
    lives: dict[str, Future[Life]], client: str
) -> None:
    """Member ids begin with the client's id: a, b, c."""
    in_range = {
        name: numbers(share) for name, share in lives[f"{client} range"].result().shares[2].items()
    }
    assert in_range == {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
    in_turn = lives[f"{client} roundrobin"].result().shares[2]
    assert {n: numbers(s) for n, s in in_turn.items()} == {"a": [0, 3], "b": [1, 4], "c": [2, 5]}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in CASES if "sticky" in name or "weighted" in name])
def test_members_keep_as_many_partitions_as_possible(
    lives: dict[str, Future[Life]], name: str
) -> None:
    alone, two, three, without_b, end = lives[name].result().shares
    assert three["a"] < two["a"] < alone["a"]
    assert three["b"] < two["b"]
    assert three["a"] < without_b["a"] < end["a"]
    assert three["c"] < without_b["c"]


def test_cooperative_revokes_only_partitions_that_move(lives: dict[str, Future[Life]]) -> None:
    first = lives[DAILY].result().first
    assert first is not None
    assert [len(partitions) for partitions in first.calls("revoked")][:2] == [3, 1]
    assert [len(partitions) for partitions in first.calls("assigned")] == [6, 1, 3]


# -- failover


@pytest.mark.long
@pytest.mark.parametrize(("client", "where"), [("kafka-python", KP), ("aiokafka", AIO)])
def test_failover_live(start: Callable[..., Consumers], client: str, where: str) -> None:
    """The second has the higher priority: it gets all partitions until it crashes."""
    with start(3) as group:
        low = group.join("c2", [ours("Failover", where, priority=1)], client)
        group.settle(3)
        high = group.join("c1", [ours("Failover", where, priority=10)], client)
        assert wait(lambda: high.held == group.partitions and not low.held)
        high.crash()
        assert wait(lambda: low.held == group.partitions)
        assert group.two_owners() == []


# -- restarts


@pytest.mark.long
def test_cooperative_keeps_reading_where_eager_stops(start: Callable[..., Consumers]) -> None:
    """A third member joins while records arrive. Partitions that stay are never revoked under
    cooperative, and always under eager."""
    given_up: dict[str, int] = {}
    for name in ("CooperativeSticky", "Sticky"):
        group = start(6)
        with group, produced(group):
            one = group.join("a", [ours(name)])
            two = group.join("b", [ours(name)])
            group.settle(3, 3)
            assert wait(lambda one=one: len(one.calls("read")) > 10)
            had, since = group.shares(), time.time()
            group.join("c", [ours(name)])
            group.settle(2, 2, 2)
            stays = [(m, had[m.name] & m.held) for m in (one, two)]
            assert [len(partitions) for _, partitions in stays] == [2, 2]
            given_up[name] = sum(
                len(partitions & call)
                for member, partitions in stays
                for call in member.calls("revoked", since)
            )
            for member, partitions in stays:
                assert wait(
                    lambda member=member, partitions=partitions, after=time.time(): (
                        partitions <= frozenset().union(*member.calls("read", after))
                    )
                )
    assert given_up == {"CooperativeSticky": 0, "Sticky": 4}


@pytest.mark.long
def test_rolling_restart_of_static_members(start: Callable[..., Consumers]) -> None:
    """Members with an instance id get their partitions back without a rebalance of the others."""
    with start(6) as group:
        names = ["a", "b", "c"]
        for name in names:
            group.join(name, [ours("CooperativeSticky")], group_instance_id=name)
        group.settle(2, 2, 2)
        before = group.shares()
        for name in names:
            member = next(m for m in group.alive if m.name == name)
            others = [m for m in group.alive if m is not member]
            since = time.time()
            member.crash()
            group.join(name, [ours("CooperativeSticky")], group_instance_id=name)
            group.settle(2, 2, 2)
            assert all(not m.calls("revoked", since) for m in others)
            assert all(not m.calls("assigned", since) for m in others)
        assert group.shares() == before


@pytest.mark.long
def test_rolling_restart_of_dynamic_members(start: Callable[..., Consumers]) -> None:
    """Under cooperative-sticky only the partitions of the member that leaves move."""
    with start(6) as group:
        for name, sizes in (("a", (6,)), ("b", (3, 3)), ("c", (2, 2, 2))):
            group.join(name, [ours("CooperativeSticky")])
            group.settle(*sizes)
        for name in ("a", "b", "c"):
            member = next(m for m in group.alive if m.name == name)
            others = {m.name: m.held for m in group.alive if m is not member}
            member.leave()
            group.settle(3, 3)
            assert all(others[m.name] < m.held for m in group.alive), group.story()
            group.join(name, [ours("CooperativeSticky")])
            group.settle(2, 2, 2)
        assert group.two_owners() == []


@pytest.mark.long
def test_from_range_to_cooperative_in_two_restarts(start: Callable[..., Consumers]) -> None:
    """[range] → [cooperative-sticky, range] → [cooperative-sticky], a member at a time."""
    both = [ours("CooperativeSticky"), ours("Range")]
    with start(4) as group:
        for name in ("a", "b"):
            group.join(name, [ours("Range")])
        group.settle(2, 2)
        for assignors in (both, [ours("CooperativeSticky")]):
            for name in ("a", "b"):
                next(m for m in group.alive if m.name == name).leave()
                group.settle(4)
                group.join(name, assignors)
                group.settle(2, 2)
        since = time.time()
        group.join("c", [ours("CooperativeSticky")])
        group.settle(1, 1, 2)
        kept = [m for m in group.alive if m.name in ("a", "b") and m.calls("revoked", since)]
        assert sum(len(call) for m in kept for call in m.calls("revoked", since)) == 1
        assert group.two_owners() == []


@pytest.mark.long
def test_a_frozen_member_joins_again(start: Callable[..., Consumers]) -> None:
    """Removed while it could not answer, it is notified that its partitions are lost. It joins
    again, and every partition has an owner."""
    with start(5) as group:
        first = group.join("a", [ours("CooperativeSticky")])
        group.settle(5)
        first.freeze()
        second = group.join("b", [ours("CooperativeSticky")])
        try:
            assert wait(lambda: second.held == group.partitions)
        finally:
            first.thaw()
        assert wait(lambda: bool(first.calls("lost")))
        assert first.calls("lost") == [group.partitions]
        group.settle(2, 3)


# -- mixed groups


def its(module: str, name: str, client: str = "kafka.coordinator") -> list[Any]:
    return [f"{client}.assignors.{module}", f"{name}Assignor", {}]


MIXED: dict[str, tuple[str, str, list[Any]]] = {
    "its own range": ("Range", "kafka-python", [its("range", "RangePartition")]),
    "its own roundrobin": (
        "RoundRobin",
        "kafka-python",
        [its("roundrobin", "RoundRobinPartition")],
    ),
    "its own sticky": (
        "Sticky",
        "kafka-python",
        [its("sticky.sticky_assignor", "StickyPartition")],
    ),
    "its own cooperative-sticky": (
        "CooperativeSticky",
        "kafka-python",
        [its("cooperative_sticky", "CooperativeSticky")],
    ),
    "aiokafka's own range": (
        "Range",
        "aiokafka",
        [its("range", "RangePartition", "aiokafka.coordinator")],
    ),
    "our sticky in aiokafka": ("Sticky", "aiokafka", [ours("Sticky", AIO)]),
    "librdkafka's range": ("Range", "confluent", ["range"]),
    "librdkafka's cooperative-sticky": ("CooperativeSticky", "confluent", ["cooperative-sticky"]),
    "Java's sticky": ("Sticky", "java", ["StickyAssignor"]),
    "Java's cooperative-sticky": ("CooperativeSticky", "java", ["CooperativeStickyAssignor"]),
}
"""(our assignor, the other's client, its own assignor of the same name)"""


def mixed_group(
    group: Consumers, our: list[Any], client: str, their: list[Any], jars: Path
) -> list[Any]:
    """Ours leads first; then the other one stays alone, and leads when ours joins again."""
    config = {"jars": str(jars)} if client == "java" else {}
    with group:
        one = group.join("ours", our)
        group.settle(4)
        group.join("theirs", their, client, **config)
        group.settle(2, 2)
        one.leave()
        group.settle(4)
        group.join("ours again", our)
        group.settle(2, 2)
        return group.two_owners()


@pytest.fixture(scope="module")
def mixed_groups(start: Callable[..., Consumers]) -> dict[str, Future[list[Any]]]:
    with ThreadPoolExecutor(3) as pool:
        return {
            name: pool.submit(mixed_group, start(4), [ours(our)], client, their, kafka_jars())
            for name, (our, client, their) in MIXED.items()
        }


@pytest.mark.long
@pytest.mark.parametrize("name", MIXED)
def test_one_group_with_the_clients_own_assignor(
    mixed_groups: dict[str, Future[list[Any]]], name: str
) -> None:
    assert mixed_groups[name].result() == []


@pytest.mark.long
def test_a_member_without_a_common_assignor_is_rejected(start: Callable[..., Consumers]) -> None:
    with start(2) as group:
        group.join("a", [ours("Sticky")])
        group.settle(2)
        other = group.join("b", [ours("Failover")])
        assert wait(lambda: other.failed is not None)
        assert "InconsistentGroupProtocol" in str(other.failed)
        assert group.members[0].held == group.partitions


# -- weights


@pytest.mark.long
def test_the_leader_weights_by_lag(start: Callable[..., Consumers]) -> None:
    """Partition 0 has as many records waiting as the three others together."""
    group = start(4)
    (topic,) = group.topics
    producer = KafkaProducer(bootstrap_servers=group.bootstrap)
    for number, records in enumerate((300, 100, 100, 100)):
        for _ in range(records):
            producer.send(topic, b"x", partition=number)
    producer.close()
    weighted = ours("Weighted", weights_lag_of=[group.bootstrap, group.group])
    with group:
        # they commit nothing, so that the lag stays
        group.join("a", [weighted], enable_auto_commit=False)
        group.join("b", [weighted], enable_auto_commit=False)
        group.settle(1, 3)
        alone = next(share for share in group.shares().values() if len(share) == 1)
        assert alone == {(topic, 0)}
