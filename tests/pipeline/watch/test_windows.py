"""Windows and watermarks, compared with a plain count."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")
from partage.pipeline.watch import windows as windows_module
from tests.pipeline.watch.cases import (
    LATE,
    WINDOW,
    Plain,
    Window,
    as_windows,
    drawn,
    record,
    summed,
)


def test_while_records_wait_the_slowest_partition_has_the_watermark() -> None:
    rng = random.Random(5)
    for _ in range(30):
        speed = [rng.randrange(1, 90) for _ in range(3)]
        sent = [[record(at * speed[p], p) for at in range(40)] for p in range(3)]
        plain = Plain()
        plain.batch(one for own in sent for one in own)  # at once, so nothing is late
        watermark, open_ = 0, windows_module.SCHEMA.empty_table()
        closed: dict[Window, list[int]] = {}
        for begin in range(0, 40, 5):
            step = windows_module.advance(
                open_,
                summed([one for own in sent for one in own[begin : begin + 5]]),
                watermark,
                window=WINDOW,
                lateness=LATE,
                more=begin + 5 < 40,
            )
            assert step.late == 0
            assert step.watermark >= watermark
            open_, watermark = step.open, step.watermark
            closed |= as_windows(step.closed)
        assert (closed, as_windows(open_)) == (plain.closed, plain.open)


def test_windows_and_watermarks_are_those_of_a_plain_count() -> None:
    rng = random.Random(71)
    lates = 0
    for _ in range(60):
        plain, watermark, late = Plain(), 0, 0
        open_ = windows_module.SCHEMA.empty_table()
        closed: dict[Window, list[int]] = {}
        every = drawn(rng, rng.randrange(1, 8))
        for batch in every:
            plain.batch(batch)
            step = windows_module.advance(
                open_, summed(batch), watermark, window=WINDOW, lateness=LATE
            )
            open_, watermark, late = step.open, step.watermark, late + step.late
            closed |= as_windows(step.closed)
            assert watermark == plain.watermark * 1_000_000
        assert (closed, as_windows(open_), late) == (plain.closed, plain.open, plain.late)
        in_windows = sum(n for n, _ in [*closed.values(), *plain.open.values()])
        assert in_windows + late == sum(map(len, every)), "nothing is lost"
        lates += late
    assert lates > 30
