"""The assignors for aiokafka: ``from partage.live.aiokafka import StickyAssignor``."""

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
