"""Growth, compared with a plain count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")
from hypothesis import given
from hypothesis import strategies as st

from partage.pipeline.what_ifs import explore
from partage.pipeline.what_ifs.growth import Growth
from tests.pipeline.what_ifs.cases import (
    _GROWN,
    _PLACED,
    _PLAN,
    rates_of,
)
from tests.profiles import examples


@examples(20)
@given(seed=st.integers(0, 2**40), row=st.integers(0, 10**6))
def test_growth_is_what_a_count_says(seed: int, row: int) -> None:
    cluster = _GROWN
    growth = Growth(_PLACED, runs=1, factor=3, sigma=0.7, seed=seed)
    found = growth.of_row(row)
    assert found == growth.of_row(row)
    drawn = np.random.default_rng([seed, row]).lognormal(math.log(3), 0.7, len(cluster.topics))
    rates, topic = rates_of(cluster).tolist(), cluster.topic.tolist()
    ids = cluster.broker_ids.tolist()
    disk = {b.id: b.disk_bytes for b in cluster.brokers}
    by_name = {"today": cluster.replica_lists(), "exact": _PLAN.after.replica_lists()}
    assert [one["placement"] for one in found] == list(by_name)
    for one, lists in zip(found, by_name.values(), strict=True):
        led, held, stored = (dict.fromkeys(ids, 0.0) for _ in range(3))
        for p, replicas in enumerate(lists):
            led[replicas[0]] += rates[p] * drawn[topic[p]]
            for b in replicas:
                held[b] += rates[p] * drawn[topic[p]]
                stored[b] += int(cluster.size_bytes[p]) * drawn[topic[p]]
        assert one["growth"] == pytest.approx(sum(led.values()) / sum(rates), abs=1e-4)
        for name, load in (("leader_rate", led), ("rate", held), ("bytes", stored)):
            mean = sum(load.values()) / len(load)
            assert one[name] == pytest.approx(max(load.values()) / mean, abs=1e-4)
        fullest = max(stored[b] / size for b, size in disk.items() if size)
        assert one["disk"] == pytest.approx(fullest, abs=1e-4)


def test_growth_around_its_factor() -> None:
    even = Growth(_PLACED, runs=1, factor=2, sigma=0).of_row(0)
    before = Growth(_PLACED, runs=1, factor=1, sigma=0).of_row(0)
    for one, other in zip(even, before, strict=True):
        assert (one["growth"], other["growth"]) == (2, 1)
        assert one["leader_rate"] == other["leader_rate"]
        assert one["disk"] == pytest.approx(2 * other["disk"], abs=2e-4)
    grows = [found["growth"] for row in range(400) for found in Growth(_PLACED, 1).of_row(row)[:1]]
    # the mean of a log-normal is above its median
    assert np.mean(grows) == pytest.approx(2 * math.exp(0.5**2 / 2), rel=0.05)


@pytest.mark.spark
def test_thresholds_count_runs(spark: Any) -> None:
    growth = Growth(_PLACED, runs=50, above=1.3, full=0.4)
    runs = [found for row in range(50) for found in growth.of_row(row)]
    answer = explore(spark, growth)
    for row in answer.percentiles:
        values = [one[row["measure"]] for one in runs if one["placement"] == row["placement"]]
        limit = 0.4 if row["measure"] == "disk" else 1.3
        assert row["threshold"] == limit
        assert row["above"] == sum(value > limit for value in values) / 50
    assert answer.about["cannot"] == {"mip": "has no time"}
