"""Events of a group, read from log lines: the same kinds for every client.

A consumer has the name that its log gives it (Java: the client id, librdkafka: the handle,
kafka-python: none). ``members`` finds out which member of the group it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from partage.consumers.history.timestamps import Timestamp, parse_timestamp

Partition = tuple[str, int]

MAX_PARTITIONS = 100_000
"""Of a topic in a log. A line with a higher number is damaged: every one below would be listed."""

HEARTBEATS_SEEN = "heartbeats_seen"
"""A setting that no line contains: the seconds between a consumer's heartbeats."""


class EventKind(StrEnum):
    """The kind of an event, and the fields that it has."""

    SUBSCRIBED = "subscribed"
    """``topics``; ``counts`` of partitions by topic, where known."""
    SETTINGS = "settings"
    """``settings``: seconds by name."""
    JOINING = "joining"
    """It sends a JoinGroup request."""
    JOINED = "joined"
    """It is ``member`` in ``generation``, with ``assignor``."""
    PLAN = "plan"
    """As the leader it computed the assignment ``plan`` for ``generation``."""
    HELD = "held"
    """It now owns ``partitions`` and no others; ``owned``: those before, where known."""
    ADDED = "added"
    """It owns ``partitions`` in addition."""
    REVOKED = "revoked"
    """It revoked ``partitions`` (None: all)."""
    LOST = "lost"
    """It was removed from the group and lost ``partitions`` (None: all)."""
    LEFT = "left"
    """It leaves the group."""
    SEEN = "seen"
    """It was alive. ``consumer`` and ``group`` are empty for the log as a whole."""


@dataclass(frozen=True)
class Event:
    """An event. Fields that the line does not contain are empty.

    - ``at``: microseconds since 1970; ``zoned``: whether the line has a time zone
    - ``cooperative``: whether the line shows the cooperative protocol (True) or eager (False)
    - ``final``: of a PLAN, False where the assignor's target was logged, before partitions that
      must be revoked first were withheld
    """

    kind: EventKind
    source: str
    line: int
    at: int
    zoned: bool
    client: str
    consumer: str = ""
    group: str = ""
    member: str = ""
    instance: str = ""
    generation: int = -1
    assignor: str = ""
    partitions: tuple[Partition, ...] | None = None
    owned: tuple[Partition, ...] | None = None
    plan: dict[str, tuple[Partition, ...]] = field(default_factory=dict)
    final: bool = True
    topics: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    cooperative: bool | None = None

    @classmethod
    def of_line(cls, line: int, when: Timestamp, client: str, **values: Any) -> Event:
        """An event of a line of this number; where the line is gets filled in later."""
        return cls(source="", line=line, at=when.at, zoned=when.zoned, client=client, **values)

    @property
    def is_from_leader(self) -> bool:
        """Whether it is a member's subscription in a leader's log."""
        return self.kind is EventKind.SUBSCRIBED and bool(self.member)

    def to_json(self) -> dict[str, Any]:
        """The fields that are not empty."""
        empty: tuple[Any, ...] = ("", (), {}, None, -1)
        found = {k: v for k, v in asdict(self).items() if k in _REQUIRED or v not in empty}
        return found | {"partitions": self.partitions, "owned": self.owned}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Event:
        """The event of a ``to_json`` value, also after a round trip through JSON."""
        given = dict(value)
        given["kind"] = EventKind(given["kind"])
        for name in ("partitions", "owned"):
            given[name] = None if given[name] is None else _pairs(given[name])
        given["plan"] = {member: _pairs(held) for member, held in given.get("plan", {}).items()}
        given["topics"] = tuple(given.get("topics", ()))
        return cls(**given)


_REQUIRED = ("kind", "source", "line", "at", "zoned", "client", "final")
assert set(_REQUIRED) <= {one.name for one in fields(Event)}


def _pairs(listed: Iterable[Any]) -> tuple[Partition, ...]:
    return tuple((str(topic), int(number)) for topic, number in listed)


@dataclass(frozen=True)
class Rejected:
    """A line that begins like one about a rebalance but cannot be read."""

    source: str
    line: int
    text: str
    reason: str


class ClientLog(Protocol):
    """Reads the lines of one client in one log. ``feed`` takes the lines that contain one of
    ``MARKERS``, in the order of the log, and yields each event once it is complete; ``close``
    yields the rest. Lines are numbered through all files of the log, and what is yielded has no
    ``source``: the file and the line in it are filled in later."""

    NAME: ClassVar[str]
    MARKERS: ClassVar[tuple[str, ...]]

    def __init__(self) -> None: ...

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """Read a line."""
        ...

    def close(self) -> Iterator[Event | Rejected]:
        """Read the end of the log."""
        ...


class Unreadable(Exception):  # noqa: N818
    """Why a line cannot be read."""


def number_of(digits: str, most: int = 2**31 - 1) -> int:
    """A number in a line. Raises Unreadable for text that is not a number, and for one above
    ``most``, which Kafka cannot have written."""
    if not re.fullmatch(r"-?[0-9]{1,12}", digits) or int(digits) > most:
        raise Unreadable(f"{digits[:20]!r} is not a number up to {most}")
    return int(digits)


def time_of(text: str) -> Timestamp:
    """The time of a line. Raises Unreadable for a line without one."""
    when = parse_timestamp(text)
    if when is None:
        raise Unreadable("no date and time in a known layout")
    return when


def partition_of(topic: str, digits: str) -> Partition:
    """A topic and the number of a partition. Raises Unreadable."""
    return topic, number_of(digits, MAX_PARTITIONS - 1)
