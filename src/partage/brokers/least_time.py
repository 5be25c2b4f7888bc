"""The least time that copies take at a throttle, and the throttles that ``apply`` refuses."""

from __future__ import annotations

from collections.abc import Iterable

from partage.units import duration

MONTH = 30 * 86_400
"""Seconds; a run that would take longer is most likely a throttle without its unit."""


def least_seconds(received: Iterable[float], throttle: int) -> float:
    """The seconds that no run at ``throttle`` bytes per second and broker can be shorter than.

    ``received``: the bytes that each broker receives; a replica of unknown size counts as none.
    """
    return max(received, default=0) / throttle


def refusal(received: Iterable[float], throttle: int) -> str | None:
    """Why ``apply`` and ``rollback`` refuse the throttle unless they are forced, if they do."""
    seconds = least_seconds(received, throttle)
    if seconds <= MONTH:
        return None
    return (
        f"one broker alone would receive for {duration(seconds)}: a bare number is bytes per "
        "second, 50MB are 50,000,000; force it if that is meant"
    )
