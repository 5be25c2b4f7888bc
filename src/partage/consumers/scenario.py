"""SCENARIO.json: what happens to a group's members over time, read strictly.

Times are seconds from the start, rates records per second. Left out, the settings are Kafka's
(``session_timeout`` 45, ``heartbeat_interval`` 3, ``rebalance_timeout`` 300), except that an empty
group waits for no more members (``initial_delay`` 0) and messages take no time (``latency`` 0).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.group.formats import json_object, optional_text, shown, texts

MAX_PARTITIONS = 100_000
MAX_EVENTS = 3_000_000
MAX_NUMBER = 1e12
BUFFER = 500
"""Records that a member can hold that are pushed to it: as many as it takes by one poll
(``max.poll.records``)."""

_TOP = (
    "topics",
    "produce",
    "members",
    "session_timeout",
    "until",
    "heartbeat_interval",
    "rebalance_timeout",
    "initial_delay",
    "latency",
    "racks",
    "generation",
    "in_step",
)
_MEMBER = (
    "id",
    "topics",
    "joins_at",
    "leaves_at",
    "crashes_at",
    "rate",
    "poll_timeout_ms",
    "buffer",
    "instance_id",
    "rack",
    "priority",
    "assignors",
)


@dataclass(frozen=True)
class ScenarioMember:
    """One process of the scenario.

    - it joins at ``joins_at``, closes its consumer at ``leaves_at`` or dies at ``crashes_at``
    - ``rate``: records that it can process per second, None for any number
    - ``poll_timeout_ms``: how long a poll waits for records; ``buffer``: what it can hold if
    records
      are pushed to it
    - ``assignors``: its own list, empty for the one that is tried
    """

    id: str
    topics: tuple[str, ...]
    joins_at: float = 0.0
    leaves_at: float | None = None
    crashes_at: float | None = None
    rate: float | None = None
    poll_timeout_ms: float = 500.0
    buffer: float = BUFFER
    instance_id: str | None = None
    rack: str | None = None
    priority: int | None = None
    assignors: tuple[str, ...] = ()

    @property
    def ends_at(self) -> float:
        """When the process ends, infinity for never."""
        ends = [end for end in (self.leaves_at, self.crashes_at) if end is not None]
        return min(ends, default=math.inf)


@dataclass(frozen=True)
class Scenario:
    """Topics with their partition counts, records per second into each partition of a topic, and
    what the members do. ``read`` and ``from_json`` raise InputError.

    ``generation``: that of the group before the first member joins; ``in_step``: whether all
    members beat at the same moments, as where they begin anew with every assignment.
    """

    topics: Mapping[str, int]
    members: tuple[ScenarioMember, ...]
    until: float
    produce: Mapping[str, float] = field(default_factory=dict)
    session_timeout: float = 45.0
    heartbeat_interval: float = 3.0
    rebalance_timeout: float = 300.0
    initial_delay: float = 0.0
    latency: float = 0.0
    racks: Mapping[str, list[list[str]]] | None = None
    generation: int = 0
    in_step: bool = False

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Scenario:
        """A SCENARIO.json file, plain or gzip."""
        where = os.fspath(path)
        text = read_text(path)
        if not text.strip():
            raise InputError(where, "is empty, expected a scenario")
        return cls.from_json(parse_json(text, where), where)

    @classmethod
    def from_json(cls, value: Any, where: str = "scenario") -> Scenario:
        """The parsed value of such a file."""
        return _scenario(value, where)


def _scenario(value: Any, where: str) -> Scenario:
    top = json_object(value, where, "a scenario", _TOP)
    topics = json_object(top.get("topics"), where, "topics: partition counts by name")
    for topic, number in topics.items():
        if not topic or type(number) is not int or number < 0:
            raise InputError(where, f"topics.{topic}: expected a number of partitions")
    if sum(topics.values()) > MAX_PARTITIONS:
        raise InputError(where, f"topics: more than {MAX_PARTITIONS} partitions")
    produce = json_object(top.get("produce") or {}, where, "produce: records per second by topic")
    for topic in produce:
        if topic not in topics:
            raise InputError(where, f"produce: topic {topic!r} is not listed")
    listed = top.get("members")
    if type(listed) is not list or not listed:
        raise InputError(where, "members: expected a list with at least one member")
    members = tuple(_actor(one, where, f"members[{at}]") for at, one in enumerate(listed))
    seen: set[str] = set()
    for member in members:
        if member.id in seen:
            raise InputError(where, f"members: {member.id!r} is listed twice")
        seen.add(member.id)
    generation = top.get("generation", 0)
    if type(generation) is not int or not 0 <= generation < 2**31:
        raise InputError(where, f"generation: expected a whole number, got {shown(generation)}")
    in_step = top.get("in_step", False)
    if type(in_step) is not bool:
        raise InputError(where, f"in_step: expected true or false, got {shown(in_step)}")
    made = Scenario(
        topics=topics,
        members=members,
        until=_number(top, "until", where, "until", None),
        produce={t: _number(produce, t, where, f"produce.{t}", None) for t in produce},
        session_timeout=_number(top, "session_timeout", where, "session_timeout", 45.0),
        heartbeat_interval=_number(top, "heartbeat_interval", where, "heartbeat_interval", 3.0),
        rebalance_timeout=_number(top, "rebalance_timeout", where, "rebalance_timeout", 300.0),
        initial_delay=_number(top, "initial_delay", where, "initial_delay", 0.0),
        latency=_number(top, "latency", where, "latency", 0.0),
        racks=_racks(top.get("racks"), topics, where),
        generation=generation,
        in_step=in_step,
    )
    for name in ("until", "session_timeout", "heartbeat_interval", "rebalance_timeout"):
        if getattr(made, name) <= 0:
            raise InputError(where, f"{name}: expected more than 0 seconds")
    if made.heartbeat_interval >= made.session_timeout:
        raise InputError(where, "heartbeat_interval: expected less than session_timeout")
    if 4 * made.latency >= made.session_timeout:
        raise InputError(where, "latency: expected less than a quarter of session_timeout")
    if len(members) * made.until / made.heartbeat_interval > MAX_EVENTS:
        raise InputError(where, f"until: more than {MAX_EVENTS} heartbeats to play")
    return made


def _actor(value: Any, where: str, place: str) -> ScenarioMember:
    entry = json_object(value, where, f"{place}: a member", _MEMBER)
    identity = optional_text(entry.get("id"), where, f"{place}.id")
    if not identity:
        raise InputError(where, f"{place}.id: expected text, got {shown(entry.get('id'))}")
    timeout = _number(entry, "poll_timeout_ms", where, f"{place}.poll_timeout_ms", 500.0)
    priority = entry.get("priority")
    if priority is not None and (type(priority) is not int or not -(2**31) <= priority < 2**31):
        raise InputError(where, f"{place}.priority: expected a whole number, got {shown(priority)}")
    made = ScenarioMember(
        id=identity,
        topics=tuple(texts(entry.get("topics"), where, f"{place}.topics")),
        joins_at=_number(entry, "joins_at", where, f"{place}.joins_at", 0.0),
        leaves_at=_optional(entry, "leaves_at", where, place),
        crashes_at=_optional(entry, "crashes_at", where, place),
        rate=_optional(entry, "rate", where, place),
        poll_timeout_ms=timeout,
        buffer=_number(entry, "buffer", where, f"{place}.buffer", float(BUFFER)),
        instance_id=optional_text(entry.get("instance_id"), where, f"{place}.instance_id") or None,
        rack=optional_text(entry.get("rack"), where, f"{place}.rack"),
        priority=priority,
        assignors=tuple(texts(entry.get("assignors") or [], where, f"{place}.assignors")),
    )
    if made.ends_at < made.joins_at:
        raise InputError(where, f"{place}: {identity!r} ends before it joins")
    if made.leaves_at is not None and made.crashes_at is not None:
        raise InputError(where, f"{place}: {identity!r} leaves and crashes: expected one of them")
    return made


def _racks(
    value: Any, topics: Mapping[str, int], where: str
) -> Mapping[str, list[list[str]]] | None:
    if value is None:
        return None
    for topic, rows in json_object(value, where, "racks").items():
        if topic not in topics:
            raise InputError(where, f"racks: topic {topic!r} is not listed")
        if type(rows) is not list or len(rows) != topics[topic]:
            raise InputError(where, f"racks.{topic}: expected {topics[topic]} lists of racks")
        for at, row in enumerate(rows):
            texts(row, where, f"racks.{topic}[{at}]")
    found: Mapping[str, list[list[str]]] = value
    return found


def _optional(entry: dict[str, Any], key: str, where: str, place: str) -> float | None:
    return None if entry.get(key) is None else _number(entry, key, where, f"{place}.{key}", None)


def _number(
    entry: Mapping[str, Any], key: str, where: str, place: str, default: float | None
) -> float:
    value = entry.get(key)
    if value is None and default is not None:
        return default
    if type(value) not in (int, float) or value is None or not 0 <= value <= MAX_NUMBER:
        raise InputError(where, f"{place}: expected a number from 0, got {shown(value)}")
    return float(value)
