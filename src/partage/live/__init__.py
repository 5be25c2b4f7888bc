"""The door to running Kafka clusters and clients.

The assignors for kafka-python are here by name: ``from partage.live import StickyAssignor``; those
for aiokafka in ``partage.live.aiokafka``; ``Partitioner`` is for the producers of both. Each is
loaded when it is first used, as each needs the client it is for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partage.live.kafka_python import (
        CooperativeStickyAssignor,
        CustomAssignor,
        FailoverAssignor,
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
        WeightedAssignor,
    )
    from partage.live.lag import Lag
    from partage.live.partitioners import Partitioner
    from partage.live.sandbox import Sandbox

_HOME = {
    "CooperativeStickyAssignor": "partage.live.kafka_python",
    "CustomAssignor": "partage.live.kafka_python",
    "FailoverAssignor": "partage.live.kafka_python",
    "Lag": "partage.live.lag",
    "Partitioner": "partage.live.partitioners",
    "RangeAssignor": "partage.live.kafka_python",
    "RoundRobinAssignor": "partage.live.kafka_python",
    "Sandbox": "partage.live.sandbox",
    "StickyAssignor": "partage.live.kafka_python",
    "WeightedAssignor": "partage.live.kafka_python",
}

__all__ = [
    "CooperativeStickyAssignor",
    "CustomAssignor",
    "FailoverAssignor",
    "Lag",
    "Partitioner",
    "RangeAssignor",
    "RoundRobinAssignor",
    "Sandbox",
    "StickyAssignor",
    "WeightedAssignor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'partage.live' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
