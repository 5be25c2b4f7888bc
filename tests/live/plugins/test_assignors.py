"""The plug-ins with the clients' own classes around them, without a broker."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("kafka")
pytest.importorskip("aiokafka")

from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.assignors.cooperative_sticky import (
    CooperativeStickyAssignor as TheirCooperativeSticky,
)
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.structs import TopicPartition

import partage.live
import partage.live.plugins.aiokafka as aio
import partage.live.plugins.kafka_python as kp
from partage.consumers.custom import PartitionAssignor, Subscription
from partage.consumers.user_data import read_sticky, write_priority, write_sticky
from partage.errors import InputError


@dataclass
class Broker:
    node_id: int
    rack: str | None


@dataclass
class Picture:
    """The part of a client's ClusterMetadata that assignors use."""

    counts: Mapping[str, int]
    replicas: Mapping[tuple[str, int], Sequence[int]] = field(default_factory=dict)
    racks: Mapping[int, str | None] = field(default_factory=dict)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self.counts[topic])) if topic in self.counts else None

    def topics(self) -> set[str]:
        return set(self.counts)

    def brokers(self) -> list[Broker]:
        return [Broker(node, rack) for node, rack in self.racks.items()]

    def is_replica_node(self, partition: TopicPartition, node: int) -> Broker | None:
        if node in self.replicas.get((partition.topic, partition.partition), ()):
            return Broker(node, self.racks[node])
        return None


@dataclass
class Joined:
    """JoinGroupResponseMember, with its metadata decoded."""

    member_id: str
    metadata: Any
    group_instance_id: str | None = None


def encoded_and_decoded(metadata: Any) -> Any:
    return ConsumerProtocolSubscription.decode(bytes(metadata.encode()))


def lead(
    leader: Any,
    picture: Picture,
    members: Mapping[str, tuple[Any, set[str]]],
    instance_ids: Mapping[str, str] | None = None,
    generation: int = 1,
) -> dict[str, list[tuple[str, int]]]:
    """A rebalance of kafka-python: all send subscriptions, the leader assigns, all are assigned."""
    joined = [
        Joined(
            member_id,
            encoded_and_decoded(a.metadata(set(topics))),
            (instance_ids or {}).get(member_id),
        )
        for member_id, (a, topics) in members.items()
    ]
    answers = leader.assign(picture, joined)
    assert set(answers) == set(members)
    found = {}
    for member_id, (assignor, _) in members.items():
        answer = type(answers[member_id]).decode(bytes(answers[member_id].encode()))
        found[member_id] = sorted((p.topic, p.partition) for p in answer.partitions())
        assignor.on_assignment(answer, generation)
    return found


def test_public_names() -> None:
    for name in partage.live.__all__:
        assert getattr(partage.live, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = partage.live.Nothing


def test_registered_names_are_kafkas() -> None:
    names = {
        kp.RangeAssignor: "range",
        kp.RoundRobinAssignor: "roundrobin",
        kp.StickyAssignor: "sticky",
        kp.CooperativeStickyAssignor: "cooperative-sticky",
        kp.FailoverAssignor: "failover",
        kp.WeightedAssignor: "weighted",
    }
    for kind, name in names.items():
        assert kind().name == kind.name == name
    assert [
        kind().name for kind in (aio.RangeAssignor, aio.RoundRobinAssignor, aio.StickyAssignor)
    ] == ["range", "roundrobin", "sticky"]
    assert aio.FailoverAssignor(priority=3).name == "failover"
    assert aio.WeightedAssignor().name == "weighted"
    assert not hasattr(aio, "CooperativeStickyAssignor")


def test_protocols() -> None:
    assert kp.StickyAssignor().supported_protocols() == [RebalanceProtocol.EAGER]
    both = [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]
    assert kp.CooperativeStickyAssignor().supported_protocols() == both


def test_objects_do_not_share_a_memory() -> None:
    one, other = kp.StickyAssignor(), kp.StickyAssignor()
    one.remember([("t", 0)], 3)
    assert read_sticky(one.metadata({"t"}).user_data).owned == {"t": (0,)}
    assert read_sticky(other.metadata({"t"}).user_data).owned == {}


def test_range_and_roundrobin() -> None:
    picture = Picture({"A": 2, "B": 2})
    for kind, second in ((kp.RangeAssignor, ("B", 0)), (kp.RoundRobinAssignor, ("B", 0))):
        members = {f"m{i}": (kind(), {"A", "B"}) for i in range(3)}
        found = lead(members["m1"][0], picture, members)
        assert second in found["m0"] or kind is kp.RoundRobinAssignor
        assert sorted(p for held in found.values() for p in held) == [
            ("A", 0),
            ("A", 1),
            ("B", 0),
            ("B", 1),
        ]
    assert found == {"m0": [("A", 0), ("B", 1)], "m1": [("A", 1)], "m2": [("B", 0)]}


def test_static_members_come_first() -> None:
    members = {name: (kp.RangeAssignor(), {"t"}) for name in ("a", "b", "c")}
    found = lead(members["a"][0], Picture({"t": 4}), members, {"c": "instance-0"})
    assert found == {"a": [("t", 2)], "b": [("t", 3)], "c": [("t", 0), ("t", 1)]}


def test_range_by_rack() -> None:
    """KIP-881: two members of racks b and a; partitions with one replica each."""
    picture = Picture({"t": 2}, {("t", 0): [1], ("t", 1): [2]}, {1: "a", 2: "b"})
    members = {
        "m0": (kp.RangeAssignor(rack="b"), {"t"}),
        "m1": (kp.RangeAssignor(rack="a"), {"t"}),
    }
    assert lead(members["m0"][0], picture, members) == {"m0": [("t", 1)], "m1": [("t", 0)]}
    blind = {"m0": (kp.RangeAssignor(), {"t"}), "m1": (kp.RangeAssignor(), {"t"})}
    assert lead(blind["m0"][0], picture, blind) == {"m0": [("t", 0)], "m1": [("t", 1)]}


def test_sticky_moves_the_fewest() -> None:
    picture = Picture({"t": 6})
    members = {f"m{i}": (kp.StickyAssignor(), {"t"}) for i in range(3)}
    first = lead(members["m0"][0], picture, members)
    del members["m1"]
    second = lead(members["m2"][0], picture, members)
    assert {name: len(held) for name, held in second.items()} == {"m0": 3, "m2": 3}
    assert set(first["m0"]) < set(second["m0"])
    assert set(first["m2"]) < set(second["m2"])


def test_cooperative_moves_partitions_in_two_rebalances() -> None:
    picture = Picture({"t": 4})
    one, two = kp.CooperativeStickyAssignor(), kp.CooperativeStickyAssignor()
    assert lead(one, picture, {"m1": (one, {"t"})}) == {"m1": [("t", n) for n in range(4)]}
    both = {"m1": (one, {"t"}), "m2": (two, {"t"})}
    held = lead(one, picture, both)
    assert len(held["m1"]) == 2
    assert held["m2"] == []
    after = lead(one, picture, both)
    assert after["m1"] == held["m1"]
    assert sorted(after["m1"] + after["m2"]) == [("t", n) for n in range(4)]


def coordinator_of(*strategies: Any) -> ConsumerCoordinator:
    """kafka-python's, as far as it goes without a connection: it holds t-0 and t-1 of generation 4,
    and gone-0."""
    coordinator = ConsumerCoordinator.__new__(ConsumerCoordinator)
    coordinator._assignors = {strategy.name: strategy for strategy in strategies}
    coordinator._rebalance_protocol = coordinator._validate_rebalance_protocol()
    coordinator._subscription = SubscriptionState()
    coordinator._subscription.subscribe(topics=["t", "gone"])
    held = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)]
    coordinator._subscription.assign_from_subscribed(held)
    for strategy in strategies:
        given = [("t", [0, 1]), ("gone", [0])]
        strategy.on_assignment(kp.ConsumerProtocolAssignment(0, given, b""), 4)
    return coordinator


def claims(coordinator: ConsumerCoordinator, strategy: str) -> list[tuple[str, int]]:
    sent = encoded_and_decoded(dict(coordinator.group_protocols())[strategy])
    return [(claim.topic, n) for claim in sent.owned_partitions for n in claim.partitions]


def test_a_cooperative_member_claims_what_its_consumer_holds() -> None:
    coordinator = coordinator_of(kp.CooperativeStickyAssignor())
    coordinator._subscription.change_subscription(["t"])
    assert claims(coordinator, "cooperative-sticky") == [("t", 0), ("t", 1)]
    # removed from the group, it has lost everything
    coordinator._subscription.assign_from_subscribed([])
    assert claims(coordinator, "cooperative-sticky") == []


def test_beside_an_eager_assignor_it_claims_nothing() -> None:
    coordinator = coordinator_of(kp.CooperativeStickyAssignor(), kp.RangeAssignor())
    assert coordinator._rebalance_protocol is RebalanceProtocol.EAGER
    assert claims(coordinator, "cooperative-sticky") == []


def test_without_a_coordinator_it_claims_its_last_assignment() -> None:
    assignor = kp.CooperativeStickyAssignor()
    assignor.on_assignment(kp.ConsumerProtocolAssignment(0, [("t", [2]), ("u", [0])], b""), 4)
    sent = encoded_and_decoded(assignor.metadata({"t"}))
    assert [(c.topic, list(c.partitions)) for c in sent.owned_partitions] == [("t", [2])]
    assert sent.generation_id == 4


def test_beside_kafka_pythons_own_cooperative_sticky() -> None:
    """Whichever leads, each gets 2 partitions, and none has two owners."""
    for ours_leads in (True, False):
        picture = Picture({"t": 4})
        ours, theirs = kp.CooperativeStickyAssignor(), TheirCooperativeSticky()
        lead(ours, picture, {"m1": (ours, {"t"})})
        both = {"m1": (ours, {"t"}), "m2": (theirs, {"t"})}
        held = lead(ours if ours_leads else theirs, picture, both)
        assert {len(held["m1"]), len(held["m2"])} == {2, 0}
        held = lead(ours if ours_leads else theirs, picture, both)
        assert sorted(held["m1"] + held["m2"]) == [("t", n) for n in range(4)]
        assert len(held["m1"]) == len(held["m2"]) == 2


def test_racks_first() -> None:
    replicas = {("t", number): [1] for number in range(4)}
    picture = Picture({"t": 4}, replicas, {1: "a", 2: "b"})

    def loads(**options: Any) -> list[int]:
        near = kp.CooperativeStickyAssignor(rack="a", **options)
        far = kp.CooperativeStickyAssignor(rack="b", **options)
        held = lead(far, picture, {"m1": (near, {"t"}), "m2": (far, {"t"})})
        return [len(held["m1"]), len(held["m2"])]

    assert loads() == [2, 2]
    assert loads(racks_first=True) == [4, 0]
    assert loads(racks_first=True, max_skew=0.5) == [3, 1]
    with pytest.raises(InputError, match="max_skew: needs `racks_first` with this assignor"):
        kp.StickyAssignor(max_skew=0.5)
    with pytest.raises(InputError, match="racks_first: needs `mode` optimal with this assignor"):
        aio.StickyAssignor(racks_first=True, mode="java")


def test_failover() -> None:
    picture = Picture({"t": 3})
    low, high = kp.FailoverAssignor(priority=1), kp.FailoverAssignor(priority=10)
    members = {"m1": (low, {"t"}), "m2": (high, {"t"})}
    everything = [("t", n) for n in range(3)]
    assert lead(low, picture, members) == {"m1": [], "m2": everything}
    del members["m2"]
    assert lead(low, picture, members) == {"m1": everything}
    unset = kp.FailoverAssignor()
    members = {"m1": (unset, {"t"}), "m2": (high, {"t"})}
    assert lead(high, picture, members) == {"m1": everything, "m2": []}


def test_failovers_configuration() -> None:
    configured = kp.FailoverAssignor(config={"assignment.consumer.priority": "10"})
    assert configured.metadata({"t"}).user_data == write_priority(10)
    for wrong in ("high", 2**31, [1], 1.5, True):
        with pytest.raises(InputError, match="expected a whole number of 32 bits"):
            kp.FailoverAssignor(priority=wrong)


def test_the_leader_calls_the_weights() -> None:
    asked: list[Mapping[str, int]] = []

    def weights(topics: Mapping[str, int]) -> dict[str, list[int]]:
        asked.append(topics)
        return {"t": [100, 1, 1, 1], "unknown": [3]}

    picture = Picture({"t": 4})
    members = {f"m{i}": (kp.WeightedAssignor(weights=weights), {"t"}) for i in range(2)}
    found = lead(members["m0"][0], picture, members)
    assert asked == [{"t": 4}]
    assert sorted(map(len, found.values())) == [1, 3]


@pytest.mark.parametrize("wrong", [lambda topics: 1 / 0, {"t": [1, 2]}, {"t": [-1, 2, 3, 4]}])
def test_without_weights_every_partition_counts_as_1(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    members = {f"m{i}": (kp.WeightedAssignor(weights=wrong), {"t"}) for i in range(2)}
    with caplog.at_level(logging.WARNING):
        found = lead(members["m0"][0], Picture({"t": 4}), members)
    assert sorted(map(len, found.values())) == [2, 2]
    assert "no weights, every partition counts as 1" in caplog.text


def test_unreadable_user_data_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    class Garbled(kp.StickyAssignor):
        def _user_data(self) -> bytes:
            return b"\x00\x00"

    members = {"m0": (Garbled(), {"t", "absent"}), "m1": (kp.StickyAssignor(), {"t"})}
    with caplog.at_level(logging.WARNING):
        found = lead(members["m1"][0], Picture({"t": 2}), members)
    assert sorted(map(len, found.values())) == [1, 1]
    assert "member m0: sticky user data of 2 bytes cannot be read" in caplog.text
    assert "not listed are ignored: absent" in caplog.text


class Last(PartitionAssignor):
    """All partitions to the member with the last note."""

    name = "last"

    def __init__(self) -> None:
        self.note = b""
        self.received: list[tuple[list[tuple[str, int]], int]] = []

    def configure(self, config: Mapping[str, Any]) -> None:
        self.note = config["note"]

    def subscription(self, topics: Sequence[str]) -> Subscription:
        return Subscription(tuple(topics), user_data=self.note)

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, Subscription]
    ) -> dict[str, list[tuple[str, int]]]:
        chosen = max(members, key=lambda member: members[member].user_data or b"")
        return {chosen: [(t, n) for t, count in partitions.items() for n in range(count)]}

    def on_assignment(self, partitions: Sequence[tuple[str, int]], generation: int) -> None:
        self.received.append((list(partitions), generation))


class LastCooperative(Last):
    cooperative = True


def test_a_custom_assignor() -> None:
    mine = Last()
    members = {
        "m0": (kp.CustomAssignor(mine, {"note": b"b"}), {"t"}),
        "m1": (kp.CustomAssignor(Last, {"note": b"a"}), {"t"}),
    }
    found = lead(members["m1"][0], Picture({"t": 2}), members)
    assert found == {"m0": [("t", 0), ("t", 1)], "m1": []}
    assert mine.received[0][0] == [("t", 0), ("t", 1)]
    assert members["m0"][0].name == "last"
    assert members["m0"][0].supported_protocols() == [RebalanceProtocol.EAGER]


def test_a_cooperative_custom_assignor_moves_partitions_in_two_rebalances() -> None:
    first = kp.CustomAssignor(LastCooperative, {"note": b"a"})
    second = kp.CustomAssignor(LastCooperative, {"note": b"b"})
    picture = Picture({"t": 2})
    both = {"m0": (first, {"t"}), "m1": (second, {"t"})}
    lead(first, picture, {"m0": (first, {"t"})})
    assert lead(first, picture, both) == {"m0": [], "m1": []}
    assert lead(first, picture, both) == {"m0": [], "m1": [("t", 0), ("t", 1)]}
    with pytest.raises(InputError, match="aiokafka supports eager assignors only"):
        aio.CustomAssignor(LastCooperative, {"note": b""})


# -- aiokafka


def aio_lead(
    leader: Any, picture: Picture, members: Mapping[str, tuple[Any, set[str]]]
) -> dict[str, list[tuple[str, int]]]:
    """A rebalance of aiokafka, with its own decoders."""
    from aiokafka.coordinator.protocol import ConsumerProtocol

    sent = {
        member_id: ConsumerProtocol.METADATA.decode(assignor.metadata(topics).encode())
        for member_id, (assignor, topics) in members.items()
    }
    found = {}
    for member_id, answer in leader.assign(picture, sent).items():
        decoded = ConsumerProtocol.ASSIGNMENT.decode(answer.encode())
        found[member_id] = sorted((p.topic, p.partition) for p in decoded.partitions())
        members[member_id][0].on_assignment(decoded)
    return found


def test_aiokafka_sticky_remembers_with_a_generation() -> None:
    picture = Picture({"t": 6})
    members = {f"m{i}": (aio.StickyAssignor(), {"t"}) for i in range(3)}
    first = aio_lead(members["m0"][0], picture, members)
    away = members.pop("m1")
    second = aio_lead(members["m2"][0], picture, members)
    assert set(first["m0"]) < set(second["m0"])
    assert set(first["m2"]) < set(second["m2"])
    # the member that was away claims with an older generation what others now own: they keep it
    members["m1"] = away
    third = aio_lead(members["m0"][0], picture, members)
    assert set(third["m0"]) < set(second["m0"])
    assert set(third["m2"]) < set(second["m2"])
    assert len(third["m1"]) == 2


def test_aiokafka_failover_and_weights() -> None:
    picture = Picture({"t": 4})
    members = {
        "m0": (aio.FailoverAssignor(priority=1), {"t"}),
        "m1": (aio.FailoverAssignor(priority=2), {"t"}),
    }
    assert aio_lead(members["m0"][0], picture, members)["m0"] == []
    weights = {"t": [9, 1, 1, 1]}
    weighted = {f"m{i}": (aio.WeightedAssignor(weights=weights), {"t"}) for i in range(2)}
    found = aio_lead(weighted["m0"][0], picture, weighted)
    assert sorted(map(len, found.values())) == [1, 3]


def test_both_clients_share_sticky() -> None:
    """Either side reads the other's user data."""
    aio_member, kp_member = aio.StickyAssignor(), kp.StickyAssignor()
    for member in (aio_member, kp_member):
        member.remember([("t", 0)], 3)
        raw = bytes(member.metadata({"t"}).encode())
        assert ConsumerProtocolSubscription.decode(raw).user_data == write_sticky({"t": [0]}, 3)
