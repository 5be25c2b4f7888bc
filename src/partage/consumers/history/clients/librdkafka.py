"""Logs of librdkafka (confluent-kafka and others built on it) with ``debug=cgrp``.

Without that setting librdkafka does not log rebalances. A line has ``FACILITY|handle|
[thrd:main]:`` after level and time (``%7|1795242288.583|``) or, with a Python ``logger``,
``FACILITY [handle] [thrd:main]:`` after the logger's prefix. The handle, the client id and
``#consumer-1``, distinguishes the consumers of a process. Read:

- ``Joining group "G" with … and member id``, ``JoinGroup response: GenerationId …, Protocol …, my
  MemberId …`` (without the group: it is that of the handle)
- ``effective subscription list changed`` and `` Topic T with N partition(s)`` below it
- ``Group "G" range assignment for N member(s) finished`` and the members and partitions below it:
  the target of the leader's assignor; with cooperative-sticky, partitions that others still own are
  withheld from it, which is not logged
- ``setting group assignment``, ``being added to group assignment``, ``being removed from group
  assignment``, and the list ``GRPASSIGNMENT`` below it: the partitions that the consumer then owns
- ``clearing group assignment``, ``current assignment of N partition(s) lost``
- ``leave (in state …)``, heartbeats (the member was alive)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from partage.consumers.history.events import (
    MAX_PARTITIONS,
    Event,
    EventKind,
    Partition,
    Rejected,
    Unreadable,
    number_of,
    partition_of,
    time_of,
)

_LINE = re.compile(
    r"(?<![A-Z_])(?P<facility>[A-Z_]++)(?:\|(?P<handle>[^|]*?#consumer-\d+)\||"
    r" \[(?P<logged>[^][]*?#consumer-\d+)\]) \[thrd:[^][]*\]: (?P<message>.*)"
)
_GROUP = re.compile(r'[Gg]roup "(.*?)"')
_JOINED = re.compile(
    r"JoinGroup response: GenerationId (-?\d+), Protocol (\S*), LeaderId "
    r"(?>.*?, my MemberId )(.*?), member metadata count"
)
_TOPIC = re.compile(r"^ *Topic (\S+) with (\d+) partition")
_PLACE = re.compile(r"^ +(\S+) \[(\d+)\]")
_RUN = re.compile(r'^Group "(.*?)" (\S+) assignment for (\d+) member\(s\) finished')
_MEMBER = re.compile(r'^ +Member "(.*?)"(?: \(me\))? assigned (\d+) partition')
_LIST = re.compile(r"^List with (\d+) partition")
_SIMPLE = (
    ("JOIN", "Joining group", EventKind.JOINING),
    ("ASSIGNMENT", "clearing group assignment", EventKind.REVOKED),
    ("LOST", "partition(s) lost", EventKind.LOST),
    ("LEAVE", "leave (in state", EventKind.LEFT),
    ("HEARTBEAT", "Heartbeat for group", EventKind.SEEN),
)
"""(facility, part of the message, event)."""

Fields = dict[str, Any]
"""Fields of an event by name; ``line`` and ``text`` only where they are of an earlier line."""


@dataclass
class _List:
    """A list of partitions or topics that is being read."""

    number: int
    text: str
    expected: int
    event: Fields
    places: list[Partition] = field(default_factory=list)


@dataclass
class _Handle:
    """The state of one handle."""

    group: str = ""
    generation: int = -1
    cooperative: bool | None = None
    closing: bool = False
    listed: _List | None = None
    topics: dict[str, int] = field(default_factory=dict)
    subscribed: int = 0
    plan: dict[str, list[Partition]] | None = None
    plan_head: tuple[int, str, str, int] = (0, "", "", 0)
    member: str = ""


class LibrdkafkaLog:
    """See the head of this file."""

    NAME: ClassVar[str] = "librdkafka"
    MARKERS: ClassVar[tuple[str, ...]] = ("#consumer-",)

    def __init__(self) -> None:
        self._handles: dict[str, _Handle] = {}

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """Read a line."""
        found = _LINE.search(text)
        if found is None:
            return
        name = found["handle"] or found["logged"]
        handle = self._handles.setdefault(name, _Handle())
        message = found["message"].rstrip()
        if group := _GROUP.search(message):
            handle.group = group[1]
        try:
            if handle.plan is not None:
                if _into_plan(handle, found["facility"], message):
                    return
                yield from self._end_plan(handle, name)
            cut = handle.listed
            events, problem = _read(handle, number, text, found["facility"], message)
        except Unreadable as why:
            yield Rejected("", number, text, str(why))
            return
        yield from self._events(handle, name, number, text, events)
        if problem is _INCOMPLETE and cut is not None:
            yield Rejected("", cut.number, cut.text, problem)
        elif problem:
            yield Rejected("", number, text, problem)

    def close(self) -> Iterator[Event | Rejected]:
        """Reject the lists that are incomplete."""
        for name, handle in self._handles.items():
            if handle.listed is not None:
                cut = handle.listed
                yield Rejected("", cut.number, cut.text, _INCOMPLETE)
            yield from self._end_plan(handle, name)

    def _end_plan(self, handle: _Handle, name: str) -> Iterator[Event | Rejected]:
        """End the leader's assignment, if there is one: it is complete or rejected."""
        if handle.plan is not None:
            number, text, *_ = handle.plan_head
            planned = _planned(handle)
            handle.plan = None
            if planned is None:
                yield Rejected("", number, text, _INCOMPLETE)
            else:
                yield from self._events(handle, name, number, text, [planned])

    def _events(
        self, handle: _Handle, name: str, number: int, text: str, events: list[Fields]
    ) -> Iterator[Event | Rejected]:
        for values in events:
            line = values.pop("line", number)
            try:
                when = time_of(values.pop("text", text))
            except Unreadable as why:
                yield Rejected("", line, text, str(why))
                return
            values |= {"consumer": name, "group": handle.group}
            yield Event.of_line(line, when, self.NAME, **values)


_INCOMPLETE = "the list below it is incomplete"


def _read(
    handle: _Handle, number: int, text: str, facility: str, message: str
) -> tuple[list[Fields], str]:
    """The fields of a line's events, and why it cannot be read, empty if it can."""
    match facility:
        case "GRPASSIGNMENT":
            return _assignment(handle, number, text, message)
        case "JOINGROUP":
            return _join_group(handle, message)
        case "JOIN" if "Joining group" in message:
            handle.closing = False
        case "COOPASSIGN":
            handle.cooperative = True
        case "REBALANCE" if "(EAGER)" in message or "(COOPERATIVE)" in message:
            handle.cooperative = "(COOPERATIVE)" in message
        case "CGRPTERM" | "UNSUBSCRIBE":
            handle.closing = True
        case "SUBSCRIPTION":
            return _subscription(handle, message), ""
        case "ASSIGN" if found := _RUN.search(message):
            handle.plan_head = (number, text, found[2], number_of(found[3]))
            handle.plan, handle.member = {}, ""
        case _:
            pass
    return _simple_event(handle, facility, message), ""


def _simple_event(handle: _Handle, facility: str, message: str) -> list[Fields]:
    """The event of a line that needs nothing but itself."""
    for name, part, kind in _SIMPLE:
        if facility == name and part in message:
            if kind in (EventKind.REVOKED, EventKind.LOST):
                return [{"kind": kind, "cooperative": handle.cooperative}]
            return [{"kind": kind}]
    return []


def _join_group(handle: _Handle, message: str) -> tuple[list[Fields], str]:
    if found := _JOINED.match(message):
        handle.generation = number_of(found[1])
        if handle.generation < 0:
            return [], ""
        joined = {"generation": handle.generation, "assignor": found[2], "member": found[3]}
        return [{"kind": EventKind.JOINED, **joined}], ""
    if message.startswith("JoinGroup response"):
        return [], "a JoinGroup response in an unknown form"
    return [], ""


def _assignment(handle: _Handle, number: int, text: str, message: str) -> tuple[list[Fields], str]:
    """Lines of ``GRPASSIGNMENT``: a number, then that many partitions."""
    problem = ""
    if found := _LIST.search(message):
        problem = _INCOMPLETE if handle.listed is not None else ""
        # Partitions removed while it closes are revoked, not assigned to others.
        kind = EventKind.REVOKED if handle.closing else EventKind.HELD
        event = {"kind": kind, "cooperative": bool(handle.cooperative), "text": text}
        handle.listed = _List(number, text, number_of(found[1]), event)
    elif handle.listed is not None and (found := _PLACE.search(message)):
        handle.listed.places.append(partition_of(found[1], found[2]))
    else:
        return [], "a partition of a group assignment where none is expected"
    listed = handle.listed
    if len(listed.places) < listed.expected:
        return [], problem
    handle.listed = None
    if listed.event["kind"] is EventKind.REVOKED:
        # the list has the partitions that are left; all of them are revoked in the end
        return [{"line": listed.number, "kind": EventKind.REVOKED, "text": listed.text}], problem
    held = tuple(sorted(listed.places))
    return [{"line": listed.number, "partitions": held, **listed.event}], problem


def _subscription(handle: _Handle, message: str) -> list[Fields]:
    if found := re.search(r"effective subscription list changed from \d+ to (\d+) topic", message):
        handle.topics, handle.subscribed = {}, number_of(found[1])
    elif found := _TOPIC.search(message):
        handle.topics[found[1]] = number_of(found[2], MAX_PARTITIONS)
        if len(handle.topics) == handle.subscribed:
            topics = tuple(sorted(handle.topics))
            return [{"kind": EventKind.SUBSCRIBED, "topics": topics, "counts": dict(handle.topics)}]
    return []


def _into_plan(handle: _Handle, facility: str, message: str) -> bool:
    """Add a line to the leader's assignment. Returns whether it is part of it."""
    assert handle.plan is not None
    if facility != "ASSIGN":
        return False
    if found := _MEMBER.search(message):
        handle.member = found[1]
        handle.plan[found[1]] = []
        return True
    if handle.member and (found := _PLACE.search(message)):
        handle.plan[handle.member].append(partition_of(found[1], found[2]))
        return True
    return False


def _planned(handle: _Handle) -> Fields | None:
    """The event of the leader's assignment, None where it is incomplete."""
    assert handle.plan is not None
    number, text, assignor, members = handle.plan_head
    if len(handle.plan) != members:
        return None
    return {
        "kind": EventKind.PLAN,
        "line": number,
        "text": text,
        "generation": handle.generation,
        "plan": {member: tuple(sorted(held)) for member, held in handle.plan.items()},
        "final": assignor != "cooperative-sticky",
    }
