"""Read GROUP.json, a consumer group in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from partage.errors import InputError
from partage.files import is_name
from partage.group.member import NO_GENERATION, Member
from partage.json_input import Count, Int32, Int64, Name, Text, check_json, read_json

_Pair: TypeAlias = Annotated[tuple[str, Int32], Meta(description="[topic, partition]")]


_Pairs: TypeAlias = Annotated[list[_Pair], Meta(description="a list of [topic, partition]")]


class _MemberEntry(Struct, forbid_unknown_fields=True):
    id: Name
    topics: list[Text]
    instance_id: Text | None = None
    rack: Text | None = None
    owned: _Pairs | None = None
    generation: Int32 | None = None
    priority: Int32 | None = None
    process: Text | None = None
    tags: dict[str, Text] | None = None
    standbys: _Pairs | None = None
    left_at_ms: Int64 | None = None


class _GroupFile(Struct, forbid_unknown_fields=True):
    topics: dict[Name, Count]
    members: list[_MemberEntry]
    racks: dict[str, list[list[Text]]] | None = None
    weights: dict[str, list[int]] | None = None
    streams: dict[str, Any] | None = None
    connect: dict[str, Any] | None = None


@dataclass(frozen=True)
class GroupColumns:
    """What a file says about a group, as ``Group`` takes it."""

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
    )


def json_object(
    value: Any, where: str, what: str, keys: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """The value, an object with no other than these keys; InputError otherwise."""
    if type(value) is not dict:
        raise InputError(where, f"{what}: expected an object, got {shown(value)}")
    for key in value:
        if keys is not None and key not in keys:
            raise InputError(where, f"{what}: has no {key!r}: expected {', '.join(keys)}")
    return value


def _optional_object(value: Any, where: str, what: str) -> dict[str, Any] | None:
    return None if value is None else json_object(value, where, what)


def texts(value: Any, where: str, place: str) -> list[str]:
    """The value, a list of texts; InputError otherwise."""
    if type(value) is not list or not all(is_name(text) for text in value):
        raise InputError(where, f"{place}: expected a list of texts, got {shown(value)}")
    return value


def optional_text(value: Any, where: str, place: str) -> str | None:
    """The value, text or null; InputError otherwise."""
    if value is not None and not is_name(value):
        raise InputError(where, f"{place}: expected text, got {shown(value)}")
    return value


def _number(value: Any, where: str, place: str, limit: int) -> int | None:
    if value is not None and (type(value) is not int or not -limit <= value < limit):
        raise InputError(where, f"{place}: expected a whole number, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    """The value in an error's line, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
