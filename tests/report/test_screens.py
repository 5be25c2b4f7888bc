"""What a terminal of 80 and of 100 columns shows, line by line.

``REWRITE_SCREENS=1`` writes the files in ``screens/`` again.
"""

from __future__ import annotations

import io
import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.report.check_lines import print_verdict
from partage.report.comparison_tables import print_compare
from partage.report.plan_tables import print_plan
from partage.report.printing import PrintableConsole
from tests.bundled import grown, uneven_racks

SCREENS = Path(__file__).parent / "screens"
CLUSTER = str(files("partage") / "data" / "cluster-grown.json")
LINES = 40
"""Of a terminal: what a plan prints fits it, with the prompt and the next command."""

pytestmark = pytest.mark.parametrize("width", [80, 100])


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of the bundled cluster."""
    return partage.plan(partage.Cluster.read(CLUSTER), throttle="50MB")


class Screen:
    """A terminal of this width; ``shows`` compares it with a file in ``screens/``."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._out = io.StringIO()
        self.console: Console = PrintableConsole(file=self._out, width=width)

    def shows(self, name: str) -> int:
        """How many lines; fails unless they are those of the file."""
        lines = [line.rstrip() for line in self._out.getvalue().splitlines()]
        text = "".join(f"{line}\n" for line in lines)
        kept = SCREENS / f"{name}-{self.width}.txt"
        if os.environ.get("REWRITE_SCREENS"):
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(text, encoding="utf-8")
        assert text == kept.read_text(encoding="utf-8")
        assert max(map(len, lines)) <= self.width
        return len(lines)


@pytest.fixture
def screen(width: int) -> Screen:
    return Screen(width)


def test_plan(plan: Plan, screen: Screen) -> None:
    print_plan(plan.document(), screen.console)
    assert screen.shows("plan") <= LINES - 5


def test_plan_with_uneven_racks(screen: Screen) -> None:
    print_plan(partage.plan(uneven_racks(), throttle="50MB").document(), screen.console)
    assert screen.shows("plan-with-uneven-racks") <= LINES - 5


def test_plan_by_rate(screen: Screen) -> None:
    cluster = grown()
    rates = np.array([one["size_bytes"] for one in cluster.to_json()["partitions"]]) / 5000
    problem = Problem.resolve(cluster, PlanOptions(leaders="rate", throttle="50MB"), rates)
    print_plan(solve(problem).document(), screen.console)
    assert screen.shows("plan-by-rate") <= LINES - 5


def test_compare(screen: Screen) -> None:
    print_compare(partage.compare(CLUSTER).to_json(), screen.console)
    assert screen.shows("compare") <= LINES - 5


def test_check(plan: Plan, screen: Screen, tmp_path: Path) -> None:
    plan.write(tmp_path / "plan")
    print_verdict(partage.check(tmp_path / "plan"), screen.console)
    screen.shows("check")
