"""The outcome of a run as text."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.execution.outcome import Outcome


def test_repr() -> None:
    assert repr(Outcome()) == "<Outcome: done>"
    problems = {"t-0": "skipped", "t-1": "not moved"}
    outcome = Outcome("differs", problems, dead=[3, 4], still_moving=["t-1"], waves_left=2)
    assert repr(outcome) == (
        "<Outcome: differs; 2 partitions not on the target (first: t-0, skipped); "
        "throttle not restored on brokers 3, 4; 1 partition still moving; 2 waves left>"
    )
