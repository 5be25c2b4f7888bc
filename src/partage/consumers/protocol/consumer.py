"""A member's side of the protocol: Kafka's ConsumerCoordinator with its rebalance listener.

- *Eager*: before it joins, a member revokes all its partitions.
- *Cooperative*: before it joins, a member only revokes partitions of topics that it no longer
  subscribes to. After the assignment it revokes the partitions that it was not assigned again and
  rejoins, so that the next round can assign them to others.
- ``assigned`` has the new partitions.
- A member that finds out that it was removed (its member id or generation is unknown, or its
  instance id belongs to another member) gets ``lost`` instead of ``revoked``: other members may
  already own the partitions, so there is nothing left to commit.

A member learns of a rebalance from the answer to a heartbeat and joins at once; the poll that this
takes is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from partage.consumers.java_order import owned_order
from partage.consumers.protocol.leader import Instances, Leader
from partage.consumers.protocol.messages import (
    COOPERATIVE,
    Answer,
    Error,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Partition,
    Partitions,
    Request,
    Subscription,
    Sync,
    Synced,
)


@dataclass(frozen=True)
class Callback:
    """A callback of the rebalance listener.

    - ``kind``: ``revoked``, ``assigned`` or ``lost``
    - ``generation``: the one whose assignment caused it; None for a callback before the assignment
      or outside of a rebalance
    """

    kind: str
    partitions: Partitions
    generation: int | None = None


class Phase(Enum):
    """Where a member is in the protocol."""

    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    MEMBER = "member"


class SimulatedConsumer:
    """One process. Its methods return the requests that it sends.

    - ``callbacks``: those called so far
    - ``lead``: computes the assignment when this member leads
    - ``instances``: its custom assignors by name; ``user_data``: sent for all its assignors
    - ``first_heartbeat_after``: seconds from an assignment to the first heartbeat (default: the
      interval)
    - ``held``: its partitions; ``held_since``: the generation that assigned them
    - ``refresh``: with a regular expression, refreshes the client's metadata and returns the topics
      that match; called before each join
    - ``echoes``: whether its assignments have the user data of the subscriptions, as librdkafka's
    - ``error``: why it stopped for good
    """

    def __init__(
        self,
        client: str,
        topics: Iterable[str],
        assignors: Iterable[str],
        lead: Leader,
        *,
        protocol: str,
        instance_id: str | None = None,
        rack: str | None = None,
        priority: int | None = None,
        session_timeout: float = 45.0,
        rebalance_timeout: float = 300.0,
        heartbeat_interval: float = 3.0,
        first_heartbeat_after: float | None = None,
        instances: Instances | None = None,
        user_data: bytes | None = None,
        refresh: Callable[[], Iterable[str]] | None = None,
        echoes: bool = False,
    ) -> None:
        self.client = client
        self.topics = tuple(topics)
        self.assignors = tuple(assignors)
        self.lead = lead
        self.protocol = protocol
        self.instance_id = instance_id
        self.rack = rack
        self.priority = priority
        self.session_timeout = session_timeout
        self.rebalance_timeout = rebalance_timeout
        self.heartbeat_interval = heartbeat_interval
        self.first_heartbeat_after = (
            heartbeat_interval if first_heartbeat_after is None else first_heartbeat_after
        )
        self.instances, self.user_data = instances or {}, user_data
        self.refresh, self.echoes = refresh, echoes
        self.phase = Phase.OUT
        self.member_id = ""
        self.generation = -1
        self.held: frozenset[Partition] = frozenset()
        self.held_since = -1
        self.callbacks: list[Callback] = []
        self.error: Error | None = None
        self._remembered: Partitions = ()
        self._waits_for: Request | None = None
        self._heartbeat_at = math.inf
        self._again = False
        self._assignor = ""

    # -- called by its application

    def start(self) -> list[Request]:
        """Subscribe and join."""
        return self._join()

    def subscribe(self, topics: Iterable[str]) -> list[Request]:
        """Change the subscription."""
        self.topics = tuple(topics)
        if self.phase is Phase.MEMBER:
            return self._join()
        self._again = self.phase in (Phase.JOINING, Phase.SYNCING)
        return []

    def rejoin(self) -> list[Request]:
        """Ask for a rebalance, unless one is under way."""
        return self._join() if self.phase is Phase.MEMBER else []

    def close(self) -> list[Request]:
        """Revoke everything and leave. A static member does not leave: the group keeps its entry.
        During a rebalance its partitions are lost: other members may own them by the end."""
        here = self.generation >= 0 and self.phase is Phase.MEMBER
        self._give_up("revoked" if here else "lost", self.held)
        joined = bool(self.member_id) or self.phase is Phase.JOINING
        self.phase, self._heartbeat_at, self._waits_for = Phase.OUT, math.inf, None
        if self.instance_id is not None or not joined:
            return []
        return [Leave(self.client, self.member_id, None)]

    # -- called by the network

    def receive(self, now: float, answer: Answer) -> list[Request]:
        """Process an answer."""
        if isinstance(answer.to, Heartbeat):
            return self._heartbeat_answered(answer)
        if answer.to is not self._waits_for:
            return []  # to an abandoned request
        self._waits_for = None
        if isinstance(answer, Joined) and answer.member_id:
            self.member_id = answer.member_id  # in Kafka it knows its id before it waits (KIP-394)
        if answer.error is not None:
            return self._refused(answer.error)
        if isinstance(answer, Joined):
            return self._joined(answer)
        if isinstance(answer, Synced):
            return self._assigned(now, answer)
        return []

    def tick(self, now: float) -> list[Request]:
        """Send a heartbeat if one is due."""
        if now < self._heartbeat_at:
            return []
        self._heartbeat_at = now + self.heartbeat_interval
        return [Heartbeat(self.client, self.member_id, self.instance_id, self.generation)]

    @property
    def deadline(self) -> float:
        """When the next heartbeat is due."""
        return self._heartbeat_at

    def skip(self, seconds: float) -> None:
        """Postpone the next heartbeat."""
        self._heartbeat_at += seconds

    # -- the protocol

    def _join(self) -> list[Request]:
        if self.refresh is not None:
            self.topics = tuple(self.refresh())
        if self.generation < 0:
            self._give_up("lost", self.held)
        elif self.protocol == COOPERATIVE:
            unsubscribed = {held for held in self.held if held[0] not in self.topics}
            self._give_up("revoked", unsubscribed)
        else:
            self._give_up("revoked", self.held)
        self.phase, self._heartbeat_at, self._again = Phase.JOINING, math.inf, False
        self._waits_for = Join(
            self.client,
            self.member_id,
            self.instance_id,
            self.assignors,
            Subscription(
                self.topics,
                self.protocol,
                tuple(owned_order(self.held)),
                self._remembered,
                self.held_since,
                self.generation,
                self.rack,
                self.priority,
                {
                    name: mine.subscription(self.topics, self.user_data)
                    for name, mine in self.instances.items()
                },
                self.user_data,
                self.client,
            ),
            self.session_timeout,
            self.rebalance_timeout,
        )
        return [self._waits_for]

    def _joined(self, answer: Joined) -> list[Request]:
        self.generation = answer.generation
        self.phase, self._assignor = Phase.SYNCING, answer.assignor
        decided, echoed = None, False
        if answer.members is not None:
            # the sticky assignor sends its last assignment
            known = any(sent.generation >= 0 for _, sent in answer.members.values())
            echoed = self.echoes and known and answer.assignor == "cooperative-sticky"
            decided = self.lead(answer.assignor, answer.members, self.instances)
        self._waits_for = Sync(
            self.client, self.member_id, self.instance_id, self.generation, decided, echoed
        )
        return [self._waits_for]

    def _assigned(self, now: float, answer: Synced) -> list[Request]:
        self.phase = Phase.MEMBER
        self._heartbeat_at = now + self.first_heartbeat_after
        assigned = frozenset(answer.assignment)
        if any(topic not in self.topics for topic, _ in assigned):
            return self._join()  # its subscription has changed since it joined
        new, gone = assigned - self.held, self.held - assigned
        self.held_since = answer.generation
        self._remembered = tuple(sorted(assigned))
        if self._assignor in self.instances:
            self.instances[self._assignor].on_assignment(self._remembered, answer.generation)
        self._give_up("revoked", gone, answer.generation)
        self.held = assigned
        self.callbacks.append(Callback("assigned", tuple(sorted(new)), answer.generation))
        return self._join() if gone or self._again else []

    def _heartbeat_answered(self, answer: Answer) -> list[Request]:
        heartbeat = answer.to
        assert isinstance(heartbeat, Heartbeat)
        current = (self.member_id, self.generation) == (heartbeat.member_id, heartbeat.generation)
        if self.phase is not Phase.MEMBER or not current or answer.error is None:
            return []
        return self._refused(answer.error)

    def _refused(self, error: Error) -> list[Request]:
        match error:
            case Error.REBALANCE_IN_PROGRESS:
                return self._join()
            case Error.ILLEGAL_GENERATION:
                self.generation = -1
                return self._join()
            case Error.UNKNOWN_MEMBER_ID:
                self.member_id, self.generation = "", -1
                return self._join()
            case _:
                self.error = error
                self._give_up("lost", self.held)
                self.phase, self._heartbeat_at = Phase.OUT, math.inf
                return []

    def _give_up(
        self, kind: str, partitions: Iterable[Partition], generation: int | None = None
    ) -> None:
        gone = tuple(sorted(partitions))
        if gone:
            self.held = self.held.difference(gone)
            self.callbacks.append(Callback(kind, gone, generation))
