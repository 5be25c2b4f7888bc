"""The shape of a JSON value: which values there are in it, and of which type each is.

A shape is a ``Leaf``; a list of one shape, which every entry has; ``OrNull``; or an object: shapes
by key. A key that ends with ? may be missing. There are no other keys: what nobody knows, nobody
has checked. true is no number, and 1.0 no whole one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from reprlib import repr as shortened
from typing import Any


@dataclass(frozen=True)
class Leaf:
    """What is expected, in words, and whether a value is that."""

    expected: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class OrNull:
    """The shape, or null."""

    shape: Shape


Shape = Leaf | OrNull | list["Shape"] | dict[str, "Shape"]


def _different(value: Any) -> bool:
    whole = type(value) is list and all(type(one) is int and one >= 0 for one in value)
    return whole and 0 < len(value) == len(set(value))


ANY = Leaf("anything", lambda value: True)
TEXT = Leaf("text", lambda value: type(value) is str)
FLAG = Leaf("true or false", lambda value: type(value) is bool)
ONE = Leaf("1", lambda value: type(value) is int and value == 1)
WHOLE = Leaf("a whole number", lambda value: type(value) is int)
COUNT = Leaf("a whole number from 0", lambda value: type(value) is int and value >= 0)
FROM_1 = Leaf("a whole number from 1", lambda value: type(value) is int and value > 0)
RATE = Leaf("a number from 0", lambda value: type(value) in (int, float) and 0 <= value < inf)
ABOVE_0 = Leaf("a number above 0", lambda value: type(value) in (int, float) and 0 < value < inf)
IDS = Leaf("a list of different broker ids", _different)


def misfit(value: Any, shape: Shape) -> str | None:
    """The first place where a value is not of the shape, and what is expected there:
    ``brokers[2].alive: 'no', expected true or false``."""
    found = _misfit(value, shape)
    return None if found is None else found.removeprefix(": ").removeprefix(".")


def _misfit(value: Any, shape: Shape) -> str | None:
    if isinstance(shape, Leaf):
        return None if shape.fits(value) else _expected(value, shape.expected)
    if isinstance(shape, OrNull):
        return None if value is None else _misfit(value, shape.shape)
    if isinstance(shape, dict):
        return _misfit_object(value, shape)
    if type(value) is not list:
        return _expected(value, "a list")
    (inner,) = shape
    for place, one in enumerate(value):
        if (found := _misfit(one, inner)) is not None:
            return f"[{place}]{found}"
    return None


def _misfit_object(value: Any, shape: dict[str, Shape]) -> str | None:
    if type(value) is not dict:
        return _expected(value, "an object")
    known = {key.removesuffix("?"): inner for key, inner in shape.items()}
    strange = next((key for key in value if key not in known), None)
    if strange is not None:
        return f".{strange}: is not known"
    for key, inner in known.items():
        if key in value:
            if (found := _misfit(value[key], inner)) is not None:
                return f".{key}{found}"
        elif key in shape:
            return f".{key}: is missing"
    return None


def _expected(value: Any, what: str) -> str:
    return f": {shortened(value)}, expected {what}"


def same(stated: Any, counted: Any) -> bool:
    """Whether two JSON values are the same, types included."""
    return json.dumps(stated, sort_keys=True) == json.dumps(counted, sort_keys=True)
