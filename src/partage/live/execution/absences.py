"""Brokers that do not answer: which of them are dead, and which may only be restarting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable


class Absences:
    """Counts from the last moment at which a broker was seen, and only when it was missed twice: a
    round that took long is no sign of death."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[int, float] = {}
        self._missed: set[int] = set()

    def look(
        self, brokers: Iterable[int], alive: Collection[int], patience: float
    ) -> tuple[set[int], set[int]]:
        """Those of the brokers that have been away for ``patience`` seconds, and those that are
        away, but not for that long."""
        moment = self._clock()
        self._seen |= dict.fromkeys(alive, moment)
        away = set(brokers) - set(alive)
        dead = {
            broker
            for broker in away & self._missed
            if moment - self._seen.setdefault(broker, moment) >= patience
        }
        for broker in away:
            self._seen.setdefault(broker, moment)
        self._missed = (self._missed | away) - set(alive)
        return dead, away - dead
