"""How an autoscaler chooses the number of members from the lag, as KEDA and the HPA do.

Every ``interval`` it wants ceil(lag / threshold) members, at least one and at most one per
partition. It adds members at once. It removes them only down to the most that it wanted in the last
``cooldown``: the stabilization window of the HorizontalPodAutoscaler of Kubernetes, which KEDA uses
between 1 and its maximum (documentation of autoscaling/v2, and of KEDA's scaler apache-kafka).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from partage.consumers.backlog import COMMIT_INTERVAL

INTERVAL, COOLDOWN = 30.0, 300.0
"""Seconds: the defaults of KEDA's pollingInterval, and of the HPA's scale-down stabilization."""


def usual_threshold(capacity: float) -> float:
    """The lag per member that committed offsets show where members process ``capacity`` a second
    and keep up: with this threshold the scaler wants as many as the load needs."""
    return capacity * COMMIT_INTERVAL / 2


@dataclass
class LagScaler:
    """``threshold``: lag per member; ``most``: members. ``_wanted``: (time, members)."""

    threshold: float
    most: int
    interval: float = INTERVAL
    cooldown: float = COOLDOWN
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)

    def members(self, now: float, lag: float, members: int) -> int:
        """How many there should be from now on, where there are ``members``."""
        wanted = min(max(1, -int(-lag // self.threshold)), self.most)
        self._wanted.append((now, wanted))
        while self._wanted[0][0] <= now - self.cooldown:
            self._wanted.popleft()
        if wanted >= members:
            return wanted
        return min(members, max(number for _, number in self._wanted))
