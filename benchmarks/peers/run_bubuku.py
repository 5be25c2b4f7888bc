"""bubuku: its two rebalance plans, with ZooKeeper replaced by an object in memory.

Its planners ask ZooKeeper for broker ids, racks and the assignment, and are driven state by state
by ``run``; they are stopped where they would begin to write. ``one-way`` is what
``bubuku-cli rebalance`` does by default, ``bin-packing`` what it does with ``--bin-packing``.

Two of its modules are replaced by stand-ins before it is imported: ``bubuku.zookeeper`` (its
client, which no Python after 3.6 can parse) and ``bubuku.controller`` (which pulls in the cloud's
libraries). The planners take only names from them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from exchange import Clock, question


class InMemory:
    """What the planners ask of ZooKeeper, answered from a cluster."""

    def __init__(self, cluster: dict[str, Any]) -> None:
        self.racks = {b["id"]: b["rack"] for b in cluster["brokers"]}
        self.partitions = cluster["partitions"]

    def get_broker_ids(self) -> list[str]:
        return sorted(map(str, self.racks))

    def get_broker_racks(self) -> dict[int, str | None]:
        return dict(self.racks)

    def load_partition_assignment(self) -> Iterator[tuple[str, int, list[int]]]:
        for p in self.partitions:
            yield p["topic"], p["partition"], list(p["replicas"])

    def is_rebalancing(self) -> bool:
        return False


class NoThrottle:
    """Stands for what throttles a running rebalance: nothing is run here."""

    def __init__(self, *_: Any) -> None:
        pass


def put_stand_ins() -> None:
    """Make the two modules importable without what they import."""
    zookeeper, controller = ModuleType("bubuku.zookeeper"), ModuleType("bubuku.controller")
    vars(zookeeper).update(BukuExhibitor=InMemory, RebalanceThrottleManager=NoThrottle)
    vars(controller).update(Change=type("Change", (), {}))
    sys.modules.update({"bubuku.zookeeper": zookeeper, "bubuku.controller": controller})


def main() -> None:
    put_stand_ins()
    from bubuku.features.rebalance.change import OptimizedRebalanceChange
    from bubuku.features.rebalance.change_simple import SimpleRebalanceChange

    asked = question()
    clock = Clock()
    with clock.stage("read cluster"):
        cluster = asked.read()
        zookeeper = InMemory(cluster)
    empty = [str(broker) for broker in asked.removed]
    planner = {"one-way": OptimizedRebalanceChange, "bin-packing": SimpleRebalanceChange}
    change = planner[asked.variant](
        zk=zookeeper,
        broker_ids=zookeeper.get_broker_ids(),
        empty_brokers=empty,
        exclude_topics=[],
        parallelism=1,
    )
    names = {"load_state": "read state", "init": "read state"}
    while change.state != "balance":
        with clock.stage(names.get(change.state, change.state)):
            if not change.run([]):
                raise SystemExit(f"bubuku gave up in its state {change.state}")

    if asked.variant == "one-way":
        changed = change.action_queue
    else:
        changed = {
            (key[0], int(key[1])): [int(broker.get_id()) for broker in partition.brokers]
            for key, partition in change.rebalance_queue.items()
        }
    lists = [
        [int(b) for b in changed.get((p["topic"], p["partition"]), p["replicas"])]
        for p in cluster["partitions"]
    ]
    asked.reply(lists, clock)


if __name__ == "__main__":
    main()
