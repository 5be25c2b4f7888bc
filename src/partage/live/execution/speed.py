"""The speed of a run: the throttle that is right at each moment, set, kept and followed.

What is right says the pace (``pacing.py``), out of what the wave's meter and the cluster's health
show. Here it is carried out: another rate that was asked for meanwhile is taken over, what others
took off is set again. Where there is no throttle, and none may be set, a wave cannot be slowed
down: that is said, and it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from partage.errors import PartageError
from partage.live.admin.permissions import NEEDS, require
from partage.live.execution.asking import Asking
from partage.live.execution.health import Health
from partage.live.execution.job import Change
from partage.live.execution.measuring import lag_seconds
from partage.live.execution.pacing import Pace, Seen, pace_of
from partage.live.execution.throttling import Throttling
from partage.live.execution.watching import Meter, Sparing
from partage.live.execution.wishes import wished

_NEEDED = NEEDS["apply --throttle"]

Say = Callable[[Sequence[Change], str], None]


class Speed:
    """``asked``: bytes per second, ``pacing.AUTO``, or None. ``rate``: what is set now."""

    def __init__(
        self,
        asked: int | str | None,
        asking: Asking,
        throttling: Throttling,
        clock: Callable[[], float],
        say: Say,
    ) -> None:
        self.rate: int | None = None
        self._asked, self._asking, self._throttling = asked, asking, throttling
        self._clock, self._say = clock, say
        self._pace = self._pace_of(asked)
        self._ensuring = Sparing(clock)

    def _pace_of(self, asked: int | str | None) -> Pace:
        return pace_of(asked, lambda: lag_seconds(self._asking.admin, self._asking.alive()))

    def follow(self, directory: str, left: Sequence[Change]) -> None:
        """Take over a rate that was asked for meanwhile."""
        asked = wished(directory).throttle
        if asked is None or asked == self._asked:
            return
        self._asked, self._pace = asked, self._pace_of(asked)
        said = f"{asked:,} bytes per second" if isinstance(asked, int) else asked
        self._say(left, f"the throttle is {said} now")

    def keep(
        self,
        left: Sequence[Change],
        meter: Meter,
        health: Health,
        alive: Sequence[int],
        *,
        fresh: bool = False,
    ) -> None:
        """Set the throttle that is right now for what is left; ``fresh``: of a new wave."""
        seen = Seen(meter.floor(left), len(health.behind), len(health.starved), meter.copied(left))
        before = self._pace.paused
        rate = self._pace.decide(self._clock(), seen)
        if rate is None:
            if self.rate is not None:
                self._asking.patiently(lambda: self._throttling.put_back(alive))
        elif fresh or rate != self.rate:
            rate = self._set(rate, left, alive)
        elif self._ensuring.due:
            began = self._clock()
            if self._asking.patiently(lambda: self._throttling.ensure(alive)):
                self._say(left, "the throttle had been taken off and is set again")
            self._ensuring.did(began)
        self.rate = rate
        if rate is not None and self._pace.paused and not before:
            self._say(left, f"slowed down to {rate:,} bytes per second: {health}")
        elif before and not self._pace.paused:
            self._say(left, "all are in sync: no longer slowed down")

    def _set(self, rate: int, left: Sequence[Change], alive: Sequence[int]) -> int | None:
        if self._asked is None and not self._may(left):
            return None
        self._asking.patiently(lambda: self._throttling.set(rate, left, alive))
        return rate

    def _may(self, left: Sequence[Change]) -> bool:
        """Whether settings may be changed, where nobody was refused before it began."""
        topics = sorted({change.topic for change in left})
        try:
            self._asking.patiently(partial(require, self._asking.admin, _NEEDED, topics, topics))
        except PartageError as error:
            self._say(left, f"cannot be slowed down: {error}")
            return False
        return True
