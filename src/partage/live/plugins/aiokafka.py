"""The assignors as objects for aiokafka's ``AIOKafkaConsumer(partition_assignment_strategy=[…])``.

Always objects, one for each consumer: ``[StickyAssignor()]``. List a single one: aiokafka joins
once for every assignor of its list.

What aiokafka's coordinator cannot do, and so no plug-in either:

- it gives up everything before it joins, so there is no cooperative mode, and no
  ``CooperativeStickyAssignor`` here: as a leader it could not read what cooperative members hold
- as a leader it reads the oldest form of a subscription only: no rack and no generation of the
  others. What this member says carries its rack all the same, for a leader that reads it
- it drops instance ids, so that range and roundrobin order static members by member id
- it tells an assignor no generation. partage's leaders send a number with the assignment, one more
  than the newest they heard of, and that is used instead; under another leader there is none
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.protocol.struct import Struct
from aiokafka.protocol.types import Array, Bytes, Int16, Int32, Schema, String

from partage.consumers.custom import Subscription
from partage.consumers.user_data import read_generation, write_generation
from partage.errors import InputError
from partage.group.model import NO_GENERATION
from partage.live.plugins import assignors

_SUBSCRIPTION_VERSION = 3
_ASSIGNMENT_VERSION = 0
"""The oldest: whatever is newer adds nothing to it."""


class ConsumerProtocolSubscription(Struct):  # type: ignore[misc]
    """A subscription as Kafka's consumers write it since KIP-881; aiokafka has the oldest only."""

    SCHEMA = Schema(
        ("version", Int16),
        ("topics", Array(String("utf-8"))),
        ("user_data", Bytes),
        ("owned_partitions", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))),
        ("generation_id", Int32),
        ("rack_id", String("utf-8")),
    )


class _Plugin(assignors.GroupAssignor, AbstractPartitionAssignor):  # type: ignore[misc]
    """aiokafka's four questions, put to the assignor."""

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """What this member sends when it joins."""
        said = self.say(topics)
        return ConsumerProtocolSubscription(
            _SUBSCRIPTION_VERSION,
            list(said.topics),
            said.user_data,
            [],  # all has been given up by now
            said.generation,
            said.rack,
        )

    def assign(
        self, cluster: Any, members: Mapping[str, Any]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """What the leader answers, by member id."""
        said = {
            member_id: Subscription(tuple(member.subscription), user_data=member.user_data)
            for member_id, member in members.items()
        }
        decided = self.decide(assignors.partition_counts(cluster, said.values()), said)
        return {
            member_id: ConsumerProtocolMemberAssignment(
                _ASSIGNMENT_VERSION, list(given.items()), write_generation(decided.round_)
            )
            for member_id, given in decided.given.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """This member's part of the answer."""
        given = [(topic, n) for topic, numbers in assignment.assignment for n in numbers]
        number = read_generation(assignment.user_data).value
        self.hear(given, NO_GENERATION if number is None else number)


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
    """An assignor of one's own, which must not be cooperative (see above)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.cooperative:
            raise InputError(self.name, "is cooperative, which aiokafka cannot be")
