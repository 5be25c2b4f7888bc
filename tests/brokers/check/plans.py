"""Plans that check must find sound, by what is special about them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from partage import Cluster
from partage.brokers.options import PlanOptions
from partage.brokers.plan import Plan
from partage.brokers.planning import plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.solving import solve
from partage.cluster.clients import SHARE, Clients, TopicClients
from tests.brokers.check.tampering import Files
from tests.bundled import uneven_racks
from tests.matrices import cluster_of, partitions


def by_rate() -> Plan:
    cluster = uneven_racks()
    rates = np.random.default_rng(1).lognormal(8, 0.5, cluster.partitions)
    return solve(resolve(cluster, PlanOptions(leaders="rate", throttle="50MB"), rates))


def mixed() -> Plan:
    """Racks, capacities, a dead broker, one to remove, topics left out, factors that change."""
    rng = random.Random(7)
    brokers = [
        {"id": b, "rack": "abc"[b % 3], "capacity": 1 + b % 2, "alive": b != 4} for b in range(9)
    ]
    rows = [
        {"topic": t, "partition": 3 * p, "replicas": rng.sample(range(1, 9), 2), "size_bytes": p}
        for t in ("t", "u", "w.x")
        for p in range(12)
    ]
    rows += partitions([[1, 2]] * 4, topic="kept")
    cluster = Cluster.from_json({"brokers": brokers, "partitions": rows})
    return plan(
        cluster,
        add_broker=["77:c"],
        remove_broker=[3],
        topics="t|u|w.*",
        replication_factor=["3", "u=1"],
        throttle="1KB",
    )


def with_a_floor() -> Plan:
    """No order reaches the bound that counting gives, so the failure stage has prices."""
    lists = "2,0 3,2,1 3,2,1 2,0 1,3 2,3 2,1,3 3,2,0 0,1,3"
    made = plan(cluster_of(lists, "0 1 2 3"), no_moves=True)
    assert next(stage for stage in made.stages if stage.name == "failure").prices
    return made


def with_cases(stage: str, lists: str, brokers: str) -> Plan:
    """The bound of a stage needs a distinction of cases."""
    made = plan(cluster_of(lists, brokers), no_moves=True)
    assert "cases" in next(one for one in made.stages if one.name == stage).prices
    return made


def with_full_disks() -> Plan:
    """An exchange keeps the disk of broker 1 from overflowing."""
    made = plan(cluster_of("1/60 " * 4 + "1/1 " * 4, "1/130 2/500"))
    assert made.moves == 4
    return made


def with_a_disk_too_small() -> Plan:
    """Fewer moves than the fairest share needs: broker 2 has room for none of them."""
    made = plan(cluster_of("1/10 " * 4, "1/100 2/15"))
    assert made.moves == made.lower_bound == 1
    assert next(stage for stage in made.stages if stage.name == "moves").bound == 2
    return made


def with_rates() -> Cluster:
    """The bundled cluster with rates unlike sizes."""
    cluster, rng = uneven_racks(), np.random.default_rng(3)
    rates = (rng.lognormal(8, 0.5, cluster.partitions) for _ in range(2))
    return replace(cluster, bytes_in=next(rates), bytes_out=next(rates))


def preferring_zones() -> Plan:
    """Producers of one topic and consumers of another are in known racks."""
    clients = {
        "kafka": TopicClients(producers={"a": 600_000, "z": 100_000}),
        "strimzi": TopicClients(consumers={"c": SHARE}),
    }
    cluster = replace(with_rates(), clients=Clients(clients))
    return plan(cluster, prefer_zone=True)


SOUND: dict[str, Callable[[], Plan]] = {
    "count": lambda: plan(uneven_racks()),
    "rate": by_rate,
    "spread": lambda: plan(uneven_racks(), spread="topic"),
    "no-moves": lambda: plan(uneven_racks(), no_moves=True),
    "leader racks": lambda: plan(uneven_racks(), leader_racks=["a,b", "kafka=c"]),
    "demoted": lambda: plan(uneven_racks(), demote_broker=[2, 5]),
    "prefer zone": preferring_zones,
    "expand": lambda: plan(
        uneven_racks(), add_broker=["9:c", "10:c"], concurrency=5, throttle="10MB"
    ),
    "mixed": mixed,
    "floor": with_a_floor,
    "failures by cases": lambda: with_cases(
        "failure", "2,6,7 4,1,3 6,5,7 2,6,3 7,3,2", "1 2 3 4 5 6 7"
    ),
    "balance by cases": lambda: with_cases(
        "joint failure balance", "1,2,4 4,2,3 4,5,6 5,1,4 1,3,5", "1 2 3 4 5 6"
    ),
    "disks": with_full_disks,
    "a small disk": with_a_disk_too_small,
    "generate": lambda: plan(uneven_racks(), strategy="generate"),
    "leader-flow": lambda: plan(uneven_racks(racks=False), strategy="leader-flow"),
    "settled": lambda: plan(plan(uneven_racks()).after),
}


def with_relieved_disks() -> Plan:
    """Broker 1 is to be relieved of more than a half; broker 2 may only be filled to three
    quarters, broker 3 to as much as it likes; a partition breaks the rack rule."""
    rows = "1/7 1/8 1/9 1/10 1/11 " * 8 + "u: 1,2/3"
    return plan(cluster_of(rows, "1:a/400 2:a/100 3:b 4:b/200"), relieve="75%")


LIMITED: dict[str, Callable[[], Plan]] = {
    "tolerance": lambda: plan(uneven_racks(disks=False), tolerance="20%"),
    "moves": lambda: plan(uneven_racks(disks=False), max_moves=60),
    "both": lambda: plan(
        uneven_racks(disks=False), max_moves=90, tolerance="10%", add_broker=["9:a"]
    ),
    "cheaper": lambda: plan(uneven_racks(disks=False), max_bytes_moved="560GB"),
    "fewer": lambda: plan(uneven_racks(disks=False), max_bytes_moved="210GB"),
    "bytes": lambda: plan(uneven_racks(disks=False), balance="bytes"),
    "bytes, wider": lambda: plan(uneven_racks(), balance="bytes", tolerance="10%"),
    "bytes, any": lambda: plan(uneven_racks(), balance="bytes", tolerance="300%"),
    "bytes, fewer": lambda: plan(
        uneven_racks(), balance="bytes", max_moves=60, max_bytes_moved="400GB"
    ),
    "bytes, packed": lambda: plan(uneven_racks(), balance="bytes", strategy="bin-packing"),
    "relief": with_relieved_disks,
    "load": lambda: plan(uneven_racks(), balance="load", tolerance="20%"),
    "load, rates": lambda: plan(with_rates(), balance="load", tolerance="out=30%,disk=10%"),
    "load, leaders": lambda: plan(with_rates(), balance="load", no_moves=True, time_limit="24h"),
    "relief of loads": lambda: plan(with_rates(), relieve="out=115%,in=130%"),
    "relief by leaders": lambda: plan(with_rates(), relieve="leader_in=170%", no_moves=True),
    "load, topics": lambda: plan(
        with_rates(), balance="load", topics="[a-q].*", add_broker=["77:a"]
    ),
}


class LazyPlans(Mapping[str, Files]):
    """The files of the plans, each written when first asked for; a test that changes one restores
    it."""

    def __init__(self, plans: dict[str, Callable[[], Plan]], folder: Path) -> None:
        self.plans, self.folder = plans, folder
        self.written: dict[str, Files] = {}

    def __getitem__(self, name: str) -> Files:
        if name not in self.written:
            directory = self.folder / str(len(self.written)) / "plan"
            self.plans[name]().write(directory)
            self.written[name] = Files(directory)
        return self.written[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)
