"""What a cluster is: brokers, partitions and who holds them, validated once at the door."""

from partage.cluster.broker import Broker
from partage.cluster.model import Cluster

__all__ = ["Broker", "Cluster"]
