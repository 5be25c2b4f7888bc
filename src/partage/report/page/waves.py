"""The waves for the page's script: with them it says how long they take at any throttle."""

from __future__ import annotations

from typing import Any

from partage.report.view import View

SHOWN = 200
"""Rows of the table of waves."""


def waves(plan: View) -> dict[str, Any] | None:
    """``busiest``: bytes that the busiest broker of each wave receives or sends, which at so many
    bytes per second take the wave's time; None where the file does not tell them."""
    busiest = []
    for wave in plan.waves:
        if wave.bytes_in is None or wave.bytes_out is None:
            return None
        busiest.append(max([0, *wave.bytes_in, *wave.bytes_out]))
    if not any(busiest):
        return None
    return {"busiest": busiest, "shown": min(SHOWN, len(busiest))}
