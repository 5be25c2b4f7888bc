"""The throttle rate that is found for simulated brokers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

pytest.importorskip("kafka")

from partage.live.execution.rate_control import (
    CEILING_SECONDS,
    INITIAL_RATE,
    LOWEST_MINIMUM_RATE,
    MAX_RATE,
    RECOVERY_SECONDS,
    AutoRate,
    FixedRate,
    Observation,
    minimum_rate,
)
from tests.profiles import examples

MB = 1_000_000
HOUR = 3600.0


@dataclass
class Brokers:
    """Brokers that replicate ``capacity`` bytes per second, of which producers take ``writes``.

    What exceeds the capacity is the backlog. Followers leave the ISR when there has been a backlog
    for ``lag`` seconds, and return when there is none. ``left_at``: when they left, each time.
    """

    capacity: float
    lag: float
    writes: Callable[[float], float]
    poll: float = 5.0
    moment: float = 0.0
    backlog: float = 0.0
    backlog_since: float | None = None
    out_of_sync: bool = False
    left_at: list[float] = field(default_factory=list)

    def run(self, control: AutoRate, seconds: float) -> Iterator[tuple[int, Observation]]:
        """The rate of every round, and the observation that led to it."""
        copied = None
        end = self.moment + seconds
        while self.moment < end:
            seen = Observation(
                minimum_rate(self.writes(self.moment)), int(self.out_of_sync), 0, copied
            )
            rate = control.decide(self.moment, seen)
            yield rate, seen
            copied = float(rate)
            total = self.writes(self.moment) + rate
            self.backlog = max(0.0, self.backlog + (total - self.capacity) * self.poll)
            if self.backlog == 0.0:
                self.backlog_since = None
            elif self.backlog_since is None:
                self.backlog_since = self.moment
            lagging = self.backlog_since is not None and (
                self.out_of_sync or self.moment - self.backlog_since >= self.lag
            )
            if lagging and not self.out_of_sync:
                self.left_at.append(self.moment)
            self.out_of_sync = lagging
            self.moment += self.poll


lags = st.floats(5, 60)
polls = st.floats(1, 10)
loads = st.floats(4, 8.5).map(lambda power: 10**power)


@examples(60)
@given(lag=lags, poll=polls, load=loads, slack=st.floats(1.3, 200))
@example(lag=31.0, poll=10.0, load=10_000.0, slack=1.5)  # starts at seven times the limit
def test_auto_converges_near_the_capacity_with_little_trouble(
    lag: float, poll: float, load: float, slack: float
) -> None:
    capacity = load + slack * minimum_rate(load)
    assume(capacity < MAX_RATE)
    brokers = Brokers(capacity, lag, lambda _: load, poll)
    rates = [rate for rate, _ in brokers.run(AutoRate(lag), 4 * HOUR)]
    late = rates[len(rates) // 2 :]
    assert sum(late) / len(late) > 0.6 * (capacity - load)
    # a few to find the limit, then once per attempt to raise it, each after twice the time
    assert len(brokers.left_at) <= 6 + 2 * math.log2(4 * HOUR / CEILING_SECONDS)
    turns = sum(1 for one, other in pairwise(late) if other < one)
    assert turns <= 4


@examples(100)
@given(
    lag=lags,
    capacity=st.floats(5, 10).map(lambda power: 10**power),
    load=loads,
    peak=st.floats(1, 20),
    period=st.floats(60, 2 * HOUR),
)
def test_auto_is_never_below_the_minimum_rate(
    lag: float, capacity: float, load: float, peak: float, period: float
) -> None:
    def tide(moment: float) -> float:
        return load * (1 + (peak - 1) * (1 + math.sin(moment / period * 6.28)) / 2)

    for rate, seen in Brokers(capacity, lag, tide).run(AutoRate(lag), HOUR):
        assert rate >= seen.minimum_rate


@given(
    st.lists(
        st.builds(
            Observation,
            minimum_rate=st.integers(LOWEST_MINIMUM_RATE, 10**9),
            out_of_sync=st.integers(0, 3),
            under_min_isr=st.integers(0, 3),
            copied=st.none() | st.floats(0, 1e11),
        ),
        max_size=50,
    )
)
def test_auto_never_rises_while_partitions_are_out_of_sync(seen: list[Observation]) -> None:
    control, before = AutoRate(30.0), None
    for number, one in enumerate(seen):
        rate = control.decide(5.0 * number, one)
        assert one.minimum_rate <= rate <= max(MAX_RATE, one.minimum_rate)
        if before is not None and one.out_of_sync:
            assert rate <= max(before, one.minimum_rate)
        if one.out_of_sync and one.under_min_isr:
            assert rate == one.minimum_rate
        before = rate


def test_auto_falls_at_once() -> None:
    control = AutoRate(30.0)
    assert control.decide(0.0, Observation(2 * MB)) == 2 * MB + INITIAL_RATE
    assert control.decide(1.0, Observation(2 * MB, out_of_sync=1)) == (2 * MB + INITIAL_RATE) // 2
    assert control.decide(2.0, Observation(2 * MB, out_of_sync=1)) == (2 * MB + INITIAL_RATE) // 2
    assert control.decide(32.0, Observation(2 * MB, out_of_sync=1)) == (2 * MB + INITIAL_RATE) // 4
    assert control.decide(33.0, Observation(2 * MB, out_of_sync=1, under_min_isr=1)) == 2 * MB
    assert control.slowed_down
    assert control.decide(50.0, Observation(2 * MB)) == 2 * MB  # has not recovered yet
    assert control.slowed_down
    assert control.decide(70.0, Observation(2 * MB, copied=2e6)) > 2 * MB
    assert not control.slowed_down


def test_auto_rises_only_where_the_rate_is_used() -> None:
    control = AutoRate(30.0)
    start = control.decide(0.0, Observation(LOWEST_MINIMUM_RATE))
    for moment in range(5, 500, 5):
        assert (
            control.decide(float(moment), Observation(LOWEST_MINIMUM_RATE, copied=start / 2))
            == start
        )
    assert control.decide(500.0, Observation(LOWEST_MINIMUM_RATE, copied=float(start))) == 2 * start
    assert (
        control.decide(505.0, Observation(LOWEST_MINIMUM_RATE, copied=2.0 * start)) == 2 * start
    )  # not judged yet


def test_auto_follows_the_minimum_rate() -> None:
    control = AutoRate(30.0)
    control.decide(0.0, Observation(LOWEST_MINIMUM_RATE))
    assert control.decide(1.0, Observation(80 * MB)) == 80 * MB
    assert control.decide(2.0, Observation(90 * MB, out_of_sync=5, under_min_isr=5)) == 90 * MB


def test_a_fixed_rate_is_lowered_only_while_partitions_are_out_of_sync() -> None:
    control = FixedRate(50 * MB)
    assert control.decide(0.0, Observation(2 * MB)) == 50 * MB
    assert control.decide(1.0, Observation(2 * MB, out_of_sync=1)) == 2 * MB
    assert control.slowed_down
    assert control.decide(1.0 + RECOVERY_SECONDS / 2, Observation(2 * MB)) == 2 * MB
    assert control.decide(1.5 + RECOVERY_SECONDS, Observation(2 * MB)) == 50 * MB
    assert not control.slowed_down
    assert (
        FixedRate(MB).decide(0.0, Observation(9 * MB, out_of_sync=1)) == MB
    )  # never above the requested rate
    free = FixedRate(None)
    assert free.decide(0.0, Observation(2 * MB)) is None
    assert free.decide(1.0, Observation(2 * MB, out_of_sync=1)) == 2 * MB
    assert free.decide(2.0 + RECOVERY_SECONDS, Observation(2 * MB)) is None
