"""partage's assignor on the brokers of a real Kafka, and in Java clients of the classic
protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from partage.errors import InputError
from partage.live.sandbox import Sandbox
from partage.live.sandbox.jars import kafka_jars
from tests.java_module import built_jar
from tests.live.kafka_in_java import CONSUMER, Java, java_with

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.xdist_group("java module")]

RACKS = ("a", "b", "c")
SECONDS = 90
REPLICAS = [[1 + number % 3] for number in range(9)]
"""Partition n of the topic ``racked`` is in rack a, b, c in turn."""

Held = dict[str, list[tuple[str, int]]]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    built_jar()
    folder = tmp_path_factory.mktemp("assignor") / "sandbox"
    with Sandbox.start(folder, brokers=3, racks=RACKS, assignor=True) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        topics = [
            NewTopic("racked", replica_assignment=REPLICAS, num_partitions=9),
            NewTopic("first", num_partitions=7, replication_factor=1),
            NewTopic("second", num_partitions=4, replication_factor=1),
        ]
        for created in admin.create_topics(topics).values():
            created.result(30)
        yield started


def consumer(sandbox: Sandbox, group: str, name: str, topics: Sequence[str], **more: str) -> Any:
    """librdkafka's, with the protocol of KIP-848."""
    config = {
        "bootstrap.servers": sandbox.bootstrap_servers,
        "group.id": group,
        "client.id": name,
        "group.protocol": "consumer",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    made = Consumer(config)
    made.subscribe(list(topics))
    return made


def settled(
    sandbox: Sandbox, group: str, members: Mapping[str, Any], fits: Callable[[Held, str], bool]
) -> Held:
    """What each member has, by its client id, once the broker's description ``fits`` and the
    clients have exactly that."""
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    deadline = time.monotonic() + SECONDS
    seen: Any = None
    while True:
        for one in members.values():
            one.poll(0.1)
        assert time.monotonic() < deadline, f"{group}: not as expected: {seen}"
        try:
            found = admin.describe_consumer_groups([group])[group].result(5)
        except (KafkaException, TimeoutError) as error:  # the group may not exist yet
            seen = error
            continue
        held = {one.client_id: named(one.assignment.topic_partitions) for one in found.members}
        mine = {name: named(one.assignment()) for name, one in members.items()}
        if held == mine and fits(held, found.partition_assignor):
            return held
        seen = (held, mine, found.partition_assignor)


def named(partitions: Sequence[TopicPartition]) -> list[tuple[str, int]]:
    return sorted((one.topic, one.partition) for one in partitions)


def loads(held: Held) -> list[int]:
    return sorted(len(partitions) for partitions in held.values())


def at_home(held: Held) -> int:
    """How many partitions of ``racked`` have their replica in the rack that the member is named
    after."""
    return sum(RACKS[number % 3] == name for name, of in held.items() for _, number in of)


def test_unequal_subscriptions_are_assigned_fairly(sandbox: Sandbox) -> None:
    wanted = {"both": ["first", "second"], "first": ["first"], "second": ["second"]}
    members = {
        name: consumer(sandbox, "unequal", name, topics, group_remote_assignor="partage")
        for name, topics in wanted.items()
    }
    try:
        found = settled(sandbox, "unequal", members, lambda held, _: loads(held) == [3, 4, 4])
        assert {topic for topic, _ in found["second"]} == {"second"}
    finally:
        for one in members.values():
            one.close()


def test_a_group_changes_to_it_and_back_while_it_runs(sandbox: Sandbox) -> None:
    """Member after member restarts; a majority decides. Racks show which assignor has decided."""

    def member(name: str, assignor: str) -> Any:
        return consumer(
            sandbox, "change", name, ["racked"], group_remote_assignor=assignor, client_rack=name
        )

    members = {name: member(name, "uniform") for name in RACKS}
    try:
        settled(
            sandbox,
            "change",
            members,
            lambda held, by: loads(held) == [3, 3, 3] and by == "uniform",
        )
        for assignor in ("partage", "partage", "uniform"):
            for name in RACKS:
                members[name].close()
                members[name] = member(name, assignor)
                settled(sandbox, "change", members, lambda held, _: loads(held) == [3, 3, 3])

            def fits(held: Held, by: str, assignor: str = assignor) -> bool:
                return by == assignor and (assignor == "uniform" or at_home(held) == 9)

            settled(sandbox, "change", members, fits)
    finally:
        for one in members.values():
            one.close()


@pytest.mark.parametrize(
    "config",
    [
        {"group.protocol": "consumer", "group.remote.assignor": "partage"},
        {"partition.assignment.strategy": "partage.assignor.CooperativeAssignor"},
        {"partition.assignment.strategy": "partage.assignor.EagerAssignor"},
    ],
    ids=["broker", "cooperative", "eager"],
)
def test_java_consumers(sandbox: Sandbox, config: dict[str, str]) -> None:
    """Two members, then a third, then without the first: fairest and in their racks each time."""
    with java_with(kafka_jars(), built_jar()) as gateway:
        java = Java(gateway.jvm)
        group = "java-" + next(iter(config.values())).rpartition(".")[2]
        members: dict[str, Any] = {}

        def join(rack: str) -> None:
            settings = gateway.jvm.java.util.Properties()
            deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
            for key, value in {
                "bootstrap.servers": sandbox.bootstrap_servers,
                "group.id": group,
                "client.rack": rack,
                "key.deserializer": deserializer,
                "value.deserializer": deserializer,
                **config,
            }.items():
                settings.put(key, value)
            members[rack] = java.named(f"{CONSUMER}.KafkaConsumer")(settings)
            topics = gateway.jvm.java.util.ArrayList()
            topics.add("racked")
            members[rack].subscribe(topics)

        def wait(wanted: list[int], home: int) -> None:
            deadline = time.monotonic() + SECONDS
            pause = gateway.jvm.java.time.Duration.ofMillis(100)
            while True:
                for one in members.values():
                    one.poll(pause)
                held = {
                    rack: [(p.topic(), p.partition()) for p in one.assignment()]
                    for rack, one in members.items()
                }
                if loads(held) == wanted and at_home(held) == home:
                    return
                assert time.monotonic() < deadline, held

        try:
            join("a")
            join("b")
            wait([4, 5], 6)
            join("c")
            wait([3, 3, 3], 9)
            members.pop("a").close()
            wait([4, 5], 6)
        finally:
            for one in members.values():
                one.close()


@pytest.mark.parametrize("version", ["3.4.1", "3.9.2"])
def test_an_old_kafka_takes_none(version: str, tmp_path: Path) -> None:
    built_jar()
    with pytest.raises(InputError, match=r"expected 4\.0 or later"):
        Sandbox.start(tmp_path / "s", kafka=version, assignor=True)
    assert not (tmp_path / "s").exists()
