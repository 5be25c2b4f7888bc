"""The time limit of a search, on a clock that the test sets."""

from __future__ import annotations

import pytest

from partage.brokers import search_clock
from partage.brokers.search_clock import SearchClock


def test_it_stops_at_the_limit_and_stays_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 159.0, 160.0])
    monkeypatch.setattr(search_clock, "monotonic", lambda: next(times))
    clock = SearchClock(60)
    assert not clock.stop()
    assert not clock.stopped
    assert clock.stop()
    assert clock.stop()  # without asking for the time again
    assert clock.stopped


def test_without_a_limit_it_never_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_clock, "monotonic", lambda: 1 / 0)
    assert not SearchClock().stop()
