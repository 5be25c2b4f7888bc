"""A throttle at which a run would hardly end: ``apply`` refuses it, and ``plan`` says so."""

from __future__ import annotations

import html
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import partage
from partage.brokers.least_time import least_seconds
from partage.cli.execution_commands import RunOptions, _confirm
from partage.errors import InputError
from partage.live.execution.changes import Change, MoveStatus, received_bytes
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.preflight import Ready
from partage.report.html import render
from tests.cli.conftest import Run

CHANGES = [
    Change("t", 0, (1, 2), (1, 3), 4_000_000),
    Change("t", 1, (2, 1), (3, 4), 6_000_000),
    Change("t", 2, (2, 1), (1, 2), 9_000_000),  # order only
    Change("t", 3, (1, 2), (1, 4), None),
]


def test_the_busiest_receiver_decides() -> None:
    received = received_bytes(CHANGES)
    assert received == {3: 10_000_000, 4: 6_000_000}
    assert least_seconds(received.values(), 1_000_000) == 10


@pytest.mark.parametrize(
    ("throttle", "force", "refused"),
    [(1, False, True), (1, True, False), (1_000_000, False, False), ("auto", False, False)],
)
def test_a_throttle_at_which_a_run_takes_over_a_month(
    throttle: int | str, force: bool, refused: bool
) -> None:
    changes = {(one.topic, one.partition): one for one in CHANGES}
    if not refused:
        confirm(changes, throttle, force)
        return
    with pytest.raises(
        InputError, match="one broker alone would receive for 115 d 18 h: a bare number is"
    ):
        confirm(changes, throttle, force)


def confirm(changes: Any, throttle: int | str, force: bool = False) -> None:
    """What ``apply --yes`` does before it changes anything, with nothing done so far."""
    waiting = dict.fromkeys(changes, MoveStatus.WAITING)
    plan: Any = SimpleNamespace(changes=changes, statuses=lambda _: waiting)
    cluster: Any = SimpleNamespace(partitions=())
    ready = Ready(plan, cluster, [])
    _confirm(ready, throttle, RunOptions(str(throttle), None, "cancel", True, force, True), "h:1")


def test_plan_and_its_page_say_what_apply_will_say(run: Run) -> None:
    cluster = str(Path(partage.__file__).parent / "data" / "cluster-grown.json")
    printed = run("plan", cluster, "--throttle", "50", "-o", "plan").out
    with pytest.raises(InputError) as refused:
        confirm(ExecutionPlan.read("plan").changes, 50)
    sentence = f"apply will refuse --{refused.value}"
    words = printed.partition("Report: ")[0].split()
    assert " ".join(words).endswith(f"--throttle 50 {sentence}")  # the last line
    assert sentence in html.unescape(Path("plan/report.html").read_text("utf-8"))
    document = json.loads(Path("plan/plan.json").read_text("utf-8"))
    document["options"]["throttle"] = "50MB"
    assert "will refuse" not in render(document)
    assert "will refuse" not in run("plan", cluster, "--throttle", "50MB").out
