"""The least time of copies at a throttle, and the limit from which it is refused."""

from __future__ import annotations

from partage.brokers.least_time import MONTH, least_seconds, refusal


def test_the_busiest_broker_decides() -> None:
    assert least_seconds([4_000_000, 10_000_000], 1_000_000) == 10
    assert least_seconds([], 1) == 0


def test_a_month_is_accepted() -> None:
    assert refusal([50 * MONTH], 50) is None
    assert (refusal([50 * MONTH + 50], 50) or "").startswith("the run would take 30 days or more")
