"""The level up to which vessels are filled, by bisection."""

from __future__ import annotations

from collections.abc import Callable

_BISECTIONS = 200


def water_level(amount_at: Callable[[float], float], amount: float, high: float) -> float:
    """The lowest level, at most ``high``, at which the vessels hold ``amount``. ``amount_at``: what
    they hold at a level, which rises with it."""
    low = 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):  # there is no number in between
            break
        low, high = (middle, high) if amount_at(middle) < amount else (low, middle)
    return high
