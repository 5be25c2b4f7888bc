"""A period of time, from ``since`` until ``until``.

Internally, times are milliseconds since 1970. Users write ISO 8601 (UTC unless a zone is given) or
such milliseconds; in Python also a ``datetime``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from partage.errors import InputError, read_parameter

Time: TypeAlias = str | int | datetime
"""ISO 8601, milliseconds since 1970, or Python's; UTC unless it has a zone."""


@dataclass(frozen=True)
class Period:
    """From ``since`` (inclusive) to ``until`` (exclusive); None: unbounded."""

    since: int | None = None
    until: int | None = None

    @classmethod
    def of(
        cls,
        since: Time | None = None,
        until: Time | None = None,
        names: tuple[str, str] = ("since", "until"),
    ) -> Period:
        """Read two times, called by these names in errors.

        Raises InputError for what is not a time, and for an empty period.
        """
        found = cls(
            None if since is None else read_parameter(names[0], time_of, since),
            None if until is None else read_parameter(names[1], time_of, until),
        )
        if found.since is not None and found.until is not None and found.since >= found.until:
            raise InputError(f"{names[1]} {until}", f"must be later than {since}")
        return found

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return self.since is not None or self.until is not None

    def __str__(self) -> str:
        bounds = (("from", self.since), ("to", self.until))
        return " ".join(f"{word} {shown(time)}" for word, time in bounds if time is not None)


ALWAYS = Period()

FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last time that can be shown, of the years 1 and 9999."""


def time_of(given: Time) -> int:
    """Milliseconds since 1970. Raises ValueError for what is not a time."""
    if isinstance(given, (str, int)) and re.fullmatch(r"\d{1,14}", str(given)):
        return int(given)
    with suppress(ValueError):
        time = datetime.fromisoformat(given) if isinstance(given, str) else given
        if isinstance(time, datetime):
            aware = time if time.tzinfo else time.replace(tzinfo=UTC)
            return round(aware.timestamp() * 1000)
    raise ValueError("expected a time such as 2026-11-20T08:00, or milliseconds since 1970")


def shown(millis: int) -> str:
    """ISO 8601 in UTC, without trailing zero parts: ``2026-11-20T08:00Z``. From ``FIRST`` to
    ``LAST``."""
    time = datetime.fromtimestamp(millis // 1000, UTC).replace(tzinfo=None)
    part = "milliseconds" if millis % 1000 else "seconds" if time.second else "minutes"
    text = time.replace(microsecond=millis % 1000 * 1000).isoformat(timespec=part)
    return f"{text}Z"
