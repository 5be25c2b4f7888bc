"""The waves for the page's script, which computes their duration for any throttle."""

from __future__ import annotations

from typing import Any

from partage.report.view import View

SHOWN = 200
"""Rows of the table of waves."""


def waves(plan: View) -> dict[str, Any] | None:
    """``busiest``: bytes that the busiest broker of each wave receives or sends; divided by the
    throttle they give the wave's duration. None where the plan does not contain them."""
    busiest = []
    for wave in plan.waves:
        if wave.bytes_in is None or wave.bytes_out is None:
            return None
        busiest.append(max([0, *wave.bytes_in, *wave.bytes_out]))
    if not any(busiest):
        return None
    return {"busiest": busiest, "shown": min(SHOWN, len(busiest))}
