"""Write rates from replica sizes, and the bandwidth that replication needs for them."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.execution.changes import Change
from partage.live.execution.write_rates import (
    WriteRates,
    required_bandwidth,
    with_measured_rates,
)
from tests.live.execution.builders import Clock, plan_of, snapshot
from tests.live.execution.log_dirs import LogDirs


def test_deleted_segments_do_not_count() -> None:
    growth, key = WriteRates(), ("t", 0)
    growth.add_sample(0.0, {1: {key: 100}})
    assert growth.rates() == {}
    growth.add_sample(2.0, {1: {key: 300}})
    assert growth.rates() == {key: 100.0}
    growth.add_sample(4.0, {1: {key: 50}})
    assert growth.rates() == {key: 100.0}
    growth.add_sample(600.0, {1: {key: 50}})
    assert growth.rates()[key] < 0.01  # old samples weigh nothing


def test_bandwidth_of_senders_and_receivers() -> None:
    changes = [
        Change("t", 0, (1, 2), (3, 2)),
        Change("t", 1, (2, 1), (2, 3)),
        Change("t", 2, (1,), (1,)),
    ]
    rates = {("t", 0): 10.0, ("t", 1): 5.0, ("t", 2): 99.0}
    sent, received = required_bandwidth(changes, rates, {("t", 0): 2, ("t", 1): None})
    assert sent == {2: 10.0 * 2 + 5.0 * 2}
    assert received == {3: 15.0}


def test_rates_of_the_plan_are_not_measured() -> None:
    log_dirs = LogDirs({1: {("t", 0): 0, ("t", 1): 0}})
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        log_dirs.sizes[1]["t", 0] += round(500 * seconds)

    known = Change("t", 1, (1,), (2,), bytes_per_second=7.0)
    plan = plan_of([Change("t", 0, (1,), (2,)), known, Change("t", 2, (1, 2), (2, 1))])
    states = snapshot({c.key: c.origin for c in plan.changes.values()}).partitions
    measured = with_measured_rates(plan, log_dirs, states, clock=clock, sleep=sleep)
    assert measured.changes["t", 0].bytes_per_second == pytest.approx(500)
    assert measured.changes["t", 1] is known
    assert set(log_dirs.requests) == {1}
    assert with_measured_rates(plan_of([known]), log_dirs, states) == plan_of([known])
