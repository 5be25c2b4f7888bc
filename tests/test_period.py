"""Parts of the time as users name them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from partage.errors import InputError
from partage.period import ALWAYS, Period, shown, time_of

EIGHT = 1_763_625_600_000  # date -u -d 2025-11-20T08:00 +%s000


@pytest.mark.parametrize(
    "text",
    [
        "2025-11-20T08:00",
        "2025-11-20 08:00:00",
        "2025-11-20T08:00:00Z",
        "2025-11-20T10:00:00+02:00",
        "20251120T080000Z",
        "1763625600000",
    ],
)
def test_times(text: str) -> None:
    assert time_of(text) == EIGHT


def test_times_of_python() -> None:
    assert time_of(EIGHT) == EIGHT
    assert time_of(datetime(2025, 11, 20, 8)) == EIGHT
    assert time_of(datetime(2025, 11, 20, 10, tzinfo=timezone(timedelta(hours=2)))) == EIGHT
    for wrong in (True, -1, 1.5, date(2025, 11, 20), b"2025"):
        with pytest.raises(ValueError, match=r"^expected a time such as "):
            time_of(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^since 1.5: expected a time such as"):
        Period.of(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "noon", "2025-13-01", "-1", "123456789012345"])
def test_invalid_times(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a time such as "):
        time_of(text)


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (EIGHT, "2025-11-20T08:00Z"),
        (EIGHT + 5_000, "2025-11-20T08:00:05Z"),
        (EIGHT + 5_007, "2025-11-20T08:00:05.007Z"),
        (0, "1970-01-01T00:00Z"),
    ],
)
def test_a_time_is_shown_as_it_is_read(millis: int, text: str) -> None:
    assert shown(millis) == text
    assert time_of(text) == millis


def test_periods() -> None:
    day = Period.of("2025-11-20T08:00", "2025-11-21T08:00")
    assert day == Period(EIGHT, EIGHT + 86_400_000)
    assert str(day) == "from 2025-11-20T08:00Z to 2025-11-21T08:00Z"
    assert str(Period.of(None, "2025-11-20T08:00")) == "to 2025-11-20T08:00Z"
    assert day
    assert not ALWAYS
    assert Period.of() == ALWAYS
    with pytest.raises(InputError, match=r"^until 2025-11-20: must be later than 2025-11-20$"):
        Period.of("2025-11-20", "2025-11-20")
