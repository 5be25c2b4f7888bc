"""What a cluster is: brokers, partitions and who holds them, validated once at the door."""

from partage.cluster.model import Broker, Cluster

__all__ = ["Broker", "Cluster"]
