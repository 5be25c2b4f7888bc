"""Format numbers for people: three significant digits and a unit (``partage.units`` parses).

Bytes have decimal units (GB, not GiB), as in Kafka's own documentation of throttles.
``page/scripts/numbers.js`` repeats these rules; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from partage.units import duration as known_duration
from partage.units import percent, prefix, scaled
from partage.units import plural as plural
from partage.units import significant as significant
from partage.units import size as known_size

MISSING = "–"
"""Shown for unknown values."""

WEAK_BOUND = 0.5
"""The gap from which a percentage is not shown: it depends more on the bound than on the value."""

_DAY = 86_400


def count(value: float | None) -> str:
    """A whole number with thousands separated by commas: ``13,630``."""
    return MISSING if value is None else f"{round(value):,}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A ratio: ``1.02``."""
    return MISSING if value is None else f"{value:,.{digits}f}"


def tenth(value: float) -> str:
    """A fair share of a count: ``60.8``, or ``54`` if it is whole."""
    return f"{value:,.1f}".removesuffix(".0")


def of_fair(value: float, fair: float | None) -> str:
    """A load in % of its fair share, without the sign: ``98.7``."""
    return f"{100 * value / fair:.3g}" if fair else MISSING


def size(value: float | None) -> str:
    """Bytes as ``partage.units.size`` writes them, or ``MISSING``."""
    return MISSING if value is None else known_size(value)


def rate(value: float | None) -> str:
    """Bytes per second, or per day below 1 kB/s: ``0 B/s``, ``46.0 kB/day``, ``1.20 MB/s``."""
    if value is None:
        return MISSING
    if value == 0:
        return "0 B/s"
    if value >= 999.5:
        return scaled(value, "B/s")
    per_day = value * _DAY
    return "<1 B/day" if per_day < 1 else f"{size(per_day)}/day"


def duration(seconds: float | None) -> str:
    """A time as ``partage.units.duration`` writes it, or ``MISSING``."""
    return MISSING if seconds is None else known_duration(seconds)


def span(pair: Sequence[float] | None) -> str:
    """[min, max] as ``54–81``, or one number where they are equal."""
    if not pair:
        return MISSING
    low, high = pair[0], pair[-1]
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def scaled_span(low: float, high: float, unit_of: Callable[[float], tuple[float, str]]) -> str:
    """Bytes or rates in one unit, that of the higher one by ``common`` or ``common_rate``:
    ``41.0–41.2 kB/day``."""
    divisor, unit = unit_of(high)
    ends = [significant(value / divisor) for value in (low, high)]
    return f"{'–'.join(dict.fromkeys(ends))} {unit}"


def gap(value: float) -> str:
    """A relative distance from a bound: ``0.18 % above the lower bound``. plan.json has gaps in
    millionths."""
    shown = percent(value) if value >= 1e-6 else "<0.0001 %"
    return f"{shown} above the lower bound"


def common(maximum: float) -> tuple[float, str]:
    """One unit for a column of bytes: what to divide by, and its name (``(1e9, "GB")``)."""
    return prefix(maximum, "B")


def common_rate(maximum: float) -> tuple[float, str]:
    """One unit for a column of rates, as ``rate`` chooses it for the highest of them."""
    if maximum == 0 or maximum >= 999.5:
        return prefix(maximum, "B/s")
    divisor, unit = prefix(maximum * _DAY, "B/day")
    return divisor / _DAY, unit


def plain(value: Any) -> str:
    """Any JSON value in one line."""
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
