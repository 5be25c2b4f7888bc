"""The assignors for aiokafka, under the name to import them by."""

from __future__ import annotations

from partage.live.plugins.aiokafka import (
    CustomAssignor,
    FailoverAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    WeightedAssignor,
)

__all__ = [
    "CustomAssignor",
    "FailoverAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "WeightedAssignor",
]
