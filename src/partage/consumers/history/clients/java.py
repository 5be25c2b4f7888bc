"""Logs of Kafka's Java client: the lines of 4.3, and the wording of older ones (2.x, KIP-415/429).

Every line of a consumer contains ``[Consumer clientId=…, groupId=…]``, for a static member with
``instanceId`` first. Read at INFO:

- ``Subscribed to topic(s)``, ``(Re-)joining group``, ``Successfully joined group with generation``
- ``Finished assignment for group at generation``: the leader's assignment of all members
- ``Updating assignment with`` and the four lines below it: a cooperative member's assignment. The
  wording of the four lines depends on the version; none of them names the member
- ``Adding newly assigned partitions``, ``Setting newly assigned partitions`` (older)
- ``Revoke previously assigned partitions``, ``Revoking …`` (older)
- ``Lost previously assigned partitions``, ``Member … sending LeaveGroup request``
- ``ConsumerConfig values`` and the settings below it: ``client.id``, ``group.id``,
  ``group.protocol``, ``session.timeout.ms``, ``heartbeat.interval.ms``

and at DEBUG: ``Executing onJoinComplete with generation … and memberId``, ``Joining group with
current subscription``, ``Sending JoinGroup`` (the session timeout), ``Performing assignment using
strategy`` (the subscriptions of all members), heartbeats (the member was alive).

With the protocol of KIP-848 (``group.protocol=consumer``) there are no generations, and the two
settings have no effect. Read at INFO:

- ``Member … transitioned from … to JOINING``, ``… to LEAVING``, ``… to FENCED`` and ``… to FATAL``
  (it lost its partitions), 3.9 to 4.3
- ``Reconciling assignment with local epoch`` and the five lines below it, 3.8 to 4.3; 3.8 swaps the
  member and the epoch. A consumer without a rebalance listener writes no other line about its
  partitions. From then on it does not read what it revokes; it reads what is added once it has
  ``transitioned from RECONCILING to ACKNOWLEDGING``, which 3.8 does not log
- ``Updating assignment with``, 3.7: the first of its four lines has topic ids

Consumers of share groups (``[ShareConsumer …]``) have no partitions of their own: not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from partage.consumers.history.events import (
    Event,
    EventKind,
    Partition,
    Rejected,
    Unreadable,
    number_of,
    partition_of,
    time_of,
)
from partage.consumers.history.first_match import FirstMatch

_CONSUMER = FirstMatch(
    "[Consumer ",
    r"(?>(?:instanceId=(?P<instance>.*?), (?=clientId=))?)"
    r"clientId=(?>(?P<id>.*?), groupId=)(?>(?P<group>.*?)\] )(?P<message>.*)",
)
_WORKER = FirstMatch("[Worker ", r"(?>clientId=.*?, groupId=)(?>.*?\] )([^\n]*)")
_LOGGER = re.compile(r"\([\w.$]+\)$")
_NAME = re.compile(r"(?:[\w-]{22}:)?([A-Za-z0-9._-]+)-(\d+)")
_GENERATION = FirstMatch(
    "with generation Generation{",
    r"generationId=(-?\d+), (?>memberId='(.*?)', protocol=')(.*?)'\}",
)
_COMPLETE = re.compile(r"with generation (-?\d+) and memberId (\S+)")
_TRANSITION = re.compile(r"Member (\S+) with epoch -?\d+ transitioned from (\w+) to (\w+)")
_RECONCILED = ("RECONCILING", "ACKNOWLEDGING")
_ENTERED = {
    "JOINING": EventKind.JOINED,
    "LEAVING": EventKind.LEFT,
    "FENCED": EventKind.LOST,
    "FATAL": EventKind.LOST,
}
"""What a member's new state shows."""
_UPDATES = ("Updating assignment with", "Reconciling assignment with")
_OF_MEMBER = re.compile(
    r"(?:^|\), )(?P<id>\S(?:(?!\), ).)*?)=Assignment\(partitions=\[(?P<held>[^][]*)\]"
)
_SUBSCRIPTION = re.compile(
    r"(?:^|\), )(?P<id>\S(?:(?!\), ).)*?)=Subscription\(topics=\[(?P<topics>[^][]*)\]"
    r"(?:(?:(?!\), ).)*?groupInstanceId=(?P<instance>[^,)]*))?"
)
_RECONCILING = re.compile(r"Reconciling assignment with local epoch (\S+)\n[^\n]*?Member:\s*(\S+)")
_NEXT = r"(?:\n[^\n]*?)?"
"""To the next line, which may have a prefix."""

_UPDATE = FirstMatch(
    " assignment with",
    r"(?>.*?(?:now a|\bA)ssigned partitions:)"
    rf"(?>(?P<now>[^\n]*?){_NEXT}(?:compare with previously|Current) owned partitions:)"
    rf"(?>(?P<owned>[^\n]*?){_NEXT}(?:newly added partitions|Added partitions \([^:()]*\)):)"
    rf"(?>(?P<added>[^\n]*?){_NEXT}(?:revoked partitions|Revoked partitions \([^:()]*\)):)"
    r"(?P<revoked>[^\n]*)",
)
_PARTS = (
    "Member:     ",
    "now assigned partitions:",
    "compare with previously owned partitions:",
    "newly added partitions:",
    "revoked partitions:",
    "Assigned partitions:",
    "Current owned partitions:",
    "Added partitions (",
    "Revoked partitions (",
)
_SETTING = re.compile(
    r"(?<!\S)(client\.id|group\.(?:id|protocol)|session\.timeout\.ms|heartbeat\.interval\.ms)"
    r" = (.*)"
)
_WORKERS = "lines of Kafka Connect workers are not read"
_MOST_LINES = 6
"""Of an update."""
_SECONDS = {"session.timeout.ms": "session_timeout", "heartbeat.interval.ms": "heartbeat_interval"}


@dataclass
class _Open:
    """A message of several lines that is not complete yet."""

    number: int
    lines: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def continues_at(self, number: int) -> bool:
        """Whether a line of this number may be its next line; one line may be missing."""
        return number <= self.number + len(self.lines) + 1


class JavaLog:
    """See the head of this file."""

    NAME: ClassVar[str] = "java"
    MARKERS: ClassVar[tuple[str, ...]] = (
        "[Consumer ",
        "[Worker ",
        *_PARTS,
        "ConsumerConfig values",
        "session.timeout.ms = ",
        "heartbeat.interval.ms = ",
        "client.id = ",
        "group.id = ",
        "group.protocol = ",
    )

    def __init__(self) -> None:
        self._update: _Open | None = None
        self._config: _Open | None = None
        # by member: partitions that it gets once it has revoked others
        self._adding: dict[str, tuple[Partition, ...]] = {}

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """Read a line."""
        if worker := _WORKER.search(text):
            if any(worker[1].startswith(start) for start, _ in _MESSAGES):
                yield Rejected("", number, text, _WORKERS)
            return
        head = "[Consumer " in text or "ConsumerConfig values" in text
        if not head and self._config is not None:
            if setting := _SETTING.search(text):
                # Settings of a producer may follow: the first value of each name counts.
                self._config.settings.setdefault(setting[1], setting[2].strip())
            return
        if not head and self._update is not None and self._update.continues_at(number):
            lines = self._update.lines
            lines.append(text)
            if len(lines) < _MOST_LINES and _UPDATE.search("\n".join(lines)) is None:
                return
        yield from self.close()
        if head:
            yield from self._head(number, text)

    def _head(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """Read the first line of a message."""
        if "ConsumerConfig values" in text:
            self._config = _Open(number, [text])
        elif found := _CONSUMER.search(text):
            if found["message"].startswith(_UPDATES):
                self._update = _Open(number, [text])
                if _UPDATE.search(found["message"]):  # a layout with the whole message in one line
                    yield from self.close()
            else:
                yield from self._events(number, text, found)

    def close(self) -> Iterator[Event | Rejected]:
        """End the messages that are not complete."""
        if self._update is not None:
            update, self._update = self._update, None
            text = "\n".join(update.lines)
            found = _CONSUMER.search(text)
            assert found is not None
            yield from self._events(update.number, text, found)
        if self._config is not None:
            config, self._config = self._config, None
            yield from self._configured(config)

    def _events(self, number: int, text: str, found: re.Match[str]) -> Iterator[Event | Rejected]:
        message = _without_logger(found["message"])
        try:
            events = list(_read(message))
            when = time_of(text) if events else None
        except Unreadable as why:
            yield Rejected("", number, text, str(why))
            return
        for values in events:
            assert when is not None
            if "adding" in values:
                self._adding[values["member"]] = values.pop("adding")
            elif values["kind"] is EventKind.ADDED and "member" in values:
                if values["member"] not in self._adding:
                    continue
                values["partitions"] = self._adding.pop(values["member"])
            common = {"instance": found["instance"] or "", "consumer": found["id"]}
            values = common | values
            yield Event.of_line(number, when, self.NAME, group=found["group"], **values)

    def _configured(self, config: _Open) -> Iterator[Event | Rejected]:
        settings = config.settings
        if settings.get("group.protocol", "").lower() == "consumer":
            return  # the broker's settings apply
        seconds = {
            name: int(settings[key]) / 1000
            for key, name in _SECONDS.items()
            if re.fullmatch(r"\d{1,10}", settings.get(key, ""), re.ASCII)
        }
        if not seconds or settings.get("group.id", "null") == "null":
            return
        try:
            when = time_of(config.lines[0])
        except Unreadable as why:
            yield Rejected("", config.number, config.lines[0], str(why))
            return
        yield Event.of_line(
            config.number,
            when,
            self.NAME,
            kind=EventKind.SETTINGS,
            settings=seconds,
            group=settings["group.id"],
            consumer=settings.get("client.id", ""),
        )


def _without_logger(text: str) -> str:
    """Without the class that some layouts put at the end."""
    return _LOGGER.sub("", text.rstrip()).rstrip()


def _read(message: str) -> Iterator[dict[str, Any]]:
    """The fields of a message's events. Raises Unreadable for one that only begins as expected."""
    for start, read in _MESSAGES:
        if message.startswith(start):
            yield from read(message[len(start) :].strip(), message)
            return
    if message.startswith("Member ") and "sending LeaveGroup request" in message:
        yield {"kind": EventKind.LEFT, "member": message.split()[1]}
    elif found := _TRANSITION.match(message):
        member, *states = found.groups()
        if tuple(states) == _RECONCILED:
            yield {"kind": EventKind.ADDED, "member": member}
        elif states[1] in _ENTERED:
            yield {"kind": _ENTERED[states[1]], "member": member}
    elif message.startswith("Received successful Heartbeat response"):
        yield {"kind": EventKind.SEEN}


def _subscribed(rest: str, _: str) -> Iterator[dict[str, Any]]:
    topics = tuple(topic.strip() for topic in rest.strip("[]").split(",") if topic.strip())
    yield {"kind": EventKind.SUBSCRIBED, "topics": topics}


def _joining(_: str, __: str) -> Iterator[dict[str, Any]]:
    yield {"kind": EventKind.JOINING}


def _joined(rest: str, message: str) -> Iterator[dict[str, Any]]:
    if found := _GENERATION.search(message):
        yield {
            "kind": EventKind.JOINED,
            "generation": number_of(found[1]),
            "member": found[2],
            "assignor": found[3],
        }
    elif rest.isdigit():  # older clients
        yield {"kind": EventKind.JOINED, "generation": number_of(rest)}
    else:
        raise Unreadable("no generation where one is expected")


def _complete(_: str, message: str) -> Iterator[dict[str, Any]]:
    found = _COMPLETE.search(message)
    if found is None:
        raise Unreadable("no generation and memberId where they are expected")
    yield {"kind": EventKind.JOINED, "generation": number_of(found[1]), "member": found[2]}


def _timeout(_: str, message: str) -> Iterator[dict[str, Any]]:
    if found := re.search(r"sessionTimeoutMs=(\d+)", message):
        yield {
            "kind": EventKind.SETTINGS,
            "settings": {"session_timeout": number_of(found[1]) / 1000},
        }


def _subscriptions(rest: str, _: str) -> Iterator[dict[str, Any]]:
    assignor, _, listed = rest.partition(" with subscriptions ")
    for found in _SUBSCRIPTION.finditer(listed.strip().strip("{}")):
        instance = (found["instance"] or "").removeprefix("Optional[").removesuffix("]")
        known = instance not in ("null", "Optional.empty")
        yield {
            "kind": EventKind.SUBSCRIBED,
            "member": found["id"],
            "topics": tuple(found["topics"].split(", ")) if found["topics"] else (),
            "instance": instance if known else "",
            "assignor": assignor,
        }


def _plan(rest: str, _: str) -> Iterator[dict[str, Any]]:
    number, brace, listed = rest.partition("{")
    number = number.removeprefix("at generation").strip(" :")
    body = listed.strip().removesuffix("}")
    if not brace or (number and not number.isdigit()):
        raise Unreadable("no generation and members where they are expected")
    plan = {found["id"]: _partitions(found["held"]) for found in _OF_MEMBER.finditer(body)}
    if body and (not plan or not listed.rstrip().endswith("}")):
        raise Unreadable("the assignment is incomplete or in an unknown form")
    yield {"kind": EventKind.PLAN, "generation": number_of(number or "-1"), "plan": plan}


def _updated(_: str, message: str) -> Iterator[dict[str, Any]]:
    found = _UPDATE.search(message)
    if found is None:
        raise Unreadable("its four lists of partitions do not follow")
    now, owned = _partitions(found["now"]), _partitions(found["owned"])
    added, revoked = _partitions(found["added"]), _partitions(found["revoked"])
    if set(added) != set(now) - set(owned) or set(revoked) != set(owned) - set(now):
        raise Unreadable("its four lists of partitions contradict each other")
    common = {"kind": EventKind.HELD, "owned": owned, "cooperative": True}
    reconciling = _RECONCILING.match(message)
    if reconciling is None:
        yield common | {"partitions": now}
    elif reconciling[1].isdigit():
        kept = tuple(sorted(set(now) & set(owned)))
        yield common | {"member": reconciling[2], "partitions": kept, "adding": added}
    else:  # 3.8
        yield common | {"member": reconciling[1], "partitions": now}


def _listed(kind: EventKind) -> Any:
    def read(rest: str, _: str) -> Iterator[dict[str, Any]]:
        yield {"kind": kind, "partitions": _partitions(rest)}

    return read


_MESSAGES = (
    ("Subscribed to topic(s):", _subscribed),
    ("Joining group with current subscription:", _subscribed),
    ("(Re-)joining group", _joining),
    ("Successfully joined group with generation", _joined),
    ("Executing onJoinComplete with generation", _complete),
    ("Sending JoinGroup (", _timeout),
    ("Performing assignment using strategy", _subscriptions),
    ("Finished assignment for group", _plan),
    *((words, _updated) for words in _UPDATES),
    ("Adding newly assigned partitions", _listed(EventKind.ADDED)),
    ("Setting newly assigned partitions", _listed(EventKind.ADDED)),
    ("Revoke previously assigned partitions", _listed(EventKind.REVOKED)),
    ("Revoking previously assigned partitions", _listed(EventKind.REVOKED)),
    ("Lost previously assigned partitions", _listed(EventKind.LOST)),
)


def _partitions(listed: str) -> tuple[Partition, ...]:
    """``[t-0, t-1]``, or the same without brackets."""
    body = _without_logger(listed).strip().removeprefix(":").strip().removeprefix("[")
    return tuple(sorted(_pairs(part for part in body.removesuffix("]").split(",") if part.strip())))


def _pairs(parts: Iterable[str]) -> Iterator[Partition]:
    for part in parts:
        found = _NAME.fullmatch(part.strip())
        if found is None:
            raise Unreadable(f"{part.strip()[:60]!r} is not a topic and partition")
        yield partition_of(found[1], found[2])
