"""The assignors as the members of a running group carry them, apart from any client.

A client asks its assignor three things. Before it joins: what to *say* to the leader, besides the
topics. If it leads: to *decide*, out of what all have said. And when the answer is there, it lets
the assignor *hear* it.

What a member must tell about itself goes where Kafka's own classes put it, so that members of both
kinds can share a group, whoever leads: sticky's last assignment and failover's priority in the user
data, cooperative-sticky's partitions in the subscription, with the generation in both places.

What a consumer holds it says itself where its client lets the assignor know (``held``); otherwise
the assignor goes by the last assignment that it heard of.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from partage.consumers.assign import assign, withhold
from partage.consumers.assignment import Assignment
from partage.consumers.assignors.failover import CONFIG as PRIORITY
from partage.consumers.custom import PartitionAssignor, Subscription, decide
from partage.consumers.user_data import (
    read_generation,
    read_priority,
    read_sticky,
    write_generation,
    write_priority,
    write_sticky,
)
from partage.errors import InputError
from partage.group import Group, Member
from partage.group.model import NO_GENERATION

log = logging.getLogger(__name__)

Partition: TypeAlias = tuple[str, int]
ByTopic: TypeAlias = dict[str, list[int]]
Weights: TypeAlias = Mapping[str, Sequence[int]]
Racks: TypeAlias = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Decision:
    """Partition numbers by topic, by member id; ``round_`` is one more than the newest generation
    that a member has said: the number for those whose client does not tell it."""

    given: Mapping[str, ByTopic]
    round_: int


class GroupAssignor:
    """One of partage's assignors at work in one consumer. One object serves one consumer only.

    - ``rack``: where the consumer runs (KIP-881); needed wherever its client does not say it
    - ``mode``: ``optimal``, or ``java`` as Apache Kafka's class of that name decides
    """

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def __init__(self, *, rack: str | None = None, mode: str = "optimal") -> None:
        self._rack = rack
        self._mode = mode
        self._held: tuple[Partition, ...] = ()
        self._generation = NO_GENERATION

    # -- the member

    def say(self, topics: Iterable[str], held: Iterable[Partition] | None = None) -> Subscription:
        """What goes to the leader. ``held``: what the consumer has kept, None if that is not
        known."""
        wanted = set(topics)
        kept = self._held if held is None else held
        return Subscription(
            tuple(sorted(wanted)),
            user_data=self._user_data(),
            owned=tuple(sorted(p for p in kept if p[0] in wanted)) if self.cooperative else (),
            generation=self._generation,
            rack=self._rack,
        )

    def hear(self, given: Iterable[Partition], generation: int = NO_GENERATION) -> None:
        """The answer."""
        self._held, self._generation = tuple(given), generation

    def _user_data(self) -> bytes | None:
        return None

    # -- the leader

    def decide(
        self,
        topics: Mapping[str, int],
        members: Mapping[str, Subscription],
        racks: Racks | None = None,
    ) -> Decision:
        """Who gets which partition, out of the partition counts of the topics that anybody
        subscribes to and what everybody has said. ``racks``: those of each partition's replicas."""
        group = self._group(topics, members, racks)
        for warning in group.warnings:
            log.warning("%s: %s", self.name, warning)
        found = self._assign(group)
        for note in found.notes:
            log.warning("%s: %s", self.name, note)
        given = {
            member.id: {
                topic: numbers.tolist() for topic, numbers in found.partitions_of(at).items()
            }
            for at, member in enumerate(group.members)
        }
        newest = max((member.generation for member in group.members), default=NO_GENERATION)
        return Decision(given, max(newest, 0) + 1)

    def _assign(self, group: Group) -> Assignment:
        return assign(group, self.name, self._mode)

    def _group(
        self, topics: Mapping[str, int], members: Mapping[str, Subscription], racks: Racks | None
    ) -> Group:
        given = [
            self._member(member_id, subscription) for member_id, subscription in members.items()
        ]
        return Group(topics, given, racks=racks, where=self.name)

    def _member(self, member_id: str, said: Subscription) -> Member:
        return Member(
            id=member_id,
            topics=said.topics,
            generation=said.generation,
            rack=said.rack or None,
            instance_id=said.instance_id,
            user_data=said.user_data,
        )

    def _warn(self, member_id: str, warning: str | None) -> None:
        if warning:
            log.warning("%s: member %s: %s", self.name, member_id, warning)


class Range(GroupAssignor):
    """Topic by topic, in stretches; by rack where members have one (KIP-881)."""

    name = "range"


class RoundRobin(GroupAssignor):
    """All partitions in turn."""

    name = "roundrobin"


class Failover(GroupAssignor):
    """Everything to the member of the highest ``priority``; without one it outranks all others."""

    name = "failover"

    def __init__(
        self,
        *,
        priority: int | None = None,
        config: Mapping[str, Any] | None = None,
        rack: str | None = None,
    ) -> None:
        """The priority itself, or a consumer's configuration with ``assignment.consumer.priority``.
        InputError where that is no int32."""
        super().__init__(rack=rack)
        said = (config or {}).get(PRIORITY) if priority is None else priority
        try:
            self._priority = None if said is None else int(said)
            self._user_data()
        except (TypeError, ValueError, struct.error):
            raise InputError(PRIORITY, f"{said!r}: expected an integer of 32 bits") from None

    def _user_data(self) -> bytes | None:
        return None if self._priority is None else write_priority(self._priority)

    def _member(self, member_id: str, said: Subscription) -> Member:
        priority = read_priority(said.user_data)
        self._warn(member_id, priority.warning)
        return Member(
            id=member_id,
            topics=said.topics,
            instance_id=said.instance_id,
            priority=priority.value,
        )


class Sticky(GroupAssignor):
    """The fairest shares with the fewest moves, all given up in between (eager)."""

    name = "sticky"

    def _user_data(self) -> bytes | None:
        owned: ByTopic = {}
        for topic, number in self._held:
            owned.setdefault(topic, []).append(number)
        known = self._generation if self._generation != NO_GENERATION else None
        return write_sticky(owned, known)

    def _member(self, member_id: str, said: Subscription) -> Member:
        remembered = read_sticky(said.user_data)
        self._warn(member_id, remembered.warning)
        return Member(
            id=member_id,
            topics=said.topics,
            owned=[(t, n) for t, numbers in remembered.owned.items() for n in numbers],
            generation=remembered.generation,
            rack=said.rack or None,
            instance_id=said.instance_id,
        )


class CooperativeSticky(GroupAssignor):
    """The fairest shares with the fewest moves; what stays is read on (KIP-429)."""

    name = "cooperative-sticky"
    cooperative = True

    def _user_data(self) -> bytes:
        return write_generation(self._generation)

    def _member(self, member_id: str, said: Subscription) -> Member:
        generation = said.generation
        if generation == NO_GENERATION:  # of a client that does not know the field
            read = read_generation(said.user_data)
            self._warn(member_id, read.warning)
            generation = NO_GENERATION if read.value is None else read.value
        return Member(
            id=member_id,
            topics=said.topics,
            owned=said.owned,
            generation=generation,
            rack=said.rack or None,
            instance_id=said.instance_id,
        )


class Weighted(Sticky):
    """The most even loads by weight, then few moves. Eager, as sticky.

    ``weights``: a whole number per partition by topic, or what the leader calls for them with the
    partition counts by topic, such as ``partage.live.Lag``. Where that fails the leader says so in
    the log and counts every partition as 1: a group must not stand still for want of weights.
    """

    name = "weighted"

    def __init__(
        self,
        *,
        weights: Weights | Callable[[Mapping[str, int]], Weights] | None = None,
        max_skew: float = 0.0,
        rack: str | None = None,
        mode: str = "optimal",
    ) -> None:
        super().__init__(rack=rack, mode=mode)
        self._weights = weights
        self._max_skew = max_skew

    def _group(
        self, topics: Mapping[str, int], members: Mapping[str, Subscription], racks: Racks | None
    ) -> Group:
        plain = super()._group(topics, members, racks)
        try:
            weights = self._weights(topics) if callable(self._weights) else self._weights
            known = {t: values for t, values in (weights or {}).items() if t in topics}
            group = Group(topics, plain.members, racks=racks, weights=known, where=self.name)
            group.weight.sum()  # looked at here, where what is wrong with them is no harm
            return group if known else plain
        except Exception as problem:
            log.warning("weighted: no weights, every partition counts as 1: %s", problem)
            return plain

    def _assign(self, group: Group) -> Assignment:
        return assign(group, self.name, self._mode, max_skew=self._max_skew)


class Custom(GroupAssignor):
    """An assignor of one's own: a ``PartitionAssignor``, or its class, with its configuration."""

    name = "custom"
    """Of the class; an object has its assignor's."""

    def __init__(
        self,
        assignor: PartitionAssignor | type[PartitionAssignor],
        config: Mapping[str, Any] | None = None,
        *,
        rack: str | None = None,
    ) -> None:
        super().__init__(rack=rack)
        self._assignor = assignor() if isinstance(assignor, type) else assignor
        self._assignor.configure(config or {})
        self.name = self._assignor.name  # type: ignore[misc]
        self.cooperative = self._assignor.cooperative  # type: ignore[misc]

    def say(self, topics: Iterable[str], held: Iterable[Partition] | None = None) -> Subscription:
        plain = super().say(topics, held)
        said = self._assignor.subscription(plain.topics)
        return replace(
            plain,
            topics=tuple(said.topics),
            user_data=said.user_data,
            rack=said.rack or plain.rack,
        )

    def hear(self, given: Iterable[Partition], generation: int = NO_GENERATION) -> None:
        super().hear(given, generation)
        self._assignor.on_assignment(self._held, generation)

    def _assign(self, group: Group) -> Assignment:
        owner = decide(self._assignor, group)
        found = Assignment(group, owner, owner)
        return withhold(found) if self.cooperative else found

    def _member(self, member_id: str, said: Subscription) -> Member:
        return Member(
            id=member_id,
            topics=said.topics,
            owned=said.owned,
            generation=said.generation,
            rack=said.rack or None,
            instance_id=said.instance_id,
            user_data=said.user_data,
        )


def partition_counts(cluster: Any, said: Iterable[Subscription]) -> dict[str, int]:
    """Of the topics that anybody subscribes to and the client knows. ``cluster``: the client's
    picture of it; kafka-python's and aiokafka's answer alike."""
    wanted = sorted({topic for subscription in said for topic in subscription.topics})
    known = {topic: cluster.partitions_for_topic(topic) for topic in wanted}
    return {topic: max(numbers) + 1 for topic, numbers in known.items() if numbers}
