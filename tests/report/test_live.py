"""What is printed of a running cluster, its groups and a plan on its way."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("kafka")

from partage.live.admin.groups import LiveGroup, LiveMember
from partage.live.admin.states import BrokerState, LogDir, PartitionState, Snapshot, Throttles
from partage.live.execution.job import Change, Job, Standing
from partage.live.execution.run import Outcome, Progress
from partage.report.execution_lines import (
    print_intention,
    print_outcome,
    print_verdict,
    progress_line,
)
from partage.report.live_tables import print_group, print_groups, print_snapshot


def printed(call: Any, *given: Any, **more: Any) -> str:
    out = io.StringIO()
    call(*given, Console(file=out, width=100, no_color=True), **more)
    return out.getvalue()


def test_a_snapshot() -> None:
    disk = (LogDir("/d", 10**9, 4 * 10**8, cordoned=True),)
    found = Snapshot(
        "id",
        datetime(2026, 1, 1, tzinfo=UTC),
        1,
        (
            BrokerState(1, "a", "h", 9, alive=True, log_dirs=disk),
            BrokerState(2, "b", "h", 9, alive=False),
        ),
        (
            PartitionState("t", 0, (1, 2), 1, (1,), sizes={1: 5_000_000}),
            PartitionState("t", 1, (2,), None, (2,), adding=(2,), removing=(1,)),
        ),
        Throttles({1: {"leader.replication.throttled.rate": "1"}}, {}),
        warnings=("broker 2: its log dirs cannot be read: away",),
    )
    text = printed(print_snapshot, found.to_json())
    assert "2 brokers, 1 topic, 2 partitions, 3 replicas, 5.00 MB" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["1", "a", "cordoned", "1", "1", "5.00", "MB", "400", "MB"] in lines
    assert any(line[:3] == ["2", "b", "dead"] for line in lines)
    assert "1 partition without a leader: t-1" in text
    assert "1 partition with replicas out of sync: t-0" in text
    assert "1 partition being reassigned: taken as if they had arrived: t-1" in text
    assert "Replication throttles are set on: 1" in text
    assert "! broker 2: its log dirs cannot be read: away" in text


def group() -> LiveGroup:
    members = (
        LiveMember("m1", "c1", "host", None, "a", ("t",), (("t", 0), ("t", 1), ("t", 2))),
        LiveMember("m2", "c2", "host", "static", None, ("t",), (("t", 3),)),
    )
    return LiveGroup(
        "billing",
        "classic",
        "Stable",
        "range",
        members,
        {"t": [[], [], [], []]},
        {("t", 0): 5, ("t", 3): 7},
    )


def test_groups() -> None:
    one = group()
    other = LiveGroup("new", "consumer", "Stable", None, None)
    rows = [one.described(), other.described()]
    assert rows[0]["exact"]["loads"] == [2, 2]
    assert rows[0]["exact"]["moves"] == 1
    assert rows[0]["lag"] == {"t": [5, None, None, 7]}
    assert rows[1]["exact"] is None
    text = printed(print_groups, rows)
    lines = [line.split() for line in text.splitlines()]
    assert ["billing", "Stable", "range", "2", "1–3", "12", "2", "1"] in lines
    text = printed(print_group, rows[0])
    lines = [line.split() for line in text.splitlines()]
    assert ["c1", "host", "a", "3", "5", "t-0,", "t-1,", "t-2"] in lines
    assert any(line[:2] == ["static", "host"] for line in lines)
    assert "Lag: 12 records" in text
    assert "Its members cannot be read" in printed(print_group, rows[1])


def job() -> Job:
    changes = {
        ("t", 0): Change("t", 0, (1, 2), (3, 2), 5_000_000),
        ("t", 1): Change("t", 1, (1, 2), (2, 1), 5_000_000),
    }
    lists = {key: change.origin for key, change in changes.items()}
    return Job("plan", None, changes, ((("t", 0),), (("t", 1),)), lists)


def test_what_is_about_to_happen() -> None:
    standings = {("t", 0): Standing.WAITING, ("t", 1): Standing.DONE}
    text = printed(print_intention, job(), standings, 50_000_000, ["remark"])
    assert text.splitlines() == [
        "Will change 1 partition: 1 new replica, 5.00 MB to copy, in 1 wave (1 are done)",
        "at most 50.0 MB/s a broker; interrupt to stop after the wave, twice to cancel it",
        "! remark",
    ]
    nothing = dict.fromkeys(standings, Standing.WAITING)
    text = printed(print_intention, job().back(), nothing, None, [])
    assert text.startswith("Will bring back 2 partitions: 1 new replica, 5.00 MB to copy")
    assert "without a throttle" in text
    text = printed(print_intention, job(), standings, "auto", [], need=2e6, source="by the profile")
    assert text.splitlines()[1:] == [
        "as fast as nobody falls behind; interrupt to stop after the wave, twice to cancel it",
        "what comes in meanwhile takes 2.00 MB/s at the busiest broker, by the profile",
    ]


def test_progress() -> None:
    progress = Progress(2, 9, 3, 10**9, 4 * 10**9, 5 * 10**7, 60)
    assert progress_line(progress) == (
        "wave 2 of 9, 3 partitions to go, 1.00 GB of 4.00 GB, 50.0 MB/s, 60 s left"
    )
    assert progress_line(Progress(1, 1, 1, 0, 0)) == "wave 1 of 1, 1 partition to go"
    throttled = Progress(1, 1, 1, 0, 0, throttle=5_000_000)
    assert progress_line(throttled).endswith("to go, at most 5.00 MB/s a broker")


def test_how_it_ended() -> None:
    assert printed(print_outcome, job(), Outcome()) == (
        "Done: every replica and leader is where it shall be.\n"
    )
    stopped = Outcome("stopped", still_moving=["t-0"], waves_left=2)
    text = printed(print_outcome, job(), stopped)
    assert "Stopped with 2 waves to go." in text
    assert "Still on their way: t-0" in text
    assert "Go on: partage apply plan   Undo: partage rollback plan" in text
    differs = Outcome("differs", {"t-0": "broker 3 does not answer"}, dead=[3])
    text = printed(print_outcome, job(), differs)
    assert "1 partition not where they shall be:" in text
    assert "  t-0: broker 3 does not answer" in text
    assert "The throttle of broker 3 stays until it answers" in text


def test_how_far_it_is() -> None:
    found = {
        "state": "differs",
        "partitions": 2,
        "done": 0,
        "moving": 0,
        "waiting": 0,
        "differs": {"t-0": [4], "t-1": None},
        "leaders": ["t-2"],
        "out_of_sync": [],
    }
    assert printed(print_verdict, found).splitlines() == [
        "differs: 0 of 2 partitions done, 0 moving, 0 waiting",
        "  t-0: on 4",
        "  t-1: gone",
        "  another leads than shall: t-2",
    ]
