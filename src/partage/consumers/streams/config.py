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
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from partage.errors import InputError
from partage.group import Group
from partage.json_input import check_json

UNKNOWN_LAG = 2**62
"""The lag of a state that the configuration does not mention; every given lag is smaller."""

_TASK = re.compile("(0|[1-9][0-9]{0,8})_(0|[1-9][0-9]{0,8})")
_INT32, _INT64 = 2**31 - 1, 2**63 - 1

_Strategy: TypeAlias = Literal["none", "min_traffic", "balance_subtopology"]
_Cost: TypeAlias = Annotated[int, Meta(ge=0, le=_INT32)]
_Lag: TypeAlias = Annotated[
    int, Meta(ge=0, lt=UNKNOWN_LAG, description="a number of records from 0")
]

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
    standbys: int
    lags: Mapping[str, Mapping[Task, int]] | None
    acceptable_recovery_lag: int
    max_warmup_replicas: int
    probing_rebalance_interval_ms: int
    rack_strategy: str
    traffic_cost: int
    non_overlap_cost: int
    stateful: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stateful", tuple(s.stateful for s in self.subtopologies))

    @classmethod
    def of(cls, group: Group) -> StreamsConfig:
        """The configuration of a group. Raises InputError."""
        given = check_json({"streams": group.streams}, _GroupPart, group.where).streams
        racks = given.rack_aware or _RackAware()
        subtopologies = _subtopologies(group, given.subtopologies)
        return cls(
            subtopologies,
            standbys=_or(given.standbys, 0),
            lags=_lags(group, subtopologies, given.lags),
            acceptable_recovery_lag=_or(given.acceptable_recovery_lag, 10_000),
            max_warmup_replicas=_or(given.max_warmup_replicas, 2),
            probing_rebalance_interval_ms=_or(given.probing_rebalance_interval_ms, 600_000),
            rack_strategy=racks.strategy,
            traffic_cost=_or(racks.traffic_cost, 10),
            non_overlap_cost=_or(racks.non_overlap_cost, 1),
        )


# -- the form of the JSON object


class _SubtopologyEntry(Struct, forbid_unknown_fields=True):
    topics: Annotated[list[str], Meta(min_length=1, description="a list of topics, not empty")]
    stateful: bool = False


class _RackAware(Struct, forbid_unknown_fields=True):
    strategy: _Strategy = "none"
    traffic_cost: _Cost | None = None
    non_overlap_cost: _Cost | None = None


class _Streams(Struct, forbid_unknown_fields=True):
    subtopologies: Annotated[list[_SubtopologyEntry], Meta(description="a list of subtopologies")]
    standbys: Annotated[int, Meta(ge=0, le=1_000)] | None = None
    lags: dict[str, dict[str, _Lag]] | None = None
    acceptable_recovery_lag: Annotated[int, Meta(ge=0, le=_INT64)] | None = None
    max_warmup_replicas: Annotated[int, Meta(ge=1, le=_INT32)] | None = None
    probing_rebalance_interval_ms: Annotated[int, Meta(ge=60_000, le=_INT64)] | None = None
    rack_aware: _RackAware | None = None


class _GroupPart(Struct):
    streams: _Streams


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


# -- rules between its fields


def _subtopologies(group: Group, entries: list[_SubtopologyEntry]) -> tuple[Subtopology, ...]:
    found: list[Subtopology] = []
    seen: set[int] = set()
    for at, entry in enumerate(entries):
        place = f"streams.subtopologies[{at}].topics"
        topics: list[int] = []
        for name in entry.topics:
            topic = group.position(name)
            if topic is None:
                raise InputError(group.where, f"{place}: {name!r} is not listed under topics")
            if topic in seen:
                raise InputError(group.where, f"{place}: {name!r} is listed twice")
            seen.add(topic)
            topics.append(topic)
        found.append(Subtopology(tuple(topics), entry.stateful))
    return tuple(found)


def _lags(
    group: Group,
    subtopologies: tuple[Subtopology, ...],
    given: Mapping[str, Mapping[str, int]] | None,
) -> dict[str, dict[Task, int]] | None:
    if given is None:
        return None
    processes = {member.process or member.id for member in group.members}
    found: dict[str, dict[Task, int]] = {}
    for process, of_process in given.items():
        place = f"streams.lags.{process}"
        if process not in processes:
            raise InputError(group.where, f"{place}: no member is a thread of process {process!r}")
        found[process] = {}
        for name, lag in of_process.items():
            task = _task(group, subtopologies, name)
            if task is None:
                raise InputError(
                    group.where, f"{place}: {name!r}: expected a stateful task, such as 0_3"
                )
            found[process][task] = lag
    return found


def _task(group: Group, subtopologies: tuple[Subtopology, ...], name: str) -> Task | None:
    """``0_3`` as (0, 3), None where there is no such stateful task."""
    if not _TASK.fullmatch(name):
        return None
    kind, number = map(int, name.split("_"))
    if not (kind < len(subtopologies) and subtopologies[kind].stateful):
        return None
    size = max(group.topics[group.names[topic]] for topic in subtopologies[kind].topics)
    return (kind, number) if number < size else None
