"""librdkafka (confluent-kafka and the others built on it), the lines of ``debug=cgrp``.

Without that setting librdkafka logs nothing of a rebalance. A line has ``FACILITY|handle|
[thrd:main]:`` after level and time (``%7|1795242288.583|``), or with a ``logger`` of Python
``FACILITY [handle] [thrd:main]:`` after whatever that logger puts first. The handle, the client id
and ``#consumer-1``, tells the consumers of a process apart. Read:

- ``Joining group "G" with … and member id``, ``JoinGroup response: GenerationId …, Protocol …, my
  MemberId …`` (which names no group: it is the handle's)
- ``effective subscription list changed`` and `` Topic T with N partition(s)`` below it
- ``Group "G" range assignment for N member(s) finished`` and the members and partitions below it:
  what the leader's assignor aims at; under cooperative-sticky what others still own is withheld
  from that, which is not logged
- ``setting group assignment``, ``being added to group assignment``, ``being removed from group
  assignment``, and the list ``GRPASSIGNMENT`` below it, which is what the consumer then has
- ``clearing group assignment``, ``current assignment of N partition(s) lost``
- ``leave (in state …)``, heartbeats (it was alive)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from partage.consumers.history.events import Event, EventKind, Partition, Rejected
from partage.consumers.history.timestamps import parse_timestamp

_LINE = re.compile(
    r"(?P<facility>[A-Z_]+)(?:\|(?P<handle>[^|]*?#consumer-\d+)\||"
    r" \[(?P<logged>[^\]]*?#consumer-\d+)\]) \[thrd:[^\]]*\]: (?P<message>.*?)\s*$"
)
_GROUP = re.compile(r'[Gg]roup "(.*?)"')
_JOINED = re.compile(
    r"JoinGroup response: GenerationId (-?\d+), Protocol (\S*), LeaderId .*?, "
    r"my MemberId (.*?), member metadata count"
)
_TOPIC = re.compile(r"^ *Topic (\S+) with (\d+) partition")
_PLACE = re.compile(r"^ +(\S+) \[(\d+)\]")
_RUN = re.compile(r'^Group "(.*?)" (\S+) assignment for (\d+) member\(s\) finished')
_MEMBER = re.compile(r'^ +Member "(.*?)"(?: \(me\))? assigned (\d+) partition')
_LIST = re.compile(r"^List with (\d+) partition")


@dataclass
class _List:
    """A list of partitions or topics that is being read."""

    number: int
    text: str
    expected: int
    event: dict[str, Any]
    places: list[Partition] = field(default_factory=list)


@dataclass
class _Handle:
    """What was said so far by one handle."""

    group: str = ""
    generation: int = -1
    cooperative: bool | None = None
    closing: bool = False
    listed: _List | None = None
    topics: dict[str, int] = field(default_factory=dict)
    subscribed: int = 0
    plan: dict[str, list[Partition]] | None = None
    planned: tuple[int, str, str, int] = (0, "", "", 0)
    member: str = ""


class LibrdkafkaLog:
    """See the head of this file."""

    NAME: ClassVar[str] = "librdkafka"
    MARKERS: ClassVar[tuple[str, ...]] = ("#consumer-",)

    def __init__(self, source: str) -> None:
        self.source = source
        self._handles: dict[str, _Handle] = {}

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """A line."""
        found = _LINE.search(text)
        if found is None:
            return
        name = found["handle"] or found["logged"]
        handle = self._handles.setdefault(name, _Handle())
        message = found["message"]
        if group := _GROUP.search(message):
            handle.group = group[1]
        if handle.plan is not None:
            if _into_plan(handle, found["facility"], message):
                return
            yield from self._decided(handle, name)
        cut = handle.listed
        told, problem = _read(handle, number, text, found["facility"], message)
        yield from self._events(handle, name, number, text, told)
        if problem is _CUT and cut is not None:
            yield Rejected(self.source, cut.number, cut.text, problem)
        elif problem:
            yield Rejected(self.source, number, text, problem)

    def close(self) -> Iterator[Event | Rejected]:
        """Lists that were cut off."""
        for name, handle in self._handles.items():
            if handle.listed is not None:
                cut = handle.listed
                yield Rejected(self.source, cut.number, cut.text, _CUT)
            yield from self._decided(handle, name)

    def _decided(self, handle: _Handle, name: str) -> Iterator[Event | Rejected]:
        """The leader's decision, if there is one, is whole or cut off."""
        if handle.plan is not None:
            number, text, *_ = handle.planned
            told = _planned(handle)
            handle.plan = None
            if told is None:
                yield Rejected(self.source, number, text, _CUT)
            else:
                yield from self._events(handle, name, number, text, [told])

    def _events(
        self, handle: _Handle, name: str, number: int, text: str, told: list[dict[str, Any]]
    ) -> Iterator[Event | Rejected]:
        for values in told:
            line = values.pop("line", number)
            when = parse_timestamp(values.pop("text", text))
            if when is None:
                yield Rejected(self.source, line, text, "no date and time of a known layout")
                return
            yield Event(
                source=self.source,
                line=line,
                at=when.at,
                zoned=when.zoned,
                client=self.NAME,
                consumer=name,
                group=handle.group,
                **values,
            )


_CUT = "the list that it announces is cut off"


def _read(
    handle: _Handle, number: int, text: str, facility: str, message: str
) -> tuple[list[dict[str, Any]], str]:
    """What the line tells, and why it cannot be read if so."""
    told: list[dict[str, Any]] = []
    match facility:
        case "GRPASSIGNMENT":
            return _assignment(handle, number, text, message)
        case "JOINGROUP" if found := _JOINED.search(message):
            generation = int(found[1])
            handle.generation = generation
            if generation >= 0:
                joined = {"generation": generation, "assignor": found[2], "member": found[3]}
                told.append({"kind": EventKind.JOINED, **joined})
        case "JOINGROUP" if message.startswith("JoinGroup response"):
            return told, "a JoinGroup response of an unknown form"
        case "JOIN" if "Joining group" in message:
            handle.closing = False
            told.append({"kind": EventKind.JOINING})
        case "COOPASSIGN":
            handle.cooperative = True
        case "REBALANCE" if "(EAGER)" in message or "(COOPERATIVE)" in message:
            handle.cooperative = "(COOPERATIVE)" in message
        case "CGRPTERM" | "UNSUBSCRIBE":
            handle.closing = True
        case "SUBSCRIPTION":
            told += _subscription(handle, message)
        case "ASSIGN" if found := _RUN.search(message):
            handle.plan, handle.member = {}, ""
            handle.planned = (number, text, found[2], int(found[3]))
        case "ASSIGNMENT" if "clearing group assignment" in message:
            told.append({"kind": EventKind.REVOKED, "cooperative": handle.cooperative})
        case "LOST" if "partition(s) lost" in message:
            told.append({"kind": EventKind.LOST, "cooperative": handle.cooperative})
        case "LEAVE" if "leave (in state" in message:
            told.append({"kind": EventKind.LEFT})
        case "HEARTBEAT" if "Heartbeat for group" in message:
            told.append({"kind": EventKind.SEEN})
    return told, ""


def _assignment(
    handle: _Handle, number: int, text: str, message: str
) -> tuple[list[dict[str, Any]], str]:
    """Lines of ``GRPASSIGNMENT``: a number, then as many partitions."""
    problem = ""
    if found := _LIST.search(message):
        problem = _CUT if handle.listed is not None else ""
        # What goes while it closes is given up, not assigned away.
        kind = EventKind.REVOKED if handle.closing else EventKind.HELD
        event = {"kind": kind, "cooperative": bool(handle.cooperative), "text": text}
        handle.listed = _List(number, text, int(found[1]), event)
    elif handle.listed is not None and (found := _PLACE.search(message)):
        handle.listed.places.append((found[1], int(found[2])))
    else:
        return [], "a partition of a group assignment where none is expected"
    listed = handle.listed
    if len(listed.places) < listed.expected:
        return [], problem
    handle.listed = None
    if listed.event["kind"] is EventKind.REVOKED:
        # it lists what is left; all of it goes before the end
        return [{"line": listed.number, "kind": EventKind.REVOKED, "text": listed.text}], problem
    held = tuple(sorted(listed.places))
    return [{"line": listed.number, "partitions": held, **listed.event}], problem


def _subscription(handle: _Handle, message: str) -> list[dict[str, Any]]:
    if found := re.search(r"effective subscription list changed from \d+ to (\d+) topic", message):
        handle.topics, handle.subscribed = {}, int(found[1])
    elif found := _TOPIC.search(message):
        handle.topics[found[1]] = int(found[2])
        if len(handle.topics) == handle.subscribed:
            topics = tuple(sorted(handle.topics))
            return [{"kind": EventKind.SUBSCRIBED, "topics": topics, "counts": dict(handle.topics)}]
    return []


def _into_plan(handle: _Handle, facility: str, message: str) -> bool:
    """Whether the line is one of the leader's decision, which it then goes into."""
    assert handle.plan is not None
    if facility != "ASSIGN":
        return False
    if found := _MEMBER.search(message):
        handle.member = found[1]
        handle.plan[found[1]] = []
        return True
    if handle.member and (found := _PLACE.search(message)):
        handle.plan[handle.member].append((found[1], int(found[2])))
        return True
    return False


def _planned(handle: _Handle) -> dict[str, Any] | None:
    """The leader's decision, None where it was cut off."""
    assert handle.plan is not None
    number, text, assignor, members = handle.planned
    if len(handle.plan) != members:
        return None
    return {
        "kind": EventKind.PLAN,
        "line": number,
        "text": text,
        "generation": handle.generation,
        "plan": {member: tuple(sorted(held)) for member, held in handle.plan.items()},
        "planned": assignor != "cooperative-sticky",
    }
