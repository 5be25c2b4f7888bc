"""partage: who gets which partition of an Apache Kafka cluster, decided exactly and with proof.

The public names are loaded when they are first used, so that importing partage stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partage.brokers.plan import Plan
    from partage.brokers.planning import plan
    from partage.cluster import Broker, Cluster
    from partage.consumers.assign import assign
    from partage.consumers.assignment import Assignment
    from partage.consumers.scenario import Scenario
    from partage.consumers.simulation import Simulation, simulate
    from partage.errors import CannotError, InputError, PartageError
    from partage.group import Group, Member
    from partage.live.api import apply, rollback, snapshot
    from partage.producers.partition import partition
    from partage.profile import Profile

__version__ = "0.1.0"

_HOME = {
    "Assignment": "partage.consumers.assignment",
    "Broker": "partage.cluster",
    "CannotError": "partage.errors",
    "Cluster": "partage.cluster",
    "Group": "partage.group",
    "InputError": "partage.errors",
    "Member": "partage.group",
    "PartageError": "partage.errors",
    "Plan": "partage.brokers.plan",
    "Profile": "partage.profile",
    "Scenario": "partage.consumers.scenario",
    "Simulation": "partage.consumers.simulation",
    "apply": "partage.live.api",
    "assign": "partage.consumers.assign",
    "partition": "partage.producers.partition",
    "plan": "partage.brokers.planning",
    "rollback": "partage.live.api",
    "simulate": "partage.consumers.simulation",
    "snapshot": "partage.live.api",
}

__all__ = [
    "Assignment",
    "Broker",
    "CannotError",
    "Cluster",
    "Group",
    "InputError",
    "Member",
    "PartageError",
    "Plan",
    "Profile",
    "Scenario",
    "Simulation",
    "apply",
    "assign",
    "partition",
    "plan",
    "rollback",
    "simulate",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'partage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
