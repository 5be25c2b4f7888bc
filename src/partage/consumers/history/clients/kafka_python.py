"""Logs of kafka-python: the lines of ``kafka.coordinator`` 2.x and 3.x, in any layout.

Its lines contain the group but not the consumer. Several consumers of a group in one file are
distinguished by the last member id and by the partitions of each. Read at INFO:

- ``(Re-)joining group G``, ``Successfully joined group G <Generation 2 (member_id: …, protocol:
  …)>`` (2.x: ``with generation 2``)
- ``Cooperative rebalance complete for group G: owned=…, assigned=…``
- ``Setting newly assigned partitions … for group G``
- ``Revoking previously assigned partitions … for group G``, also ``on close``
- ``Cooperative pre-rebalance for group G: revoking``, ``Group G lost membership``
- ``Leaving consumer group G``, ``Updating subscribed topics to``

and at DEBUG: ``Performing assignment for group G`` (the subscriptions of all members), ``Finished
assignment for group G``, ``Sending JoinGroup`` (the session timeout), heartbeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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

_PARTITION = re.compile(r"TopicPartition\(topic='([^']*)', partition=(\d+)\)")
_SETS = r"(set\(\)|frozenset\(\)|\{[^{}]*\})"
_MEMBER = re.compile(
    r"member_id='(?P<id>[^']*)', group_instance_id=(?P<instance>None|'[^']*'), "
    r"metadata=ConsumerProtocolSubscription\(version=\d+, topics=\[(?P<topics>[^][]*)\]"
)
_PLANNED = re.compile(
    r"'(?P<id>[^']*)': ConsumerProtocolAssignment\(version=\d+, assigned_partitions="
    r"\[(?P<held>(?:\('[^']*', \[[\d, ]*\]\)(?:, )?)*)\]"
)
_OF_TOPIC = re.compile(r"\('([^']*)', \[([\d, ]*)\]\)")
_QUOTED = re.compile(r"'([^']*)'")

EventFields = dict[str, Any]


class KafkaPythonLog:
    """See the head of this file."""

    NAME: ClassVar[str] = "kafka-python"
    MARKERS: ClassVar[tuple[str, ...]] = (
        "(Re-)joining group ",
        "Successfully joined group ",
        "Cooperative rebalance complete for group ",
        "Cooperative pre-rebalance for group ",
        "Setting newly assigned partitions ",
        "Revoking previously assigned partitions ",
        "lost membership; forcibly revoking",
        "Leaving consumer group ",
        "Updating subscribed topics to: ",
        "Performing assignment for group ",
        "Finished assignment for group ",
        "Sending JoinGroup (JoinGroupRequest(",
        "heartbeat response for group ",
    )

    def feed(self, number: int, text: str) -> Iterator[Event | Rejected]:
        """Read a line."""
        if any(other in text for other in ("[Consumer ", "[Worker ", "[thrd:")):  # Java, librdkafka
            return
        try:
            read = list(_read(text))
            when = time_of(text) if read else None
        except Unreadable as why:
            yield Rejected("", number, text, str(why))
            return
        for values in read:
            assert when is not None
            yield Event.of_line(number, when, self.NAME, **values)

    def close(self) -> Iterator[Event | Rejected]:
        """Every message is one line: nothing is left."""
        yield from ()


def _read(text: str) -> Iterator[EventFields]:
    for pattern, read in _MESSAGES:
        if found := pattern.search(text):
            yield from read(found)
            return
    for start in _MUST:
        if start in text:
            raise Unreadable(f"in an unknown form after {start.strip()!r}")


def _joining(found: re.Match[str]) -> Iterator[EventFields]:
    yield {"kind": EventKind.JOINING, "group": found[1]}


def _joined(found: re.Match[str]) -> Iterator[EventFields]:
    yield {
        "kind": EventKind.JOINED,
        "group": found[1],
        "generation": number_of(found[2]),
        "member": found[3],
        "assignor": found[4],
    }


def _joined_before_3(found: re.Match[str]) -> Iterator[EventFields]:
    yield {"kind": EventKind.JOINED, "group": found[1], "generation": number_of(found[2])}


def _cooperative(found: re.Match[str]) -> Iterator[EventFields]:
    yield {
        "kind": EventKind.HELD,
        "group": found[1],
        "partitions": _partitions(found[3]),
        "owned": _partitions(found[2]),
        "cooperative": True,
    }


def _given_up(found: re.Match[str]) -> Iterator[EventFields]:
    kind = EventKind.LOST if "lost membership" in found[0] else EventKind.REVOKED
    yield {"kind": kind, "group": found["group"], "partitions": _partitions(found["held"])}


def _assigned(found: re.Match[str]) -> Iterator[EventFields]:
    held = _partitions(found["held"])
    yield {
        "kind": EventKind.HELD,
        "group": found["group"],
        "partitions": held,
        "cooperative": False,
    }


def _left(found: re.Match[str]) -> Iterator[EventFields]:
    yield {"kind": EventKind.LEFT, "group": found[1], "member": found[2] or ""}


def _subscribed(found: re.Match[str]) -> Iterator[EventFields]:
    yield {"kind": EventKind.SUBSCRIBED, "topics": tuple(sorted(_QUOTED.findall(found[1])))}


def _subscriptions(found: re.Match[str]) -> Iterator[EventFields]:
    for member in _MEMBER.finditer(found[3]):
        yield {
            "kind": EventKind.SUBSCRIBED,
            "group": found[1],
            "assignor": found[2],
            "member": member["id"],
            "instance": "" if member["instance"] == "None" else member["instance"].strip("'"),
            "topics": tuple(_QUOTED.findall(member["topics"])),
        }


def _plan(found: re.Match[str]) -> Iterator[EventFields]:
    plan = {
        member["id"]: tuple(
            sorted(
                partition_of(topic, number.strip())
                for topic, numbers in _OF_TOPIC.findall(member["held"])
                for number in numbers.split(",")
                if number.strip()
            )
        )
        for member in _PLANNED.finditer(found[2])
    }
    if len(plan) != found[2].count("ConsumerProtocolAssignment("):
        raise Unreadable("the assignment is incomplete or in an unknown form")
    yield {"kind": EventKind.PLAN, "group": found[1], "plan": plan}


def _timeout(found: re.Match[str]) -> Iterator[EventFields]:
    settings = {"session_timeout": number_of(found[2]) / 1000}
    yield {"kind": EventKind.SETTINGS, "group": found[1], "settings": settings}


def _seen(found: re.Match[str]) -> Iterator[EventFields]:
    yield {"kind": EventKind.SEEN, "group": found[1]}


_MESSAGES: tuple[tuple[FirstMatch, Callable[[re.Match[str]], Iterator[EventFields]]], ...] = (
    (FirstMatch("(Re-)joining group ", r"(\S+)\s*$"), _joining),
    (
        FirstMatch(
            "Successfully joined group ",
            r"(\S+) <Generation (-?\d+) \((?>member_id: (.*), protocol: )(.*?)\)>",
        ),
        _joined,
    ),
    (FirstMatch("Successfully joined group ", r"(\S+) with generation (\d+)"), _joined_before_3),
    (
        FirstMatch(
            "Cooperative rebalance complete for group ",
            rf"(\S+): owned={_SETS}, assigned={_SETS}, revoked=",
        ),
        _cooperative,
    ),
    (
        FirstMatch(
            "Cooperative pre-rebalance for group ",
            rf"(?P<group>\S+): revoking (?P<held>{_SETS})",
        ),
        _given_up,
    ),
    (
        FirstMatch(
            "Group ", rf"(?P<group>\S+) lost membership; forcibly revoking (?P<held>{_SETS})"
        ),
        _given_up,
    ),
    (
        FirstMatch(
            "Revoking previously assigned partitions ",
            rf"(?P<held>{_SETS}) for group (?P<group>\S+)",
        ),
        _given_up,
    ),
    (
        FirstMatch(
            "Setting newly assigned partitions ",
            rf"(?P<held>{_SETS}) for group (?P<group>\S+)",
        ),
        _assigned,
    ),
    (FirstMatch("Leaving consumer group ", r"(\S+?)(?: \(member (.*)\))?\.\s*$"), _left),
    (FirstMatch("Updating subscribed topics to: ", r"(.*)"), _subscribed),
    (
        FirstMatch(
            "Performing assignment for group ",
            r"(\S+) using strategy (\S+) with subscriptions (.*)",
        ),
        _subscriptions,
    ),
    (FirstMatch("Finished assignment for group ", r"(\S+): (\{.*\})"), _plan),
    (
        FirstMatch(
            "Sending JoinGroup (JoinGroupRequest(",
            r"group_id='([^']*)', session_timeout_ms=(\d+)",
        ),
        _timeout,
    ),
    (FirstMatch("heartbeat response for group ", r"(\S+):\s(?>.*?error_code=)0\b"), _seen),
)
_MUST = (
    "Successfully joined group ",
    "Cooperative rebalance complete for group ",
    "Setting newly assigned partitions ",
    "Revoking previously assigned partitions ",
    "lost membership; forcibly revoking",
    "Finished assignment for group ",
)


def _partitions(listed: str) -> tuple[Partition, ...]:
    if listed in ("set()", "frozenset()"):
        return ()
    found = tuple(sorted(partition_of(*pair) for pair in _PARTITION.findall(listed)))
    if not found or len(found) != listed.count("("):
        raise Unreadable("its partitions are in an unknown form")
    return found
