"""The next of many time-outs that are renewed all the time.

A heap has at most one entry that counts for each key. A time-out that is renewed leaves its entry
in the heap; the entry gets its new time when it reaches the top. So each renewal costs at most
O(log n) later, and most of them nothing.
"""

from __future__ import annotations

import heapq
import math


class Timers:
    """Times by key."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._entries: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, key: str, time: float) -> None:
        """Replace the time of a key; infinity for none."""
        if time == math.inf:
            self._times.pop(key, None)
            return
        self._times[key] = time
        if time < self._entries.get(key, math.inf):
            self._push(key, time)

    def start(self, key: str, time: float) -> None:
        """Set the time of a key that has none."""
        if key not in self._times:
            self.put(key, time)

    def first(self) -> float:
        """The earliest time, infinity if there is none."""
        while self._heap:
            entry, key = self._heap[0]
            time = self._times.get(key, math.inf)
            if time == entry:
                return entry
            heapq.heappop(self._heap)
            if self._entries.get(key) == entry:
                del self._entries[key]
                if time < math.inf:
                    self._push(key, time)
        return math.inf

    def due(self, now: float) -> set[str]:
        """The keys whose time has come."""
        if self.first() > now:
            return set()
        return {key for key, time in self._times.items() if time <= now}

    def skip(self, seconds: float) -> None:
        """Postpone all times."""
        self._times = {key: time + seconds for key, time in self._times.items()}
        self._entries = dict(self._times)
        self._heap = [(time, key) for key, time in self._times.items()]
        heapq.heapify(self._heap)

    def _push(self, key: str, time: float) -> None:
        self._entries[key] = time
        heapq.heappush(self._heap, (time, key))
