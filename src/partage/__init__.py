"""partage: who gets which partition of an Apache Kafka cluster, decided exactly and with proof.

The public names are loaded when they are first used, so that importing partage stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partage.brokers.plan import Plan, plan
    from partage.cluster import Broker, Cluster
    from partage.errors import CannotError, InputError, PartageError
    from partage.profile import Profile

__version__ = "0.1.0"

_HOME = {
    "Broker": "partage.cluster",
    "CannotError": "partage.errors",
    "Cluster": "partage.cluster",
    "InputError": "partage.errors",
    "PartageError": "partage.errors",
    "Plan": "partage.brokers.plan",
    "Profile": "partage.profile",
    "plan": "partage.brokers.plan",
}

__all__ = [
    "Broker",
    "CannotError",
    "Cluster",
    "InputError",
    "PartageError",
    "Plan",
    "Profile",
    "plan",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'partage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
