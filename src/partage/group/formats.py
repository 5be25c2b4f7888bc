"""GROUP.json: a consumer group in a file, read strictly."""

from __future__ import annotations

import os
from typing import Any

from partage.errors import InputError
from partage.files import is_name, parse_json, read_text
from partage.group.model import NO_GENERATION, Group, Member

_TOP = ("topics", "racks", "members", "weights", "streams", "connect")
_MEMBER = (
    "id",
    "topics",
    "instance_id",
    "rack",
    "owned",
    "generation",
    "priority",
    "process",
    "tags",
    "standbys",
    "left_at_ms",
)
_INT32, _INT64 = 2**31, 2**63


def read_group(path: str | os.PathLike[str]) -> Group:
    """Read a GROUP.json file, plain or gzip. Raises InputError."""
    where = os.fspath(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(where, "is empty, expected a group")
    return group_from_json(parse_json(text, where), where)


def group_from_json(value: Any, where: str) -> Group:
    """A group out of the parsed value."""
    top = json_object(value, where, "a group", _TOP)
    topics = json_object(top.get("topics"), where, "topics: partition counts by name")
    texts(list(topics), where, "topics")
    members = top.get("members")
    if type(members) is not list:
        raise InputError(where, f"members: expected a list, got {shown(members)}")
    racks = _columns(top, "racks", where)
    for topic, of_topic in (racks or {}).items():
        for number, named in enumerate(of_topic):
            texts(named, where, f"racks.{topic}[{number}]")
    weights = _columns(top, "weights", where)
    for topic, numbers in (weights or {}).items():
        if not all(type(number) is int for number in numbers):
            raise InputError(where, f"weights.{topic}: expected whole numbers")
    return Group(
        topics,
        [_member(entry, where, f"members[{at}]") for at, entry in enumerate(members)],
        racks=racks,
        weights=weights,
        streams=_optional_object(top.get("streams"), where, "streams"),
        connect=_optional_object(top.get("connect"), where, "connect"),
        where=where,
    )


def _member(value: Any, where: str, place: str) -> Member:
    entry = json_object(value, where, f"{place}: a member", _MEMBER)
    identity = entry.get("id")
    if not is_name(identity) or not identity:
        raise InputError(where, f"{place}.id: expected text, got {shown(identity)}")
    tags = _optional_object(entry.get("tags"), where, f"{place}.tags") or {}
    texts(list(tags.values()), where, f"{place}.tags")
    generation = _number(entry.get("generation"), where, f"{place}.generation", _INT32)
    return Member(
        id=identity,
        topics=tuple(texts(entry.get("topics"), where, f"{place}.topics")),
        owned=_pairs(entry.get("owned"), where, f"{place}.owned"),
        generation=NO_GENERATION if generation is None else generation,
        rack=optional_text(entry.get("rack"), where, f"{place}.rack"),
        instance_id=optional_text(entry.get("instance_id"), where, f"{place}.instance_id"),
        priority=_number(entry.get("priority"), where, f"{place}.priority", _INT32),
        process=optional_text(entry.get("process"), where, f"{place}.process"),
        tags=tags,
        standbys=_pairs(entry.get("standbys"), where, f"{place}.standbys"),
        left_at_ms=_number(entry.get("left_at_ms"), where, f"{place}.left_at_ms", _INT64),
    )


def _pairs(value: Any, where: str, place: str) -> list[tuple[str, int]]:
    listed = [] if value is None else value
    if type(listed) is not list:
        raise InputError(where, f"{place}: expected a list of [topic, partition]")
    pairs: list[tuple[str, int]] = []
    for at, pair in enumerate(listed):
        if (
            type(pair) is not list
            or len(pair) != 2
            or type(pair[0]) is not str
            or type(pair[1]) is not int
            or not -_INT32 <= pair[1] < _INT32
        ):
            raise InputError(
                where, f"{place}[{at}]: expected [topic, partition], got {shown(pair)}"
            )
        pairs.append((pair[0], pair[1]))
    return pairs


def _columns(top: dict[str, Any], name: str, where: str) -> dict[str, list[Any]] | None:
    found = _optional_object(top.get(name), where, name)
    for topic, values in (found or {}).items():
        if type(values) is not list:
            raise InputError(where, f"{name}.{topic}: expected a list, got {shown(values)}")
    return found


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
