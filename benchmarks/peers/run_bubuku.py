"""bubuku: its two rebalance plans, with ZooKeeper replaced by an object in memory.

Its planners ask ZooKeeper for broker ids, racks and the assignment, and are driven state by state
by ``run``; they are stopped before they would write. ``one-way`` is the default of
``bubuku-cli rebalance``, ``bin-packing`` is its ``--bin-packing``.

Two of its modules are replaced by stubs before the import: ``bubuku.zookeeper`` (its client, which
Python after 3.6 cannot parse) and ``bubuku.controller`` (which imports cloud libraries). The
planners use only names from them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from exchange import Clock, request


class InMemory:
    """The part of the ZooKeeper client that the planners use, reading from a cluster."""

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
    """A stub of the throttle of a running rebalance: nothing runs here."""

    def __init__(self, *_: Any) -> None:
        pass


def install_stubs() -> None:
    """Make the two modules importable without their own imports."""
    zookeeper, controller = ModuleType("bubuku.zookeeper"), ModuleType("bubuku.controller")
    vars(zookeeper).update(BukuExhibitor=InMemory, RebalanceThrottleManager=NoThrottle)
    vars(controller).update(Change=type("Change", (), {}))
    sys.modules.update({"bubuku.zookeeper": zookeeper, "bubuku.controller": controller})


def main() -> None:
    install_stubs()
    from bubuku.features.rebalance.change import OptimizedRebalanceChange
    from bubuku.features.rebalance.change_simple import SimpleRebalanceChange

    asked = request()
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
