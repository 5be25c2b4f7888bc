"""Numbers as people read them: three significant digits, decimal units, never a raw float.

Kafka's operators count in decimal bytes (GB, not GiB). ``page/scripts/numbers.js`` repeats the same
rules for what it draws; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MISSING = "–"
"""Shown for what is not known."""

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def count(value: float | None) -> str:
    """A whole number with thousands separated by commas: ``13,630``."""
    return MISSING if value is None else f"{round(value):,}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A ratio: ``1.02``."""
    return MISSING if value is None else f"{value:,.{digits}f}"


def tenth(value: float) -> str:
    """A share of something countable: ``60.8``, and ``54`` where it is whole."""
    return f"{value:,.1f}".removesuffix(".0")


def size(value: float | None) -> str:
    """Bytes: ``0 B``, ``999 B``, ``1.50 kB``, ``6.88 GB``."""
    if value is None:
        return MISSING
    if value < 999.5:
        return f"{round(value)} B"
    return _scaled(value, "B")


def rate(value: float | None) -> str:
    """Bytes per second, tiny ones too: ``0 B/s``, ``0.045 B/s``, ``2.50 B/s``, ``1.20 MB/s``."""
    if value is None:
        return MISSING
    if value == 0:
        return "0 B/s"
    if value < 0.001:
        return "<0.001 B/s"
    if value < 0.0995:
        return f"{value:.3f} B/s"
    return _scaled(value, "B/s")


def duration(seconds: float | None) -> str:
    """A time in its two largest units: ``0.20 s``, ``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds is None:
        return MISSING
    if 0 < seconds < 0.005:
        return "<0.01 s"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours + (minutes >= 30), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def span(pair: Sequence[float] | None) -> str:
    """[min, max] as ``54–81``, or one number where they are equal."""
    if not pair:
        return MISSING
    low, high = pair[0], pair[-1]
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """``1 move``, ``66 moves``."""
    return f"{count(number)} {noun if number == 1 else nouns or noun + 's'}"


def gap(value: Any) -> str:
    """How far from a bound, as a share of it: ``0.18 % above the bound``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return plain(value)
    percent = 100 * value
    return f"{f'{percent:.2g}' if percent < 99.5 else count(round(percent))} % above the bound"


def common(maximum: float, unit: str) -> tuple[float, str]:
    """One unit for a whole column: what to divide by, and the unit's name (``(1e9, "GB")``)."""
    step = 0
    while maximum >= 999.5 and step < len(_PREFIXES) - 1:
        maximum /= 1000
        step += 1
    return 1000.0**step, _PREFIXES[step] + unit


def significant(value: float) -> str:
    """A positive number in three significant digits: ``0.045``, ``2.50``, ``68.8``, ``999``."""
    if value == 0:
        return "0"
    if value < 0.0005:
        return "<0.001"
    if value < 0.0995:
        return f"{value:.3f}"
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{round(value):,}"


def plain(value: Any) -> str:
    """Any JSON value in one line, for what a document may hold but this package does not know."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return count(value) if value == round(value) else f"{value:,.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value))
    return str(value)


def _scaled(value: float, unit: str) -> str:
    divisor, name = common(value, unit)
    return f"{significant(value / divisor)} {name}"
