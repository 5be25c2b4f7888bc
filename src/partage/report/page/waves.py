"""The table of waves, and what the page's script computes their duration from for any throttle."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from partage.brokers.plan_file import PlanWave
from partage.report.view import View

FIRST, LAST = 150, 50
"""Rows of the table of waves where there are more than both together."""


@dataclass(frozen=True)
class WaveRow:
    """A wave, its position, and the seconds after which it is done (None: unknown)."""

    position: int
    wave: PlanWave
    done: float | None


@dataclass(frozen=True)
class WaveRows:
    """The first and the last waves, and the number of those between them, which are left out."""

    first: list[WaveRow]
    hidden: int
    last: list[WaveRow]


def shown_waves(plan: View) -> WaveRows:
    """All waves, or the first and the last of many."""
    total = accumulate(wave.seconds or 0 for wave in plan.waves)
    rows = [
        WaveRow(i, wave, None if wave.seconds is None else done)
        for i, (wave, done) in enumerate(zip(plan.waves, total, strict=True))
    ]
    if len(rows) <= FIRST + LAST:
        return WaveRows(rows, 0, [])
    return WaveRows(rows[:FIRST], len(rows) - FIRST - LAST, rows[-LAST:])


def waves(plan: View) -> dict[str, Any] | None:
    """``busiest``: bytes that the busiest broker of each wave receives or sends; divided by the
    throttle they give the wave's duration. None where the plan does not contain them."""
    busiest = []
    for wave in plan.waves:
        if wave.bytes_in is None or wave.bytes_out is None or wave.log_dir_bytes:
            return None
        busiest.append(max([0, *wave.bytes_in, *wave.bytes_out]))
    return {"busiest": busiest} if any(busiest) else None
