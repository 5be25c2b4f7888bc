"""partage's assignors as the members of a running group use them, independent of the client.

A client calls its assignor three times per rebalance: before it joins, for the ``subscription`` it
sends; if it is the leader, to ``decide`` the assignment from all subscriptions; and when the
assignment arrives, to ``remember`` it.

Whatever a member reports about itself goes where Kafka's Java classes put it, so that both kinds of
members can share a group, whichever leads: sticky's last assignment and failover's priority in the
user data, cooperative-sticky's owned partitions in the subscription, the generation in both.

A client that knows which partitions its consumer owns passes them (``owned``). Otherwise the
assignor uses the last assignment it remembers.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from partage.consumers.assign import assign, withhold
from partage.consumers.assignment import Assignment
from partage.consumers.assignors.failover import CONFIG as PRIORITY
from partage.consumers.assignors.failover import parse_priority
from partage.consumers.custom import PartitionAssignor, Subscription, run_custom_assignor
from partage.consumers.user_data import (
    read_generation,
    read_priority,
    read_sticky,
    write_generation,
    write_priority,
    write_sticky,
)
from partage.group import Group, Member
from partage.group.member import NO_GENERATION

log = logging.getLogger(__name__)

Partition: TypeAlias = tuple[str, int]
ByTopic: TypeAlias = dict[str, list[int]]
Weights: TypeAlias = Mapping[str, Sequence[int]]
Racks: TypeAlias = Mapping[str, Sequence[Sequence[str]]]

SUBSCRIPTION_VERSION = 3
"""KIP-881: the version that added the rack."""

ASSIGNMENT_VERSION = 0
"""The oldest: newer versions add no field."""


@dataclass(frozen=True)
class Decision:
    """A leader's answer. ``assignment``: partition numbers by topic, by member id; ``generation``:
    one more than the newest that a member reported, for clients that do not pass the group's."""

    assignment: Mapping[str, ByTopic]
    generation: int


class GroupAssignor:
    """One of partage's assignors in one consumer. Do not share an object between consumers.

    ``rack``: where the consumer runs (KIP-881), needed unless its client reports it.
    """

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def __init__(self, *, rack: str | None = None) -> None:
        self._rack = rack
        self._owned: tuple[Partition, ...] = ()
        self._generation = NO_GENERATION

    # -- the member

    def subscription(
        self, topics: Iterable[str], owned: Iterable[Partition] | None = None
    ) -> Subscription:
        """The subscription to send to the leader. ``owned``: the partitions that the consumer
        currently owns, None if its client does not know."""
        wanted = set(topics)
        claimed = self._owned if owned is None else owned
        return Subscription(
            tuple(sorted(wanted)),
            user_data=self._user_data(),
            owned=tuple(sorted(p for p in claimed if p[0] in wanted)) if self.cooperative else (),
            generation=self._generation,
            rack=self._rack,
        )

    def remember(self, assigned: Iterable[Partition], generation: int = NO_GENERATION) -> None:
        """Remember the partitions that the leader assigned to this member."""
        self._owned, self._generation = tuple(assigned), generation

    def _user_data(self) -> bytes | None:
        return None

    # -- the leader

    def decide(
        self,
        topics: Mapping[str, int],
        members: Mapping[str, Subscription],
        racks: Racks | None = None,
    ) -> Decision:
        """Assign every partition to a member. ``topics``: partition counts of all subscribed
        topics; ``members``: subscriptions by member id; ``racks``: of each partition's replicas."""
        group = self._group(topics, members, racks)
        for warning in group.warnings:
            log.warning("%s: %s", self.name, warning)
        found = self._assign(group)
        for note in found.notes:
            log.warning("%s: %s", self.name, note)
        assignment = {
            member.id: {
                topic: numbers.tolist() for topic, numbers in found.partitions_of(at).items()
            }
            for at, member in enumerate(group.members)
        }
        newest = max((member.generation for member in group.members), default=NO_GENERATION)
        return Decision(assignment, max(newest, 0) + 1)

    def _assign(self, group: Group) -> Assignment:
        return assign(group, self.name)

    def _group(
        self, topics: Mapping[str, int], members: Mapping[str, Subscription], racks: Racks | None
    ) -> Group:
        joined = [
            self._member(member_id, subscription) for member_id, subscription in members.items()
        ]
        return Group(topics, joined, racks=racks, where=self.name)

    def _member(self, member_id: str, subscription: Subscription) -> Member:
        return Member(
            id=member_id,
            topics=subscription.topics,
            generation=subscription.generation,
            rack=subscription.rack or None,
            instance_id=subscription.instance_id,
            user_data=subscription.user_data,
        )

    def _warn(self, member_id: str, warning: str | None) -> None:
        if warning:
            log.warning("%s: member %s: %s", self.name, member_id, warning)


class Range(GroupAssignor):
    """Contiguous ranges of each topic's partitions; by rack where members have one (KIP-881)."""

    name = "range"


class RoundRobin(GroupAssignor):
    """All partitions to the members in turn."""

    name = "roundrobin"


class Failover(GroupAssignor):
    """All partitions to the member with the highest ``priority``; a member without one comes first.

    Give the priority itself, or a consumer's configuration with ``assignment.consumer.priority``.
    Raises InputError if it is not an int32.
    """

    name = "failover"

    def __init__(
        self,
        *,
        priority: int | None = None,
        config: Mapping[str, Any] | None = None,
        rack: str | None = None,
    ) -> None:
        super().__init__(rack=rack)
        value = (config or {}).get(PRIORITY) if priority is None else priority
        self._priority = None if value is None else parse_priority(PRIORITY, value)

    def _user_data(self) -> bytes | None:
        return None if self._priority is None else write_priority(self._priority)

    def _member(self, member_id: str, subscription: Subscription) -> Member:
        priority = read_priority(subscription.user_data)
        self._warn(member_id, priority.warning)
        return Member(
            id=member_id,
            topics=subscription.topics,
            instance_id=subscription.instance_id,
            priority=priority.value,
        )


class _WithMode(GroupAssignor):
    """An assignor that Apache Kafka has, too, with another answer.

    ``mode``: ``optimal``, or ``java`` to decide as Apache Kafka's class of that name does.
    ``racks_first``: the fewest partitions across racks before the most even loads, of which the
    highest may be ``max_skew`` higher (a fraction; None: any). All members should be configured
    alike: the leader decides.
    """

    def __init__(
        self,
        *,
        rack: str | None = None,
        mode: str = "optimal",
        racks_first: bool = False,
        max_skew: float | None = None,
    ) -> None:
        super().__init__(rack=rack)
        self._mode = mode
        self._racks_first = racks_first
        self._max_skew = max_skew
        # so that a mistake shows in the member that has it, before it leads
        self._assign(Group({"none": 0}, [Member("none", [])]))

    def _assign(self, group: Group) -> Assignment:
        return assign(
            group,
            self.name,
            self._mode,
            racks_first=self._racks_first,
            max_skew=self._max_skew,
        )


class Sticky(_WithMode):
    """Most balanced assignment with the fewest moves; every rebalance revokes all (eager).

    ``mode``: ``optimal``, or ``java`` to decide as Apache Kafka's StickyAssignor does.
    """

    name = "sticky"

    def _user_data(self) -> bytes | None:
        generation = None if self._generation == NO_GENERATION else self._generation
        return write_sticky(by_topic(self._owned), generation)

    def _member(self, member_id: str, subscription: Subscription) -> Member:
        reported = read_sticky(subscription.user_data)
        self._warn(member_id, reported.warning)
        return Member(
            id=member_id,
            topics=subscription.topics,
            owned=[(t, n) for t, numbers in reported.owned.items() for n in numbers],
            generation=reported.generation,
            rack=subscription.rack or None,
            instance_id=subscription.instance_id,
        )


class CooperativeSticky(_WithMode):
    """Most balanced assignment with the fewest moves; consumers keep reading the partitions that
    they keep (KIP-429).

    ``mode``: ``optimal``, or ``java`` to decide as Apache Kafka's CooperativeStickyAssignor does.
    """

    name = "cooperative-sticky"
    cooperative = True

    def _user_data(self) -> bytes:
        return write_generation(self._generation)

    def _member(self, member_id: str, subscription: Subscription) -> Member:
        generation = subscription.generation
        if generation == NO_GENERATION:  # from a client that does not send this field
            reported = read_generation(subscription.user_data)
            self._warn(member_id, reported.warning)
            generation = NO_GENERATION if reported.value is None else reported.value
        return Member(
            id=member_id,
            topics=subscription.topics,
            owned=subscription.owned,
            generation=generation,
            rack=subscription.rack or None,
            instance_id=subscription.instance_id,
        )


class Weighted(Sticky):
    """Most even loads by weight, then few moves. Eager, like sticky.

    ``weights``: a whole number per partition by topic, or a function that the leader calls for
    them with the partition counts by topic, such as ``partage.live.Lag``. If that fails, the leader
    logs a warning and counts every partition as 1: the group must not stop for lack of weights.
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
        super().__init__(rack=rack, mode=mode, max_skew=max_skew)
        self._weights = weights

    def _group(
        self, topics: Mapping[str, int], members: Mapping[str, Subscription], racks: Racks | None
    ) -> Group:
        unweighted = super()._group(topics, members, racks)
        try:
            weights = self._weights(topics) if callable(self._weights) else self._weights
            known = {t: values for t, values in (weights or {}).items() if t in topics}
            group = Group(topics, unweighted.members, racks=racks, weights=known, where=self.name)
            group.weight.sum()  # validates the weights here, where an error can still be caught
            return group if known else unweighted
        except Exception as problem:
            log.warning("weighted: no weights, every partition counts as 1: %s", problem)
            return unweighted


class Custom(GroupAssignor):
    """Your own assignor: a ``PartitionAssignor``, or its class, with its configuration."""

    name = "custom"
    """The name of the class; an object has the name of its assignor."""

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

    def subscription(
        self, topics: Iterable[str], owned: Iterable[Partition] | None = None
    ) -> Subscription:
        default = super().subscription(topics, owned)
        custom = self._assignor.subscription(default.topics)
        return replace(
            default,
            topics=tuple(custom.topics),
            user_data=custom.user_data,
            rack=custom.rack or default.rack,
        )

    def remember(self, assigned: Iterable[Partition], generation: int = NO_GENERATION) -> None:
        super().remember(assigned, generation)
        self._assignor.on_assignment(self._owned, generation)

    def _assign(self, group: Group) -> Assignment:
        owner = run_custom_assignor(self._assignor, group)
        found = Assignment(group, owner, owner)
        return withhold(found) if self.cooperative else found

    def _member(self, member_id: str, subscription: Subscription) -> Member:
        return replace(super()._member(member_id, subscription), owned=subscription.owned)


def partition_counts(cluster: Any, subscriptions: Iterable[Subscription]) -> dict[str, int]:
    """Partition counts of all subscribed topics that the client knows. ``cluster``: the client's
    ``ClusterMetadata``; kafka-python's and aiokafka's have the same methods."""
    wanted = sorted({topic for one in subscriptions for topic in one.topics})
    known = {topic: cluster.partitions_for_topic(topic) for topic in wanted}
    return {topic: max(numbers) + 1 for topic, numbers in known.items() if numbers}


def by_topic(partitions: Iterable[Partition]) -> ByTopic:
    """Partition numbers by topic, both in the order given."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        found[topic].append(number)
    return found
