"""The line that ``demo --live`` draws while it runs: time, step, bytes, records per second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from partage.report import units

if TYPE_CHECKING:
    from partage.demo.status import Status

_RATE_SECONDS = 3.0
"""Records per second are counted over at least so long."""


class LiveLine:
    """A ``status`` as text, whenever it is called. ``clock``: seconds."""

    def __init__(self, status: Status, clock: Callable[[], float] = time.monotonic) -> None:
        self._status, self._clock = status, clock
        self._start = clock()
        self._counts = deque([(self._start, 0, 0)])

    def __call__(self) -> str:
        """``72 s · wave 2 of 5, 4 partitions · 41.2/132 MB · 240 records/s in, 241 out``."""
        status, now = self._status, self._clock()
        parts = [f"{now - self._start:.0f} s", status.step]
        if status.to_copy:
            most = max(status.copied, status.to_copy)  # records came in since the plan
            divisor, unit = units.common(most)
            copied, total = (units.significant(value / divisor) for value in (status.copied, most))
            parts.append(f"{copied}/{total} {unit}")
        written, read = status.records()
        self._counts.append((now, written, read))
        while len(self._counts) > 2 and self._counts[1][0] <= now - _RATE_SECONDS:
            self._counts.popleft()
        since, *before = self._counts[0]
        if written and now > since:
            into, out = (
                units.count((count - was) / (now - since))
                for count, was in zip((written, read), before, strict=True)
            )
            parts.append(f"{into} records/s in, {out} out")
        return " · ".join(parts)
