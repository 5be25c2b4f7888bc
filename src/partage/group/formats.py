"""Read GROUP.json, a consumer group in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from partage.group.member import NO_GENERATION, Member
from partage.json_input import (
    Base64,
    Count,
    InstanceId,
    Int32,
    Int64,
    Name,
    Text,
    TopicName,
    check_json,
    read_json,
)

_Pair: TypeAlias = Annotated[tuple[Text, Int32], Meta(description="[topic, partition]")]


_Pairs: TypeAlias = Annotated[list[_Pair], Meta(description="a list of [topic, partition]")]


class _MemberEntry(Struct, forbid_unknown_fields=True):
    id: Name
    topics: list[TopicName]
    instance_id: InstanceId | None = None
    rack: Text | None = None
    owned: _Pairs | None = None
    generation: Int32 | None = None
    priority: Int32 | None = None
    process: Text | None = None
    tags: dict[Text, Text] | None = None
    standbys: _Pairs | None = None
    left_at_ms: Int64 | None = None
    config: dict[str, Any] | None = None
    user_data: Base64 | None = None


class _GroupFile(Struct, forbid_unknown_fields=True):
    topics: dict[TopicName, Count]
    members: list[_MemberEntry]
    checksum: Text | None = None  # of partage's own file, which may have been edited
    racks: dict[str, list[list[Text]]] | None = None
    weights: dict[str, list[int]] | None = None
    streams: dict[str, Any] | None = None
    connect: dict[str, Any] | None = None


@dataclass(frozen=True)
class GroupColumns:
    """The contents of a group file, as ``Group`` takes them."""

    topics: Mapping[str, int]
    members: Sequence[Member]
    racks: Mapping[str, list[list[str]]] | None
    weights: Mapping[str, list[int]] | None
    streams: Mapping[str, Any] | None
    connect: Mapping[str, Any] | None


def read_group_file(path: str | os.PathLike[str]) -> GroupColumns:
    """Read a GROUP.json file, plain or gzip. Raises InputError."""
    return _columns(read_json(path, _GroupFile))


def parse_group_json(value: Any, where: str) -> GroupColumns:
    """The parsed value of a GROUP.json file. Raises InputError."""
    return _columns(check_json(value, _GroupFile, where))


def _columns(file: _GroupFile) -> GroupColumns:
    members = [_member(entry) for entry in file.members]
    return GroupColumns(file.topics, members, file.racks, file.weights, file.streams, file.connect)


def _member(entry: _MemberEntry) -> Member:
    return Member(
        id=entry.id,
        topics=tuple(entry.topics),
        owned=entry.owned or [],
        generation=NO_GENERATION if entry.generation is None else entry.generation,
        rack=entry.rack,
        instance_id=entry.instance_id,
        priority=entry.priority,
        process=entry.process,
        tags=entry.tags or {},
        standbys=entry.standbys or [],
        left_at_ms=entry.left_at_ms,
        config=entry.config or {},
        user_data=entry.user_data,
    )
