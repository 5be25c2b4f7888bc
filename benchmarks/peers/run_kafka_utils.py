"""kafka-utils: the planner of ``kafka-cluster-manager``, its objects built from a file.

Its commands read brokers and assignment from ZooKeeper, build a ``ClusterTopology`` of them and
pass it to a balancer. Here the file takes the place of ZooKeeper. Without removed brokers this is
``rebalance --replication-groups --brokers --leaders`` without a limit on movements, with them
``decommission``. A replication group is a rack.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from exchange import Clock, request
from kafka_utils.kafka_cluster_manager.cluster_info.cluster_topology import ClusterTopology
from kafka_utils.kafka_cluster_manager.cluster_info.partition_count_balancer import (
    PartitionCountBalancer,
)
from kafka_utils.kafka_cluster_manager.cluster_info.partition_measurer import (
    UniformPartitionMeasurer,
)


def rack(broker: Any) -> str:
    """The replication group of a broker."""
    return str(broker.metadata["rack"])


def main() -> None:
    asked = request()
    clock = Clock()
    with clock.stage("read cluster"):
        cluster = asked.read()
        brokers = {b["id"]: {"rack": b["rack"]} for b in cluster["brokers"]}
        assignment = {
            (p["topic"], p["partition"]): list(p["replicas"]) for p in cluster["partitions"]
        }
    given = Namespace(replication_groups=True, brokers=True, leaders=True)
    with clock.stage("read state"):
        measurer = UniformPartitionMeasurer(None, brokers, assignment, given)
        topology = ClusterTopology(assignment, brokers, measurer, rack)
        balancer = PartitionCountBalancer(topology, given)
    if asked.removed:
        with clock.stage("decommission"):
            balancer.decommission_brokers(asked.removed)
    else:
        for name in ("rebalance_replication_groups", "rebalance_brokers", "rebalance_leaders"):
            with clock.stage(name.removeprefix("rebalance_")):
                getattr(balancer, name)()
    after = topology.assignment
    asked.reply([after[p["topic"], p["partition"]] for p in cluster["partitions"]], clock)


if __name__ == "__main__":
    main()
