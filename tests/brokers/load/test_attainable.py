"""What the search works with where single partitions exceed every band."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partage
from partage import Cluster
from partage.brokers.load import LoadModel
from partage.brokers.load.attainable import attainable_loads
from partage.brokers.load.model import HELD, LED
from partage.brokers.options import PlanOptions
from partage.brokers.posing import posed
from tests.brokers.load.test_plans import a_large_cluster, stage

Json = dict[str, Any]


def a_model(cluster: Json, tolerance: str = "10%") -> LoadModel:
    options = PlanOptions(balance="load", tolerance=tolerance)
    return LoadModel.of(posed(Cluster.from_json(cluster), options))


def test_loads_that_fit_stay_as_they_are() -> None:
    model = a_model(a_large_cluster(1))
    held, led = attainable_loads(model)
    assert held.each is model.item_held
    assert led.bands is model.led_bands


@pytest.mark.parametrize("hot", [1, 3])
def test_hot_partitions_count_as_what_fits_and_leave_less_to_others(hot: int) -> None:
    cluster = a_large_cluster(1)
    for row in cluster["partitions"][:hot]:
        row["bytes_out_per_second"] = 10**8
    model = a_model(cluster)
    _, led = attainable_loads(model)
    k = LED.index("out")
    cut = np.flatnonzero(led.each[k] != model.item_led[k])
    assert len(cut) == hot
    assert (led.each[k, cut] < model.led_bands.high[k].max()).all()
    assert (led.bands.low[k] < model.led_bands.low[k]).all()
    # the others can be within: what is left is at least their lower ends, at most their upper ones
    left = int(np.delete(led.each[k], cut).sum())
    others = np.sort(led.bands.low[k])[hot:].sum(), np.sort(led.bands.high[k])[hot:].sum()
    assert others[0] <= left <= others[1]
    rest = [name for name in LED if name != "out"]
    for name in rest:
        assert (led.each[LED.index(name)] == model.item_led[LED.index(name)]).all()


def test_lower_ends_stay_where_enough_is_left() -> None:
    cluster = a_large_cluster(1)
    cluster["partitions"][0]["bytes_out_per_second"] = 10**7  # 1.46 times a fair share
    model = a_model(cluster)
    _, led = attainable_loads(model)
    k = LED.index("out")
    assert (led.each[k] != model.item_led[k]).sum() == 1
    assert (led.bands.low[k] == model.led_bands.low[k]).all()


def test_a_partition_larger_than_a_disk_counts_whole() -> None:
    cluster = a_large_cluster(1)
    cluster["partitions"][0]["size_bytes"] = 10**14
    assert (attainable_loads(a_model(cluster))[0].each[HELD.index("disk")] < 10**14).all()
    for broker in cluster["brokers"]:
        broker["disk_bytes"] = 10**15 if broker["id"] else 10**13
    assert attainable_loads(a_model(cluster))[0].each[HELD.index("disk")].max() == 10**14


def test_others_are_even_beside_a_hot_partition() -> None:
    cluster = a_large_cluster(7)
    cluster["partitions"][5]["bytes_out_per_second"] = 10**8
    plan = partage.plan(Cluster.from_json(cluster), balance="load", tolerance="5%")
    load, moved = stage(plan, "load"), stage(plan, "bytes moved")
    assert 10**6 < load.bound <= load.value <= 1.05 * load.bound
    assert moved.value <= 1.1 * moved.bound
    model = LoadModel.of(plan.problem)
    excess = model.excess(plan.after)
    assert excess["replicas"] == excess["leaders"] == 0
    assert max(excess["disk"], excess["in"]) <= 10_000
    out = np.sort(model.loads(plan.after)[1][LED.index("out")])
    assert out[-2] <= 1.11 * out[0]
    assert plan.settled
