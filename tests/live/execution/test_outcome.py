"""The outcome of a run as text."""

from __future__ import annotations

import pytest

pytest.importorskip("kafka")

from partage.live.admin.states import PartitionState
from partage.live.execution.changes import RECREATED, Change
from partage.live.execution.outcome import Outcome
from tests.live.execution.builders import plan_of


def test_repr() -> None:
    assert repr(Outcome()) == "<Outcome: done>"
    problems = {"t-0": "skipped", "t-1": "not moved"}
    outcome = Outcome("differs", problems, dead=[3, 4], still_moving=["t-1"], waves_left=2)
    assert repr(outcome) == (
        "<Outcome: differs; 2 partitions not on the target (first: t-0, skipped); "
        "throttle not restored on brokers 3, 4; 1 partition still moving; 2 waves left>"
    )


def test_topics_deleted_after_their_wave() -> None:
    plan = plan_of([Change(topic, 0, (1, 2), (2, 3), topic_id=f"id-{topic}") for topic in "tu"])
    other = PartitionState("u", 0, (2, 3), 2, (2, 3), topic_id="another")
    outcome = Outcome()
    outcome.compare(plan, {other.key: other}, {}, {})
    assert outcome.problems == {"t-0": "it no longer exists", "u-0": RECREATED}
    assert not outcome.resumable
