"""The group's ``streams`` object, read strictly. Its names are those of Kafka's settings.

- ``subtopologies``: each with its ``topics`` and whether it is ``stateful`` (default false)
- ``standbys``: num.standby.replicas, default 0
- ``lags``: by process and task, how many records the state is behind. A task is named as in Kafka,
  ``0_3`` for partition 3 of the first subtopology. With ``lags``, even ``{}``, a stateful task only
  moves to a process that has caught up (KIP-441), subject to ``acceptable_recovery_lag`` (default
  10,000), ``max_warmup_replicas`` (2) and ``probing_rebalance_interval_ms`` (600,000)
- ``rack_aware`` (KIP-925): ``strategy`` (none, min_traffic or balance_subtopology),
  ``traffic_cost`` (10) and ``non_overlap_cost`` (1)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from partage.errors import InputError
from partage.group import Group
from partage.group.formats import json_object, shown

STRATEGIES = ("none", "min_traffic", "balance_subtopology")
UNKNOWN_LAG = 2**62
"""The lag of a state that the configuration does not mention; every given lag is smaller."""

_KEYS = (
    "subtopologies",
    "standbys",
    "lags",
    "acceptable_recovery_lag",
    "max_warmup_replicas",
    "probing_rebalance_interval_ms",
    "rack_aware",
)
_SUBTOPOLOGY_KEYS = ("topics", "stateful")
_RACK_KEYS = ("strategy", "traffic_cost", "non_overlap_cost")
_MAX_STANDBYS = 1_000
_TASK = re.compile("(0|[1-9][0-9]{0,8})_(0|[1-9][0-9]{0,8})")
_INT32, _INT64 = 2**31 - 1, 2**63 - 1

Task = tuple[int, int]
"""(subtopology, partition)."""


@dataclass(frozen=True)
class Subtopology:
    """``topics``: positions of the topics in the group."""

    topics: tuple[int, ...]
    stateful: bool


@dataclass(frozen=True)
class StreamsConfig:
    """See the head of this file. ``lags`` None: unknown, and tasks do not wait for state."""

    subtopologies: tuple[Subtopology, ...]
    standbys: int = 0
    lags: Mapping[str, Mapping[Task, int]] | None = None
    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    probing_rebalance_interval_ms: int = 600_000
    rack_strategy: str = "none"
    traffic_cost: int = 10
    non_overlap_cost: int = 1
    stateful: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stateful", tuple(s.stateful for s in self.subtopologies))

    @classmethod
    def of(cls, group: Group) -> StreamsConfig:
        """The configuration of a group. Raises InputError."""
        where = group.where
        if group.streams is None:
            raise InputError(where, 'streams: expected {"subtopologies": [...], "standbys": ...}')
        given = json_object(group.streams, where, "streams", _KEYS)
        racks = given.get("rack_aware")
        racks = {} if racks is None else racks
        racks = json_object(racks, where, "streams.rack_aware", _RACK_KEYS)
        strategy = racks.get("strategy", "none")
        if strategy not in STRATEGIES:
            raise InputError(
                where,
                f"streams.rack_aware.strategy: {shown(strategy)}: "
                f"expected one of {', '.join(STRATEGIES)}",
            )
        numbers = _Numbers(where, "streams", given)
        of_racks = _Numbers(where, "streams.rack_aware", racks)
        subtopologies = _subtopologies(group, given.get("subtopologies"))
        return cls(
            subtopologies,
            standbys=numbers.read("standbys", cls.standbys, 0, _MAX_STANDBYS),
            lags=_lags(group, subtopologies, given.get("lags")),
            acceptable_recovery_lag=numbers.read(
                "acceptable_recovery_lag", cls.acceptable_recovery_lag, 0, _INT64
            ),
            max_warmup_replicas=numbers.read(
                "max_warmup_replicas", cls.max_warmup_replicas, 1, _INT32
            ),
            probing_rebalance_interval_ms=numbers.read(
                "probing_rebalance_interval_ms", cls.probing_rebalance_interval_ms, 60_000, _INT64
            ),
            rack_strategy=strategy,
            traffic_cost=of_racks.read("traffic_cost", cls.traffic_cost, 0, _INT32),
            non_overlap_cost=of_racks.read("non_overlap_cost", cls.non_overlap_cost, 0, _INT32),
        )


@dataclass(frozen=True)
class _Numbers:
    """Reads whole numbers from an object."""

    where: str
    place: str
    given: Mapping[str, Any]

    def read(self, key: str, default: int, least: int, most: int) -> int:
        value = self.given.get(key)
        if value is None:
            return default
        if type(value) is not int or not least <= value <= most:
            raise InputError(
                self.where,
                f"{self.place}.{key}: {shown(value)}: expected a number from {least} to {most}",
            )
        return value


def _subtopologies(group: Group, listed: Any) -> tuple[Subtopology, ...]:
    where = group.where
    if not isinstance(listed, (list, tuple)):
        raise InputError(where, "streams.subtopologies: expected a list")
    found: list[Subtopology] = []
    seen: set[int] = set()
    for at, entry in enumerate(listed):
        place = f"streams.subtopologies[{at}]"
        if not isinstance(entry, dict) or not set(entry) <= set(_SUBTOPOLOGY_KEYS):
            raise InputError(where, f'{place}: expected {{"topics": [...], "stateful": ...}}')
        topics = _topics(group, entry.get("topics"), f"{place}.topics", seen)
        stateful = entry.get("stateful", False)
        if type(stateful) is not bool:
            raise InputError(where, f"{place}.stateful: expected true or false")
        found.append(Subtopology(topics, stateful))
    return tuple(found)


def _topics(group: Group, names: Any, place: str, seen: set[int]) -> tuple[int, ...]:
    """Positions of the topics of a subtopology; they are added to ``seen``."""
    if not isinstance(names, (list, tuple)) or not names:
        raise InputError(group.where, f"{place}: expected a list of topics")
    topics: list[int] = []
    for name in names:
        topic = group.position(name) if isinstance(name, str) else None
        if topic is None:
            raise InputError(group.where, f"{place}: {name!r} is not listed under topics")
        if topic in seen:
            raise InputError(group.where, f"{place}: {name!r} is listed twice")
        seen.add(topic)
        topics.append(topic)
    return tuple(topics)


def _lags(
    group: Group, subtopologies: tuple[Subtopology, ...], given: Any
) -> dict[str, dict[Task, int]] | None:
    if given is None:
        return None
    where = group.where
    processes = {member.process or member.id for member in group.members}
    found: dict[str, dict[Task, int]] = {}
    for process, of_process in json_object(given, where, "streams.lags").items():
        place = f"streams.lags.{process}"
        if process not in processes:
            raise InputError(where, f"{place}: no member is a thread of process {process!r}")
        found[process] = {}
        for name, lag in json_object(of_process, where, place).items():
            task = _task(group, subtopologies, name)
            if task is None:
                raise InputError(where, f"{place}: {name!r}: expected a stateful task, such as 0_3")
            if type(lag) is not int or not 0 <= lag < UNKNOWN_LAG:
                raise InputError(
                    where, f"{place}.{name}: {shown(lag)}: expected a number of records"
                )
            found[process][task] = lag
    return found


def _task(group: Group, subtopologies: tuple[Subtopology, ...], name: Any) -> Task | None:
    """``0_3`` as (0, 3), None where there is no such stateful task."""
    if not _TASK.fullmatch(str(name)):
        return None
    kind, number = map(int, name.split("_"))
    if not (kind < len(subtopologies) and subtopologies[kind].stateful):
        return None
    most = max(group.topics[group.names[topic]] for topic in subtopologies[kind].topics)
    return (kind, number) if number < most else None
