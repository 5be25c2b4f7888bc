"""An assignor of your own, with the four parts of Kafka's interface, and configuration.

A subclass of ``PartitionAssignor`` says its ``name``, what its member puts into the
``subscription`` besides the topics, how the leader is to ``assign``, and what a member does
``on_assignment``. It is made without arguments. In a client (``partage.live.CustomAssignor``) every
member has one of its own, which is first given the consumer's configuration (``configure``), as
Kafka does with a class that is Configurable. ``partage assign`` and ``simulate`` play the leader
alone: they make one for the whole run, and ask it to ``assign`` and nothing else.

``register`` enters it beside the assignors that there are; ``--assignor module:Class`` takes one
from where Python finds it. What it answers is checked: a partition goes to one member, which exists
and subscribes to its topic.
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
from partage.group.model import NOBODY

Partition = tuple[str, int]


@dataclass(frozen=True)
class Subscription:
    """What a member says when it joins. Its assignor fills in ``topics`` and ``user_data``."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[Partition] = ()
    generation: int = NO_GENERATION
    rack: str | None = None
    instance_id: str | None = None


class PartitionAssignor(ABC):
    """Base of an assignor. ``name`` is unique; all members of a group must have it in common.
    ``cooperative``: its members speak the cooperative protocol (KIP-429)."""

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take what concerns it out of the consumer's configuration."""
        return

    def subscription(self, topics: Sequence[str]) -> Subscription:
        """What this member sends to the leader."""
        return Subscription(tuple(topics))

    @abstractmethod
    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, Subscription]
    ) -> Mapping[str, Iterable[Partition]]:
        """Who gets which partition: by member, out of the partition counts of the topics that
        somebody subscribes to."""

    def on_assignment(self, partitions: Sequence[Partition], generation: int) -> None:
        """This member's part of the answer has come."""
        return


def decide(assignor: PartitionAssignor, group: Group) -> npt.NDArray[np.int64]:
    """[P] the member of each partition, as the assignor answers for this group. Raises PartageError
    where its answer is none."""
    wanted: list[bool] = np.asarray(group.subscribes.any(axis=0)).tolist()
    counts = {
        topic: count
        for (topic, count), is_wanted in zip(group.topics.items(), wanted, strict=True)
        if is_wanted
    }
    answer = assignor.assign(counts, {member.id: _subscription(member) for member in group.members})
    position = {member.id: at for at, member in enumerate(group.members)}
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    for member_id, partitions in answer.items():
        at = position.get(member_id)
        if at is None:
            raise PartageError(f"{assignor.name}: assigns to {member_id!r}, which is no member")
        for topic, number in partitions:
            place = group.position(topic)
            if place is None or not 0 <= number < group.topics[topic]:
                raise PartageError(f"{assignor.name}: assigns {topic}-{number}, which is none")
            if not group.subscribes[group.class_of[at], place]:
                raise PartageError(
                    f"{assignor.name}: assigns {topic}-{number} to {member_id!r}, "
                    "which does not subscribe to it"
                )
            row = int(group.offset[place]) + number
            if owner[row] != NOBODY:
                raise PartageError(f"{assignor.name}: assigns {topic}-{number} twice")
            owner[row] = at
    return owner


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
