"""partage: assign the partitions of Apache Kafka to brokers and consumers, exactly and with proof.

Public names are loaded on first use, so ``import partage`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partage.brokers.check import CheckResult, check
    from partage.brokers.compare import Comparison
    from partage.brokers.explain import Explanation, explain
    from partage.brokers.new_partitions import NewPartitions, place
    from partage.brokers.plan import Plan
    from partage.brokers.planning import compare, plan
    from partage.brokers.sizing import ClusterSize, size
    from partage.cluster import Broker, Cluster
    from partage.consumers.assign import assign
    from partage.consumers.assignment import Assignment
    from partage.consumers.scenario import Scenario
    from partage.consumers.simulation import Simulation, simulate
    from partage.errors import CannotError, InputError, PartageError
    from partage.group import Group, Member
    from partage.live.api import apply, rollback, snapshot
    from partage.live.execution.outcome import Outcome
    from partage.live.execution.progress import ProgressUpdate
    from partage.measured_loads import Profile
    from partage.measuring import keys, profile
    from partage.period import Period
    from partage.producers.candidates import KeyReport
    from partage.producers.partition import partition

__version__ = "0.1.0"

_HOME = {
    "Assignment": "partage.consumers.assignment",
    "Broker": "partage.cluster",
    "CannotError": "partage.errors",
    "CheckResult": "partage.brokers.check",
    "Cluster": "partage.cluster",
    "ClusterSize": "partage.brokers.sizing",
    "Comparison": "partage.brokers.compare",
    "Explanation": "partage.brokers.explain",
    "Group": "partage.group",
    "InputError": "partage.errors",
    "KeyReport": "partage.producers.candidates",
    "Member": "partage.group",
    "NewPartitions": "partage.brokers.new_partitions",
    "Outcome": "partage.live.execution.outcome",
    "PartageError": "partage.errors",
    "Period": "partage.period",
    "Plan": "partage.brokers.plan",
    "Profile": "partage.measured_loads",
    "ProgressUpdate": "partage.live.execution.progress",
    "Scenario": "partage.consumers.scenario",
    "Simulation": "partage.consumers.simulation",
    "apply": "partage.live.api",
    "assign": "partage.consumers.assign",
    "check": "partage.brokers.check",
    "compare": "partage.brokers.planning",
    "explain": "partage.brokers.explain",
    "keys": "partage.measuring",
    "partition": "partage.producers.partition",
    "place": "partage.brokers.new_partitions",
    "plan": "partage.brokers.planning",
    "profile": "partage.measuring",
    "rollback": "partage.live.api",
    "simulate": "partage.consumers.simulation",
    "size": "partage.brokers.sizing",
    "snapshot": "partage.live.api",
}

__all__ = [
    "Assignment",
    "Broker",
    "CannotError",
    "CheckResult",
    "Cluster",
    "ClusterSize",
    "Comparison",
    "Explanation",
    "Group",
    "InputError",
    "KeyReport",
    "Member",
    "NewPartitions",
    "Outcome",
    "PartageError",
    "Period",
    "Plan",
    "Profile",
    "ProgressUpdate",
    "Scenario",
    "Simulation",
    "apply",
    "assign",
    "check",
    "compare",
    "explain",
    "keys",
    "partition",
    "place",
    "plan",
    "profile",
    "rollback",
    "simulate",
    "size",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'partage' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What a notebook offers by Tab."""
    return [*__all__, "__version__"]
