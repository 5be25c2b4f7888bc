"""A member's side: Kafka's ConsumerCoordinator, with the three callbacks of its rebalance listener.

Before it joins, a member that speaks eager gives up everything (``revoked``); one that speaks
cooperative only what it no longer subscribes to. After the assignment came, cooperative gives up
what it owned and was not assigned again, and then joins once more, so that the next round can hand
it on; then ``assigned`` names what is new. A member that finds itself put out (its id or generation
is unknown, or its instance id is another's) is told ``lost`` instead of ``revoked``: others may
hold those partitions already, so there is nothing to commit any more.

It learns of a rebalance by the answer to a heartbeat, and joins at once: the poll that this takes
is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from partage.consumers.protocol.leader import Leader
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
    """A callback: ``kind`` is ``revoked``, ``assigned`` or ``lost``. ``generation``: the round
    whose assignment caused it; None where it came before or outside of one."""

    kind: str
    partitions: Partitions
    generation: int | None = None


class Phase(Enum):
    """Of a member."""

    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    MEMBER = "member"


class SimulatedConsumer:
    """One process. Every method returns the requests that it sends; ``calls`` collects callbacks.

    - ``lead`` decides the assignment when this member leads
    - ``beat_after``: seconds from an assignment to the first heartbeat (the interval unless given)
    - ``held`` is what it has, ``held_since`` the generation of the assignment that gave it
    - ``error``: why it gave up, for good
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
        beat_after: float | None = None,
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
        self.beat_after = heartbeat_interval if beat_after is None else beat_after
        self.phase = Phase.OUT
        self.member_id = ""
        self.generation = -1
        self.held: frozenset[Partition] = frozenset()
        self.held_since = -1
        self.calls: list[Callback] = []
        self.error: Error | None = None
        self._remembered: Partitions = ()
        self._waits_for: Request | None = None
        self._beats_at = math.inf
        self._again = False

    # -- what its application does

    def start(self) -> list[Request]:
        """Subscribe: ask to join."""
        return self._join()

    def subscribe(self, topics: Iterable[str]) -> list[Request]:
        """Another subscription."""
        self.topics = tuple(topics)
        if self.phase is Phase.MEMBER:
            return self._join()
        self._again = self.phase in (Phase.JOINING, Phase.SYNCING)
        return []

    def close(self) -> list[Request]:
        """Give up everything and leave. A static member just stops: its seat waits for it. In the
        middle of a rebalance what it still holds is lost, as it can be another's by the end."""
        here = self.generation >= 0 and self.phase is Phase.MEMBER
        self._give_up("revoked" if here else "lost", self.held)
        member_id, self.phase, self._beats_at = self.member_id, Phase.OUT, math.inf
        self._waits_for = None
        if self.instance_id is not None or not member_id:
            return []
        return [Leave(self.client, member_id, None)]

    # -- what the network brings

    def receive(self, now: float, answer: Answer) -> list[Request]:
        """An answer came."""
        if isinstance(answer.to, Heartbeat):
            return self._beat_answered(answer)
        if answer.to is not self._waits_for:
            return []  # to something that it no longer asks
        self._waits_for = None
        if answer.error is not None:
            return self._refused(answer.error)
        if isinstance(answer, Joined):
            return self._joined(answer)
        if isinstance(answer, Synced):
            return self._assigned(now, answer)
        return []

    def tick(self, now: float) -> list[Request]:
        """A heartbeat, where one is due."""
        if now < self._beats_at:
            return []
        self._beats_at = now + self.heartbeat_interval
        return [Heartbeat(self.client, self.member_id, self.instance_id, self.generation)]

    @property
    def deadline(self) -> float:
        """When the next heartbeat is due."""
        return self._beats_at

    # -- the protocol

    def _join(self) -> list[Request]:
        if self.generation < 0:
            self._give_up("lost", self.held)
        elif self.protocol == COOPERATIVE:
            unsubscribed = {held for held in self.held if held[0] not in self.topics}
            self._give_up("revoked", unsubscribed)
        else:
            self._give_up("revoked", self.held)
        self.phase, self._beats_at, self._again = Phase.JOINING, math.inf, False
        self._waits_for = Join(
            self.client,
            self.member_id,
            self.instance_id,
            self.assignors,
            Subscription(
                self.topics,
                self.protocol,
                tuple(sorted(self.held)),
                self._remembered,
                self.held_since,
                self.rack,
                self.priority,
            ),
            self.session_timeout,
            self.rebalance_timeout,
        )
        return [self._waits_for]

    def _joined(self, answer: Joined) -> list[Request]:
        self.member_id, self.generation = answer.member_id, answer.generation
        self.phase = Phase.SYNCING
        decided = None if answer.members is None else self.lead(answer.assignor, answer.members)
        self._waits_for = Sync(
            self.client, self.member_id, self.instance_id, self.generation, decided
        )
        return [self._waits_for]

    def _assigned(self, now: float, answer: Synced) -> list[Request]:
        self.phase = Phase.MEMBER
        self._beats_at = now + self.beat_after
        assigned = frozenset(answer.assignment)
        if any(topic not in self.topics for topic, _ in assigned):
            return self._join()  # its subscription changed meanwhile
        new, gone = assigned - self.held, self.held - assigned
        self.held_since = answer.generation
        self._remembered = tuple(sorted(assigned))
        self._give_up("revoked", gone, answer.generation)
        self.held = assigned
        self.calls.append(Callback("assigned", tuple(sorted(new)), answer.generation))
        return self._join() if gone or self._again else []

    def _beat_answered(self, answer: Answer) -> list[Request]:
        beat = answer.to
        assert isinstance(beat, Heartbeat)
        current = (self.member_id, self.generation) == (beat.member_id, beat.generation)
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
                self.phase, self._beats_at = Phase.OUT, math.inf
                return []

    def _give_up(
        self, kind: str, partitions: Iterable[Partition], generation: int | None = None
    ) -> None:
        gone = tuple(sorted(partitions))
        if gone:
            self.held = self.held.difference(gone)
            self.calls.append(Callback(kind, gone, generation))
