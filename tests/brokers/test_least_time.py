"""The least time of copies at a throttle, and the limit from which it is refused."""

from __future__ import annotations

from partage.brokers.least_time import MONTH, least_seconds, refusal


def test_the_busiest_broker_decides() -> None:
    assert least_seconds([4_000_000, 10_000_000], 1_000_000) == 10
    assert least_seconds([], 1) == 0


def test_a_month_is_accepted() -> None:
    assert refusal([50 * MONTH], 50) is None
    found = refusal([50 * MONTH + 50], 50) or ""
    assert found.startswith("one broker alone would receive for 30 d: a bare number is bytes per ")


def test_the_time_has_the_format_of_all_times() -> None:
    found = refusal([50 * 1234 * 86_400 + 50 * 2 * 3600], 50) or ""
    assert found.startswith("one broker alone would receive for 1,234 d 2 h: ")
