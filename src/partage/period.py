"""A period of time, from ``since`` until ``until``.

Internally, times are milliseconds since 1970. Users write ISO 8601 (UTC unless a zone is given) or
such milliseconds.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from partage.errors import InputError, read_parameter


@dataclass(frozen=True)
class Period:
    """From ``since`` (inclusive) to ``until`` (exclusive); None: unbounded."""

    since: int | None = None
    until: int | None = None

    @classmethod
    def of(
        cls,
        since: str | None = None,
        until: str | None = None,
        names: tuple[str, str] = ("since", "until"),
    ) -> Period:
        """Parse two texts, called by these names in errors.

        Raises InputError for a text that is not a time, and for an empty period.
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


def time_of(text: str) -> int:
    """Milliseconds since 1970. Raises ValueError for a text that is not a time."""
    if re.fullmatch(r"\d{1,14}", text):
        return int(text)
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
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
