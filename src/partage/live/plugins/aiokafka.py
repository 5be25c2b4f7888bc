"""The assignors for aiokafka's ``AIOKafkaConsumer(partition_assignment_strategy=[…])``.

List one object, made for this consumer: ``[StickyAssignor()]``. aiokafka joins the group once for
every assignor in the list.

What aiokafka's coordinator does not support, no plug-in can add:

- It revokes all partitions before it joins. So there is no cooperative mode, and no
  ``CooperativeStickyAssignor`` here: as a leader it could not read what cooperative members own.
- As a leader it reads the oldest version of a subscription only, without the members' racks and
  generations. This plug-in still sends its own rack, for a leader that reads it.
- It drops instance ids, so that range and roundrobin order static members by member id.
- It does not pass the generation to assignors. partage's leaders send a number with the
  assignment, one more than the newest they received, and members use that instead; under another
  leader there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partage.consumers.custom import Subscription
from partage.consumers.user_data import read_generation, write_generation
from partage.errors import InputError
from partage.group.member import NO_GENERATION
from partage.live.compat_aiokafka import (
    AbstractPartitionAssignor,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolSubscription,
)
from partage.live.plugins import assignors


class _Plugin(assignors.GroupAssignor, AbstractPartitionAssignor):  # type: ignore[misc]
    """aiokafka's interface of an assignor, answered by one of partage's."""

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """The subscription that this member sends when it joins."""
        subscription = self.subscription(topics)
        return ConsumerProtocolSubscription(
            assignors.SUBSCRIPTION_VERSION,
            list(subscription.topics),
            subscription.user_data,
            [],  # the coordinator has revoked all partitions by now
            subscription.generation,
            subscription.rack,
        )

    def assign(
        self, cluster: Any, members: Mapping[str, Any]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """The leader's assignment, by member id."""
        subscriptions = {
            member_id: Subscription(tuple(member.subscription), user_data=member.user_data)
            for member_id, member in members.items()
        }
        topics = assignors.partition_counts(cluster, subscriptions.values())
        decision = self.decide(topics, subscriptions)
        return {
            member_id: ConsumerProtocolMemberAssignment(
                assignors.ASSIGNMENT_VERSION,
                list(assigned.items()),
                write_generation(decision.generation),
            )
            for member_id, assigned in decision.assignment.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """This member's part of the leader's assignment."""
        assigned = [(topic, n) for topic, numbers in assignment.assignment for n in numbers]
        generation = read_generation(assignment.user_data).value
        self.remember(assigned, NO_GENERATION if generation is None else generation)


class RangeAssignor(_Plugin, assignors.Range):
    __doc__ = assignors.Range.__doc__


class RoundRobinAssignor(_Plugin, assignors.RoundRobin):
    __doc__ = assignors.RoundRobin.__doc__


class StickyAssignor(_Plugin, assignors.Sticky):
    __doc__ = assignors.Sticky.__doc__


class FailoverAssignor(_Plugin, assignors.Failover):
    __doc__ = assignors.Failover.__doc__


class WeightedAssignor(_Plugin, assignors.Weighted):
    __doc__ = assignors.Weighted.__doc__


class CustomAssignor(_Plugin, assignors.Custom):
    """Your own assignor, which must not be cooperative: aiokafka supports eager ones only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.cooperative:
            raise InputError(self.name, "is cooperative: aiokafka supports eager assignors only")
