"""Damaged files that a measurement left out: what its result has about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partage.units import plural

_SHOWN = 100


def damaged_counted(files: Iterable[str]) -> dict[str, Any]:
    """Their number, and the first names."""
    names = sorted(files)
    return {"damaged": len(names), "damaged_files": names[:_SHOWN]}


def damaged_line(about: Mapping[str, Any]) -> str:
    """``damaged_counted`` as a sentence; empty if there are none."""
    if not about["damaged"]:
        return ""
    return f"{plural(about['damaged'], 'damaged file')} left out, first {about['damaged_files'][0]}"
