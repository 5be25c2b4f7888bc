"""Schemas of JSON values, and where a value does not match one.

A schema is a ``Leaf``; a list of one schema, which every entry must match; ``OrNull``; or, for an
object, schemas by key. A key that ends with ? is optional; unknown keys are a mismatch, because
nothing would verify them. ``true`` is not a number, and ``1.0`` is not a whole number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain
from math import inf
from reprlib import repr as shortened
from typing import Any

from msgspec import Struct

Fit = Callable[[Sequence[Any]], bool]


class MalformedError(Exception):
    """A file of the plan directory lacks a field, or has a value that no plan has."""


class Leaf(Struct, frozen=True):
    """A scalar (or a list checked as a whole): what is expected, in words, and the test whether
    values, all of them, are that."""

    expected: str
    fit: Fit


class OrNull(Struct, frozen=True):
    """A value of the schema, or null."""

    schema: Schema


Schema = Leaf | OrNull | list["Schema"] | dict[str, "Schema"]


def each(test: Callable[[Any], bool]) -> Fit:
    """Every value passes the test."""
    return lambda values: all(map(test, values))


def _are(*types: type) -> Fit:
    return lambda values: {*map(type, values)} <= {*types}


def _both(one: Fit, other: Fit) -> Fit:
    return lambda values: one(values) and other(values)


def _whole(least: int, most: int | None = None) -> Fit:
    def within(values: Sequence[int]) -> bool:
        return min(values, default=least) >= least and (
            most is None or max(values, default=most) <= most
        )

    return _both(_are(int), within)


def _broker_lists(values: Sequence[Any]) -> bool:
    if not (_are(list)(values) and all(values) and _whole(0)([*chain.from_iterable(values)])):
        return False
    return [*map(len, map(set, values))] == [*map(len, values)]


ANY = Leaf("anything", lambda values: True)
TEXT = Leaf("text", _are(str))
FLAG = Leaf("true or false", _are(bool))
ONE = Leaf("1", _whole(1, 1))
WHOLE = Leaf("a whole number", _are(int))
COUNT = Leaf("a whole number from 0", _whole(0))
FROM_1 = Leaf("a whole number from 1", _whole(1))
RATE = Leaf("a number from 0", _both(_are(int, float), each(lambda value: 0 <= value < inf)))
CAPACITY = Leaf(
    "a number above 0, at most 1e9",
    _both(_are(int, float), each(lambda value: 0 < value <= 10**9)),
)
NAME = Leaf("text", _both(_are(str), all))
INT_32 = Leaf("a whole number from 0 to 2147483647", _whole(0, 2**31 - 1))
BYTES = Leaf("a whole number from 0 to 2**60", _whole(0, 2**60))
IDS = Leaf("a list of different broker ids", _broker_lists)


def mismatch(value: Any, schema: Schema) -> str | None:
    """The first mismatch, with its place (``brokers[2].alive: 'no', expected true or false``); None
    if the value matches."""
    if _all_match([value], schema):
        return None
    found = _mismatch(value, schema)
    return None if found is None else found.removeprefix(": ").removeprefix(".")


def _all_match(values: Sequence[Any], schema: Schema) -> bool:
    """Whether every value matches: a key of many objects at a time, which is faster than
    ``_mismatch`` object by object."""
    if isinstance(schema, Leaf):
        return schema.fit(values)
    if isinstance(schema, OrNull):
        return _all_match([value for value in values if value is not None], schema.schema)
    kind = type(schema)
    if not _are(kind)(values):
        return False
    if isinstance(schema, list):
        return _all_match(list(chain.from_iterable(values)), schema[0])
    known = _by_key(schema)
    if not all(value.keys() <= known.keys() for value in values):
        return False
    for key, inner in known.items():
        column = [value[key] for value in values if key in value]
        lacking = key in schema and len(column) < len(values)
        if lacking or not _all_match(column, inner):
            return False
    return True


def _mismatch(value: Any, schema: Schema) -> str | None:
    if isinstance(schema, Leaf):
        return None if schema.fit([value]) else _expected(value, schema.expected)
    if isinstance(schema, OrNull):
        return None if value is None else _mismatch(value, schema.schema)
    if isinstance(schema, dict):
        return _mismatch_object(value, schema)
    if type(value) is not list:
        return _expected(value, "a list")
    (inner,) = schema
    for place, one in enumerate(value):
        if (found := _mismatch(one, inner)) is not None:
            return f"[{place}]{found}"
    return None


def _mismatch_object(value: Any, schema: dict[str, Schema]) -> str | None:
    if type(value) is not dict:
        return _expected(value, "an object")
    known = _by_key(schema)
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        return f".{unknown}: unknown key"
    for key, inner in known.items():
        if key in value:
            if (found := _mismatch(value[key], inner)) is not None:
                return f".{key}{found}"
        elif key in schema:
            return f".{key}: is missing"
    return None


def _by_key(schema: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas of the keys, without the mark of optional ones."""
    return {key.removesuffix("?"): inner for key, inner in schema.items()}


def _expected(value: Any, what: str) -> str:
    return f": {shortened(value)}, expected {what}"


def identical(stated: Any, expected: Any) -> bool:
    """Whether two JSON values are equal, types included (``1`` is not ``1.0``)."""
    return json.dumps(stated, sort_keys=True) == json.dumps(expected, sort_keys=True)
