"""Members of the classic protocol in a consumer group, as during a migration (KIP-848).

The broker assigns to them, too. A join is answered at once: with the member's epoch as generation,
without subscriptions, so no member leads. Its sync gets what the member has now. A heartbeat is
answered with REBALANCE_IN_PROGRESS when a target is newer than the member's epoch, when the member
has yet to revoke partitions, or when those that it waits for are free. The owned partitions of its
join confirm what it revoked: an eager member owns none then, a cooperative one joins twice.

A member that does not join within its rebalance timeout after that answer, or does not sync within
that time after it has joined, is removed.

Source: classicGroup…ToConsumerGroup of Kafka 4.3's GroupMetadataManager.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from partage.consumers.protocol.consumer import Phase, SimulatedConsumer
from partage.consumers.protocol.consumer_group import ConsumerGroupCoordinator, ConsumerGroupMember
from partage.consumers.protocol.coordinator import ClassicMember, MemberIds
from partage.consumers.protocol.messages import (
    JOIN_EPOCH,
    Answer,
    ConsumerHeartbeat,
    Error,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Request,
    Sync,
    Synced,
)


@dataclass
class MixedGroupCoordinator(ConsumerGroupCoordinator):
    """The coordinator of a consumer group that also has members of the classic protocol. ``ids``:
    gives these their ids."""

    ids: MemberIds = field(default_factory=MemberIds)

    def adopt(self, now: float, members: Sequence[ClassicMember]) -> None:
        """Begin with the members of a classic group, in the epoch of its generation. What they were
        assigned last is their target."""
        for one in members:
            request = _as_heartbeat(one.request, one.member_id, self.group_epoch)
            member = ConsumerGroupMember(
                one.member_id,
                request,
                request.topics,
                self.group_epoch,
                frozenset(one.assignment),
                assignment=one.assignment,
                classic=one.request,
            )
            self.members[one.member_id] = member
            self._holder.update(dict.fromkeys(one.assignment, one.member_id))
            self._sessions.put(one.member_id, now + one.request.session_timeout)

    @property
    def classic(self) -> list[ClassicMember]:
        """Its members of the classic protocol."""
        return [
            ClassicMember(
                member.member_id,
                member.classic,
                assignment=member.assignment,
                generation=member.epoch,
                since=member.epoch,
            )
            for member in self.members.values()
            if member.classic is not None
        ]

    @property
    def stale(self) -> bool:
        """Whether the target is older than the group epoch."""
        return self._target_epoch < self.group_epoch

    def handle(self, now: float, request: Request) -> list[Answer]:
        """Process a request of either protocol. Returns the answer."""
        match request:
            case Join():
                return [self._joined(now, request)]
            case Sync():
                return [self._synced(now, request)]
            case Heartbeat():
                return [Answer(request, self._beat(now, request))]
            case Leave():
                member = self._classic_of(request)
                if isinstance(member, Error):
                    return [Answer(request, member)]
                self._delete(member)
                return [Answer(request)]
        return super().handle(now, request)

    def settled(self, running: Sequence[SimulatedConsumer]) -> bool:
        """Whether exactly these processes are members, and all have reached the target."""
        classic = {m.client: m for m in self.members.values() if m.classic is not None}
        return super().settled(running) and all(
            one.phase is Phase.MEMBER and one.held == classic[one.client].assigned
            for one in running
            if one.client in classic
        )

    def _joined(self, now: float, request: Join) -> Joined:
        if not self._has_candidate(request):
            return Joined(request, Error.INCONSISTENT_GROUP_PROTOCOL)
        member = self._joining(now, request)
        if isinstance(member, Error):
            return Joined(request, member)
        member_id = self.ids.give(request.client) if member is None else member.member_id
        epoch = JOIN_EPOCH if member is None else member.epoch
        member = self._subscribe(now, member, _as_heartbeat(request, member_id, epoch))
        member.classic = request
        if self.stale:
            self._update_target(now)
        self._reconcile(now, member, request.subscription.owned)
        self._sessions.put(member_id, now + request.session_timeout)
        self._revocations.put(member_id, now + request.rebalance_timeout)
        return Joined(request, None, member_id, member.epoch, request.assignors[0])

    def _has_candidate(self, request: Join) -> bool:
        lists = [m.classic.assignors for m in self.members.values() if m.classic is not None]
        listed = Counter(name for names in lists for name in set(names))
        return any(listed[name] == len(lists) for name in request.assignors)

    def _joining(self, now: float, request: Join) -> ConsumerGroupMember | Error | None:
        """The member that joins again, None for a new one."""
        if request.member_id:
            return self._classic_of(request)
        former = self._static(request.instance_id)
        if former is None:
            return None
        self.removed.append((now, former.client, "its instance id joined as another member"))
        former.epoch = JOIN_EPOCH
        return self._replace(former, self.ids.give(request.client))

    def _classic_of(self, request: Join | Sync | Heartbeat | Leave) -> ConsumerGroupMember | Error:
        static = self._static(request.instance_id)
        if static is not None and static.member_id != request.member_id:
            return Error.FENCED_INSTANCE_ID
        member = self.members.get(request.member_id)
        return Error.UNKNOWN_MEMBER_ID if member is None or member.classic is None else member

    def _synced(self, now: float, request: Sync) -> Synced:
        member = self._classic_of(request)
        if isinstance(member, Error):
            return Synced(request, member)
        if request.generation != member.epoch:
            return Synced(request, Error.ILLEGAL_GENERATION)
        if member.epoch < self._target_epoch and not member.revoking:
            self._revocations.start(member.member_id, now + member.request.rebalance_timeout)
            return Synced(request, Error.REBALANCE_IN_PROGRESS)
        self._revocations.put(member.member_id, math.inf)
        self._renew(now, member)
        # the epoch that it is on the way to, not sent by Kafka
        return Synced(request, None, self._target_epoch, tuple(sorted(member.assigned)))

    def _beat(self, now: float, request: Heartbeat) -> Error | None:
        member = self._classic_of(request)
        if isinstance(member, Error):
            return member
        if request.generation != member.epoch:
            return Error.ILLEGAL_GENERATION
        self._renew(now, member)
        missing = set(member.assignment) - member.assigned
        free = member.waits and not any(partition in self._holder for partition in missing)
        if member.epoch < self._target_epoch or member.revoking or free:
            self._revocations.start(member.member_id, now + member.request.rebalance_timeout)
            return Error.REBALANCE_IN_PROGRESS
        return None

    def _renew(self, now: float, member: ConsumerGroupMember) -> None:
        assert member.classic is not None
        self._sessions.put(member.member_id, now + member.classic.session_timeout)


def _as_heartbeat(join: Join, member_id: str, epoch: int) -> ConsumerHeartbeat:
    """The heartbeat of the consumer protocol with the same subscription."""
    sent = join.subscription
    return ConsumerHeartbeat(
        join.client,
        member_id,
        join.instance_id,
        epoch,
        sent.topics,
        None,
        sent.rack,
        join.rebalance_timeout,
        sent.owned,
    )
