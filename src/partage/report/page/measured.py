"""The measured load of a profile, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from partage.json_input import check_json


class HotKey(msgspec.Struct, frozen=True):
    """A key with a large share (0 to 1) of its topic's records; ``key`` None: no key."""

    topic: str
    rank: int
    key: str | None
    share: float
    records: int


class Measured(msgspec.Struct, frozen=True):
    """Totals of a profile (None: not known), and its hottest keys."""

    accepted: ClassVar[str] = "an object with the totals of a profile"

    records: int | None = None
    bytes: int | None = None
    topics: int | None = None
    partitions: int | None = None
    rejected: int | None = None
    hot_keys: list[HotKey] = []


def measured_load(measured: Mapping[str, Any] | None, where: str) -> Measured | None:
    """The content of the file ``where``. Raises InputError for a damaged one."""
    return None if measured is None else check_json(measured, Measured, where)
