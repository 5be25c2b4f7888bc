"""Plans that keep limits of loads, against an integer program and by their properties."""

from __future__ import annotations

import random
from dataclasses import replace
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage import CannotError, Cluster
from partage.brokers.plan import Plan
from partage.flow.load_relief import search
from tests.brokers.load.cases import a_cluster
from tests.brokers.load.test_plans import a_large_cluster, is_sound, stage
from tests.oracles.relief_mip import OF_LEADERS, fewest_bytes, loads
from tests.profiles import seeds

Json = dict[str, Any]

NETWORK = {"out": 20_000, "in": 8_000, "leader_in": 8_000}


def a_case(seed: int) -> tuple[Json, dict[str, int]]:
    """A cluster and limits in percent, between the mean and the highest load. Half of the clusters
    have capacities."""
    rng = random.Random(seed)
    cluster = a_cluster(
        seed, brokers=rng.randint(4, 6), partitions=rng.randint(7, 10), new=rng.randint(0, 1)
    )
    names = rng.sample(["replicas", "in", *OF_LEADERS], rng.choice([1, 1, 2]))
    held = loads(cluster, [part["replicas"] for part in cluster["partitions"]])
    capacity = dict.fromkeys(held, 0)
    if rng.random() < 0.5:
        capacity |= NETWORK
        for broker in cluster["brokers"]:
            broker["network_out_bytes_per_second"] = NETWORK["out"]
            broker["network_in_bytes_per_second"] = NETWORK["in"]
            broker["disk_bytes"] = sum(held["disk"]) // 2
    percent = {}
    for name in names:
        mean = sum(held[name]) / len(held[name])
        wanted = mean + (max(held[name]) - mean) * rng.uniform(0.1, 0.9)
        percent[name] = ceil(100 * wanted / (capacity[name] or mean))
    return cluster, percent


def limits(cluster: Json, percent: dict[str, int]) -> dict[str, list[int]]:
    """By resource, the most that each broker may have: its limit, or for others what it has today
    or 5 % more than the fair share."""
    held = loads(cluster, [part["replicas"] for part in cluster["partitions"]])
    found = {}
    for name, today in held.items():
        fair = sum(today) / len(today)
        whole = ceil(fair - 1e-6)
        if name not in percent:
            found[name] = [max(x, floor(fair * 1.05 + 1e-6), whole) for x in today]
            continue
        most = floor(fair * percent[name] / 100 + 1e-6)
        most = max(most, whole) if percent[name] >= 100 else most
        if name in NETWORK and "disk_bytes" in cluster["brokers"][0]:
            most = NETWORK[name] * percent[name] // 100
        found[name] = [most] * len(today)
    if "disk_bytes" in cluster["brokers"][0]:
        disk = cluster["brokers"][0]["disk_bytes"]
        found["disk"] = [min(most, disk) for most in found["disk"]]
    return found


def relieved(cluster: Json | Cluster, **options: Any) -> Plan:
    read = cluster if isinstance(cluster, Cluster) else Cluster.from_json(cluster)
    return partage.plan(read, **options)


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(24))
def test_limits_are_kept_for_the_fewest_bytes(seed: int) -> None:
    cluster, percent = a_case(seed)
    most = limits(cluster, percent)
    hard = {name: most[name] for name in percent}
    if "disk_bytes" in cluster["brokers"][0]:
        hard["disk"] = [broker["disk_bytes"] for broker in cluster["brokers"]]
    least = fewest_bytes(cluster, hard)
    asked = {name: f"{share}%" for name, share in percent.items()}
    if least is None:
        with pytest.raises(CannotError, match="no placement"):
            relieved(cluster, relieve=asked)
        return
    plan = relieved(cluster, relieve=asked)
    after = loads(cluster, plan.after.replica_lists())
    for name, limit in hard.items():
        assert all(load <= x for load, x in zip(after[name], limit, strict=True))
    moved, within = stage(plan, "bytes moved"), fewest_bytes(cluster, most)
    assert moved.value >= least
    assert plan.settled
    if within is not None:
        assert all((np.array(after[name]) <= limit).all() for name, limit in most.items())
        assert moved.bound <= within == moved.value


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(8))
def test_the_choice_among_some_changes_is_close_to_the_fewest_bytes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large problems do not choose from all changes."""
    monkeypatch.setattr(search, "_MOST", 0)
    cluster = a_cluster(seed, brokers=6, partitions=10, new=1)
    plan = relieved(cluster, relieve="out=140%")
    within = fewest_bytes(cluster, limits(cluster, {"out": 140}))
    moved = stage(plan, "bytes moved")
    if within is not None and stage(plan, "load").value == 0:
        assert moved.bound <= within <= moved.value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relieve", ["out=130%", "in=110%", "leader_in=130%,disk=60%"])
def test_a_large_cluster_is_relieved_for_few_bytes(relieve: str, tmp_path: Path) -> None:
    cluster = a_large_cluster(3)
    for broker in cluster["brokers"]:
        broker["disk_bytes"] = 400 * 10**9
    plan = relieved(cluster, relieve=relieve)
    moved = stage(plan, "bytes moved")
    assert stage(plan, "load").value == 0
    mean = sum(part["size_bytes"] for part in cluster["partitions"]) / 600
    assert moved.bound <= moved.value <= 1.1 * moved.bound + 2 * mean
    assert plan.figures["rack_violations"] == 0
    assert plan.settled
    assert is_sound(plan, tmp_path)


def test_another_leader_comes_before_a_copy() -> None:
    cluster = a_large_cluster(5)
    plan = relieved(cluster, relieve="out=150%")
    without = relieved(cluster, relieve="out=150%", no_moves=True)
    assert plan.moves == without.moves == 0
    changed = (plan.before.replicas != plan.after.replicas).any(axis=1)
    leaders = plan.before.replicas[:, 0] != plan.after.replicas[:, 0]
    assert (changed == leaders).all()
    assert 0 < changed.sum() < 20


def test_a_plan_that_keeps_the_order_of_followers_is_optimal_when_read_back(tmp_path: Path) -> None:
    plan = relieved(a_large_cluster(3, partitions=120), relieve="leaders=160%", no_moves=True)
    failure = stage(plan, "failure balance")
    assert failure.value > failure.bound
    assert plan.optimal
    assert plan.gaps == {}
    plan.write(tmp_path / "plan")
    again = Plan.read(tmp_path / "plan")
    assert again.figures | {"seconds": 0} == plan.figures | {"seconds": 0}
    assert again.document() == plan.document()


def test_nothing_changes_below_the_limits() -> None:
    plan = relieved(a_large_cluster(7), relieve="out=900%,replicas=900%")
    assert (plan.before.replicas == plan.after.replicas).all()


def test_brokers_to_remove_are_emptied_below_the_limits() -> None:
    cluster = a_large_cluster(8)
    plan = relieved(cluster, relieve="out=150%", remove_broker=3)
    assert 3 not in {broker for row in plan.after.replica_lists() for broker in row}
    assert stage(plan, "bytes moved").value > 0


@pytest.mark.parametrize(
    ("relieve", "message"),
    [
        (
            "out=90%",
            "out would be .* MB/s, .*B/s above 90% of its fair share (proven: no placement",
        ),
        ("replicas=60%", "above 60% of its fair share (proven: no placement keeps it)"),
    ],
)
def test_a_limit_below_what_must_be_somewhere_is_refused(relieve: str, message: str) -> None:
    with pytest.raises(CannotError) as caught:
        relieved(a_large_cluster(2), relieve=relieve)
    for part in message.split(".*"):
        assert part in str(caught.value)


@pytest.mark.long
def test_limits_on_what_moves_are_kept_or_refused() -> None:
    cluster = a_large_cluster(3)
    with pytest.raises(CannotError, match="`max_moves` 1: "):
        relieved(cluster, relieve="in=110%", max_moves=1)
    assert relieved(cluster, relieve="in=110%", max_moves=500).moves <= 500


def test_where_the_limits_allow_no_move_leaders_change_though_another_load_grows() -> None:
    """Broker 3 would send more than its fair share; without limits a replica moves instead."""
    rate = {"size_bytes": 10**7, "bytes_in_per_second": 1000, "bytes_out_per_second": 1000}
    orders = [[1, 3]] * 6 + [[3, 1]] * 2
    cluster = {
        "brokers": [{"id": broker} for broker in range(1, 5)],
        "partitions": [
            {"topic": "t", "partition": number, "replicas": order, **rate}
            for number, order in enumerate(orders)
        ],
    }
    assert relieved(cluster, relieve="leader_in=250%").moves > 0
    for limit in ({"max_moves": 0}, {"max_bytes_moved": 10**7 - 1}):
        plan = relieved(cluster, relieve="leader_in=250%", **limit)
        assert plan.moves == 0
        assert [order[0] for order in plan.after.replica_lists()].count(1) == 5
    with pytest.raises(CannotError, match="`max_moves` 0: "):
        relieved(cluster, relieve="leader_in=150%", max_moves=0)


@pytest.mark.long
def test_the_order_of_brokers_in_the_input_does_not_matter() -> None:
    cluster = a_large_cluster(4, partitions=150)
    turned = {"brokers": cluster["brokers"][::-1], "partitions": cluster["partitions"][::-1]}
    one, other = (relieved(each, relieve="out=120%,in=120%") for each in (cluster, turned))
    assert one.after.replica_lists() == other.after.replica_lists()


def test_no_rate_is_needed_for_counts() -> None:
    cluster = a_large_cluster(4, partitions=150)
    for part in cluster["partitions"]:
        del part["bytes_in_per_second"], part["bytes_out_per_second"]
    plan = relieved(cluster, relieve="leaders=120%")
    assert np.bincount(plan.after.replicas[:, 0]).max() <= floor(150 / 12 * 1.2)


def test_a_load_that_a_partition_exceeds_by_itself_is_refused() -> None:
    cluster = Cluster.from_json(a_large_cluster(4, partitions=60))
    rates = np.full(60, 10.0)
    rates[7] = 1e6
    with pytest.raises(CannotError, match="no placement"):
        relieved(replace(cluster, bytes_in=rates, bytes_out=rates), relieve="leader_in=200%")


def test_a_partition_may_leave_a_full_disk_though_no_broker_has_its_bytes_in_today(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`--relieve 60%` alone finds a plan, which keeps the limit of leaders, too."""
    monkeypatch.setattr(search, "_MOST", 0)
    sizes = [400, 350, *[10] * 30]
    rows = [
        {
            "topic": "t",
            "partition": p,
            "replicas": [0 if p < 2 else 1 + p % 3],
            "size_bytes": size * 10**9,
            "bytes_in_per_second": size * 10**5,
            "bytes_out_per_second": 0,
        }
        for p, size in enumerate(sizes)
    ]
    brokers = [{"id": b, "disk_bytes": 10**12} for b in range(4)]
    cluster = {"brokers": brokers, "partitions": rows}
    alone = relieved(cluster, relieve="60%")
    plan = relieved(cluster, relieve="disk=60%,leaders=400%")
    assert alone.moves == 1 <= plan.moves
    assert max(loads(cluster, plan.after.replica_lists())["disk"]) <= 6 * 10**11


@pytest.mark.parametrize(
    ("network", "limit", "warned"),
    [(10**9, "150%", True), (10**9, "90%", False), (None, "150%", False)],
)
def test_a_limit_above_the_network_capacity_is_a_warning(
    network: int | None, limit: str, warned: bool
) -> None:
    cluster = a_large_cluster(4, partitions=60)
    for broker in cluster["brokers"] if network else ():
        broker["network_out_bytes_per_second"] = network
    plan = relieved(cluster, relieve={"out": limit})
    warning = f"the limit of out, {limit}, is above the network capacity of the brokers"
    assert (warning in plan.warnings) == warned
