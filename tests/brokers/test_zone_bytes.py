"""Bytes that replication sends across racks, against a count replica by replica."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import partage
from partage.brokers.zone_bytes import zone_bytes
from partage.cluster import Cluster
from tests.brokers.check.tampering import Files


def racked(seed: int, racks: str = "abc", rates: bool = True) -> dict[str, Any]:
    random = Random(seed)
    brokers: list[dict[str, Any]] = [{"id": b, "rack": racks[b % len(racks)]} for b in range(7)]
    rows: list[dict[str, Any]] = [
        {"topic": "t", "partition": p, "replicas": random.sample(range(7), random.randint(1, 4))}
        for p in range(20)
    ]
    for row in rows:
        row["size_bytes"] = random.randint(1, 99)
        if rates:
            row |= {"bytes_in_per_second": random.random() * 1e6, "bytes_out_per_second": 1.5}
    return {"brokers": brokers, "partitions": rows}


def counted(value: dict[str, Any]) -> dict[str, Any]:
    rack = {broker["id"]: broker["rack"] for broker in value["brokers"]}
    across = total = 0.0
    for row in value["partitions"]:
        leader, *followers = row["replicas"]
        for broker in followers:
            total += row["bytes_in_per_second"]
            across += row["bytes_in_per_second"] if rack[broker] != rack[leader] else 0
    return {"replication": pytest.approx(across), "replication_total": pytest.approx(total)}


@pytest.mark.parametrize("seed", range(20))
def test_every_replica_in_another_rack_than_the_leader_counts(seed: int) -> None:
    value = racked(seed, "abc" if seed % 2 else "ab")
    cluster = Cluster.from_json(value)
    assert cluster.bytes_in is not None
    assert cluster.bytes_out is not None
    assert zone_bytes(cluster, cluster.bytes_in, cluster.bytes_out) == counted(value)


def test_plans_show_it_before_and_after(tmp_path: Any) -> None:
    value = racked(1)
    made = partage.plan(Cluster.from_json(value))
    after = zip(value["partitions"], made.after.replica_lists(), strict=True)
    moved = value | {"partitions": [row | {"replicas": new} for row, new in after]}
    assert made.figures_before["zone_bytes"] == counted(value)
    assert made.figures["zone_bytes"] == counted(moved)
    made.write(tmp_path / "plan")
    assert partage.check(tmp_path / "plan").sound
    files = Files(tmp_path / "plan")
    files.after["zone_bytes"]["replication"] += 1
    files.write()
    [defect] = partage.check(tmp_path / "plan").defects
    assert defect.startswith("plan.json: figures.after.zone_bytes is ")


@pytest.mark.parametrize("value", [racked(1, "a"), racked(1, rates=False)])
def test_it_is_left_out_with_one_rack_or_without_rates(
    value: dict[str, Any], tmp_path: Any
) -> None:
    made = partage.plan(Cluster.from_json(value))
    assert "zone_bytes" not in made.figures
    made.write(tmp_path / "plan")
    assert partage.check(tmp_path / "plan").sound
    files = Files(tmp_path / "plan")
    files.after["zone_bytes"] = {"replication": 0.0, "replication_total": 0.0}
    files.write()
    assert not partage.check(tmp_path / "plan").sound
