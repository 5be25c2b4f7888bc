"""Every stage has a sentence in the report, and its value a unit."""

from __future__ import annotations

import pytest

from partage.brokers.plan_file import PlanStage
from partage.brokers.stages import RATE_SCALE, StageName
from partage.report.view import view
from partage.report.view.stages import meaning, shown
from tests.report import plan_documents as documents


@pytest.mark.parametrize("name", list(StageName))
def test_every_stage_has_a_meaning(name: StageName) -> None:
    assert meaning(PlanStage(name, 7, 7, exact=True)).endswith(".")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (StageName.MOVES, 13630, "13,630"),
        (StageName.BYTES_MOVED, 935_789_664_000, "936 GB"),
        (StageName.BYTES, 268_384_232_000, "268 GB"),
        (StageName.LEADER_RATE, RATE_SCALE // 4, "10.0 MB/s"),
    ],
)
def test_values_have_units(name: StageName, value: int, text: str) -> None:
    plan = view(documents.small(rates=[1e7, 1e7, 1e7, 1e7]))
    assert shown(plan, PlanStage(name, value, value), value) == text
