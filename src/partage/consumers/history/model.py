"""What comes out of the logs: a group's members, rounds and owners.

Times are microseconds since 1970 and lengths microseconds: whole numbers, so that sums are the same
in any order. JSON has seconds, and times in seconds from the group's first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from partage.consumers.history.events import Partition
from partage.consumers.history.timestamps import MICROSECONDS, format_timestamp

SESSION_TIMEOUT, HEARTBEAT_INTERVAL = 45.0, 3.0
"""Seconds: Kafka's, where nothing better is known."""

Held = dict[str, tuple[Partition, ...]]
"""Partitions by member."""


@dataclass
class RecordedRound:
    """One generation that got its assignment. ``generation`` is None for what was given up after
    the last one.

    ``lost`` also says what a member had that was put out, or gone, without a word. ``unowned``:
    how long partitions had no owner until this round gave them one.
    """

    at: int
    generation: int | None
    protocol: str | None = None
    assignor: str | None = None
    assignment: Held = field(default_factory=dict)
    added: Held = field(default_factory=dict)
    revoked: Held = field(default_factory=dict)
    lost: Held = field(default_factory=dict)
    unowned: dict[Partition, int] = field(default_factory=dict)


@dataclass
class MemberSession:
    """One member of the group, from ``joins`` to ``ends``.

    - ``ended``: ``left`` with a word, ``gone`` without one; None where it is still there at the
      end, as ``ends``
    - ``topics``: its subscription, empty where no line tells it
    - ``client``, ``consumer``, ``source``: which client wrote of it, as what, in which file; None
      where it is known from the leader's decisions alone
    """

    id: str
    client: str | None
    consumer: str | None
    source: str | None
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    joins: int = 0
    ends: int | None = None
    ended: str | None = None


@dataclass
class RecordedSpan:
    """A member has a partition from a time to another. ``round``: the one that gave it, None where
    the member had it when its log begins; ``given_up``: False where it is the end of the log."""

    partition: Partition
    member: str
    start: int
    end: int
    round: RecordedRound | None
    given_up: bool = True


@dataclass(frozen=True)
class History:
    """Of one group.

    - ``start``, ``until``: its first and last line; ``zoned``: whether the lines name a time zone
    - ``topics``: partition counts
    - ``settings``: seconds by name, where the logs tell them; the session timeout also where it
      follows from how long a member was silent
    - ``latency``: how long a message between a member and the coordinator takes, 0 for not known
    - ``unowned``: how long each partition had no owner; ``empty``: how long there was no member
    - ``moved``: times that a partition came to another member
    - ``unknown``: what the logs leave open, in sentences
    """

    group: str
    start: int
    until: int
    zoned: bool
    members: tuple[MemberSession, ...]
    rounds: tuple[RecordedRound, ...]
    owned: tuple[RecordedSpan, ...]
    topics: Mapping[str, int]
    settings: Mapping[str, float]
    latency: int
    unowned: Mapping[Partition, int]
    moved: int
    empty: int
    unknown: tuple[str, ...]

    def since_start(self, at: int) -> float:
        """A time in seconds from the start."""
        return seconds(at - self.start)

    def to_json(self) -> dict[str, Any]:
        """The value in ``groups``, without the replay."""
        return {
            "start": format_timestamp(self.start, self.zoned),
            "until": self.since_start(self.until),
            "members": [self._member(member) for member in self.members],
            "topics": dict(self.topics),
            "generations": [one.generation for one in self.rounds if one.generation is not None],
            "rounds": [self._round(one) for one in self.rounds],
            "unowned": by_name(self.unowned),
            "unowned_partition_seconds": seconds(sum(self.unowned.values())),
            "moved": self.moved,
            "empty_seconds": seconds(self.empty),
            "unknown": list(self.unknown),
        }

    def _member(self, member: MemberSession) -> dict[str, Any]:
        return {
            "id": member.id,
            "client": member.client,
            "consumer": member.consumer,
            "source": member.source,
            "instance_id": member.instance_id,
            "topics": list(member.topics),
            "joins_at": self.since_start(member.joins),
            "ends_at": None if member.ends is None else self.since_start(member.ends),
            "ended": member.ended,
        }

    def _round(self, one: RecordedRound) -> dict[str, Any]:
        return {
            "at": self.since_start(one.at),
            "time": format_timestamp(one.at, self.zoned),
            "generation": one.generation,
            "protocol": one.protocol,
            "assignor": one.assignor,
            "assignment": _lists(one.assignment),
            "added": _lists(one.added),
            "revoked": _lists(one.revoked),
            "lost": _lists(one.lost),
            "unowned": by_name(one.unowned),
        }


def seconds(length: int) -> float:
    """Of microseconds."""
    return length / MICROSECONDS


def by_name(unowned: Mapping[Partition, int]) -> dict[str, float]:
    """Seconds by ``topic-partition``."""
    return {f"{topic}-{n}": seconds(unowned[topic, n]) for topic, n in sorted(unowned)}


def add(held: Held, member: str, partitions: Iterable[Partition]) -> None:
    """More partitions of a member; nothing for none."""
    if more := set(partitions):
        held[member] = tuple(sorted(more.union(held.get(member, ()))))


def _lists(held: Held) -> dict[str, list[list[Any]]]:
    return {member: [list(pair) for pair in held[member]] for member in sorted(held)}
