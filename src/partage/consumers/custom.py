"""Custom assignors: the four methods of Kafka's ConsumerPartitionAssignor, and configuration.

A subclass of ``PartitionAssignor`` defines its ``name``, what a member puts into its
``subscription`` besides the topics, how the leader ``assign``s, and what a member does
``on_assignment``. It is created without arguments.

In a client (``partage.live.CustomAssignor``) every member has its own instance, which first
receives the consumer's configuration (``configure``), as Kafka does with a Configurable class.
``partage assign`` and ``simulate`` only play the leader: they create one instance for the whole run
and call nothing but ``assign``.

``register`` adds an assignor to the registry; ``--assignor module:Class`` imports one. The result
is checked: each partition goes to one member, which exists and subscribes to the topic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from partage.errors import PartageError
from partage.group import Group, Member
from partage.group.member import NO_GENERATION
from partage.group.model import NO_MEMBER

Partition = tuple[str, int]


@dataclass(frozen=True)
class Subscription:
    """What a member sends when it joins. Its assignor fills in ``topics`` and ``user_data``."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[Partition] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    instance_id: str | None = None


class PartitionAssignor(ABC):
    """Base class of a custom assignor.

    - ``name``: unique; all members of a group must have an assignor of the same name
    - ``cooperative``: whether its members use the cooperative protocol (KIP-429)
    """

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read the assignor's settings from the consumer's configuration."""
        return

    def subscription(self, topics: Sequence[str]) -> Subscription:
        """What this member sends to the leader."""
        return Subscription(tuple(topics))

    @abstractmethod
    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, Subscription]
    ) -> Mapping[str, Iterable[Partition]]:
        """Partitions by member id. ``partitions``: partition counts of the topics that at least one
        member subscribes to; ``members``: subscriptions by member id."""

    def on_assignment(self, partitions: Sequence[Partition], generation: int) -> None:
        """Called on a member that has received its partitions."""
        return


def run_custom_assignor(assignor: PartitionAssignor, group: Group) -> npt.NDArray[np.int64]:
    """[P] the member of each partition. Raises PartageError for a result that is not a valid
    assignment of this group."""
    is_subscribed: list[bool] = np.asarray(group.subscribes.any(axis=0)).tolist()
    counts = {
        topic: count
        for (topic, count), subscribed in zip(group.topics.items(), is_subscribed, strict=True)
        if subscribed
    }
    result = assignor.assign(counts, {member.id: _subscription(member) for member in group.members})
    position = {member.id: at for at, member in enumerate(group.members)}
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    for member_id, partitions in result.items():
        member = position.get(member_id)
        if member is None:
            raise PartageError(
                f"{assignor.name}: assigns partitions to {member_id!r}, which is not a member"
            )
        for topic, number in partitions:
            row = _row(assignor, group, member, topic, number)
            if owner[row] != NO_MEMBER:
                raise PartageError(f"{assignor.name}: assigns {topic}-{number} twice")
            owner[row] = member
    return owner


def _row(assignor: PartitionAssignor, group: Group, member: int, topic: str, number: int) -> int:
    """Position of a partition that the member may have; PartageError otherwise."""
    place = group.position(topic)
    if place is None or not 0 <= number < group.topics[topic]:
        raise PartageError(f"{assignor.name}: assigns {topic}-{number}, which does not exist")
    if not group.subscribes[group.class_of[member], place]:
        raise PartageError(
            f"{assignor.name}: assigns {topic}-{number} to {group.members[member].id!r}, "
            "which does not subscribe to it"
        )
    return int(group.offset[place]) + number


def _subscription(member: Member) -> Subscription:
    owned = member.owned
    if isinstance(owned, Mapping):
        owned = [(topic, int(number)) for topic, numbers in owned.items() for number in numbers]
    return Subscription(
        topics=tuple(member.topics),
        user_data=member.user_data,
        owned=tuple(owned),
        generation=member.generation,
        rack=member.rack,
        instance_id=member.instance_id,
    )
