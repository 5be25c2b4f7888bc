"""A period of time, as given by ``--from`` and ``--to``.

Internally, times are milliseconds since 1970. Users write ISO 8601 (UTC unless a zone is given) or
such milliseconds.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from partage.errors import InputError


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
        where: tuple[str, str] = ("--from", "--to"),
    ) -> Period:
        """Parse two texts. Raises InputError for a text that is not a time, or an empty period."""
        found = cls(
            None if since is None else time_of(since, where[0]),
            None if until is None else time_of(until, where[1]),
        )
        if found.since is not None and found.until is not None and found.since >= found.until:
            raise InputError(where[1], f"{until}: must be later than {since}")
        return found

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return self.since is not None or self.until is not None

    def __str__(self) -> str:
        bounds = (("from", self.since), ("to", self.until))
        return " ".join(f"{word} {shown(time)}" for word, time in bounds if time is not None)


ALWAYS = Period()


def time_of(text: str, where: str) -> int:
    """Milliseconds since 1970. Raises InputError that begins with ``where``."""
    if re.fullmatch(r"\d{1,14}", text):
        return int(text)
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    raise InputError(where, f"{text!r}: expected a time such as 2026-11-20T08:00, or milliseconds")


def shown(millis: int) -> str:
    """ISO 8601 in UTC, without trailing zero parts: ``2026-11-20T08:00Z``."""
    time = datetime.fromtimestamp(millis // 1000, UTC).replace(tzinfo=None)
    part = "milliseconds" if millis % 1000 else "seconds" if time.second else "minutes"
    text = time.replace(microsecond=millis % 1000 * 1000).isoformat(timespec=part)
    return f"{text}Z"
