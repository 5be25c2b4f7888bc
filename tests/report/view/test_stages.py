"""Every stage has a sentence in the report."""

from __future__ import annotations

import pytest

from partage.brokers.plan_file import PlanStage
from partage.brokers.stages import StageName
from partage.report.view.stages import meaning


@pytest.mark.parametrize("name", list(StageName))
def test_every_stage_has_a_meaning(name: StageName) -> None:
    assert meaning(PlanStage(name, 7, 7, exact=True)).endswith(".")
