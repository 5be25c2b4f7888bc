"""A watch's directory, a fake cluster with a hot broker, and a keeper for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("kafka")

from partage.auto_apply.keeper import Keeper, Settings
from partage.auto_apply.ledger import Ledger, Run
from partage.auto_apply.policy import Hours, Limits
from partage.live.admin.connection import one_line_errors
from partage.measured_loads import Profile
from partage.measured_loads.places import place_of
from partage.pipeline.watch import Judgement
from partage.testing import FakeCluster

MB = 10**6
RACKS = {1: "a", 2: "b", 3: "a", 4: "b"}
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def profile(rates: list[float], topic: str = "t") -> Profile:
    """Partitions of a topic with these bytes per second."""
    count = len(rates)
    whole, real = np.arange(count), np.array(rates)
    none = np.zeros(count, dtype=np.int64)
    names = ("w", place_of("w"), 60, ("x",), {}, (topic,))
    return Profile(*names, none, whole, none + 1, (real * 60).astype(int), real, real, none, none)


class Bench:
    """Broker 1 leads t-0 to t-11 and receives 6 of 7 kB/s; 10 MB each. It alone has the first
    eight. ``events`` so far."""

    def __init__(self, directory: Path) -> None:
        (directory / "plans").mkdir()
        self.directory = directory
        lists: dict[tuple[str, int], tuple[int, ...]] = {
            ("t", n): (1,) if n < 8 else (1, 2) for n in range(12)
        }
        self.cluster = FakeCluster(
            {**lists, ("t", 12): (2, 3), ("t", 13): (3, 2)}, RACKS, partition_bytes=10 * MB
        )
        self.rates = [500.0] * 14
        self.events: list[dict[str, Any]] = []
        self.stopping = False

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.cluster.now)

    def keeper(
        self,
        *,
        act: bool = True,
        budget: int | None = 100 * MB,
        moves: bool = True,
        hours: str | None = None,
        racks: set[str] | None = None,
        throttle: int | None = MB,
        emit: Callable[[dict[str, Any]], None] | None = None,
    ) -> Keeper:
        """A keeper, as of a watch that starts now."""
        limits = Limits(
            budget if moves else None,
            None if hours is None else Hours.of(hours),
            None if racks is None else frozenset(racks),
            settling=timedelta(hours=1),
            oldest=timedelta(hours=1),
        )

        @contextmanager
        def connect() -> Iterator[Any]:
            with one_line_errors("fake"):
                yield self.cluster.admin

        return Keeper(
            self.directory,
            connect,
            Settings(limits, 1.4, moves=moves, throttle=throttle if moves else None, act=act),
            emit or self.events.append,
            stopping=lambda: self.stopping,
            now=self.now,
            clock=self.cluster.clock,
            sleep=self.cluster.sleep,
        )

    def judged(self, unfair: bool = True) -> Judgement:
        """Windows close now; the load of the last hour is known."""
        end = int(self.now().timestamp() * 1e6)
        return Judgement(end - 3600 * 10**6, end, unfair, None, profile(self.rates))

    def later(self, hours: float) -> None:
        self.cluster.sleep(3600 * hours)

    def at_ten(self) -> None:
        """It is ten seconds past 22:00 UTC, the next time."""
        passed = (self.now() - NOON.replace(hour=22)).total_seconds() % 86_400
        self.cluster.sleep(86_410 - passed)

    def states(self) -> list[str]:
        """Of the events ``apply``; a refusal with its reason."""
        return [
            event.get("reason", event["state"])
            for event in self.events
            if event["event"] == "apply"
        ]

    def last(self) -> dict[str, Any]:
        return [event for event in self.events if event["event"] == "apply"][-1]

    def path(self, run: Run) -> Path:
        """The directory of a plan in the ledger."""
        return self.directory / "plans" / run.plan

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.directory)

    def led(self) -> dict[int, float]:
        """Bytes per second by leader."""
        found = dict.fromkeys(RACKS, 0.0)
        for (_, number), leader in self.cluster.leaders.items():
            assert leader is not None
            found[leader] += self.rates[number]
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
