"""What a log line tells about a group: the same few things, whichever client wrote it.

A consumer is named as its own log names it (Java: the client id, librdkafka: the handle,
kafka-python: not at all). Which member of the group that is, ``members`` finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol

Partition = tuple[str, int]

HEARTBEATS_SEEN = "heartbeats_seen"
"""A setting that no line tells: the seconds between one sign of life and the next."""


class EventKind(StrEnum):
    """Of an event."""

    SUBSCRIBED = "subscribed"
    """``topics``; ``counts`` of partitions by topic, where told."""
    SETTINGS = "settings"
    """``settings``: seconds by name."""
    JOINING = "joining"
    """It asks to join."""
    JOINED = "joined"
    """It is ``member`` in ``generation``, under ``assignor``."""
    PLAN = "plan"
    """As the leader it decided ``plan`` for ``generation``."""
    HELD = "held"
    """It now has ``partitions`` and no others; ``owned`` is what it had, where told."""
    ADDED = "added"
    """It has ``partitions`` in addition."""
    REVOKED = "revoked"
    """It gave up ``partitions`` (None: all)."""
    LOST = "lost"
    """It found itself put out with ``partitions`` (None: all)."""
    LEFT = "left"
    """It leaves the group."""
    SEEN = "seen"
    """It was alive; ``consumer`` and ``group`` are empty for the file as a whole."""


@dataclass(frozen=True)
class Event:
    """One. ``at`` is in microseconds since 1970; what a line does not tell is empty.

    ``cooperative``: whether the line shows the cooperative protocol (True) or the eager one.
    ``planned``: of a PLAN, False where it is what the assignor aims at, before what must be given
    up first is withheld.
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
    planned: bool = True
    topics: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    cooperative: bool | None = None

    @property
    def of_roster(self) -> bool:
        """Whether a leader tells it of another member."""
        return self.kind is EventKind.SUBSCRIBED and bool(self.member)

    def to_json(self) -> dict[str, Any]:
        """What differs from nothing told."""
        empty: tuple[Any, ...] = ("", (), {}, None, -1)
        found = {k: v for k, v in asdict(self).items() if k in _NEEDED or v not in empty}
        return found | {"partitions": self.partitions, "owned": self.owned}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Event:
        """Of the value of ``to_json``, also after it went through JSON."""
        told = dict(value)
        told["kind"] = EventKind(told["kind"])
        for name in ("partitions", "owned"):
            told[name] = None if told[name] is None else _pairs(told[name])
        told["plan"] = {member: _pairs(held) for member, held in told.get("plan", {}).items()}
        told["topics"] = tuple(told.get("topics", ()))
        return cls(**told)


_NEEDED = ("kind", "source", "line", "at", "zoned", "client", "planned")
assert set(_NEEDED) <= {one.name for one in fields(Event)}


def _pairs(listed: Iterable[Any]) -> tuple[Partition, ...]:
    return tuple((str(topic), int(number)) for topic, number in listed)


@dataclass(frozen=True)
class Rejected:
    """A line that begins like one about a rebalance and cannot be read."""

    source: str
    line: int
    text: str
    reason: str


class Log(Protocol):
    """One client's lines in one file. ``feed`` gets those that contain one of ``MARKERS``, in the
    order of the file, and gives what they tell as soon as it is whole; ``close`` gives the rest."""

    NAME: ClassVar[str]
    MARKERS: ClassVar[tuple[str, ...]]

    def __init__(self, source: str) -> None: ...

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """A line."""
        ...

    def close(self) -> Iterator[Event | Rejected]:
        """The end of the file."""
        ...


class Unreadable(Exception):  # noqa: N818
    """Why a line cannot be read."""
