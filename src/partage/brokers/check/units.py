"""Percentages and sizes in the options of plan.json, parsed without the planner's parser."""

from __future__ import annotations

import re
from fractions import Fraction

from partage.brokers.check.plan_columns import MalformedError
from partage.brokers.directory import MARKER

DEFAULT_BYTES_TOLERANCE = "2%"
"""``--tolerance`` where bytes are balanced and none is given."""


def fraction_of(percent: str) -> Fraction:
    """``2%`` as 1/50."""
    return Fraction(percent.strip().rstrip("%").strip()) / 100


def size_in_bytes(text: str, option: str) -> int:
    """``2TB``, ``1.5 GiB/s``: a number and a decimal unit (binary with an i), in whole bytes.

    Raises MalformedError.
    """
    match = re.fullmatch(r"([\d.]+)([kmgtp]?)(i?)b?(/s)?", "".join(text.split()).lower(), re.ASCII)
    if match:
        power = " kmgtp".index(match[2] or " ")
        number = int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)
        if number > 0:
            return number
    raise MalformedError(f"{MARKER}: options.{option}: {text!r} is not a size")
