"""Loads of survivors, compared with leaders that are chosen again after each failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")
from partage.brokers.compare import solve_with_each
from partage.brokers.planning import problem_of
from partage.cluster import Cluster
from partage.pipeline.what_ifs.placements import Placements
from partage.pipeline.what_ifs.survivors import survivors
from tests.bundled import grown
from tests.matrices import cluster_json, cluster_of
from tests.pipeline.what_ifs.cases import measured_problem, rates_of


def led(
    lists: list[list[int]], names: tuple[str, ...], rates: list[float], live: set[int]
) -> dict[int, dict[str, dict[str, float]]]:
    """By broker and load, what each of its partitions adds."""
    found: dict[int, dict[str, dict[str, float]]] = {
        b: {"leaders": {}, "out": {}, "leader_in": {}} for b in live
    }
    for row, name, rate in zip(lists, names, rates, strict=True):
        left = [b for b in row if b in live]
        if left:
            own = found[left[0]]
            own["leaders"][name], own["leader_in"][name] = 1.0, rate
            own["out"][name] = rate * len(row)  # to one consumer and the followers
    return found


@pytest.mark.parametrize(
    ("cluster", "options"),
    [
        (grown(), {"add_broker": ["10:c"], "remove_broker": [1]}),
        (grown(racks=False), {}),
        (cluster_of("1,2 2,3 3 1,2,3 4,1 4,1", "1:a 2:a 3:b 4:b!"), {}),
        (cluster_of("1 1", "1"), {}),
        (cluster_of("1,2 2,1 1,2", "1:a 2:b"), {}),
    ],
    ids=["grown", "no racks", "a dead broker", "one broker", "two brokers"],
)
def test_the_worst_failure_of_each_survivor(cluster: Cluster, options: dict[str, Any]) -> None:
    rates = rates_of(cluster)
    problem = measured_problem(cluster, rates, **options)
    answers = solve_with_each(problem, ["exact"])
    found = survivors(Placements.of(problem, answers))
    plan = answers["exact"]
    assert not isinstance(plan, str)
    brokers = problem.cluster.brokers
    removed = {int(b) for b in options.get("remove_broker", ())}
    added = {int(word.split(":")[0]) for word in options.get("add_broker", ())}
    alive, rack = {b.id for b in brokers if b.alive}, {b.id: b.rack for b in brokers}
    count = 0
    for name, lists, live in (
        ("today", cluster.replica_lists(), alive - added),
        ("exact", plan.after.replica_lists(), alive - removed),
    ):
        now = led(lists, cluster.names, rates.tolist(), live)
        kinds = {"broker": {str(b): {b} for b in live}}
        if any(rack.values()):
            of_racks = {rack[b] for b in live} - {None}
            kinds["rack"] = {str(z): {b for b in live if rack[b] == z} for z in of_racks}
        for kind, failures in kinds.items():
            after = {
                f: led(lists, cluster.names, rates.tolist(), live - b) for f, b in failures.items()
            }
            for load in ("leaders", "out", "leader_in"):
                total = sum(sum(now[b][load].values()) for b in live)
                for b in sorted(live):
                    before = sum(now[b][load].values())
                    each = {
                        f: sum(left[b][load].values()) for f, left in after.items() if b in left
                    }
                    worst = max(each.values(), default=before)
                    (row,) = (
                        one
                        for one in found
                        if (one["placement"], one["failure"], one["load"], one["broker"])
                        == (name, kind, load, b)
                    )
                    count += 1
                    assert (row["before"], row["after"]) == (before, worst)
                    assert row["fair"] == pytest.approx(total / len(live), abs=1e-3)
                    if worst == before:
                        assert row["fails"] is None
                        continue
                    assert each[row["fails"]] == worst
                    assert (row["hottest"] is None) == (load == "leaders")
                    if load != "leaders":
                        own = after[row["fails"]][b][load]
                        assert own[row["hottest"]] == max(own.values())
    assert count == len(found)


def test_bands_and_headroom_are_those_of_each_broker() -> None:
    value = cluster_json("1,2 2,1 1,2 2,1", "1 2")
    for broker, network in zip(value["brokers"], (1000, 3000), strict=True):
        broker["network_out_bytes_per_second"] = network
    for partition in value["partitions"]:
        partition |= {"bytes_in_per_second": 10.0, "bytes_out_per_second": 90.0, "size_bytes": 1}
    problem = problem_of(Cluster.from_json(value), balance="load", tolerance="10%")
    found = survivors(Placements.of(problem, {}))
    (first, second) = (one for one in found if one["load"] == "out")
    # 4 partitions send 90 to consumers and 10 to the follower: a quarter of 400, and the rest
    assert (first["fair"], second["fair"]) == (100, 300)
    assert (first["band"], second["band"]) == ([90, 110], [270, 330])
    assert (first["before"], first["after"]) == (200, 400)
    assert (first["headroom"], second["headroom"]) == (0.6, 0.867)
    assert np.isclose([one["fair"] for one in found if one["load"] == "leaders"], 2).all()
