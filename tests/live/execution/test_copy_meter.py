"""The bytes of a wave: which brokers are asked, and what follows from their answers."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.admin.states import PartitionState
from partage.live.execution.changes import Change
from partage.live.execution.copy_meter import CopyMeter
from tests.live.execution.builders import Clock
from tests.live.execution.log_dirs import LogDirs


def test_only_senders_and_receivers_are_read() -> None:
    first, second = Change("t", 0, (1,), (3,)), Change("t", 1, (2,), (4,))
    states = {
        ("t", 0): PartitionState("t", 0, (3,), 1, (1,), adding=(3,), removing=(1,)),
        ("t", 1): PartitionState("t", 1, (4,), 2, (2,), adding=(4,), removing=(2,)),
    }
    clock = Clock()
    sizes = {1: {("t", 0): 100}, 2: {("t", 1): 50}, 3: {("t", 0): 10}}
    log_dirs = LogDirs(sizes, unreachable=(4,))
    meter = CopyMeter(log_dirs, [first, second], {}, clock)
    meter.update(states, [first, second], [1, 2, 3, 4])
    assert log_dirs.requests == [1, 2, 3, 4]
    assert (meter.done, meter.total) == (10, 150)
    clock.sleep(1.0)
    log_dirs.sizes[3]["t", 0] = 60
    meter.update(states, [first, second], [1, 2, 3, 4])
    assert log_dirs.requests == [1, 2, 3, 4, 1, 2, 3]  # an unreachable broker is left alone
    assert meter.rate == 50.0
    assert meter.eta_seconds == pytest.approx(90 / 50)
    assert meter.copied([first, second]) == 50.0
    clock.sleep(1.0)
    meter.update(states, [second], [1, 2, 3, 4])
    assert log_dirs.requests[7:] == [2]  # not those of the first change, which is complete
    assert (meter.done, meter.total) == (100, 150)
