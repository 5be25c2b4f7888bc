"""Check JSON input against a type and name the first place that does not match.

Every JSON file from outside is described by a ``msgspec.Struct``. ``read_json`` reads a file (plain
or gzip), ``check_json`` takes a value that is parsed already; both return an instance of the struct
or raise InputError, one line that names the file, the place, what is accepted and what was found::

    class Move(Struct, forbid_unknown_fields=True):
        topic: Name
        replicas: list[Count]
        racks: dict[Name, Text] | None = None

    read_json("move.json", Move)
    # move.json: replicas[1]: expected a whole number from 0 to 2147483647, got "2"
    # move.json: topic: missing, expected non-empty printable text
    # move.json: replica: unknown key: did you mean replicas? expected one of topic, replicas, racks

How to describe a form:

- A field without a default is required. ``X | None`` also accepts null. Unknown keys are ignored
  unless the struct has ``forbid_unknown_fields=True``.
- Numbers are strict: true is not a number, and 2.0 is not an ``int``. Use ``float`` for numbers
  that may have decimals: it accepts 2, too. Bounds go into ``Annotated[int, Meta(ge=0, le=9)]``.
- A message takes its words for what is accepted from the type. Where those are not enough,
  ``Meta(description="…")`` replaces them, and for a struct ``accepted: ClassVar[str] = "…"``.
- Rules between fields (a name listed twice, one number below another) are code that runs after
  the check. It raises ``InputError(where, f"members[{i}].rate: …")`` and shows values with
  ``partage.errors.shown``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import get_close_matches
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType

from partage.errors import InputError
from partage.files import parse_json, read_text
from partage.kafka_names import MAX_LENGTH, TOPIC, TOPIC_RULE
from partage.printable import UNPRINTABLE, is_printable

_MISMATCHES = (msgspec.ValidationError, RecursionError, UnicodeEncodeError)
"""What ``msgspec.convert`` raises; the last one for half of a surrogate pair in a key."""

MAX_INT32 = 2**31 - 1

# lengths are part of patterns: with Meta(pattern=…, max_length=…), msgspec 0.22 crashes when Python
# collects garbage while types are being prepared
_PRINTABLE = rf"\A[^{UNPRINTABLE}]{{%s}}\Z"

Text: TypeAlias = Annotated[
    str, Meta(pattern=_PRINTABLE % f"0,{MAX_LENGTH}", description="printable text")
]
"""Text whose characters are all visible and harmless where it is shown."""
Name: TypeAlias = Annotated[
    str, Meta(pattern=_PRINTABLE % f"1,{MAX_LENGTH}", description="non-empty printable text")
]
TopicName: TypeAlias = Annotated[
    str, Meta(pattern=rf"\A{TOPIC}\Z", description=f"a topic of {TOPIC_RULE}")
]
InstanceId: TypeAlias = Annotated[str, Meta(pattern=rf"\A({TOPIC})?\Z", description=TOPIC_RULE)]
"""``group.instance.id``; empty for none."""
Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=MAX_INT32)]
Int64: TypeAlias = Annotated[
    int, Meta(ge=-(2**63), le=2**63 - 1, description="a whole number of 64 bits")
]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT32)]
Base64: TypeAlias = Annotated[bytes, Meta(description="Base64")]
Form = TypeVar("Form")


def read_json(path: str | os.PathLike[str], form: type[Form]) -> Form:
    """The content of a JSON file, plain or gzip, as an instance of ``form``. Raises InputError."""
    where = os.fspath(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(where, f"is empty, expected {_accepted(form)}")
    return check_json(parse_json(text, where), form, where)


def check_json(value: Any, form: type[Form], where: str) -> Form:
    """A parsed JSON value, or one made in Python with NumPy's numbers, as an instance of ``form``.
    Raises InputError that begins with ``where`` and names the first place that does not match."""
    try:
        return msgspec.convert(value, form)
    except _MISMATCHES:
        pass
    try:
        value = _plain(value)
        return msgspec.convert(value, form)
    except _MISMATCHES:
        place, problem = _first_problem(value, form, "")
        raise InputError(where, f"{place}: {problem}" if place else problem) from None


def shown(value: Any) -> str:
    """A value as a message quotes it: JSON on one line, cut after 60 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        if not is_printable(text):
            text = json.dumps(value)
    except TypeError:  # a Python value that JSON does not have
        text = ascii(value)
    except (ValueError, RecursionError):
        return "a value too long or too deep to show"
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    """The value with Python's numbers and lists instead of NumPy's, as what comes from a data frame
    has them."""
    if type(value) is dict:
        return {key: _plain(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _first_problem(value: Any, form: Any, place: str) -> tuple[str, str]:
    """(place, problem) of the first part of the value that does not match its form."""
    for step, part, part_form in _parts(value, form):
        if not _matches(part, part_form):
            return _first_problem(part, part_form, (place + step).removeprefix("."))
    inner = _without_none(form)
    if type(value) is dict and _is_struct(inner):
        dot = f"{place}." if place else ""
        fields = {field.encode_name: field for field in msgspec.structs.fields(inner)}
        names = ", ".join(fields)
        for name, field in fields.items():
            if field.required and name not in value:
                return dot + name, f"missing, expected {_accepted(field.type)}"
        for key in value:
            if key not in fields:
                near = get_close_matches(key, fields, 1)
                hint = f": did you mean {near[0]}?" if near else ","
                return dot + _key(key), f"unknown key{hint} expected one of {names}"
    if type(value) is dict and get_origin(inner) is dict:
        key_form, _ = get_args(inner)
        for key in value:
            if not _matches(key, key_form):
                return place, f"expected {_accepted(key_form)} as a key, got {shown(key)}"
    return place, f"expected {_accepted(form)}, got {shown(value)}"


def _parts(value: Any, form: Any) -> Iterator[tuple[str, Any, Any]]:
    """(step in a path, value, form) of what a value of this form consists of; nothing where the
    value is of another kind."""
    form = _without_none(form)
    origin, arguments = get_origin(form), get_args(form)
    if type(value) is dict and _is_struct(form):
        for field in msgspec.structs.fields(form):
            if field.encode_name in value:
                yield f".{field.encode_name}", value[field.encode_name], field.type
    elif type(value) is dict and origin is dict:
        for key, part in value.items():
            yield f".{_key(key)}", part, arguments[1]
    elif type(value) is list and origin is list:
        for i, part in enumerate(value):
            yield f"[{i}]", part, arguments[0]
    elif type(value) is list and origin is tuple and len(value) == len(arguments):
        for i, (part, part_form) in enumerate(zip(value, arguments, strict=True)):
            yield f"[{i}]", part, part_form


def _matches(value: Any, form: Any) -> bool:
    try:
        msgspec.convert(value, form)
    except _MISMATCHES:
        return False
    return True


def _key(key: Any) -> str:
    """A key as a part of a path: quoted where it would not be readable."""
    return key if is_printable(key) and len(key) <= 60 else shown(key)


def _is_struct(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, Struct)


def _without_none(form: Any) -> Any:
    """The form without ``Annotated`` and, where one other remains, without null."""
    if get_origin(form) is Annotated:
        return _without_none(get_args(form)[0])
    if get_origin(form) in (Union, UnionType):
        rest = [one for one in get_args(form) if one not in (NoneType, UnsetType)]
        return _without_none(rest[0]) if len(rest) == 1 else form
    return form


def _accepted(form: Any, bounds: str = "") -> str:
    """What a form accepts, in words."""
    origin, arguments = get_origin(form), get_args(form)
    if origin is Annotated:
        meta = arguments[1]
        return meta.description or _accepted(arguments[0], _bounds(meta))
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_accepted(a) for a in arguments if a is not UnsetType))
    if origin is Literal:
        return " or ".join(map(shown, arguments))
    if isinstance(form, type) and issubclass(form, Enum):
        return f"one of {', '.join(shown(one.value) for one in form)}"
    if _is_struct(form):
        required = [f.encode_name for f in msgspec.structs.fields(form) if f.required]
        words = f"an object with {', '.join(required)}" if required else "an object"
        return str(getattr(form, "accepted", words))
    kinds = {
        bool: "true or false",
        int: f"a whole number{bounds}",
        float: f"a number{bounds}",
        str: "text",
        list: f"a list of {_items(arguments[0])}" if arguments else "a list",
        tuple: "a list",
        dict: "an object",
        NoneType: "null",
    }
    return kinds[origin or form]


def _items(form: Any) -> str:
    """The items of a list in words, plural."""
    kind = _without_none(form)
    if _is_struct(kind):
        return "objects"
    words = {int: "whole numbers", float: "numbers", str: "text", dict: "objects"}
    return words.get(get_origin(kind) or kind, "lists")


def _bounds(meta: Meta) -> str:
    words = ((" from ", meta.ge), (" above ", meta.gt), (" to ", meta.le), (" below ", meta.lt))
    return "".join(f"{word}{bound}" for word, bound in words if bound is not None)
