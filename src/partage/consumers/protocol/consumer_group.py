"""The group coordinator's side of the consumer protocol (KIP-848): no barrier, no leader.

*Epochs.* Whatever changes the members or their subscriptions raises the group epoch. The next
heartbeat of any member computes the target assignment of that epoch, unless the last one was
computed less than ``assignment_interval`` ago; then a later heartbeat does. A member's epoch is
that of the last target assignment that it has reached.

*Reconciliation, member by member.* At its heartbeat, a member that is behind the target must first
revoke what it loses; until it has confirmed that, it stays in its epoch. Then it enters the epoch
of the target, and is given what no other member holds or has yet to revoke; the rest comes with
later heartbeats, when the others have confirmed. So no partition ever has two owners, and a member
that loses and gains nothing is not concerned.

*Fencing.* A member without a heartbeat for ``session_timeout`` is removed, as is one that does not
confirm a revocation within its rebalance timeout. Its later heartbeats are answered with
UNKNOWN_MEMBER_ID, those of a wrong epoch with FENCED_MEMBER_EPOCH: it must give up everything and
join again.

*Static members.* One that leaves keeps its entry and its partitions until its session expires. One
that returns with the instance id takes both over, in the same epoch. While the former process has
not left, the newcomer is refused with UNRELEASED_INSTANCE_ID.

The assignor is the one that most members ask for (``group.remote.assignor``), or else uniform.

*Topics.* A new or deleted topic or a new partition that the group subscribes to raises the group
epoch. The broker matches all regular expressions of the group when a member brings a new one, and
at the first heartbeat after a topic was created, but not within 10 s of the last time; where other
topics match, it raises the epoch, and the heartbeat after that computes the target.

Not modelled: the milliseconds in which the broker matches a regular expression, lost messages.

Source: KIP-848, KIP-1263, and GroupMetadataManager and CurrentAssignmentBuilder of Kafka 4.3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from partage.consumers.java_order import java_order
from partage.consumers.protocol.consumer import SimulatedConsumer
from partage.consumers.protocol.coordinator import State
from partage.consumers.protocol.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    Answer,
    ConsumerHeartbeat,
    ConsumerHeartbeatAnswer,
    Error,
    Join,
    Partition,
    Partitions,
    Request,
)
from partage.consumers.protocol.timers import Timers
from partage.patterns import matching


@dataclass
class ConsumerGroupMember:
    """A member as the coordinator knows it.

    - ``request``: its last heartbeat with a subscription; ``topics``: those it subscribes to
    - ``assigned``: what it has, or is to take; ``revoking``: what it has yet to revoke
    - ``waits``: whether others hold partitions of its target
    - ``assignment``: its part of the target assignment
    - ``classic``: the last join of a member of the classic protocol (``mixed_group``)
    """

    member_id: str
    request: ConsumerHeartbeat
    topics: tuple[str, ...] = ()
    epoch: int = JOIN_EPOCH
    assigned: frozenset[Partition] = frozenset()
    revoking: frozenset[Partition] = frozenset()
    waits: bool = False
    assignment: Partitions = ()
    classic: Join | None = None

    @property
    def client(self) -> str:
        return self.request.client


MATCH_INTERVAL = 10.0
"""Least seconds between two times that the broker matches the regular expressions of a group
(REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)."""

BrokerAssignor: TypeAlias = Callable[
    [str, Sequence[ConsumerGroupMember], Mapping[str, int]], Mapping[str, Partitions]
]
"""(assignor, members with their last target, partition counts) → partitions by member id."""


@dataclass
class ConsumerGroupCoordinator:
    """The coordinator of one consumer group; its methods are those of ``Coordinator``.

    - ``assign``: computes a target assignment
    - ``topics``: partition counts of those that exist
    - ``group_epoch``: the last one before the first member joins
    - ``removed``: (time, client, reason) of the members that were removed
    """

    assign: BrokerAssignor
    group_epoch: int = 0
    topics: Mapping[str, int] = field(default_factory=dict)
    session_timeout: float = 45.0
    assignment_interval: float = 1.0
    members: dict[str, ConsumerGroupMember] = field(default_factory=dict)
    removed: list[tuple[float, str, str]] = field(default_factory=list)
    assignor: str = ""
    leader: str | None = None
    _target_epoch: int = field(init=False)
    _assigned_at: float = -math.inf
    _holder: dict[Partition, str] = field(default_factory=dict)
    _sessions: Timers = field(default_factory=Timers)
    _revocations: Timers = field(default_factory=Timers)
    _matched: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _matched_at: float = -math.inf
    _topic_created: bool = False

    def __post_init__(self) -> None:
        self._target_epoch = self.group_epoch

    @property
    def generation(self) -> int:
        """The epoch of the target assignment."""
        return self._target_epoch

    @property
    def state(self) -> State:
        """EMPTY or STABLE: there is no barrier."""
        return State.STABLE if self.members else State.EMPTY

    def topics_changed(self, topics: Mapping[str, int], changed: str, created: bool) -> None:
        """A topic was ``created``, has more partitions, or was deleted."""
        self.topics = topics
        self._topic_created |= created
        self.group_epoch += any(changed in member.topics for member in self.members.values())

    # -- called by the network

    def handle(self, now: float, request: Request) -> list[Answer]:
        """Process a heartbeat. Returns the answer."""
        assert isinstance(request, ConsumerHeartbeat)
        if request.epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            self._leave(request)
            return [ConsumerHeartbeatAnswer(request)]
        member = self._member_of(now, request)
        if isinstance(member, Error):
            return [ConsumerHeartbeatAnswer(request, member)]
        before = member.assigned
        if self.group_epoch > self._target_epoch:
            self._update_target(now)
        self._reconcile(now, member, request.owned)
        self._sessions.put(member.member_id, now + self.session_timeout)
        if self._matched and self._topic_created and now > self._matched_at + MATCH_INTERVAL:
            self._match(now)
        changed = request.epoch == JOIN_EPOCH or member.assigned != before
        assigned = tuple(sorted(member.assigned)) if changed else None
        return [
            ConsumerHeartbeatAnswer(
                request, epoch=member.epoch, target_epoch=self._target_epoch, assigned=assigned
            )
        ]

    def tick(self, now: float) -> list[Answer]:
        """Remove the members whose time is up."""
        expired, overdue = self._sessions.due(now), self._revocations.due(now)
        for member in [self.members[key] for key in self.members if key in expired | overdue]:
            silent = member.member_id in expired
            late = "confirm a revocation" if member.classic is None else "join or sync"
            why = "its session expired" if silent else f"it did not {late} in time"
            self._remove(now, member, why)
        return []

    @property
    def deadline(self) -> float:
        """When the next time-out is due, in seconds; infinity for never."""
        return min(self._sessions.first(), self._revocations.first())

    def counts(self, consumer: SimulatedConsumer) -> bool:
        """Whether the process is a member, so that the group accepts its commits."""
        member = self.members.get(consumer.member_id)
        return member is not None and member.client == consumer.client

    def settled(self, running: Sequence[SimulatedConsumer]) -> bool:
        """Whether exactly these processes are members, and all have reached the target."""
        members = list(self.members.values())
        known = {member.client for member in members}
        return (
            known == {consumer.client for consumer in running}
            and all(member.epoch == self.group_epoch and not member.waits for member in members)
            and all(set(self._matches(name)) <= set(of) for name, of in self._matched.items())
        )

    # -- members

    def _member_of(self, now: float, request: ConsumerHeartbeat) -> ConsumerGroupMember | Error:
        member = self.members.get(request.member_id)
        if request.epoch == JOIN_EPOCH:
            former = self._static(request.instance_id)
            if former is not None and former is not member:
                if former.epoch != LEAVE_STATIC_EPOCH and former.classic is None:
                    return Error.UNRELEASED_INSTANCE_ID
                member = self._replace(former, request.member_id)
            return self._subscribe(now, member, request)
        if member is None:
            static = self._static(request.instance_id) is not None
            return Error.FENCED_INSTANCE_ID if static else Error.UNKNOWN_MEMBER_ID
        if request.epoch != member.epoch:
            return Error.FENCED_MEMBER_EPOCH
        return member

    def _static(self, instance_id: str | None) -> ConsumerGroupMember | None:
        members = self.members.values() if instance_id is not None else ()
        return next((m for m in members if m.request.instance_id == instance_id), None)

    def _subscribe(
        self, now: float, member: ConsumerGroupMember | None, request: ConsumerHeartbeat
    ) -> ConsumerGroupMember:
        """A member joins, or joins again, in the epoch that it sends."""
        if member is None:
            member = ConsumerGroupMember(request.member_id, request)
            self.members[request.member_id] = member
            self.group_epoch += 1
        elif _subscription(member.request) != _subscription(request):
            self.group_epoch += 1
        member.request, member.epoch, member.classic = request, request.epoch, None
        if request.pattern is not None and request.pattern not in self._matched:
            self._match(now)
        member.topics = self._subscribed(request)
        return member

    def _match(self, now: float) -> None:
        """Match the regular expressions of all members again."""
        requests = [member.request for member in self.members.values()]
        patterns = sorted({of.pattern for of in requests if of.pattern is not None})
        found = {pattern: self._matches(pattern) for pattern in patterns}
        self.group_epoch += any(self._matched.get(p, found[p]) != found[p] for p in patterns)
        self._matched, self._matched_at, self._topic_created = found, now, False
        for member in self.members.values():
            member.topics = self._subscribed(member.request)

    def _matches(self, pattern: str) -> tuple[str, ...]:
        return tuple(matching(pattern, self.topics))

    def _subscribed(self, request: ConsumerHeartbeat) -> tuple[str, ...]:
        more = () if request.pattern is None else self._matched[request.pattern]
        return tuple(dict.fromkeys((*request.topics, *more)))

    def _replace(self, former: ConsumerGroupMember, member_id: str) -> ConsumerGroupMember:
        """Hand the entry of a static member over to the process that returns."""
        del self.members[former.member_id]
        self._forget_times(former)
        former.member_id = member_id
        self.members[member_id] = former
        self._holder.update(dict.fromkeys(former.assigned, member_id))
        return former

    def _leave(self, request: ConsumerHeartbeat) -> None:
        member = self.members.get(request.member_id)
        if member is None:
            return
        if request.epoch == LEAVE_STATIC_EPOCH:
            self._release(member.revoking)
            member.revoking = frozenset()
            self._revocations.put(member.member_id, math.inf)
            member.epoch = LEAVE_STATIC_EPOCH
        else:
            self._delete(member)

    def _remove(self, now: float, member: ConsumerGroupMember, reason: str) -> None:
        self._delete(member)
        self.removed.append((now, member.client, reason))

    def _delete(self, member: ConsumerGroupMember) -> None:
        self._release(member.assigned | member.revoking)
        del self.members[member.member_id]
        self._forget_times(member)
        if member.request.pattern is not None:
            patterns = {other.request.pattern for other in self.members.values()}
            self._matched = {name: of for name, of in self._matched.items() if name in patterns}
        self.group_epoch += 1
        if not self.members:
            self._target_epoch = self.group_epoch

    def _forget_times(self, member: ConsumerGroupMember) -> None:
        self._sessions.put(member.member_id, math.inf)
        self._revocations.put(member.member_id, math.inf)

    # -- the target, and the way there

    def _update_target(self, now: float) -> None:
        if now < self._assigned_at + self.assignment_interval:
            return
        members = list(self.members.values())
        self.assignor = self._vote(members)
        found = self.assign(self.assignor, members, self.topics)
        for member in members:
            member.assignment = found.get(member.member_id, ())
        self._target_epoch, self._assigned_at = self.group_epoch, now

    @staticmethod
    def _vote(members: Sequence[ConsumerGroupMember]) -> str:
        votes = Counter(member.request.assignor for member in members if member.request.assignor)
        named = list(votes)
        order = [named[at] for at in java_order(named)]
        return max(order, key=votes.__getitem__, default="uniform")

    def _reconcile(self, now: float, member: ConsumerGroupMember, owned: Partitions | None) -> None:
        if member.revoking:
            if owned is None or member.revoking.intersection(owned):
                return
            self._release(member.revoking)
            member.revoking = frozenset()
            if member.classic is None:
                self._revocations.put(member.member_id, math.inf)
        elif member.epoch == self._target_epoch and not member.waits:
            return
        target = frozenset(member.assignment)
        kept, gone = member.assigned & target, member.assigned - target
        if gone and (owned is None or gone.intersection(owned)):
            member.assigned, member.revoking = kept, gone
            if member.classic is None:
                self._revocations.put(member.member_id, now + member.request.rebalance_timeout)
            return
        self._release(gone)
        free = frozenset(p for p in target - kept if p not in self._holder)
        member.assigned = kept | free
        self._holder.update(dict.fromkeys(free, member.member_id))
        member.waits = member.assigned != target
        member.epoch = self._target_epoch

    def _release(self, partitions: frozenset[Partition]) -> None:
        for partition in partitions:
            del self._holder[partition]


def _subscription(request: ConsumerHeartbeat) -> tuple[object, ...]:
    return request.topics, request.pattern
