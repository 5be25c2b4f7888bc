"""When to repeat a request that is expensive for the cluster."""

from __future__ import annotations

from collections.abc import Callable

_SHARE_OF_TIME = 0.1


class Cooldown:
    """Over after ``seconds``, and after so long that the request takes no more than a tenth of the
    time."""

    def __init__(self, clock: Callable[[], float], seconds: float = 0.0) -> None:
        self._clock, self._seconds = clock, seconds
        self._over_at = float("-inf")

    @property
    def is_over(self) -> bool:
        return self._clock() >= self._over_at

    def restart(self, began: float) -> None:
        """After a request that began at this moment and has just ended."""
        now = self._clock()
        self._over_at = now + max(self._seconds, (now - began) * (1 / _SHARE_OF_TIME - 1))
