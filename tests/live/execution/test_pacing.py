"""How fast a run may copy, judged on a simulated cluster with a clock of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("kafka")

from partage.live.execution.pacing import (
    CALM_SECONDS,
    FORGIVEN_SECONDS,
    LEAST,
    MOST,
    START,
    Auto,
    Seen,
    Steady,
    floor_of,
)

MB = 1_000_000
HOUR = 3600.0


@dataclass
class Brokers:
    """What a broker can copy, ``capacity`` bytes per second, and what comes in anyway.

    What is beyond the capacity piles up; followers leave the ISR when something has been piled up
    for ``lag`` seconds, and are back when nothing is. ``behind_at``: when they left, each time.
    """

    capacity: float
    lag: float
    incoming: Callable[[float], float]
    poll: float = 5.0
    moment: float = 0.0
    piled: float = 0.0
    since: float | None = None
    behind: bool = False
    behind_at: list[float] = field(default_factory=list)

    def run(self, pace: Auto, seconds: float) -> Iterator[tuple[int, Seen]]:
        """The rate of every round, and what it was decided upon."""
        copied = None
        end = self.moment + seconds
        while self.moment < end:
            seen = Seen(floor_of(self.incoming(self.moment)), int(self.behind), 0, copied)
            rate = pace.decide(self.moment, seen)
            yield rate, seen
            copied = float(rate)
            total = self.incoming(self.moment) + rate
            self.piled = max(0.0, self.piled + (total - self.capacity) * self.poll)
            if self.piled == 0.0:
                self.since = None
            elif self.since is None:
                self.since = self.moment
            lagging = self.since is not None and (
                self.behind or self.moment - self.since >= self.lag
            )
            if lagging and not self.behind:
                self.behind_at.append(self.moment)
            self.behind = lagging
            self.moment += self.poll


lags = st.floats(5, 60)
polls = st.floats(1, 10)
loads = st.floats(4, 8.5).map(lambda power: 10**power)


@settings(max_examples=60, deadline=None)
@given(lag=lags, poll=polls, load=loads, room=st.floats(1.3, 200))
def test_it_settles_near_what_there_is_and_seldom_troubles_anyone(
    lag: float, poll: float, load: float, room: float
) -> None:
    capacity = load + room * floor_of(load)
    assume(capacity < MOST)
    brokers = Brokers(capacity, lag, lambda _: load, poll)
    rates = [rate for rate, _ in brokers.run(Auto(lag), 4 * HOUR)]
    late = rates[len(rates) // 2 :]
    assert sum(late) / len(late) > 0.6 * (capacity - load)
    # a few to find the limit, then each time that it is forgiven, which takes twice as long
    assert len(brokers.behind_at) <= 6 + 2 * math.log2(4 * HOUR / FORGIVEN_SECONDS)
    turns = sum(1 for one, other in pairwise(late) if other < one)
    assert turns <= 4


@settings(max_examples=100, deadline=None)
@given(
    lag=lags,
    capacity=st.floats(5, 10).map(lambda power: 10**power),
    load=loads,
    peak=st.floats(1, 20),
    period=st.floats(60, 2 * HOUR),
)
def test_it_is_never_below_the_floor_whatever_comes_in(
    lag: float, capacity: float, load: float, peak: float, period: float
) -> None:
    def tide(moment: float) -> float:
        return load * (1 + (peak - 1) * (1 + math.sin(moment / period * 6.28)) / 2)

    for rate, seen in Brokers(capacity, lag, tide).run(Auto(lag), HOUR):
        assert rate >= seen.floor


@given(
    st.lists(
        st.builds(
            Seen,
            floor=st.integers(LEAST, 10**9),
            behind=st.integers(0, 3),
            starved=st.integers(0, 3),
            copied=st.none() | st.floats(0, 1e11),
        ),
        max_size=50,
    )
)
def test_it_never_goes_up_while_somebody_is_behind(seen: list[Seen]) -> None:
    pace, before = Auto(30.0), None
    for number, one in enumerate(seen):
        rate = pace.decide(5.0 * number, one)
        assert one.floor <= rate <= max(MOST, one.floor)
        if before is not None and one.behind:
            assert rate <= max(before, one.floor)
        if one.behind and one.starved:
            assert rate == one.floor
        before = rate


def test_it_goes_down_at_once() -> None:
    pace = Auto(30.0)
    assert pace.decide(0.0, Seen(2 * MB)) == 2 * MB + START
    assert pace.decide(1.0, Seen(2 * MB, behind=1)) == (2 * MB + START) // 2
    assert pace.decide(2.0, Seen(2 * MB, behind=1)) == (2 * MB + START) // 2
    assert pace.decide(32.0, Seen(2 * MB, behind=1)) == (2 * MB + START) // 4
    assert pace.decide(33.0, Seen(2 * MB, behind=1, starved=1)) == 2 * MB
    assert pace.paused
    assert pace.decide(50.0, Seen(2 * MB)) == 2 * MB  # not yet calm
    assert pace.paused
    assert pace.decide(70.0, Seen(2 * MB, copied=2e6)) > 2 * MB
    assert not pace.paused


def test_it_goes_up_only_where_the_rate_is_used() -> None:
    pace = Auto(30.0)
    start = pace.decide(0.0, Seen(LEAST))
    for moment in range(5, 500, 5):
        assert pace.decide(float(moment), Seen(LEAST, copied=start / 2)) == start
    assert pace.decide(500.0, Seen(LEAST, copied=float(start))) == 2 * start
    assert pace.decide(505.0, Seen(LEAST, copied=2.0 * start)) == 2 * start  # not judged yet


def test_the_floor_is_followed_up() -> None:
    pace = Auto(30.0)
    pace.decide(0.0, Seen(LEAST))
    assert pace.decide(1.0, Seen(80 * MB)) == 80 * MB
    assert pace.decide(2.0, Seen(90 * MB, behind=5, starved=5)) == 90 * MB


def test_a_rate_that_was_asked_for_is_left_only_while_somebody_is_behind() -> None:
    pace = Steady(50 * MB)
    assert pace.decide(0.0, Seen(2 * MB)) == 50 * MB
    assert pace.decide(1.0, Seen(2 * MB, behind=1)) == 2 * MB
    assert pace.paused
    assert pace.decide(1.0 + CALM_SECONDS / 2, Seen(2 * MB)) == 2 * MB
    assert pace.decide(1.5 + CALM_SECONDS, Seen(2 * MB)) == 50 * MB
    assert not pace.paused
    assert Steady(MB).decide(0.0, Seen(9 * MB, behind=1)) == MB  # never above what was asked for
    free = Steady(None)
    assert free.decide(0.0, Seen(2 * MB)) is None
    assert free.decide(1.0, Seen(2 * MB, behind=1)) == 2 * MB
    assert free.decide(2.0 + CALM_SECONDS, Seen(2 * MB)) is None
