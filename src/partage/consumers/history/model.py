"""The history of a group: its members, rounds and owners.

Times are microseconds since 1970 and durations microseconds: whole numbers, so that sums do not
depend on the order. JSON has seconds, and times are seconds from the group's first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from partage.consumers.history.events import Partition
from partage.consumers.history.timestamps import MICROSECONDS, format_timestamp

SESSION_TIMEOUT, HEARTBEAT_INTERVAL = 45.0, 3.0
"""Kafka's defaults in seconds, for logs that do not contain them."""

SHORTEST_SESSION = 6.0
"""Seconds: the broker accepts no shorter session timeout by default."""

Held = dict[str, tuple[Partition, ...]]
"""Partitions by member."""


@dataclass
class RecordedRound:
    """A generation that received its assignment.

    - ``generation``: None for partitions that were revoked after the last generation
    - ``lost``: also the partitions of members that were removed or ended without a log line
    - ``unowned``: for how long partitions had no owner until this round assigned them
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
    """A member of the group, from ``joins`` to ``ends``.

    - ``ended``: ``left`` with a log line, or sooner after its last line than its session could
      expire; ``gone`` otherwise; ``ended`` and ``ends`` are None where it is still a member at the
      end of the logs
    - ``topics``: its subscription, empty where no line contains it
    - ``client``, ``consumer``, ``source``: the client that logged it, the consumer's name and the
      file; None where it is only known from assignments in leaders' logs
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

    @property
    def crashed(self) -> bool:
        """Whether it is taken to have crashed. Of a member without a log that is unknown: it is
        taken to leave."""
        return self.ended == "gone" and self.source is not None


@dataclass
class RecordedSpan:
    """A member owns a partition from ``start`` to ``end``.

    - ``round``: the one that assigned it, None where the member owned it when its log begins
    - ``revoked``: False where the span ends with the log
    """

    partition: Partition
    member: str
    start: int
    end: int
    round: RecordedRound | None
    revoked: bool = True


@dataclass(frozen=True)
class Whole:
    """Figures of a history of which only a part is kept: its numbers of ``members``, ``rounds``,
    ``generations`` and ``spans``; what a saving is computed from (see ``saving``)."""

    members: int
    rounds: int
    generations: int
    spans: int
    used: str | None
    crash_seconds: float


@dataclass(frozen=True)
class History:
    """The history of one group.

    - ``start``, ``until``: its first and last line; ``zoned``: whether the lines have a time zone
    - ``topics``: partition counts
    - ``settings``: seconds by name, as far as the logs contain them; the session timeout also where
      it follows from the silence of a member
    - ``latency``: of a message between a member and the coordinator, 0 if unknown
    - ``unowned``: for how long each partition had no owner; ``empty``: for how long the group had
      no members
    - ``moved``: how often a partition moved to another member
    - ``owners_known``: whether any line shows the owner of a partition; without one, ``unowned``
      and ``moved`` are unknown and not 0
    - ``unknown``: what the logs do not contain, in sentences
    - ``whole``: the figures of the whole history if this is a part of it (``shortening``)
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
    owners_known: bool
    empty: int
    unknown: tuple[str, ...]
    whole: Whole | None = None

    @property
    def member_count(self) -> int:
        """All members, also those left out."""
        return len(self.members) if self.whole is None else self.whole.members

    @property
    def round_count(self) -> int:
        """All rounds, also those left out."""
        return len(self.rounds) if self.whole is None else self.whole.rounds

    @property
    def generation_count(self) -> int:
        """All rounds that are generations, also those left out."""
        if self.whole is not None:
            return self.whole.generations
        return sum(one.generation is not None for one in self.rounds)

    @property
    def left_out(self) -> dict[str, int]:
        """How many members, rounds and spans are left out; empty if none are."""
        if self.whole is None:
            return {}
        counts = {
            "members": self.whole.members - len(self.members),
            "rounds": self.whole.rounds - len(self.rounds),
            "spans": self.whole.spans - len(self.owned),
        }
        return {name: count for name, count in counts.items() if count}

    def since_start(self, at: int) -> float:
        """Seconds from the start to a time."""
        return seconds(at - self.start)

    def to_json(self) -> dict[str, Any]:
        """The JSON object in ``groups``, without the replay."""
        return {
            "start": format_timestamp(self.start, self.zoned),
            "until": self.since_start(self.until),
            "members": [self._member(member) for member in self.members],
            "topics": dict(self.topics),
            "generations": [one.generation for one in self.rounds if one.generation is not None],
            "rounds": [self._round(one) for one in self.rounds],
            "unowned": by_name(self.unowned),
            "unowned_partition_seconds": (
                seconds(sum(self.unowned.values())) if self.owners_known else None
            ),
            "moved": self.moved if self.owners_known else None,
            "empty_seconds": seconds(self.empty),
            "unknown": list(self.unknown),
            "left_out": {name: n for name, n in self.left_out.items() if name != "spans"},
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
    """Microseconds → seconds."""
    return length / MICROSECONDS


def by_name(unowned: Mapping[Partition, int]) -> dict[str, float]:
    """Seconds by ``topic-partition``."""
    return {f"{topic}-{n}": seconds(unowned[topic, n]) for topic, n in sorted(unowned)}


def add(held: Held, member: str, partitions: Iterable[Partition]) -> None:
    """Add partitions to those of a member."""
    if more := set(partitions):
        held[member] = tuple(sorted(more.union(held.get(member, ()))))


def _lists(held: Held) -> dict[str, list[list[Any]]]:
    return {member: [list(pair) for pair in held[member]] for member in sorted(held)}
