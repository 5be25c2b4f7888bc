"""A plan for a small cluster, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.live.execution.execution_plan import ExecutionPlan
from tests.live.execution.builders import three_brokers


@pytest.fixture
def plan(tmp_path: Path) -> ExecutionPlan:
    """Two replicas of ``three_brokers`` move to broker 3, one at a time."""
    partage.plan(three_brokers().cluster(), concurrency=1).write(tmp_path / "plan")
    return ExecutionPlan.read(tmp_path / "plan")
