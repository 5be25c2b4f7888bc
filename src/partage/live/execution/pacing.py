"""How fast a run may copy at this moment: a rate that was asked for, or one that is found.

Both are judged by what the cluster shows (``Seen``). *Behind* are partitions with a replica that is
there already, on a broker that answers, and is not in sync: others than the new replicas, which are
never in sync before they end. *Starved* are those of them with fewer in sync than
``min.insync.replicas``: producers that want all acknowledgements cannot write. The *floor* is what
replication needs anyway (``measuring.py``) and a quarter more; below it a move never ends.

**Steady**: the rate that was asked for. Kafka cannot pause a reassignment that is under way, so to
pause is to go on at the floor while any partition is behind, and at the old rate again once none
has been for ``CALM_SECONDS``. Never above the rate asked for.

**Auto** looks for the highest rate at which nobody falls behind. Where the limit is, nobody knows;
trouble is what tells, and it is told late: a follower counts as in sync for
``replica.lag.time.max.ms`` (30 s) after it began to lag. So:

- *up, while no limit is known*: doubled, every ``lag_seconds`` and a margin, so that each rate has
  been judged before the next; and only while at least three quarters of the rate are used, since a
  rate that does not bind teaches nothing. Doubling, as the limit may be a hundred times the start;
- *down*, at once: to half of it where partitions are behind, and again after ``lag_seconds`` if
  they still are; to the floor where some are starved. The rate that led there is the *ceiling* from
  now on;
- *up again*, once nobody has been behind for ``lag_seconds``: half of the way to four fifths of the
  ceiling each time, and no further. A sawtooth, as of TCP's additive increase, would bring trouble
  back regularly; here the rate settles below what once was too much;
- the limit may have risen: after ``FORGIVEN_SECONDS`` without trouble the ceiling is raised by a
  quarter, and each time that this ends in trouble again the wait doubles. So troubles become rare:
  in a time T that a constant limit holds, no more than about log2(T / ``FORGIVEN_SECONDS``) beyond
  those of the first search.

The rate follows the floor up at once: it is never below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

AUTO = "auto"

HEADROOM = 1.25
LEAST = 1_000_000
"""The floor where nothing comes in, in bytes per second."""

START = 10_000_000
"""Where ``auto`` begins, above the floor."""

MOST = 100_000_000_000
CALM_SECONDS = 5.0
FORGIVEN_SECONDS = 600.0

_USED = 0.75
_BELOW = 0.8
_MARGIN = 1.2


def floor_of(need: float) -> int:
    """The lowest rate at which moves end, where the busiest broker needs this much anyway."""
    return max(LEAST, round(need * HEADROOM))


@dataclass(frozen=True)
class Seen:
    """What a cluster shows: ``floor`` in bytes per second; how many partitions are ``behind``, and
    ``starved``; ``copied``: bytes per second that the busiest broker sends or fetches of throttled
    partitions, None where that is not known."""

    floor: int
    behind: int = 0
    starved: int = 0
    copied: float | None = None


class Steady:
    """The rate that was asked for, None for no throttle."""

    def __init__(self, asked: int | None) -> None:
        self._asked = asked
        self._behind_at: float | None = None
        self.rate = asked

    @property
    def paused(self) -> bool:
        """Whether it goes slower than asked."""
        return self._behind_at is not None

    def decide(self, moment: float, seen: Seen) -> int | None:
        """The rate from now on, in bytes per second."""
        if seen.behind:
            self._behind_at = moment
        elif self._behind_at is not None and moment - self._behind_at >= CALM_SECONDS:
            self._behind_at = None
        slow = seen.floor if self._asked is None else min(self._asked, seen.floor)
        self.rate = slow if self.paused else self._asked
        return self.rate


class Auto:
    """A rate that is found. ``lag_seconds``: how long a follower counts as in sync though it
    lags."""

    def __init__(self, lag_seconds: float) -> None:
        self._lag = lag_seconds
        self._forgiven = FORGIVEN_SECONDS
        self._ceiling: float | None = None
        self._behind_at: float | None = None
        self._changed_at = 0.0
        self._ceiling_at = 0.0
        self._probing = False
        self.rate: int | None = None

    @property
    def paused(self) -> bool:
        """Whether partitions are behind."""
        return self._behind_at is not None

    def decide(self, moment: float, seen: Seen) -> int:
        """The rate from now on, in bytes per second."""
        if self.rate is None:
            self.rate, self._changed_at = seen.floor + START, moment
        if seen.behind:
            wanted = self._lowered(moment, seen)
        elif self._behind_at is not None and moment - self._behind_at < self._lag:
            wanted = float(self.rate)
        else:
            self._behind_at = None
            wanted = self._raised(moment, seen)
        wanted = max(seen.floor, min(wanted, MOST))
        if round(wanted) != self.rate:
            self.rate, self._changed_at = round(wanted), moment
        return self.rate

    def _lowered(self, moment: float, seen: Seen) -> float:
        assert self.rate is not None
        began = self._behind_at is None
        self._behind_at = moment
        if began:
            self._ceiling, self._ceiling_at = float(self.rate), moment
            if self._probing:
                self._forgiven *= 2
                self._probing = False
        if seen.starved:
            return seen.floor
        if began or moment - self._changed_at >= self._lag:
            return self.rate / 2
        return self.rate

    def _raised(self, moment: float, seen: Seen) -> float:
        assert self.rate is not None
        if moment - self._changed_at < self._lag * _MARGIN:
            return self.rate
        if seen.copied is None or seen.copied < _USED * self.rate:
            return self.rate
        if self._ceiling is None:
            return self.rate * 2
        aim = _BELOW * self._ceiling
        if moment - self._ceiling_at >= self._forgiven:
            self._ceiling, self._ceiling_at = self._ceiling / _BELOW, moment
            self._probing = True
            aim = _BELOW * self._ceiling
        step = (self.rate + aim) / 2
        # the last percent is not worth a request to every broker
        return step if step > self.rate * 1.01 else self.rate


Pace = Steady | Auto


def pace_of(asked: int | str | None, lag_seconds: Callable[[], float]) -> Pace:
    """The pace of a rate, ``AUTO``, or None."""
    if isinstance(asked, str):
        return Auto(lag_seconds())
    return Steady(asked)
