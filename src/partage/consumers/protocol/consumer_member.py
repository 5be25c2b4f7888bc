"""A member's side of the consumer protocol (KIP-848): heartbeats, and a reconciliation on its own.

The answer to a heartbeat lists what a member has now. The member revokes what is no longer there,
takes what is new, and confirms at once with a heartbeat that lists what it owns; otherwise it sends
one every interval, which the broker sets. A member that was removed gets ``lost``, and joins again.
One that is closed revokes everything and leaves; a static member announces that it will be back.

Its member id is the name of the process: clients choose it themselves.

Source: KIP-848 and Kafka's AbstractHeartbeatRequestManager and AbstractMembershipManager.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from partage.consumers.protocol.consumer import Callback, Phase, SimulatedConsumer
from partage.consumers.protocol.messages import (
    CONSUMER,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    Answer,
    ConsumerHeartbeat,
    ConsumerHeartbeatAnswer,
    Error,
    Partitions,
    Request,
)


class ConsumerProtocolMember(SimulatedConsumer):
    """One process. ``generation`` is its member epoch, ``held_since`` the epoch of the target that
    it was last given. ``assignor``: what it asks for, None for the broker's choice. ``pattern``: a
    regular expression, which the broker matches."""

    def __init__(
        self,
        client: str,
        topics: Iterable[str],
        assignor: str | None,
        *,
        instance_id: str | None = None,
        rack: str | None = None,
        rebalance_timeout: float = 300.0,
        heartbeat_interval: float = 5.0,
        first_heartbeat_after: float | None = None,
        pattern: str | None = None,
    ) -> None:
        super().__init__(
            client,
            topics,
            () if assignor is None else (assignor,),
            lambda *_: {},
            protocol=CONSUMER,
            instance_id=instance_id,
            rack=rack,
            rebalance_timeout=rebalance_timeout,
            heartbeat_interval=heartbeat_interval,
            first_heartbeat_after=first_heartbeat_after,
        )
        self.member_id, self.pattern = client, pattern
        self._next_interval = self.first_heartbeat_after

    # -- called by its application

    def start(self) -> list[Request]:
        """Subscribe and join."""
        self.phase = Phase.JOINING
        return [self._heartbeat(JOIN_EPOCH, ())]

    def subscribe(self, topics: Iterable[str]) -> list[Request]:
        """Change the subscription."""
        self.topics = tuple(topics)
        return [self._heartbeat(self.generation, None)]

    def rejoin(self) -> list[Request]:
        """Nothing: members cannot ask for a rebalance."""
        return []

    def close(self) -> list[Request]:
        """Revoke everything and leave."""
        self._give_up("revoked" if self.phase is Phase.MEMBER else "lost", self.held)
        self.phase, self._heartbeat_at = Phase.OUT, math.inf
        epoch = LEAVE_EPOCH if self.instance_id is None else LEAVE_STATIC_EPOCH
        return [self._heartbeat(epoch, None)]

    # -- called by the network

    def tick(self, now: float) -> list[Request]:
        """Send a heartbeat if one is due."""
        if now < self._heartbeat_at:
            return []
        self._heartbeat_at = math.inf  # until the answer
        return [self._heartbeat(self.generation, None)]

    def receive(self, now: float, answer: Answer) -> list[Request]:
        """Process an answer."""
        if self.phase is Phase.OUT:
            return []
        if answer.error is not None:
            return self._refused(answer.error)
        assert isinstance(answer, ConsumerHeartbeatAnswer)
        self.phase, self.generation = Phase.MEMBER, answer.epoch
        if answer.assigned is None:
            self._heartbeat_at = now + self._next_interval
            self._next_interval = self.heartbeat_interval
            return []
        return self._reconcile(answer.target_epoch, answer.assigned)

    # -- the protocol

    def _reconcile(self, target_epoch: int, assigned: Partitions) -> list[Request]:
        now_assigned = frozenset(assigned)
        new = now_assigned - self.held
        self._give_up("revoked", self.held - now_assigned, target_epoch)
        self.held, self.held_since = now_assigned, target_epoch
        if new:
            self.callbacks.append(Callback("assigned", tuple(sorted(new)), target_epoch))
        return [self._heartbeat(self.generation, tuple(sorted(self.held)))]

    def _refused(self, error: Error) -> list[Request]:
        self._give_up("lost", self.held)
        self._heartbeat_at = math.inf
        if error in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH):
            return self.start()
        self.error, self.phase = error, Phase.OUT
        return []

    def _heartbeat(self, epoch: int, owned: Partitions | None) -> ConsumerHeartbeat:
        return ConsumerHeartbeat(
            self.client,
            self.member_id,
            self.instance_id,
            epoch,
            self.topics,
            next(iter(self.assignors), None),
            self.rack,
            self.rebalance_timeout,
            owned,
            self.pattern,
        )
