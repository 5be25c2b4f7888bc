"""Date and time of a log line, in the common layouts of loggers.

Accepted are a date and a time of day (``2026-11-20 10:00:00,123``, with ``T``, ``.``, ``/``, with
or without fractions, brackets and a time zone), and seconds or milliseconds since 1970, at the
start of the line or, after any prefix, as librdkafka writes them (``%7|1795242288.583|``). A time
without a zone is taken as UTC: within one log only differences count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MICROSECONDS = 1_000_000
_HEAD = 120
_EPOCH = re.compile(
    r"(?:^|(?<!\S)%\d\|)\s*(\d{10})(?:[.,](\d{1,9}))?(?=[|\s\]])|^\s*(\d{13})(?=[|\s\]])"
)
_DATE = re.compile(
    r"(?<!\d)(\d{4})([-/])(\d\d)\2(\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"\s?(Z|[+-]\d\d:?\d\d(?!\d))?"
)


@dataclass(frozen=True)
class Timestamp:
    """``at``: microseconds since 1970; ``zoned``: whether the line has a time zone."""

    at: int
    zoned: bool


def parse_timestamp(line: str) -> Timestamp | None:
    """The time of a line, None where its head has none in a known layout."""
    head = line[:_HEAD]
    if found := _EPOCH.search(head):
        seconds, fraction, millis = found.groups()
        if millis:
            return Timestamp(int(millis) * 1000, True)
        return Timestamp(int(seconds) * MICROSECONDS + _micros(fraction), True)
    if found := _DATE.search(head):
        year, _, *rest = found.groups()
        month, day, hour, minute, second = map(int, rest[:5])
        fraction, zone = rest[5:]
        try:
            moment = datetime(int(year), month, day, hour, minute, min(second, 59), tzinfo=UTC)
            if zone and zone != "Z":
                sign = -1 if zone[0] == "-" else 1
                moment -= sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        except (ValueError, OverflowError):
            return None
        return Timestamp(round(moment.timestamp()) * MICROSECONDS + _micros(fraction), bool(zone))
    return None


def format_timestamp(at: int, zoned: bool = True) -> str:
    """ISO 8601 with milliseconds, and ``Z`` where the time zone is known."""
    moment = datetime.fromtimestamp(at // MICROSECONDS, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{at % MICROSECONDS // 1000:03d}{'Z' if zoned else ''}"


def _micros(fraction: str | None) -> int:
    return int((fraction or "0")[:6].ljust(6, "0"))
