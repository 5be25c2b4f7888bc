"""A cluster: brokers, partitions and replica lists, validated when it is read.

``Cluster`` is loaded on first use: with it comes numpy, which the command line does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partage.cluster.broker import Broker

if TYPE_CHECKING:
    from partage.cluster.model import Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        from partage.cluster.model import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
