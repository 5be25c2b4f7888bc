"""How long a Spark Connect server may be out of reach before a command fails.

The client's own policy retries each call for ten minutes, one call after the other, also those that
only clean up, and in threads that Python waits for when it ends. This policy is shared by all calls
of a session: once the server has been out of reach for ``SECONDS``, none is retried.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql.connect.client.retries import DefaultPolicy

SECONDS = 30
"""Longest outage that is bridged. A server that restarts has lost the session anyway."""

_LONGEST_WAIT_MS = 2000


class Outages(DefaultPolicy):  # type: ignore[misc]
    """Retries what the client's own policy retries, while an outage lasts no longer than
    ``SECONDS``. Failures after as long a time without any are a new outage."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(max_retries=None, max_backoff=_LONGEST_WAIT_MS)
        self._now = now
        self._first = self._last = float("-inf")

    def can_retry(self, e: BaseException) -> bool:
        """Whether a call that ended so is made again."""
        if not super().can_retry(e):
            return False
        now = self._now()
        if now - self._last > SECONDS:
            self._first = now
        self._last = now
        return now - self._first <= SECONDS
