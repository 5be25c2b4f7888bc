"""What may be done now, by the limits, the clock, and what was done before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from partage.auto_apply.ledger import Run
from partage.auto_apply.policy import Hours, Limits, Reason, bytes_left, refusal, within_hours

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def limits(budget: int | None = 100, hours: str | None = None) -> Limits:
    return Limits(budget, None if hours is None else Hours.of(hours), None, HOUR, 2 * HOUR)


def run(size: int, ended: timedelta | None, state: str = "done") -> Run:
    """A plan that ended so long ago; None: it is unfinished, and began two days ago."""
    at = None if ended is None else int((NOW - ended).timestamp())
    begun = int((NOW - 2 * timedelta(days=1)).timestamp())
    return Run("p", state, begun, at, size, 1, 0, 2.0, 1.1)  # type: ignore[arg-type]


def reason(
    runs: list[Run], given: Limits, measured: datetime = NOW, period: timedelta = HOUR
) -> Reason | None:
    found = refusal(given, runs, NOW, measured - period, measured)
    return None if found is None else found.reason


def test_the_budget_is_of_any_24_hours() -> None:
    day = timedelta(days=1)
    assert bytes_left(limits(), [], NOW) == 100
    assert bytes_left(limits(), [run(30, 2 * HOUR), run(50, day - timedelta(seconds=1))], NOW) == 20
    assert bytes_left(limits(), [run(30, 2 * HOUR), run(50, day)], NOW) == 70
    assert bytes_left(limits(), [run(130, 2 * HOUR)], NOW) == 0
    assert bytes_left(limits(None), [], NOW) == 0
    for state in ("failed", "rolled back", "done"):  # what was moved was moved
        assert bytes_left(limits(), [run(40, HOUR, state)], NOW) == 60


def test_an_unfinished_plan_counts_whenever_it_began() -> None:
    for state in ("running", "stopped"):
        assert bytes_left(limits(), [run(40, None, state)], NOW) == 60


@pytest.mark.parametrize(
    ("runs", "given", "measured", "expected"),
    [
        ([], limits(), NOW, None),
        ([run(99, HOUR)], limits(), NOW, None),
        ([run(100, HOUR)], limits(), NOW, Reason.BUDGET),
        ([run(100, HOUR)], limits(None), NOW, None),  # leaders only: no bytes to limit
        ([run(1, HOUR / 2)], limits(), NOW, Reason.SETTLING),
        # the hour is over, but not in what was measured
        ([run(1, HOUR)], limits(), NOW - HOUR / 2, Reason.SETTLING),
        # nor do records with future timestamps end it
        ([run(1, HOUR / 2)], limits(), NOW + 9 * HOUR, Reason.SETTLING),
        ([], limits(), NOW - 2 * HOUR, None),
        ([], limits(), NOW - 3 * HOUR, Reason.OLD),
        ([], limits(hours="11:00-12:00"), NOW, Reason.HOURS),
        ([], limits(hours="12:00-12:01"), NOW, None),
    ],
)
def test_refusals(
    runs: list[Run], given: Limits, measured: datetime, expected: Reason | None
) -> None:
    assert reason(runs, given, measured) is expected


def test_a_short_measurement_or_one_in_the_future_is_not_enough() -> None:
    second = timedelta(seconds=1)
    assert reason([], limits(), period=HOUR - second) is Reason.SHORT
    assert reason([], limits(), NOW + timedelta(minutes=1)) is None
    assert reason([], limits(), NOW + timedelta(minutes=1) + second) is Reason.FUTURE


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("22:00-06:00", ["22:00", "23:59", "00:00", "05:59"], ["06:00", "12:00", "21:59"]),
        ("01:00-02:30,12:00-13:00", ["01:00", "02:29", "12:00"], ["00:59", "02:30", "13:00"]),
        # 22:00 in Paris is 21:00 UTC in winter
        ("22:00-06:00 Europe/Paris", ["21:00", "04:59"], ["20:59", "05:00"]),
    ],
)
def test_hours(text: str, inside: list[str], outside: list[str]) -> None:
    hours = Hours.of(text)
    assert Hours.of(str(hours)) == hours

    def at(shown: str) -> datetime:
        return datetime.fromisoformat(f"2026-11-24T{shown}Z")

    assert [one for one in inside if not hours.include(at(one))] == []
    assert [one for one in outside if hours.include(at(one))] == []
    assert within_hours(limits(hours=text), at(inside[0]))


def test_hours_follow_the_clocks_of_the_zone() -> None:
    hours = Hours.of("22:00-06:00 Europe/Paris")
    assert hours.include(datetime(2026, 7, 1, 20, tzinfo=UTC))
    assert not hours.include(datetime(2026, 12, 1, 20, tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["", "22-06", "22:00-22:00", "24:00-06:00", "22:00-06:61", "22:00-06:00,", "1:00-2:00"]
)
def test_what_is_not_hours(text: str) -> None:
    with pytest.raises(ValueError, match="expected hours such as"):
        Hours.of(text)


@pytest.mark.parametrize("zone", ["Mars/Phobos", "../etc/passwd", "europe paris"])
def test_what_is_not_a_zone(zone: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone"):
        Hours.of(f"22:00-06:00 {zone}")
