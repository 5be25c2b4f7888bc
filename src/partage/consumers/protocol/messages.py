"""What members and the coordinator say to each other (JoinGroup, SyncGroup, Heartbeat, LeaveGroup).

``client`` is the process that a request comes from; the coordinator answers to it. ``member_id`` is
the name that the coordinator gave it, empty before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

Partition: TypeAlias = tuple[str, int]
Partitions: TypeAlias = tuple[Partition, ...]

EAGER, COOPERATIVE = "eager", "cooperative"
PROTOCOLS = (EAGER, COOPERATIVE)


class Error(Enum):
    """Kafka's errors of the group protocol, with its messages."""

    UNKNOWN_MEMBER_ID = "The coordinator is not aware of this member."
    ILLEGAL_GENERATION = "Specified group generation id is not valid."
    REBALANCE_IN_PROGRESS = "The group is rebalancing, so a rejoin is needed."
    FENCED_INSTANCE_ID = (
        "The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id."
    )
    INCONSISTENT_GROUP_PROTOCOL = (
        "The group member's supported protocols are incompatible with those of existing members "
        "or first group member tried to join with empty protocol type or empty protocol list."
    )


@dataclass(frozen=True)
class Subscription:
    """What a member tells the leader when it joins.

    - ``owned``: what it holds at this moment; empty when it speaks eager
    - ``remembered``: its last assignment, which a sticky assignor keeps in its user data
    - ``generation``: of both, -1 for none
    """

    topics: tuple[str, ...]
    protocol: str
    owned: Partitions = ()
    remembered: Partitions = ()
    generation: int = -1
    rack: str | None = None
    priority: int | None = None


@dataclass(frozen=True)
class Join:
    """Take part in the next generation. ``assignors``: those that it would accept, best first."""

    client: str
    member_id: str
    instance_id: str | None
    assignors: tuple[str, ...]
    subscription: Subscription
    session_timeout: float
    rebalance_timeout: float


@dataclass(frozen=True)
class Sync:
    """Ask for one's assignment; the leader brings everybody's, by member id."""

    client: str
    member_id: str
    instance_id: str | None
    generation: int
    assignment: Mapping[str, Partitions] | None = None


@dataclass(frozen=True)
class Heartbeat:
    """Still there."""

    client: str
    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True)
class Leave:
    """Going for good."""

    client: str
    member_id: str
    instance_id: str | None


Request: TypeAlias = Join | Sync | Heartbeat | Leave


@dataclass(frozen=True)
class Answer:
    """To a request; ``error`` None: all is well."""

    to: Request
    error: Error | None = None


@dataclass(frozen=True)
class Joined(Answer):
    """A generation has begun. ``members`` (instance id and subscription by member id) is for the
    leader only, who must assign."""

    member_id: str = ""
    generation: int = -1
    assignor: str = ""
    members: Mapping[str, tuple[str | None, Subscription]] | None = None


@dataclass(frozen=True)
class Synced(Answer):
    """What the leader gave this member."""

    generation: int = -1
    assignment: Partitions = field(default=())
