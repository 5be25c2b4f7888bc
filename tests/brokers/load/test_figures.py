"""Figures of every load, against sums over the lists."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import partage
from partage import Cluster
from partage.brokers.plan import Plan
from tests.brokers.load.cases import a_cluster

GONE = 2


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    made = a_cluster(5, brokers=6, partitions=20)
    assert len(made["partitions"][0]["replicas"]) > 1
    for broker in made["brokers"]:
        broker |= {"disk_bytes": 3 * 10**9, "network_out_bytes_per_second": 10**6}
    return made


@pytest.fixture(scope="module")
def plan(cluster: dict[str, Any]) -> Plan:
    made = Cluster.from_json(cluster)
    return partage.plan(made, balance="load", tolerance="15%", remove_broker=[GONE])


def per_broker(cluster: dict[str, Any], lists: list[list[int]]) -> dict[str, Counter[int]]:
    """By load, what each broker carries: ``disk``, ``out``, ``leader_in``."""
    found: dict[str, Counter[int]] = {name: Counter() for name in ("disk", "out", "leader_in")}
    for row, replicas in zip(cluster["partitions"], lists, strict=True):
        for broker in replicas:
            found["disk"][broker] += row["size_bytes"]
        for name, load in led(row).items():
            found[name][replicas[0]] += load
    return found


def led(row: dict[str, Any]) -> dict[str, int]:
    """What the leader of a partition carries."""
    written = row["bytes_in_per_second"]
    copies = written * (len(row["replicas"]) - 1)
    return {"out": row["bytes_out_per_second"] + copies, "leader_in": written}


@pytest.mark.parametrize("state", ["before", "after"])
def test_a_row_per_broker(cluster: dict[str, Any], plan: Plan, state: str) -> None:
    lists = getattr(plan, state).replica_lists()
    resources = plan.document()["figures"][state]["resources"]
    for name, load in per_broker(cluster, lists).items():
        rows = resources[name]["brokers"]
        assert [row["broker"] for row in rows] == list(range(6))
        assert [row["load"] for row in rows] == pytest.approx([load[b] for b in range(6)])
        assert [row["band"] is None for row in rows] == [b == GONE for b in range(6)]
        within = [row for row in rows if row["band"] is not None]
        assert all(row["band"][0] <= row["fair"] <= row["band"][1] for row in within)
    disk, out = resources["disk"]["brokers"], resources["out"]["brokers"]
    assert [row["headroom"] for row in disk] == [round(1 - row["load"] / 3e9, 3) for row in disk]
    assert [row["headroom"] for row in out] == [round(1 - row["load"] / 1e6, 3) for row in out]
    assert {row["headroom"] for row in resources["leader_in"]["brokers"]} == {None}


def test_the_partition_that_adds_most(cluster: dict[str, Any], plan: Plan) -> None:
    lists = plan.after.replica_lists()
    rows = dict(zip(plan.after.names, cluster["partitions"], strict=True))
    on = dict(zip(plan.after.names, lists, strict=True))
    resources = plan.figures["resources"]
    for broker in range(6):
        held = [name for name in rows if broker in on[name]]
        most = max((rows[name]["size_bytes"] for name in held), default=None)
        hottest = resources["disk"]["brokers"][broker]["hottest"]
        assert (None if hottest is None else rows[hottest]["size_bytes"]) == most
        assert hottest is None or broker in on[hottest]
    assert {row["hottest"] for row in resources["replicas"]["brokers"]} == {None}


@pytest.mark.parametrize("name", ["out", "leader_in"])
def test_the_worst_survivor_of_a_failure(cluster: dict[str, Any], plan: Plan, name: str) -> None:
    lists = plan.after.replica_lists()
    load = per_broker(cluster, lists)[name]
    brokers, worst = [b for b in range(6) if b != GONE], 0
    for failed in brokers:
        survivors = Counter(load)
        for row, replicas in zip(cluster["partitions"], lists, strict=True):
            if replicas[0] == failed:
                survivors[replicas[1]] += led(row)[name]
        worst = max(worst, *(survivors[b] for b in brokers if b != failed))
    found = plan.figures["resources"][name]["after_failure"]
    assert found["max"] == pytest.approx(worst, rel=1e-6)
    average = Fraction(sum(load.values()), len(brokers) - 1)
    assert found["bound"] >= float(average) * (1 - 1e-6)
    assert found["bound"] <= found["max"]


def test_without_survivors_there_is_no_figure(cluster: dict[str, Any]) -> None:
    alone = {
        "brokers": [{"id": 1}],
        "partitions": [row | {"replicas": [1]} for row in cluster["partitions"]],
    }
    figures = partage.plan(Cluster.from_json(alone), balance="load").figures
    assert "after_failure" not in figures["resources"]["out"]
