"""Sizes, rates and percentages: values that are made once, where a user or a caller gives them.

A value is read from text (``"50MB"``, ``"2%"``) or a number; an invalid one raises ``ValueError``
with what is accepted. ``str`` of a value is text that reads as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Final, Literal, Self, TypeAlias

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_SPELLED = ("kB", "MB", "GB", "TB", "PB")
_SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,6})?)\s*([kmgtp]?)(i?)b?(/s)?", re.ASCII | re.IGNORECASE)
_PERCENT = re.compile(r"(\d{1,9}(?:\.\d{1,4})?) ?%", re.ASCII)
_DURATION = re.compile(r"(\d{1,7}) ?(s|sec|m|min|h|)", re.ASCII | re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_WEEK = 7 * 86_400
_MAX_BYTES = 2**60
_FINEST = 10**6
"""Percentages are kept to a ten-thousandth of a percent."""

MAX_COUNT = 2**31 - 1
"""The largest count that an option takes."""

AUTO: Final = "auto"


class Bytes(int):
    """A number of bytes above 0. In text, units are decimal unless they have an i: ``1.5GiB``."""

    _what, _example = "a size", "50MB or 2GiB"
    _per_second = False

    @classmethod
    def of(cls, value: str | float) -> Self:
        """``"50MB"``, ``"1.5 GiB"``, ``1000``, ``2e12``."""
        if isinstance(value, str):
            number = cls._parsed(value)
        elif isinstance(value, bool) or not isinstance(value, Real) or value != value // 1:
            raise ValueError(f"expected {cls._what} such as {cls._example}, or a whole number")
        else:
            number = int(value)
        if number <= 0:
            raise ValueError("must be above 0")
        if number > _MAX_BYTES:
            raise ValueError("must be at most 1024PiB, an exbibyte")
        return cls(number)

    @classmethod
    def _parsed(cls, text: str) -> int:
        match = _SIZE.fullmatch(text.strip())
        if not match or (match[4] and not cls._per_second):
            raise ValueError(f"expected {cls._what} such as {cls._example}")
        unit = _UNITS[match[2].lower()]
        if match[3]:
            unit = 1024 ** (len(str(unit)) // 3)
        return int(Fraction(match[1]) * unit)

    def __str__(self) -> str:
        number = int(self)
        texts = [repr(number)]
        for power, name in enumerate(_SPELLED, start=1):
            for base, unit in ((1000, name), (1024, f"{name[0].upper()}iB")):
                quotient = Fraction(number, base**power)
                if quotient >= 1 and (quotient * _FINEST).denominator == 1:
                    texts.append(f"{_decimal(quotient)}{unit}")
        return min(texts, key=len)

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)


def at_least(number: int) -> Bytes:
    """A number of bytes rounded up to three digits: the limit to give to allow that many."""
    step: int = 10 ** max(len(f"{number}") - 3, 0)
    return Bytes(-(-number // step) * step)


class Rate(Bytes):
    """Bytes per second, above 0: ``"50MB"``, ``"50MB/s"``, ``5e7``."""

    _what, _example = "a rate", "50MB or 50MB/s"
    _per_second = True


class Duration(int):
    """A time in whole seconds, above 0: ``"60s"``, ``"5min"``, ``"2h"``, ``90``."""

    @classmethod
    def of(cls, value: str | int) -> Self:
        """Without a unit, seconds; at most a week."""
        text = value if isinstance(value, str) else f"{count_of(value)}"
        match = _DURATION.fullmatch(text.strip())
        if not match:
            raise ValueError("expected a duration such as 60s, 5min or 2h")
        number = int(match[1]) * _SECONDS[match[2].lower()[:1]]
        if not 1 <= number <= _WEEK:
            raise ValueError("must be from 1s to 168h")
        return cls(number)

    def __str__(self) -> str:
        return f"{int(self)}s"


class Percent(Fraction):
    """A share of a whole, 0 or more: the fraction that it is."""

    @classmethod
    def of(cls, value: str | float | Fraction) -> Self:
        """``"2%"`` or ``0.02``."""
        if isinstance(value, str):
            match = _PERCENT.fullmatch(value.strip())
            if not match:
                raise ValueError("expected a percentage such as 2%")
            value = Fraction(match[1]) / 100
        if isinstance(value, bool) or not isinstance(value, (int, float, Rational)):
            raise ValueError("expected a percentage such as 2%, or a number such as 0.02")
        if isinstance(value, Integral) and value > 1:
            raise ValueError(f"a number is a share of 1: for {value} percent give '{value}%'")
        if not 0 <= value < 10:
            raise ValueError("must be at least 0% and below 1000%")
        exact = Fraction(value if isinstance(value, Rational) else Decimal(repr(float(value))))
        return cls(round(exact * _FINEST), _FINEST)

    def __str__(self) -> str:
        return f"{_decimal(self * 100)}%"


def headroom_of(value: str | float) -> Percent:
    """What ``Percent.of`` takes, below 100%."""
    share = Percent.of(value)
    if share >= 1:
        raise ValueError("must be below 100%")
    return share


Throttle: TypeAlias = Rate | Literal["auto"]
"""A rate, or ``auto``: as fast as all replicas stay in sync."""


def throttle_of(value: str | float) -> Throttle:
    """``"auto"``, or what ``Rate.of`` takes."""
    return AUTO if value == AUTO else Rate.of(value)


def count_of(value: str | int, least: int = 1) -> int:
    """A whole number from ``least`` that 32 bits hold: ``3`` or ``"3"``."""
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"\d{1,10}", value, re.ASCII) else -1
    else:
        number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else -1
    if not least <= number <= MAX_COUNT:
        raise ValueError(f"expected a whole number from {least} to {MAX_COUNT}")
    return number


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``: did you mean kafka?`` for the known word that is most like it; otherwise nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1)
    return f": did you mean {near[0]}?" if near else ""


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """``1 move``, ``66 moves``."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def percent(value: float) -> str:
    """A share as a percentage in two significant digits: ``0.043 %``, ``1.8 %``, ``2,000 %``."""
    shown = 100 * value
    return f"{shown:.2g} %" if shown < 99.5 else f"{round(shown):,} %"


def size(value: float) -> str:
    """Bytes in three significant digits: ``0 B``, ``999 B``, ``1.50 kB``, ``6.88 GB``."""
    return f"{round(value)} B" if value < 999.5 else scaled(value, "B")


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


def prefix(maximum: float, unit: str) -> tuple[float, str]:
    """What to divide ``maximum`` by, and the unit with its prefix: ``(1e9, "GB")``."""
    step = 0
    while maximum >= 999.5 and step < len(_PREFIXES) - 1:
        maximum /= 1000
        step += 1
    return 1000.0**step, _PREFIXES[step] + unit


def scaled(value: float, unit: str) -> str:
    """A number with the unit and its prefix: ``6.88 GB``."""
    divisor, name = prefix(value, unit)
    return f"{significant(value / divisor)} {name}"


def duration(seconds: float) -> str:
    """A time in its one or two largest units: ``0.20 s``, ``2.5 s``, ``45 s``, ``12 min``,
    ``2 h 6 min``."""
    if 0 < seconds < 0.005:
        return "<0.01 s"
    whole = round(seconds)
    if seconds < 9.95 and seconds != whole:
        return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return _two(whole, 60, "min", "s")
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return _two(minutes, 60, "h", "min")
    return _two(round(minutes / 60), 24, "d", "h")


def _two(value: int, factor: int, large: str, small: str) -> str:
    """``value`` small units, ``factor`` of which are a large one, in both; small ones if any."""
    whole, rest = divmod(value, factor)
    return f"{whole:,} {large} {rest} {small}" if rest else f"{whole:,} {large}"


def listed(names: Sequence[str], most: int, count: int | None = None) -> str:
    """``a, b and 3 more``: the first ``most`` names, and how many more of the ``count`` there are
    (default: of the names)."""
    more = (len(names) if count is None else count) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _decimal(value: Fraction) -> str:
    """A fraction that has a finite decimal form, in it."""
    return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
