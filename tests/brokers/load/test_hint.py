"""When a plan says that ``balance`` load would do better, and with which figures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.brokers.plan import Plan
from tests.brokers.load.test_plans import a_large_cluster


def hinted(cluster: dict[str, Any], **options: Any) -> Plan:
    return partage.plan(Cluster.from_json(cluster), **options)


def spans(plan: Plan) -> dict[str, tuple[float, float]]:
    """By load, the percentages of the hint."""
    [line] = plan.hints
    words = "bytes in|bytes out|leader bytes in|disk"
    found = re.findall(rf"(?:: |, )({words}) ([\d.]+)–([\d.]+) %", line)
    return {name: (float(low), float(high)) for name, low, high in found}


def test_it_shows_the_loads_that_the_plan_leaves_uneven() -> None:
    plan = hinted(a_large_cluster(1))
    assert plan.document()["loads"][-1] == plan.hints[0]
    assert plan.hints[0].endswith("--balance load aims at 95–105 % of each load")
    cluster, row = plan.after, np.arange(plan.after.partitions)
    held, sent = np.zeros(12), np.zeros(12)
    assert cluster.bytes_in is not None
    assert cluster.bytes_out is not None
    for column in cluster.replicas.T:
        np.add.at(held, column[row], cluster.size_bytes)
    np.add.at(sent, cluster.replicas[:, 0], cluster.bytes_out + 2 * cluster.bytes_in)
    found = spans(plan)
    for name, load in (("disk", held), ("bytes out", sent)):
        low, high = 100 * load.min() / load.mean(), 100 * load.max() / load.mean()
        assert found[name] == pytest.approx((low, high), rel=0.01)


def test_the_plan_that_it_proposes_has_none() -> None:
    plan = hinted(a_large_cluster(1), balance="load")
    assert plan.hints == ()
    assert not any("aims at" in line for line in plan.document()["loads"])


def test_without_moves_it_names_loads_of_leaders_only() -> None:
    cluster = a_large_cluster(1)
    cluster["brokers"] = cluster["brokers"][:-2]
    found = spans(hinted(cluster, no_moves=True))
    assert found
    assert set(found) <= {"bytes out", "leader bytes in"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("missing", "options"),
    [
        (("bytes_in_per_second", "bytes_out_per_second"), {}),
        (("size_bytes",), {}),
        ((), {"max_moves": 5}),
        ((), {"tolerance": "10%"}),
        ((), {"strategy": "greedy"}),
    ],
)
def test_nothing_is_said_where_loads_are_not_known_or_limits_given(
    missing: tuple[str, ...], options: dict[str, Any]
) -> None:
    cluster = a_large_cluster(1)
    for part in cluster["partitions"]:
        for key in missing:
            del part[key]
    assert hinted(cluster, **options).hints == ()


def test_what_is_read_is_not_guessed() -> None:
    cluster = a_large_cluster(1)
    del cluster["partitions"][0]["bytes_out_per_second"]
    assert "bytes out" not in spans(hinted(cluster))


def test_a_load_that_one_partition_alone_exceeds_is_not_promised() -> None:
    cluster = a_large_cluster(1)
    cluster["partitions"][5]["bytes_out_per_second"] = 10**9
    assert "bytes out" not in spans(hinted(cluster))
