"""The assignors for kafka-python's ``KafkaConsumer(partition_assignment_strategy=[…])``.

List a class if it needs no arguments, an object if it does: ``StickyAssignor``, or
``FailoverAssignor(priority=10)``. Do not share an object between consumers.

kafka-python does not pass the consumer's rack to its assignors: give it to the assignor as well as
to the consumer (``client_rack``).

A group changes from an eager assignor to cooperative-sticky in two rolling restarts, as in Java:
first with ``[CooperativeStickyAssignor, RangeAssignor]``, which makes all members eager, then with
the first one alone. (kafka-python's own CooperativeStickyAssignor cannot be listed beside an eager
one.)

A cooperative member must report the partitions that its consumer owns, which kafka-python does not
pass to assignors either. The last assignment is not enough: a member that was removed from the
group has lost it, and an eager one has revoked it. Claiming it anyway would keep it from the other
members for ever, because no consumer would revoke it. So the plug-in asks the coordinator that
calls it (``compat_kafka_python.owned_partitions``). (kafka-python's own class claims its last
assignment.)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.structs import TopicPartition

from partage.consumers.custom import Subscription
from partage.consumers.user_data import write_generation
from partage.live.compat_kafka_python import owned_partitions
from partage.live.plugins import assignors


class _Plugin(assignors.GroupAssignor, AbstractPartitionAssignor):  # type: ignore[misc]
    """kafka-python's interface of an assignor, answered by one of partage's."""

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """The rebalance protocols that consumers with this assignor support, preferred first."""
        if self.cooperative:
            return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]
        return [RebalanceProtocol.EAGER]

    def metadata(self, topics: set[str]) -> ConsumerProtocolSubscription:
        """The subscription that this member sends when it joins."""
        owned = owned_partitions(inspect.currentframe()) if self.cooperative else None
        subscription = self.subscription(topics, owned)
        return ConsumerProtocolSubscription(
            version=assignors.SUBSCRIPTION_VERSION,
            topics=list(subscription.topics),
            user_data=subscription.user_data,
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
                for topic, numbers in assignors.by_topic(subscription.owned).items()
            ],
            generation_id=subscription.generation,
            rack_id=subscription.rack,
        )

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """The leader's assignment, by member id."""
        subscriptions = {
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
        topics = assignors.partition_counts(cluster, subscriptions.values())
        decision = self.decide(topics, subscriptions, _racks(cluster, topics, subscriptions))
        return {
            member_id: ConsumerProtocolAssignment(
                version=assignors.ASSIGNMENT_VERSION,
                assigned_partitions=list(assigned.items()),
                user_data=write_generation(decision.generation),
            )
            for member_id, assigned in decision.assignment.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """This member's part of the leader's assignment."""
        self.remember([(p.topic, p.partition) for p in assignment.partitions()], generation)


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


def _racks(
    cluster: Any, topics: Mapping[str, int], subscriptions: Mapping[str, Subscription]
) -> dict[str, list[list[str]]] | None:
    """The racks of each partition's replicas; None if no member reports its own."""
    if not any(subscription.rack for subscription in subscriptions.values()):
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
