"""What may be done now: a pure function of the limits, the time, and what was done before.

The budget is of any 24 hours, not of a calendar day: neither midnight nor a change of the clocks
gives it back early. A plan counts from its start with all bytes that it moves, and as long as it is
unfinished; one that ended counts for 24 hours from its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Self
from zoneinfo import ZoneInfo

from partage.auto_apply.ledger import Run

DAY = timedelta(hours=24)

_CLOCKS = timedelta(minutes=1)
"""By how much the clocks of producers, brokers and this machine may differ."""

_SPAN = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII)


@dataclass(frozen=True)
class Hours:
    """Spans of the day, each from its start (inclusive) to its end (exclusive), by the clocks of a
    time zone. A span may pass midnight."""

    spans: tuple[tuple[time, time], ...]
    zone: tzinfo = UTC

    @classmethod
    def of(cls, text: str) -> Self:
        """``"22:00-06:00"`` in UTC, ``"22:00-06:00,12:00-13:00 Europe/Paris"``. Raises
        ValueError."""
        spans, _, zone = text.strip().partition(" ")
        found = [_SPAN.fullmatch(one) for one in spans.split(",")]
        try:
            times = [
                (time(int(one[1]), int(one[2])), time(int(one[3]), int(one[4])))
                for one in found
                if one
            ]
        except ValueError:
            times = []
        if len(times) != len(found) or any(start == end for start, end in times):
            raise ValueError("expected hours such as 22:00-06:00 or 22:00-06:00 Europe/Paris")
        try:
            return cls(tuple(times), UTC if zone in ("", "UTC") else ZoneInfo(zone))
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{zone!r} is not a time zone of this machine") from None

    def include(self, moment: datetime) -> bool:
        """Whether a moment is in a span."""
        now = moment.astimezone(self.zone).time()
        return any(
            start <= now < end if start < end else now >= start or now < end
            for start, end in self.spans
        )

    def __str__(self) -> str:
        spans = ",".join(f"{start:%H:%M}-{end:%H:%M}" for start, end in self.spans)
        return f"{spans} {self.zone}"


@dataclass(frozen=True)
class Limits:
    """``bytes_per_day``: that plans may move in 24 hours, None where they move none; ``hours``: in
    which waves may start, None: always; ``racks``: of brokers that may receive replicas or
    leaders, None: all; ``settling``: the time over which rates are measured, which must pass
    before the first plan and between two; ``oldest``: how old a measurement may be."""

    bytes_per_day: int | None
    hours: Hours | None
    racks: frozenset[str] | None
    settling: timedelta
    oldest: timedelta


class Reason(StrEnum):
    """Why nothing is done."""

    HALTED = "halted"
    HOURS = "hours"
    BUDGET = "budget"
    SETTLING = "settling"
    SHORT = "short measurement"
    FUTURE = "future timestamps"
    OLD = "old measurement"
    UNHEALTHY = "unhealthy cluster"
    REASSIGNMENT = "reassignment in progress"
    PLAN = "no plan"
    CHECK = "check"
    PREFLIGHT = "preflight"
    UNFINISHED = "unfinished plan"


@dataclass(frozen=True)
class Refusal:
    """A reason, and a sentence."""

    reason: Reason
    text: str


def bytes_left(limits: Limits, runs: Iterable[Run], now: datetime) -> int:
    """What the budget has left; 0 where plans may move nothing."""
    if limits.bytes_per_day is None:
        return 0
    spent = sum(one.bytes for one in runs if one.ended is None or now - one.ended < DAY)
    return max(0, limits.bytes_per_day - spent)


def within_hours(limits: Limits, now: datetime) -> bool:
    """Whether a wave may start."""
    return limits.hours is None or limits.hours.include(now)


def refusal(
    limits: Limits,
    runs: Iterable[Run],
    now: datetime,
    measured_from: datetime,
    measured_until: datetime,
) -> Refusal | None:
    """Why no plan may begin now; None if one may, within ``bytes_left``.

    The effect of a plan is measured first: the rates must be of a time after its end. A period in
    the future is of one record with a wrong timestamp, which closed all windows before it.
    """
    runs = list(runs)
    last = max((one.ended for one in runs if one.ended is not None), default=None)
    if last is not None and min(now, measured_until) < last + limits.settling:
        until = _shown(last + limits.settling)
        return Refusal(Reason.SETTLING, f"the effect of the last plan is measured until {until}")
    if measured_until > now + _CLOCKS:
        problem = f"records have timestamps until {_shown(measured_until)}, it is {_shown(now)}"
        return Refusal(Reason.FUTURE, f"{problem}: the clock of a producer, or this one, is wrong")
    if measured_until - measured_from < limits.settling:
        since = _shown(measured_from)
        problem = f"the load is measured since {since}: rates are averaged over {limits.settling}"
        return Refusal(Reason.SHORT, problem)
    if now - measured_until > limits.oldest:
        return Refusal(
            Reason.OLD, f"the load is known until {_shown(measured_until)} only: records wait"
        )
    if limits.hours is not None and not limits.hours.include(now):
        return Refusal(Reason.HOURS, f"outside of the hours {limits.hours}")
    if limits.bytes_per_day is not None and not bytes_left(limits, runs, now):
        return Refusal(
            Reason.BUDGET, f"all {limits.bytes_per_day:,} bytes of the last 24 hours are spent"
        )
    return None


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
