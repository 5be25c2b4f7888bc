"""Requests of members and answers of the coordinator: JoinGroup, SyncGroup, Heartbeat and
LeaveGroup of the classic protocols, ConsumerGroupHeartbeat of the consumer protocol.

``client`` is the process that sends a request; it gets the answer. ``member_id`` is the id that the
coordinator has given it, empty before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from partage.consumers.custom import Subscription as CustomSubscription

Partition: TypeAlias = tuple[str, int]
Partitions: TypeAlias = tuple[Partition, ...]

EAGER, COOPERATIVE, CONSUMER = "eager", "cooperative", "consumer"
PROTOCOLS = (EAGER, COOPERATIVE)
"""The classic ones, in which a member assigns."""

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""Member epochs with a meaning of their own."""


class Error(Enum):
    """The errors of the group protocol, with Kafka's messages."""

    UNKNOWN_MEMBER_ID = "The coordinator is not aware of this member."
    ILLEGAL_GENERATION = "Specified group generation id is not valid."
    REBALANCE_IN_PROGRESS = "The group is rebalancing, so a rejoin is needed."
    FENCED_INSTANCE_ID = (
        "The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id."
    )
    UNRELEASED_INSTANCE_ID = (
        "The instance ID is still used by another member in the consumer group. "
        "That member must leave first."
    )
    GROUP_ID_NOT_FOUND = "The group id does not exist."
    FENCED_MEMBER_EPOCH = "The member epoch is fenced by the group coordinator."
    INCONSISTENT_GROUP_PROTOCOL = (
        "The group member's supported protocols are incompatible with those of existing members "
        "or first group member tried to join with empty protocol type or empty protocol list."
    )


@dataclass(frozen=True)
class Subscription:
    """What a member sends to the leader when it joins.

    - ``owned``: the partitions that it holds; empty with the eager protocol
    - ``remembered``: its last assignment, which a sticky assignor keeps in its user data
    - ``generation``: of both, -1 for none
    - ``joined``: the generation in which the member sends it, -1 for none; so a member that joins
      again never sends the same subscription twice
    - ``custom``: by custom assignor, what its instance sends
    - ``user_data``: of the scenario's member, for all assignors
    - ``client``: the process that sends it
    """

    topics: tuple[str, ...]
    protocol: str
    owned: Partitions = ()
    remembered: Partitions = ()
    generation: int = -1
    joined: int = -1
    rack: str | None = None
    priority: int | None = None
    custom: Mapping[str, CustomSubscription] = field(default_factory=dict)
    user_data: bytes | None = None
    client: str = ""


@dataclass(frozen=True)
class Join:
    """JoinGroup. ``assignors``: those that the member accepts, the preferred one first."""

    client: str
    member_id: str
    instance_id: str | None
    assignors: tuple[str, ...]
    subscription: Subscription
    session_timeout: float
    rebalance_timeout: float


@dataclass(frozen=True)
class Sync:
    """SyncGroup: ask for the assignment. The leader sends that of all members, by member id;
    ``user_data``: whether user data are in it."""

    client: str
    member_id: str
    instance_id: str | None
    generation: int
    assignment: Mapping[str, Partitions] | None = None
    user_data: bool = False


@dataclass(frozen=True)
class Heartbeat:
    """Heartbeat."""

    client: str
    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True)
class Leave:
    """LeaveGroup. ``member_id``: empty for a process whose first join is not answered yet; in Kafka
    it knows its id before it waits for that answer (KIP-394)."""

    client: str
    member_id: str
    instance_id: str | None


@dataclass(frozen=True)
class ConsumerHeartbeat:
    """ConsumerGroupHeartbeat. ``owned``: what the member has, where it joins or confirms;
    ``pattern``: the regular expression of its subscription."""

    client: str
    member_id: str
    instance_id: str | None
    epoch: int
    topics: tuple[str, ...]
    assignor: str | None
    rack: str | None
    rebalance_timeout: float
    owned: Partitions | None
    pattern: str | None = None


Request: TypeAlias = Join | Sync | Heartbeat | Leave | ConsumerHeartbeat


@dataclass(frozen=True)
class Answer:
    """The answer to a request; ``error`` is None for success."""

    to: Request
    error: Error | None = None


@dataclass(frozen=True)
class Joined(Answer):
    """The answer to a Join: a generation has begun. ``members`` (instance id and subscription by
    member id) is only set for the leader, which must assign."""

    member_id: str = ""
    generation: int = -1
    assignor: str = ""
    members: Mapping[str, tuple[str | None, Subscription]] | None = None


@dataclass(frozen=True)
class Synced(Answer):
    """The answer to a Sync: the member's assignment."""

    generation: int = -1
    assignment: Partitions = field(default=())


@dataclass(frozen=True)
class ConsumerHeartbeatAnswer(Answer):
    """The answer to a ConsumerHeartbeat. ``assigned``: what the member has now, None where that is
    as before; ``target_epoch``: the epoch that it is on the way to (not sent by Kafka)."""

    epoch: int = -1
    target_epoch: int = -1
    assigned: Partitions | None = None
