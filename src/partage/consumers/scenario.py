"""SCENARIO.json: what happens to a group's members over time, read strictly.

Times are seconds from the start, rates records per second. The defaults are Kafka's
(``session_timeout`` 45, ``heartbeat_interval`` 3, ``rebalance_timeout`` 300; with the consumer
protocol the broker's ``consumer_heartbeat_interval`` 5 and ``assignment_interval`` 1), except that
an empty group does not wait for more members (``initial_delay`` 0) and messages take no time
(``latency`` 0). A member's ``pattern`` adds the topics whose whole name matches. ``topic_changes``
create topics, add partitions and delete topics; ``consumers.topic_metadata`` describes when clients
learn of them (``metadata_max_age`` 300).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct

from partage.errors import InputError, shown
from partage.files import path_instead_of
from partage.frames import changed_fields
from partage.json_input import (
    Base64,
    Count,
    InstanceId,
    Int32,
    Name,
    Text,
    TopicName,
    check_json,
    read_json,
)
from partage.patterns import compile_pattern, matching
from partage.units import plural

MAX_PARTITIONS = 100_000
MAX_HEARTBEATS = 3_000_000
LEAST_NUMBER, MOST_NUMBER = 0.001, 1e9
"""Of a time or a rate that is not 0: milliseconds to decades. Beyond, adding one to the clock of a
simulation would not move it."""
CONSUMER_HEARTBEAT = 5.0
"""Seconds between heartbeats with the consumer protocol: the broker's default."""
BUFFER = 500
"""Records that fit into a member's buffer if the broker pushes: as many as a poll returns
(``max.poll.records``)."""

_NUMBER_WORDS = f"0, or a number from {LEAST_NUMBER:g} to {MOST_NUMBER:,.0f}"
_MOMENT_WORDS = f"a number from 0 to {MOST_NUMBER:,.0f}"
_Number: TypeAlias = Annotated[float, Meta(ge=0, le=MOST_NUMBER, description=_NUMBER_WORDS)]
_Moment: TypeAlias = Annotated[float, Meta(ge=0, le=MOST_NUMBER, description=_MOMENT_WORDS)]
_POSITIVE = (
    "until",
    "session_timeout",
    "heartbeat_interval",
    "rebalance_timeout",
    "consumer_heartbeat_interval",
    "metadata_max_age",
)
_MOMENTS = ("joins_at", "leaves_at", "crashes_at", "latency")


@dataclass(frozen=True, repr=False)
class ScenarioMember:
    """A process of the scenario.

    - it subscribes to ``topics`` and, if it has a ``pattern``, to those whose whole name matches
    - it joins at ``joins_at``; it closes its consumer at ``leaves_at`` or dies at ``crashes_at``
    - ``rate``: records that it can process per second, None for any number
    - ``poll_timeout_ms``: how long a poll waits for records
    - ``buffer``: records that fit into its buffer if the broker pushes
    - ``assignors``: its own list, the preferred one first; empty for that of the simulation
    - ``client``: java, librdkafka or kafka-python, with the assignors that it comes with; the last
      two refuse to start with cooperative-sticky beside an eager assignor
    - ``process``, ``tags``: for streams, the client whose thread the member is, and its location
    - ``config``: its consumer's configuration: ``group.protocol``, ``group.remote.assignor``, and
      what custom assignors and failover read; ``user_data``: sent with the subscription, whatever
      its assignor would send
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
    client: str = "java"
    process: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    user_data: bytes | None = None
    pattern: str | None = None

    def subscription(self, topics: Iterable[str]) -> tuple[str, ...]:
        """The topics that it subscribes to when these exist."""
        if self.pattern is None:
            return self.topics
        return tuple(dict.fromkeys((*self.topics, *matching(self.pattern, topics))))

    @property
    def speaks_consumer(self) -> bool:
        """Whether it has ``group.protocol=consumer`` (KIP-848)."""
        return str(self.config.get("group.protocol", "")).lower() == "consumer"

    @property
    def ends_at(self) -> float:
        """When the process ends, infinity for never."""
        ends = [end for end in (self.leaves_at, self.crashes_at) if end is not None]
        return min(ends, default=math.inf)

    def __repr__(self) -> str:
        return changed_fields(self)


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """A step of what the scenario plays, such as a rolling restart: it lasts from ``at`` until the
    next one, and its pauses are shown."""

    name: Text
    at: _Moment


class TopicChange(Struct, frozen=True, forbid_unknown_fields=True):
    """From ``at`` on the topic has so many partitions: it is created, some are added, or it is
    deleted (0)."""

    at: _Moment
    topic: TopicName
    partitions: Count


class Restore(Struct, frozen=True, forbid_unknown_fields=True):
    """``records`` in the state of a task; ``rate``: how many a process restores per second, of each
    task."""

    records: _Number
    rate: _Number


@dataclass(frozen=True, repr=False)
class Scenario:
    """What happens to a group over time. ``read`` and ``from_json`` raise InputError.

    - ``topics``: partition counts; ``produce``: records per second into each partition, by topic
    - ``until``: the end; the other times are settings of the group and its members
    - ``racks``: by topic, for each partition the racks of its replicas
    - ``generation``: that of the group before the first member joins
    - ``in_step``: whether all members send their heartbeats at the same moments
    - ``streams``, ``connect``: of the application, as in GROUP.json
    - ``restore``: how a Streams process restores the state of a task, None: unknown
    - ``steps``, ``topic_changes``: in the order of time
    """

    topics: Mapping[str, int]
    members: tuple[ScenarioMember, ...]
    until: float
    produce: Mapping[str, float] = field(default_factory=dict)
    session_timeout: float = 45.0
    heartbeat_interval: float = 3.0
    rebalance_timeout: float = 300.0
    consumer_heartbeat_interval: float = CONSUMER_HEARTBEAT
    assignment_interval: float = 1.0
    initial_delay: float = 0.0
    latency: float = 0.0
    racks: Mapping[str, list[list[str]]] | None = None
    generation: int = 0
    in_step: bool = False
    streams: Mapping[str, Any] | None = None
    connect: Mapping[str, Any] | None = None
    restore: Restore | None = None
    steps: tuple[Step, ...] = ()
    topic_changes: tuple[TopicChange, ...] = ()
    metadata_max_age: float = 300.0

    @property
    def all_topics(self) -> dict[str, int]:
        """Partition counts at the end, or when a topic is deleted."""
        changes = {one.topic: one.partitions for one in self.topic_changes if one.partitions}
        return {**self.topics, **changes}

    @property
    def lifetimes(self) -> dict[tuple[str, int], tuple[float, float]]:
        """From when until when each partition exists."""
        found: dict[tuple[str, int], tuple[float, float]] = {}
        start = [TopicChange(0.0, topic, count) for topic, count in self.topics.items()]
        for one in (*start, *self.topic_changes):
            if not one.partitions:
                old = [partition for partition in found if partition[0] == one.topic]
                found.update((p, (found[p][0], min(one.at, self.until))) for p in old)
            for number in range(one.partitions):
                found.setdefault((one.topic, number), (one.at, self.until))
        return found

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a SCENARIO.json file, plain or gzip."""
        return _scenario(read_json(path, _ScenarioFile), os.fspath(path))

    @classmethod
    def of(cls, given: Scenario | str | os.PathLike[str]) -> Scenario:
        """A Scenario as it is, or that of a file, as ``read`` has it. Raises InputError."""
        return given if isinstance(given, Scenario) else cls.read(path_instead_of(cls, given))

    @classmethod
    def from_json(cls, value: Any, where: str = "scenario") -> Scenario:
        """The parsed value of a SCENARIO.json file. Errors begin with ``where``."""
        return _scenario(check_json(value, _ScenarioFile, where), where)

    def __repr__(self) -> str:
        return (
            f"<Scenario of {plural(len(self.members), 'member')}, "
            f"{plural(len(self.topics), 'topic')}, "
            f"{plural(sum(self.topics.values()), 'partition')}: {self.until:g} s>"
        )


class _RestartEntry(Struct, forbid_unknown_fields=True):
    at: _Moment
    back_at: _Moment
    assignors: list[Text] | None = None
    config: dict[str, Any] | None = None


class _MemberEntry(Struct, forbid_unknown_fields=True):
    id: Name
    topics: list[TopicName]
    pattern: Text | None = None
    joins_at: _Moment | None = None
    leaves_at: _Moment | None = None
    crashes_at: _Moment | None = None
    rate: _Number | None = None
    poll_timeout_ms: _Number | None = None
    buffer: _Number | None = None
    instance_id: InstanceId | None = None
    rack: Text | None = None
    priority: Int32 | None = None
    assignors: list[Text] | None = None
    client: Literal["java", "librdkafka", "kafka-python"] | None = None
    process: Text | None = None
    tags: dict[str, Text] | None = None
    config: dict[str, Any] | None = None
    user_data: Base64 | None = None
    restarts: list[_RestartEntry] | None = None
    # of a GROUP.json: members join without partitions
    owned: list[Any] | None = None
    generation: Int32 | None = None


class _ScenarioFile(Struct, forbid_unknown_fields=True):
    accepted: ClassVar[str] = "a scenario, an object with topics, members, until"

    topics: dict[TopicName, Count]
    members: Annotated[
        list[_MemberEntry], Meta(min_length=1, description="a list with at least one member")
    ]
    until: _Number
    produce: dict[str, _Number] | None = None
    session_timeout: _Number | None = None
    heartbeat_interval: _Number | None = None
    rebalance_timeout: _Number | None = None
    consumer_heartbeat_interval: _Number | None = None
    assignment_interval: _Number | None = None
    initial_delay: _Number | None = None
    latency: _Moment | None = None
    racks: dict[str, list[list[Text]]] | None = None
    generation: Count = 0
    in_step: bool = False
    streams: dict[str, Any] | None = None
    connect: dict[str, Any] | None = None
    restore: Restore | None = None
    steps: list[Step] | None = None
    topic_changes: list[TopicChange] | None = None
    metadata_max_age: _Number | None = None
    checksum: Text | None = None


_IGNORED = ("checksum", "owned")
"""Fields of a GROUP.json that do not count, besides the members' ``generation``."""


def _scenario(file: _ScenarioFile, where: str) -> Scenario:
    """The scenario of a file, after the rules between its fields are checked."""
    _check_topics(file, where)
    _check_numbers(file, where)
    given = _given(file) | {"members": tuple(_members(file, where))}
    if file.restore is not None and file.restore.rate <= 0:
        raise InputError(where, "restore.rate: expected more than 0 records per second")
    steps = file.steps or []
    given["steps"] = tuple(steps)
    for at, (before, step) in enumerate(pairwise(steps), 1):
        if step.at <= before.at:
            raise InputError(where, f"steps[{at}].at: expected more than {before.at:g} seconds")
    given["topic_changes"] = tuple(file.topic_changes or [])
    scenario = Scenario(**given)
    for name in _POSITIVE:
        if getattr(scenario, name) <= 0:
            raise InputError(where, f"{name}: expected more than 0 seconds")
    if scenario.heartbeat_interval >= scenario.session_timeout:
        raise InputError(where, "heartbeat_interval: expected less than session_timeout")
    if 4 * scenario.latency >= scenario.session_timeout:
        raise InputError(where, "latency: expected less than a quarter of session_timeout")
    shortest = min(scenario.heartbeat_interval, scenario.consumer_heartbeat_interval)
    if len(scenario.members) * scenario.until / shortest > MAX_HEARTBEATS:
        raise InputError(where, f"until: more than {MAX_HEARTBEATS} heartbeats to simulate")
    return scenario


def _check_topics(file: _ScenarioFile, where: str) -> None:
    topics, last = dict(file.topics), 0.0
    deleted: set[str] = set()
    for at, change in enumerate(file.topic_changes or []):
        place = f"topic_changes[{at}]"
        if change.at < last:
            raise InputError(where, f"{place}.at: expected at least {last:g} seconds, as before it")
        has, last = topics.get(change.topic, 0), change.at
        if change.topic in deleted:
            problem = f"topic {change.topic!r} was deleted: expected another name"
            raise InputError(where, f"{place}.topic: {problem}")
        if has and not change.partitions:
            deleted.add(change.topic)
            continue
        if change.partitions <= has:
            problem = f"topic {change.topic!r} has {has} by then: expected more"
            raise InputError(where, f"{place}.partitions: {problem}")
        topics[change.topic] = change.partitions
    if sum(topics.values()) > MAX_PARTITIONS:
        raise InputError(where, f"topics: more than {MAX_PARTITIONS} partitions")
    for name in ("produce", "racks"):
        for topic in getattr(file, name) or {}:
            if topic not in topics:
                raise InputError(where, f"{name}: topic {topic!r} is not listed")
    for topic, rows in (file.racks or {}).items():
        if len(rows) != topics[topic]:
            raise InputError(where, f"racks.{topic}: expected {topics[topic]} lists of racks")


def _check_numbers(file: _ScenarioFile, where: str) -> None:
    numbers = [("", _given(file)), ("produce.", file.produce or {})]
    numbers += [(f"members[{at}].", _given(entry)) for at, entry in enumerate(file.members)]
    for place, fields in numbers:
        for name, value in fields.items():
            small = isinstance(value, float) and 0 < value < LEAST_NUMBER
            if small and name not in _MOMENTS:
                raise InputError(where, f"{place}{name}: {value:g}: expected {_NUMBER_WORDS}")


def _members(file: _ScenarioFile, where: str) -> list[ScenarioMember]:
    members: list[ScenarioMember] = []
    seen: set[str] = set()
    for at, entry in enumerate(file.members):
        given = _given(entry) | {"topics": tuple(entry.topics)}
        _check_pattern(entry, f"{where}: members[{at}]")
        _check_protocols(entry, f"{where}: members[{at}]")
        given["instance_id"] = entry.instance_id or None
        given["assignors"] = tuple(entry.assignors or ())
        given.pop("generation", None)
        restarts = given.pop("restarts", ())
        member = ScenarioMember(**given)
        if member.ends_at < member.joins_at:
            raise InputError(where, f"members[{at}]: {member.id!r} ends before it joins")
        if member.leaves_at is not None and member.crashes_at is not None:
            raise InputError(
                where, f"members[{at}]: {member.id!r} has leaves_at and crashes_at: expected one"
            )
        for process in _processes(member, restarts, f"{where}: members[{at}]"):
            if process.id in seen:
                raise InputError(where, f"members: {process.id!r} is listed twice")
            seen.add(process.id)
            members.append(process)
    return members


def _processes(
    member: ScenarioMember, restarts: Sequence[_RestartEntry], where: str
) -> Iterator[ScenarioMember]:
    """The processes of a member that closes its consumer and starts again: ``C0``, then ``C0-2``
    and so on. They keep its settings, and their assignors and configuration until others are
    given."""
    now = member
    for at, restart in enumerate(restarts):
        place = f"{where}.restarts[{at}]"
        if restart.at < now.joins_at or restart.back_at > member.ends_at:
            problem = f"{member.id!r} does not run from {restart.at:g} to {restart.back_at:g} s"
            raise InputError(place, problem)
        if restart.back_at <= restart.at:
            raise InputError(place, f"back_at: expected more than {restart.at:g} seconds")
        yield replace(now, leaves_at=restart.at, crashes_at=None)
        now = replace(
            member,
            id=f"{member.id}-{at + 2}",
            joins_at=restart.back_at,
            assignors=tuple(restart.assignors or now.assignors),
            config={**now.config, **(restart.config or {})},
        )
    yield now


def _check_pattern(entry: _MemberEntry, where: str) -> None:
    try:
        compile_pattern(entry.pattern or "")
    except ValueError as error:
        raise InputError(where, f"pattern {shown(entry.pattern)}: {error}") from None


def _check_protocols(entry: _MemberEntry, where: str) -> None:
    for config in (entry.config, *(one.config for one in entry.restarts or [])):
        named = (config or {}).get("group.protocol", "classic")
        if str(named).lower() not in ("classic", "consumer"):
            problem = f"config: group.protocol {shown(named)}: expected classic or consumer"
            raise InputError(where, problem)


def _given(entry: Struct) -> dict[str, Any]:
    """The fields that are not null and count: the others have their defaults."""
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return {
        name: value for name, value in fields.items() if value is not None and name not in _IGNORED
    }
