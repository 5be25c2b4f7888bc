"""What a terminal of 80 and of 100 columns shows, line by line.

``REWRITE_SCREENS=1`` writes the files in ``screens/`` again.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import partage
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.consumers.comparison import compare_schedules
from partage.consumers.schedule import GroupLoads
from partage.consumers.simulation import simulate
from partage.consumers.size import fewest_members
from partage.group import Group
from partage.producers.candidates import KeyReport
from partage.report.check_lines import print_verdict
from partage.report.comparison_tables import print_compare
from partage.report.group_tables import print_assignment, print_simulation
from partage.report.history_tables import print_history
from partage.report.keys_tables import print_keys
from partage.report.plan_tables import print_plan
from partage.report.printing import PrintableConsole
from partage.report.schedule_tables import print_schedule
from partage.report.size_tables import print_group_size
from tests.bundled import grown, uneven_racks
from tests.report.test_history_tables import JAVA, KIP_429, history, replays_of
from tests.report.test_keys_tables import topic
from tests.report.test_what_if_tables import SHOWN as WHAT_IFS

SCREENS = Path(__file__).parent / "screens"
DATA = files("partage") / "data"
CLUSTER = str(DATA / "cluster-grown.json")
LINES = 40
"""Of a terminal: what a plan prints fits it, with the prompt and the next command."""
LOADS = 13
"""The table of loads and their source: it comes first and may scroll away."""

pytestmark = pytest.mark.parametrize("width", [80, 100])


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of the bundled cluster."""
    return partage.plan(partage.Cluster.read(CLUSTER), throttle="50MB")


@pytest.fixture(scope="module")
def plan_by_load() -> Plan:
    """The same cluster with every load even."""
    return partage.plan(CLUSTER, balance="load")


@pytest.fixture(scope="module")
def compared() -> dict[str, Any]:
    """All strategies on the same cluster."""
    return partage.compare(CLUSTER).to_json()


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
    problem = resolve(cluster, PlanOptions(leaders="rate", throttle="50MB"), rates)
    print_plan(solve(problem).document(), screen.console)
    assert screen.shows("plan-by-rate") <= LINES - 3 + LOADS


def test_compare(compared: dict[str, Any], screen: Screen) -> None:
    print_compare(compared, screen.console)
    assert screen.shows("compare") <= LINES - 5


def test_check(plan: Plan, screen: Screen, tmp_path: Path) -> None:
    plan.write(tmp_path / "plan")
    print_verdict(partage.check(tmp_path / "plan"), screen.console)
    screen.shows("check")


@pytest.mark.parametrize("name", ["failures", "growth", "churn"])
def test_what_if(name: str, screen: Screen) -> None:
    show, value, _ = WHAT_IFS[name]
    show(value, screen.console)
    screen.shows(f"what-if-{name}")


def test_assign(screen: Screen) -> None:
    found = partage.assign(str(DATA / "groups" / "failover.json"), "sticky")
    print_assignment(found, "sticky", screen.console)
    screen.shows("assign")


@pytest.mark.parametrize("name", ["crash", "migration", "streams"])
def test_simulate(name: str, screen: Screen) -> None:
    scenario = str(DATA / "groups" / f"{name}-scenario.json")
    assignors = {"crash": ["cooperative-sticky"], "migration": [], "streams": ["streams"]}
    print_simulation(simulate(scenario, assignors[name], None, None), screen.console)
    screen.shows(f"simulate-{name}")


@pytest.mark.parametrize("name", ["joins", "crash"])
def test_history(name: str, screen: Screen) -> None:
    one = history(*{"joins": KIP_429, "crash": JAVA}[name])
    print_history(one, replays_of(one), screen.console)
    screen.shows(f"history-{name}")


def test_keys(screen: Screen) -> None:
    shown = topic("orders", "murmur2"), topic("clicks", "murmur2", of="client-replaced")
    report = KeyReport(shown, records=10**9, bytes=10**15, rejected=7)
    print_keys(report, screen.console, fail_above=3)
    screen.shows("keys")


def test_size(screen: Screen) -> None:
    """Partitions of 10 to 120 MB/s; a profile has their loads per 1000 s."""
    members = [{"id": name, "topics": ["orders"]} for name in ("a", "b", "c", "d", "e", "f")]
    for number in range(12):
        owner = members[number % 6]
        owner["owned"] = [*owner.get("owned", ()), ["orders", number]]
        owner["generation"] = 1
    weights = {"orders": [10**10 * (number + 1) for number in range(12)]}
    group = Group.from_json({"topics": {"orders": 12}, "weights": weights, "members": members})
    found = fewest_members(group, 240 * 10**9)
    print_group_size(found, 300e6, 0.2, 1000, "bytes", screen.console)
    screen.shows("size")


def test_schedule(screen: Screen) -> None:
    """Twelve partitions, busy by day."""
    count, hours = 12, [6] * 8 + [30] * 4 + [18] * 6 + [6] * 6
    group = Group.from_json({"topics": {"t": count}, "members": [{"id": "a", "topics": ["t"]}]})
    load = np.array([[one * 10**9 for _ in range(count)] for one in hours])
    start = tuple(1_795_478_400_000 + 3_600_000 * at for at in range(24))
    loads = GroupLoads(group, tuple(("t", p) for p in range(count)), start, 3600, load)
    found = compare_schedules(loads, 80 * 10**9, 100e6, 3600, 1000, None, "cooperative-sticky")
    print_schedule(found, 100e6, 0.2, screen.console)
    screen.shows("schedule")


def test_numbers_in_colour_have_a_legend(
    plan: Plan, plan_by_load: Plan, compared: dict[str, Any], width: int
) -> None:
    """Every colour that a number has is named below its table."""
    scenario = str(DATA / "groups" / "crash-scenario.json")
    played = simulate(scenario, ["range"], None, None)
    shown: list[Callable[[Console], None]] = [
        lambda console: print_plan(plan.document(), console, verbose=True),
        lambda console: print_plan(plan_by_load.document(), console, verbose=True),
        lambda console: print_compare(compared, console),
        lambda console: print_simulation(played, console, "member"),
    ]
    for show in shown:
        out = io.StringIO()
        show(PrintableConsole(file=out, width=width, force_terminal=True, color_system="standard"))
        text = out.getvalue()
        coloured = re.findall(r"\x1b\[(?:1;)?3([1-7])m *[0-9][0-9,.–/+]*\x1b", text)
        names = {"1": "red", "2": "green", "3": "yellow"}
        assert coloured
        for code in set(coloured):
            assert f"{names.get(code)}:" in text or "a colour for each member" in text
