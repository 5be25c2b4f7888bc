"""A cluster: brokers, partitions and replica lists, validated when it is read."""

from partage.cluster.broker import Broker
from partage.cluster.model import Cluster

__all__ = ["Broker", "Cluster"]
