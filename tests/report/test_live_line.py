"""The running line of ``demo --live``: what happens now, bytes and records per second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.demo.status import Status
from partage.report.live_line import LiveLine


@dataclass
class Client:
    records: int = 0


@dataclass
class Traffic:
    producer: Client | None = None
    members: list[Client] = field(default_factory=lambda: [Client(), Client()])


@dataclass
class Run:
    """A status whose time and counts the test sets."""

    now: float = 100.0
    status: Status = field(default_factory=Status)

    def __post_init__(self) -> None:
        self.line = LiveLine(self.status, lambda: self.now)

    def after(self, seconds: float, **state: Any) -> str:
        self.now += seconds
        for name, value in state.items():
            setattr(self.status, name, value)
        return self.line()


def test_before_there_is_traffic_or_a_plan() -> None:
    run = Run()
    assert run.after(0) == "0 s · starting"
    assert run.after(75, step="writing data") == "75 s · writing data"


def test_records_per_second_are_those_of_the_last_seconds() -> None:
    run, traffic = Run(), Traffic(Client())
    run.status.traffic = traffic  # type: ignore[assignment]
    assert run.after(10, step="adding a broker") == "10 s · adding a broker"
    for _ in range(8):
        traffic.producer.records += 120  # type: ignore[union-attr]
        traffic.members[0].records += 60
        traffic.members[1].records += 50
        line = run.after(0.5)
    assert line == "14 s · adding a broker · 240 records/s in, 220 out"
    for _ in range(8):
        line = run.after(0.5)
    assert line == "18 s · adding a broker · 0 records/s in, 0 out"


def test_bytes_of_all_waves_have_one_unit() -> None:
    run = Run()
    line = run.after(42, step="wave 2 of 5, 4 partitions", copied=41_200_000, to_copy=132_000_000)
    assert line == "42 s · wave 2 of 5, 4 partitions · 41.2/132 MB"


def test_more_is_copied_than_planned_where_records_came_in_since() -> None:
    assert Run().after(9, copied=150_000_000, to_copy=144_000_000).endswith(" · 150/150 MB")


def test_a_line_fits_80_columns() -> None:
    run, traffic = Run(), Traffic(Client())
    run.status.traffic = traffic  # type: ignore[assignment]
    run.after(95)
    traffic.producer.records = traffic.members[0].records = 3000  # type: ignore[union-attr]
    step = "wave 10 of 12, 12 partitions"
    line = run.after(12.5, step=step, copied=41_200_000, to_copy=132_000_000)
    assert line.endswith("240 records/s in, 240 out")
    assert len(line) <= 80
