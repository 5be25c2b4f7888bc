"""Which throttle rate is right at this moment: the requested one, or one that is searched for.

Both decide from what the cluster shows (``Observation``): partitions *out of sync* (an existing
replica on a live broker is not in sync), those of them *under min ISR* (fewer in sync than
``min.insync.replicas``, so that producers with ``acks=all`` cannot write), and the *minimum rate*:
what replication needs without any copying (``write_rates.py``) and a quarter more. Below that rate
a move never finishes.

**FixedRate**: the requested rate. Kafka cannot pause a reassignment, so a pause means the minimum
rate: while any partition is out of sync, and until none has been for ``RECOVERY_SECONDS``. Never
above the requested rate.

**AutoRate** searches for the highest rate at which no partition falls out of sync. Only trouble
reveals where that limit is, and it shows late: a follower counts as in sync for
``replica.lag.time.max.ms`` (30 s) after it began to lag. Hence:

- *up, while no limit is known*: the rate doubles every ``lag_seconds`` and a margin, so that each
  rate is judged before the next, and only while at least three quarters of it are used, because a
  rate that does not limit anything teaches nothing. Doubling, because the limit may be a hundred
  times the initial rate;
- *down, at once*: to half while partitions are out of sync, and to half again after every
  ``lag_seconds`` of it; to the minimum rate while some are under min ISR. The rate that led there
  is the *ceiling* from now on;
- *up again*, once no partition has been out of sync for ``lag_seconds``: each time half of the way
  to four fifths of the ceiling, and no further. Half of the way in ratios, since the first ceiling
  may be many times the limit. A sawtooth, like TCP's additive increase, would cause trouble
  regularly; this rate converges below the one that was too much;
- the limit may have risen: after ``CEILING_SECONDS`` without trouble the ceiling rises by a
  quarter, and each time that this causes trouble again the wait doubles. Trouble becomes rare: in
  a time T under a constant limit, at most about log2(T / ``CEILING_SECONDS``) times after the first
  search.

The rate is never below the minimum rate, and follows it up at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_HEADROOM = 1.25
LOWEST_MINIMUM_RATE = 1_000_000
"""The minimum rate where producers write nothing. All rates are in bytes per second."""

INITIAL_RATE = 10_000_000
"""Where ``auto`` begins, above the minimum rate."""

MAX_RATE = 100_000_000_000
RECOVERY_SECONDS = 5.0
CEILING_SECONDS = 600.0

_USED_SHARE = 0.75
_SHARE_OF_CEILING = 0.8
_LAG_MARGIN = 1.2


def minimum_rate(required: float) -> int:
    """The lowest rate at which moves finish, where the busiest broker needs ``required`` bytes per
    second without any copying."""
    return max(LOWEST_MINIMUM_RATE, round(required * _HEADROOM))


@dataclass(frozen=True)
class Observation:
    """``out_of_sync`` and ``under_min_isr`` count partitions; ``copied``: bytes per second of
    throttled partitions that the busiest broker sends or receives, None where unknown."""

    minimum_rate: int
    out_of_sync: int = 0
    under_min_isr: int = 0
    copied: float | None = None


class FixedRate:
    """The requested rate, None for no throttle."""

    def __init__(self, requested: int | None) -> None:
        self._requested = requested
        self._out_of_sync_at: float | None = None
        self.rate = requested

    @property
    def slowed_down(self) -> bool:
        """Whether the rate is lowered because partitions are, or just were, out of sync."""
        return self._out_of_sync_at is not None

    def decide(self, moment: float, seen: Observation) -> int | None:
        """The rate from now on."""
        if seen.out_of_sync:
            self._out_of_sync_at = moment
        elif self._out_of_sync_at is not None and moment - self._out_of_sync_at >= RECOVERY_SECONDS:
            self._out_of_sync_at = None
        lowest = seen.minimum_rate
        slow = lowest if self._requested is None else min(self._requested, lowest)
        self.rate = slow if self.slowed_down else self._requested
        return self.rate


class AutoRate:
    """A rate that is searched for. ``lag_seconds``: how long a follower may lag and still count as
    in sync."""

    def __init__(self, lag_seconds: float) -> None:
        self._lag = lag_seconds
        self._wait = CEILING_SECONDS
        self._ceiling: float | None = None
        self._out_of_sync_at: float | None = None
        self._changed_at = 0.0
        self._ceiling_at = 0.0
        self._raised_ceiling = False
        self.rate: int | None = None

    @property
    def slowed_down(self) -> bool:
        """Whether partitions are, or just were, out of sync."""
        return self._out_of_sync_at is not None

    def decide(self, moment: float, seen: Observation) -> int:
        """The rate from now on."""
        if self.rate is None:
            self.rate, self._changed_at = seen.minimum_rate + INITIAL_RATE, moment
        if seen.out_of_sync:
            wanted = self._lower(moment, seen, self.rate)
        elif self._out_of_sync_at is not None and moment - self._out_of_sync_at < self._lag:
            wanted = float(self.rate)
        else:
            self._out_of_sync_at = None
            wanted = self._raise(moment, seen, self.rate)
        wanted = max(seen.minimum_rate, min(wanted, MAX_RATE))
        if round(wanted) != self.rate:
            self.rate, self._changed_at = round(wanted), moment
        return self.rate

    def _lower(self, moment: float, seen: Observation, rate: int) -> float:
        began = self._out_of_sync_at is None
        self._out_of_sync_at = moment
        if began:
            self._ceiling, self._ceiling_at = float(rate), moment
            if self._raised_ceiling:
                self._wait *= 2
                self._raised_ceiling = False
        if seen.under_min_isr:
            return seen.minimum_rate
        return rate / 2 if began or moment - self._changed_at >= self._lag else rate

    def _raise(self, moment: float, seen: Observation, rate: int) -> float:
        if moment - self._changed_at < self._lag * _LAG_MARGIN:
            return rate
        if seen.copied is None or seen.copied < _USED_SHARE * rate:
            return rate
        if self._ceiling is None:
            return rate * 2
        if moment - self._ceiling_at >= self._wait:
            self._ceiling, self._ceiling_at = self._ceiling / _SHARE_OF_CEILING, moment
            self._raised_ceiling = True
        step = math.sqrt(rate * _SHARE_OF_CEILING * self._ceiling)
        # the last percent is not worth a request to every broker
        return step if step > rate * 1.01 else rate


RateControl = FixedRate | AutoRate


def rate_control(requested: int | str | None, lag_seconds: Callable[[], float]) -> RateControl:
    """The control for a rate, ``AUTO``, or None for no throttle."""
    if isinstance(requested, str):
        return AutoRate(lag_seconds())
    return FixedRate(requested)
