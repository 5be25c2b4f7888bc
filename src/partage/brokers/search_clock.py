"""How long a search may run, and where it reports its steps."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any


def _nowhere(_: str) -> None:
    """Report nothing."""


class SearchClock:
    """``seconds`` from now on, None: no limit; ``report``: called with each step. ``stopped``: the
    limit has ended the search, so what it found is only the best so far."""

    def __init__(
        self, seconds: int | None = None, report: Callable[[str], None] = _nowhere
    ) -> None:
        self.seconds, self.report = seconds, report
        self.end = None if seconds is None else monotonic() + seconds
        self.stopped = False

    def __getstate__(self) -> dict[str, Any]:
        """``report`` may be bound to a terminal: a copy in another process reports nothing."""
        return vars(self) | {"report": _nowhere}

    def stop(self) -> bool:
        """Whether the search must stop now; once it must, it always must."""
        if self.end is not None and not self.stopped:
            self.stopped = monotonic() >= self.end
        return self.stopped
