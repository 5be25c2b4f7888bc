"""What apply, rollback and verify print."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("kafka")

from partage.live.execution.changes import Change, MoveStatus
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.outcome import Outcome
from partage.live.execution.progress import ProgressUpdate
from partage.report.execution_lines import (
    Tally,
    print_outcome,
    print_pending_changes,
    print_verification,
    progress_bars,
    progress_line,
)


def printed(call: Any, *given: Any, **more: Any) -> str:
    out = io.StringIO()
    call(*given, Console(file=out, width=100, no_color=True), **more)
    return out.getvalue()


@pytest.fixture
def plan() -> ExecutionPlan:
    changes = {
        ("t", 0): Change("t", 0, (1, 2), (3, 2), 5_000_000),
        ("t", 1): Change("t", 1, (1, 2), (2, 1), 5_000_000),
    }
    original = {key: change.origin for key, change in changes.items()}
    return ExecutionPlan("plan", None, changes, ((("t", 0),), (("t", 1),)), original)


def test_pending_changes(plan: ExecutionPlan) -> None:
    statuses = {("t", 0): MoveStatus.WAITING, ("t", 1): MoveStatus.DONE}
    text = printed(print_pending_changes, plan, statuses, 50_000_000, ["a warning"], undo="undo it")
    assert text.splitlines() == [
        "Will change 1 partition in 1 wave: 1 new replica, 5.00 MB to copy "
        "(1 partition done already)",
        "Broker 3 receives",
        "Throttle: 50.0 MB/s per broker",
        "Takes 0.10 s or more at this throttle",
        "Undo, during the run or later: undo it",
        "Ctrl-C: stop after the current wave; twice: cancel it",
        "! a warning",
    ]
    waiting = dict.fromkeys(statuses, MoveStatus.WAITING)
    text = printed(print_pending_changes, plan.reversed(), waiting, None, [])
    assert text.startswith("Will roll back 2 partitions in 2 waves: 1 new replica, 5.00 MB to copy")
    assert "Throttle: none" in text
    done = dict.fromkeys(statuses, MoveStatus.DONE)
    text = printed(print_pending_changes, plan.reversed(), done, None, ["a warning"])
    assert text.splitlines() == ["Nothing to roll back: 2 partitions done already", "! a warning"]
    rates: dict[str, Any] = {"required": 2e6, "source": "from the plan's profile"}
    text = printed(print_pending_changes, plan, statuses, "auto", [], **rates)
    assert text.splitlines()[2:4] == [
        "Throttle: auto, the highest rate at which all replicas stay in sync",
        "Replicating new records takes 2.00 MB/s of it on the busiest broker "
        "(from the plan's profile)",
    ]


def test_pending_changes_that_delete_replicas() -> None:
    changes = {
        ("t", 0): Change("t", 0, (1, 2, 3), (1, 2), 5_000_000),
        ("t", 1): Change("t", 1, (1, 2), (1, 2, 3), 5_000_000),
        ("t", 2): Change("t", 2, (1, 2, 3), (4, 1), 5_000_000),
    }
    original = {key: change.origin for key, change in changes.items()}
    plan = ExecutionPlan("plan", None, changes, (tuple(changes),), original)
    waiting = dict.fromkeys(changes, MoveStatus.WAITING)
    text = printed(print_pending_changes, plan, waiting, None, [])
    assert text.startswith(
        "Will change 3 partitions in 1 wave: 2 new replicas, 2 replicas deleted, 10.0 MB to copy\n"
    )
    back = printed(print_pending_changes, plan.reversed(), waiting, None, [])
    assert "3 new replicas, 1 replica deleted, 15.0 MB to copy" in back


def test_progress() -> None:
    update = ProgressUpdate(2, 9, 3, 10**9, 4 * 10**9, 5 * 10**7, 60)
    assert progress_line(update) == (
        "Applying wave 2 of 9, 3 partitions moving, 1.00 GB of 4.00 GB, 50.0 MB/s, 1 min left"
    )
    throttled = ProgressUpdate(1, 1, 1, 0, 0, throttle=5_000_000)
    assert progress_line(throttled, forward=False) == (
        "Rolling back wave 1 of 1, 1 partition moving, throttle 5.00 MB/s per broker"
    )


def test_finished_waves_and_the_whole_run() -> None:
    now = [0.0]
    tally = Tally(lambda: now[0])
    first, second = ProgressUpdate(1, 2, 3, 10**9, 4 * 10**9), ProgressUpdate(2, 2, 1, 0, 10**9)
    assert tally.add(first) is None
    assert tally.copied == 10**9
    now[0] = 80
    assert tally.add(replace(first, moving=0)) is None  # the last sample may be too old
    assert tally.add(second) == "wave 1 of 2: 4.00 GB in 1 min 20 s"
    assert tally.copied == 4 * 10**9
    now[0] = 100
    tally.add(replace(second, moving=0))
    assert tally.end_wave() == "wave 2 of 2: 1.00 GB in 20 s"
    assert tally.end_wave() is None
    assert tally.in_all() == "copied 5.00 GB in 1 min 40 s"


def test_a_wave_that_was_cut_short_counts_what_it_completed() -> None:
    tally = Tally(lambda: 0.0)
    cut = ProgressUpdate(1, 2, 3, 10**9, 4 * 10**9)
    tally.add(cut)
    # what was cancelled is in no total of the wave any more
    tally.add(replace(cut, moving=0, bytes_done=0, bytes_total=5 * 10**8))
    assert (tally.end_wave() or "").startswith("wave 1 of 2: 500 MB in ")
    assert tally.copied == 5 * 10**8


def test_a_run_that_did_nothing() -> None:
    tally = Tally()
    assert (tally.end_wave(), tally.in_all(), tally.copied) == (None, None, 0)


def test_bars_of_the_wave_and_of_the_run() -> None:
    update = ProgressUpdate(2, 9, 3, 10**9, 4 * 10**9, bytes_later=15 * 10**9)
    assert progress_bars(update, 2 * 10**9) == (
        "wave ━━━────────────  25 %   total ━──────────────  10 % of 20.0 GB"
    )
    assert progress_bars(replace(update, bytes_later=None), 0) == "wave ━━━────────────  25 %"
    assert progress_bars(replace(update, bytes_total=0), 0) == ""
    almost = replace(update, bytes_done=4 * 10**9 - 1, bytes_later=0)
    assert "100 %" not in progress_bars(almost, 4 * 10**9 - 1)


def test_outcome(plan: ExecutionPlan) -> None:
    assert printed(print_outcome, plan, Outcome()) == (
        "Done: every replica and leader is where the plan puts it.\n"
    )
    assert printed(print_outcome, plan.reversed(), Outcome()) == (
        "Done: every replica and leader is where it was before the plan.\n"
    )
    stopped = Outcome("stopped", still_moving=["t-0"], waves_left=2)
    text = printed(print_outcome, plan, stopped, resume="partage apply", undo="partage rollback")
    assert "Stopped with 2 waves left." in text
    assert "Still moving: t-0" in text
    assert "Resume: partage apply   Undo: partage rollback\n" in text
    text = printed(print_outcome, plan, stopped, resume=f"apply {'x' * 200}", undo="rollback")
    assert text.endswith("xx\nUndo: rollback\n")
    text = printed(print_outcome, plan.reversed(), stopped, resume="partage rollback")
    assert text.endswith("Resume: partage rollback\n")
    differs = Outcome("differs", {"t-0": "broker 3 does not answer"}, dead=[3])
    text = printed(print_outcome, plan, differs)
    assert "Incomplete: 1 partition not as planned:" in text
    assert "  t-0: broker 3 does not answer" in text
    assert "The throttle of broker 3 could not be restored" in text


def test_verification() -> None:
    found = {
        "state": "differs",
        "partitions": 2,
        "done": 0,
        "moving": 0,
        "waiting": 0,
        "differs": {"t-0": [4], "t-1": None},
        "leaders": ["t-2"],
        "out_of_sync": [],
        "log_dirs": {},
    }
    assert printed(print_verification, found).splitlines() == [
        "differs: 0 of 2 partitions done, 0 moving, 0 waiting",
        "  t-0: on 4",
        "  t-1: deleted, or deleted and created again",
        "  not led by the preferred leader: t-2",
    ]
