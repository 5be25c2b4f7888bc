"""Running Kafka clusters and clients: the only package that talks to them.

``from partage.live import StickyAssignor`` gives the assignors for kafka-python; those for aiokafka
are in ``partage.live.aiokafka``. ``Partitioner`` is for the producers of both. Every name is loaded
on first use, because each needs its client library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partage.live.plugins.kafka_python import (
        CooperativeStickyAssignor,
        CustomAssignor,
        FailoverAssignor,
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
        WeightedAssignor,
    )
    from partage.live.plugins.lag import Lag
    from partage.live.plugins.partitioners import Partitioner
    from partage.live.sandbox import Sandbox

_MODULES = {
    "CooperativeStickyAssignor": "partage.live.plugins.kafka_python",
    "CustomAssignor": "partage.live.plugins.kafka_python",
    "FailoverAssignor": "partage.live.plugins.kafka_python",
    "Lag": "partage.live.plugins.lag",
    "Partitioner": "partage.live.plugins.partitioners",
    "RangeAssignor": "partage.live.plugins.kafka_python",
    "RoundRobinAssignor": "partage.live.plugins.kafka_python",
    "Sandbox": "partage.live.sandbox",
    "StickyAssignor": "partage.live.plugins.kafka_python",
    "WeightedAssignor": "partage.live.plugins.kafka_python",
}
"""The module of each public name."""

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
    if name not in _MODULES:
        raise AttributeError(f"module 'partage.live' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
