"""The measured load of a profile, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from partage.json_input import check_json
from partage.measured_loads import Profile


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


def summary(profile: Profile, top: int = 10) -> dict[str, Any]:
    """The summary of a profile that measured.json holds: its totals and hottest keys."""
    hottest = sorted(profile.hot_keys(1), key=lambda key: -key.share)[:top]
    return {
        **{k: profile.totals[k] for k in ("records", "bytes", "topics", "partitions", "rejected")},
        "hot_keys": [
            {
                "topic": key.topic,
                "rank": key.rank,
                "key": key.key,
                "share": key.share,
                "records": key.records,
            }
            for key in hottest
        ],
    }
