"""Which brokers are dead, and which may only be restarting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable


class FailureDetector:
    """Declares a broker dead when it has been missing for a timeout, counted from the moment at
    which it was last seen, and in at least two checks: one slow round is not enough."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_seen: dict[int, float] = {}
        self._missing: set[int] = set()

    def check(
        self, brokers: Iterable[int], alive: Collection[int], timeout: float
    ) -> tuple[set[int], set[int]]:
        """Split the missing ones of ``brokers``: those missing for ``timeout`` seconds or longer
        (dead), and the others (suspected)."""
        moment = self._clock()
        self._last_seen |= dict.fromkeys(alive, moment)
        missing = set(brokers) - set(alive)
        dead = {
            broker
            for broker in missing & self._missing
            if moment - self._last_seen.setdefault(broker, moment) >= timeout
        }
        for broker in missing:
            self._last_seen.setdefault(broker, moment)
        self._missing = (self._missing | missing) - set(alive)
        return dead, missing - dead
