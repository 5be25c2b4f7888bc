"""Windows and watermarks, compared with a plain count."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("pyspark")
from partage.pipeline.watch import windows as windows_module
from tests.pipeline.watch.cases import (
    LATE,
    WINDOW,
    Plain,
    Record,
    Window,
    as_windows,
    drawn,
    record,
    summed,
)
from tests.profiles import seeds

pytestmark = [pytest.mark.spark, pytest.mark.long]


@dataclass
class Steps:
    """A stream in batches: ``make`` makes a frame of a table."""

    make: Callable[[Any], Any]
    watermark: int = 0
    late: int = 0
    closed: dict[Window, list[int]] = field(default_factory=dict)
    open: Any = field(default_factory=windows_module.SCHEMA.empty_table)

    def take(self, records: list[Record], more: bool = False) -> None:
        batch, before = self.make(summed(records)), self.watermark
        found = windows_module.totals(batch, before, window=WINDOW, lateness=LATE, more=more)
        assert (found.read, found.rejected) == (len(records), 0)
        assert found.watermark >= before
        self.late += found.late
        self.watermark = found.watermark
        every = windows_module.added(self.make(self.open), batch, before, WINDOW)
        left, closed = windows_module.divided(every, self.watermark, WINDOW)
        due = windows_module.due(self.watermark, WINDOW)
        tables = [every.where(chosen).toArrow() for chosen in (~due, due)]
        for table, figures in zip(tables, (left, closed), strict=True):
            own = as_windows(table)
            starts = [start * windows_module.MICROSECONDS for _, _, start in own]
            assert figures.windows == len(own)
            assert (figures.records, figures.bytes) == tuple(
                sum(sums[place] for sums in own.values()) for place in (0, 1)
            )
            assert (figures.first, figures.last) == (
                (min(starts), max(starts)) if starts else (None, None)
            )
        self.open = tables[0].cast(windows_module.SCHEMA)
        self.closed |= as_windows(tables[1])


@pytest.fixture
def steps(spark: Any) -> Callable[[], Steps]:
    return lambda: Steps(lambda table: spark.createDataFrame(table))


def test_while_records_wait_the_slowest_partition_has_the_watermark(
    steps: Callable[[], Steps],
) -> None:
    for seed in seeds(20):
        rng = random.Random(seed)
        speed = [rng.randrange(1, 90) for _ in range(3)]
        sent = [[record(at * speed[p], p) for at in range(40)] for p in range(3)]
        plain = Plain()
        plain.batch(one for own in sent for one in own)  # at once, so nothing is late
        found = steps()
        for begin in range(0, 40, 10):
            batch = [one for own in sent for one in own[begin : begin + 10]]
            found.take(batch, more=begin + 10 < 40)
        assert (found.closed, as_windows(found.open), found.late) == (plain.closed, plain.open, 0)


def test_windows_and_watermarks_are_those_of_a_plain_count(steps: Callable[[], Steps]) -> None:
    lates = 0
    for seed in seeds(20):
        rng = random.Random(700 + seed)
        plain, found = Plain(), steps()
        every = drawn(rng, rng.randrange(2, 8))
        for batch in every:
            plain.batch(batch)
            found.take(batch)
            assert found.watermark == plain.watermark * 1_000_000
        assert (found.closed, as_windows(found.open)) == (plain.closed, plain.open)
        assert found.late == plain.late
        in_windows = sum(n for n, _ in [*plain.closed.values(), *plain.open.values()])
        assert in_windows + found.late == sum(map(len, every)), "nothing is lost"
        lates += found.late
    assert lates > 0
