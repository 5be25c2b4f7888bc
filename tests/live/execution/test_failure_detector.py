"""Dead brokers and suspected ones."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.execution.failure_detector import FailureDetector
from tests.live.execution.builders import Clock


def test_dead_after_the_timeout_and_two_checks() -> None:
    clock = Clock()
    failures = FailureDetector(clock)
    assert failures.check({1, 2}, [1, 2], 10.0) == (set(), set())
    clock.sleep(9.0)
    assert failures.check({1, 2}, [1], 10.0) == (set(), {2})
    clock.sleep(0.5)
    assert failures.check({1, 2}, [1], 10.0) == (set(), {2})
    clock.sleep(0.5)
    assert failures.check({1, 2}, [1], 10.0) == ({2}, set())
    assert failures.check({1}, [1], 10.0) == (set(), set())
    assert failures.check({1, 2}, [1, 2], 10.0) == (set(), set())
    clock.sleep(60.0)  # one slow round: missing once is not dead
    assert failures.check({1, 2}, [1], 10.0) == (set(), {2})
    assert failures.check({1, 2}, [1], 10.0) == ({2}, set())
