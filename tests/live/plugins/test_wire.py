"""Members' messages read by the clients' own decoders and by Kafka's Java classes, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("aiokafka")
pytest.importorskip("py4j")

from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

import partage.live.plugins.aiokafka as aio
import partage.live.plugins.kafka_python as kp
from partage.consumers.user_data import read_generation, read_sticky, write_priority
from partage.live.sandbox.jars import kafka_jars
from tests.live.kafka_in_java import CONSUMER, Java, java_with, partitions_of

pytestmark = [pytest.mark.long, pytest.mark.kafka]

HELD = [("t0", 1), ("t0", 3), ("t1", 0)]


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with java_with(kafka_jars()) as gateway:
        yield Java(gateway.jvm)


def encoded_metadata(assignor: Any, *topics: str) -> bytes:
    return bytes(assignor.metadata(set(topics)).encode())


def holding(assignor: Any, generation: int = 7) -> Any:
    assignor.remember(HELD, generation)
    return assignor


EVERY_ASSIGNOR = [
    kp.RangeAssignor(rack="a"),
    kp.RoundRobinAssignor(),
    kp.StickyAssignor(rack="b"),
    kp.CooperativeStickyAssignor(rack="a"),
    kp.FailoverAssignor(priority=10),
    kp.WeightedAssignor(),
    aio.RangeAssignor(rack="a"),
    aio.RoundRobinAssignor(),
    aio.StickyAssignor(rack="b"),
    aio.FailoverAssignor(priority=10),
    aio.WeightedAssignor(),
]


@pytest.mark.parametrize("assignor", EVERY_ASSIGNOR, ids=lambda a: f"{type(a).__module__}.{a.name}")
def test_all_clients_read_the_same_subscription(java: Java, assignor: Any) -> None:
    encoded = encoded_metadata(holding(assignor), "t0", "t1")
    in_java = java.subscription(encoded)
    in_kp = ConsumerProtocolSubscription.decode(encoded)
    in_aio = ConsumerProtocolMemberMetadata.decode(encoded)
    assert list(in_java.topics()) == list(in_kp.topics) == in_aio.subscription == ["t0", "t1"]
    assert java.unbuffer(in_java.userData()) == in_kp.user_data == in_aio.user_data
    assert in_java.generationId().orElse(-1) == in_kp.generation_id == 7
    assert in_java.rackId().orElse(None) == in_kp.rack_id
    owned = [(c.topic, n) for c in in_kp.owned_partitions for n in c.partitions]
    assert partitions_of(in_java.ownedPartitions()) == owned
    assert owned == (HELD if assignor.cooperative else [])


def test_javas_sticky_reads_the_user_data_of_ours(java: Java) -> None:
    """Every member keeps its partitions, which only the user data can have reported."""
    one, other = kp.StickyAssignor(), aio.StickyAssignor()
    one.remember([("t0", n) for n in (0, 3)], 5)
    other.remember([("t0", n) for n in (1, 2)], 5)
    joined = {
        "a": java.subscription(encoded_metadata(one, "t0")),
        "b": java.subscription(encoded_metadata(other, "t0")),
    }
    answer = java.assign(java.named(f"{CONSUMER}.StickyAssignor")(), {"t0": 4}, joined)
    assert answer == {"a": [("t0", 0), ("t0", 3)], "b": [("t0", 1), ("t0", 2)]}
    # a newer claim wins over an older one
    other.remember([("t0", n) for n in range(4)], 4)
    joined = {  # created again, as Java has read the buffers to the end
        "a": java.subscription(encoded_metadata(one, "t0")),
        "b": java.subscription(encoded_metadata(other, "t0")),
    }
    answer = java.assign(java.named(f"{CONSUMER}.StickyAssignor")(), {"t0": 4}, joined)
    assert answer["a"] == [("t0", 0), ("t0", 3)]


def test_javas_cooperative_sticky_withholds_partitions_that_ours_owns(java: Java) -> None:
    one, other = kp.CooperativeStickyAssignor(), kp.CooperativeStickyAssignor()
    one.remember([("t0", n) for n in range(4)], 5)
    joined = {
        "a": java.subscription(encoded_metadata(one, "t0")),
        "b": java.subscription(encoded_metadata(other, "t0")),
    }
    leader = java.named(f"{CONSUMER}.CooperativeStickyAssignor")()
    answer = java.assign(leader, {"t0": 4}, joined)
    assert len(answer["a"]) == 2
    assert answer["b"] == []


def test_ours_reads_the_user_data_of_javas(java: Java) -> None:
    """The user data of Java's sticky and cooperative-sticky after an assignment."""
    topics = java.jvm.java.util.HashSet()
    topics.add("t0")
    partitions = java.jvm.java.util.ArrayList()
    for number in (1, 3):
        partitions.add(java.partition("t0", number))
    given = java.named(f"{CONSUMER}.ConsumerPartitionAssignor").Assignment(partitions)
    metadata = java.named(f"{CONSUMER}.ConsumerGroupMetadata")("g", 9, "member", _none(java))
    for name in ("StickyAssignor", "CooperativeStickyAssignor"):
        theirs = java.named(f"{CONSUMER}.{name}")()
        theirs.onAssignment(given, metadata)
        data = java.unbuffer(theirs.subscriptionUserData(topics))
        if name == "StickyAssignor":
            assert read_sticky(data).owned == {"t0": (1, 3)}
            assert read_sticky(data).generation == 9
        else:
            assert read_generation(data).value == 9


def test_a_subscription_of_javas(java: Java) -> None:
    """Encoded by Java in each version, led by ours."""
    protocol = java.named(f"{CONSUMER}.internals.ConsumerProtocol")
    topics = java.jvm.java.util.ArrayList()
    topics.add("t0")
    owned = java.jvm.java.util.ArrayList()
    owned.add(java.partition("t0", 1))
    optional = java.jvm.java.util.Optional.of
    theirs = java.named(f"{CONSUMER}.ConsumerPartitionAssignor").Subscription(
        topics, None, owned, 6, optional("a")
    )
    for version, generation, rack in ((0, -1, None), (1, -1, None), (2, 6, None), (3, 6, "a")):
        encoded = java.unbuffer(protocol.serializeSubscription(theirs, _short(java, version)))
        assert encoded is not None
        read = ConsumerProtocolSubscription.decode(encoded)
        member = _Joined("java", read)
        claims = [] if version == 0 else [("t0", 1)]
        ours = kp.CooperativeStickyAssignor()
        found = ours.assign(
            _Picture({"t0": 2}),
            [
                member,
                _Joined("ours", ConsumerProtocolSubscription.decode(encoded_metadata(ours, "t0"))),
            ],
        )
        assert (read.generation_id, read.rack_id) == (generation, rack)
        given = {m: [(p.topic, p.partition) for p in a.partitions()] for m, a in found.items()}
        assert set(claims) <= set(given["java"])
        assert sorted(given["java"] + given["ours"]) == [("t0", 0), ("t0", 1)]


def test_java_reads_our_assignment(java: Java) -> None:
    answer = kp.StickyAssignor().assign(
        _Picture({"t0": 3, "t1": 1}),
        [
            _Joined(
                "m",
                ConsumerProtocolSubscription.decode(
                    encoded_metadata(kp.StickyAssignor(), "t0", "t1")
                ),
            )
        ],
    )["m"]
    encoded = bytes(answer.encode())
    protocol = java.named(f"{CONSUMER}.internals.ConsumerProtocol")
    read = protocol.deserializeAssignment(java.buffer(encoded))
    expected = [("t0", 0), ("t0", 1), ("t0", 2), ("t1", 0)]
    assert partitions_of(read.partitions()) == expected
    decoded = ConsumerProtocolAssignment.decode(encoded)
    assert sorted((p.topic, p.partition) for p in decoded.partitions()) == expected
    ours = aio.StickyAssignor().assign(
        _Picture({"t0": 3, "t1": 1}),
        {
            "m": ConsumerProtocolMemberMetadata.decode(
                encoded_metadata(aio.StickyAssignor(), "t0", "t1")
            )
        },
    )["m"]
    assert ours.encode() == encoded


def test_failovers_priority_is_an_int32(java: Java) -> None:
    """Four bytes, big-endian, as Java's ByteBuffer reads them."""
    read = java.subscription(encoded_metadata(kp.FailoverAssignor(priority=-2), "t0"))
    assert read.userData().getInt() == -2
    assert write_priority(258) == b"\x00\x00\x01\x02"


class _Joined:
    def __init__(self, member_id: str, metadata: Any) -> None:
        self.member_id, self.metadata, self.group_instance_id = member_id, metadata, None


class _Picture:
    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(self._counts[topic]))

    def brokers(self) -> list[Any]:
        return []


def _none(java: Java) -> Any:
    return java.jvm.java.util.Optional.empty()


def _short(java: Java, value: int) -> Any:
    return java.jvm.java.lang.Short.valueOf(str(value))
