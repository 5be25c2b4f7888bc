"""The assignors as classes for kafka-python's ``KafkaConsumer(partition_assignment_strategy=[…])``.

Classes where nothing has to be said, objects where it does: ``StickyAssignor``, or
``FailoverAssignor(priority=10)``. One object serves one consumer.

kafka-python supplies no rack: give it to the assignor as well as to the consumer
(``client_rack``). A group goes from an eager assignor to cooperative-sticky as in Java, in two
restarts: first with ``[CooperativeStickyAssignor, RangeAssignor]``, which all speak eager, then
with the first alone. (kafka-python's own class of that name cannot be listed beside an eager one.)

One thing that cooperative members must say is not in kafka-python's interface: what the consumer
holds. The last assignment does not tell: a member that was put out of the group has lost it, and
one that speaks eager has given it up. To claim it nevertheless would keep it from others for ever,
as nobody is there to revoke it. So the plug-in looks at its caller, which is the coordinator of its
consumer. (kafka-python's own class claims its last assignment.)
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.structs import TopicPartition

from partage.consumers.custom import Subscription
from partage.consumers.user_data import write_generation
from partage.live.plugins import assignors

_SUBSCRIPTION_VERSION = 3
_ASSIGNMENT_VERSION = 0
"""The oldest: whatever is newer adds nothing to it."""


class _Plugin(assignors.GroupAssignor, AbstractPartitionAssignor):  # type: ignore[misc]
    """kafka-python's four questions, put to the assignor."""

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """What consumers with this assignor may speak, best first."""
        if self.cooperative:
            return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]
        return [RebalanceProtocol.EAGER]

    def metadata(self, topics: set[str]) -> ConsumerProtocolSubscription:
        """What this member sends when it joins."""
        said = self.say(topics, _held(sys._getframe(1)) if self.cooperative else None)
        return ConsumerProtocolSubscription(
            version=_SUBSCRIPTION_VERSION,
            topics=list(said.topics),
            user_data=said.user_data,
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
                for topic, numbers in _by_topic(said.owned).items()
            ],
            generation_id=said.generation,
            rack_id=said.rack,
        )

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """What the leader answers, by member id."""
        said = {
            member.member_id: Subscription(
                topics=tuple(member.metadata.topics),
                user_data=member.metadata.user_data,
                owned=tuple(
                    (claim.topic, number)
                    for claim in member.metadata.owned_partitions or ()
                    for number in claim.partitions
                ),
                generation=member.metadata.generation_id,
                rack=member.metadata.rack_id,
                instance_id=member.group_instance_id,
            )
            for member in members
        }
        topics = assignors.partition_counts(cluster, said.values())
        decided = self.decide(topics, said, _racks(cluster, topics, said))
        return {
            member_id: ConsumerProtocolAssignment(
                version=_ASSIGNMENT_VERSION,
                assigned_partitions=list(given.items()),
                user_data=write_generation(decided.round_),
            )
            for member_id, given in decided.given.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """This member's part of the answer."""
        self.hear([(p.topic, p.partition) for p in assignment.partitions()], generation)


class RangeAssignor(_Plugin, assignors.Range):
    __doc__ = assignors.Range.__doc__


class RoundRobinAssignor(_Plugin, assignors.RoundRobin):
    __doc__ = assignors.RoundRobin.__doc__


class StickyAssignor(_Plugin, assignors.Sticky):
    __doc__ = assignors.Sticky.__doc__


class CooperativeStickyAssignor(_Plugin, assignors.CooperativeSticky):
    __doc__ = assignors.CooperativeSticky.__doc__


class FailoverAssignor(_Plugin, assignors.Failover):
    __doc__ = assignors.Failover.__doc__


class WeightedAssignor(_Plugin, assignors.Weighted):
    __doc__ = assignors.Weighted.__doc__


class CustomAssignor(_Plugin, assignors.Custom):
    __doc__ = assignors.Custom.__doc__


def _held(caller: FrameType) -> list[tuple[str, int]] | None:
    """What the consumer of the coordinator that called holds at the moment; None where it was
    called by anything else."""
    coordinator = caller.f_locals.get("self")
    if not isinstance(coordinator, ConsumerCoordinator):
        return None
    if coordinator._rebalance_protocol != RebalanceProtocol.COOPERATIVE:
        return []
    return [(p.topic, p.partition) for p in coordinator._subscription.assigned_partitions()]


def _racks(
    cluster: Any, topics: Mapping[str, int], said: Mapping[str, Subscription]
) -> dict[str, list[list[str]]] | None:
    """The racks of each partition's replicas; None where no member says its own."""
    if not any(subscription.rack for subscription in said.values()):
        return None
    rack_of = {broker.node_id: broker.rack for broker in cluster.brokers() if broker.rack}
    return {
        topic: [
            sorted(
                {
                    rack
                    for node, rack in rack_of.items()
                    if cluster.is_replica_node(TopicPartition(topic, number), node)
                }
            )
            for number in range(count)
        ]
        for topic, count in topics.items()
    }


def _by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        found[topic].append(number)
    return found
