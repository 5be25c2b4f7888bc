"""Plans of random clusters are as good as they were: the values of all stages are stored.

A faster way to a plan may break ties in another way, but must not change a value. To store
the values of today:

    python -m tests.brokers.test_same_optimum > tests/data/optimum_values.json
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import partage
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.flow import network

STORED = Path(__file__).resolve().parents[1] / "data" / "optimum_values.json"
CASES, BLOCK = 200, 20


def case(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A small cluster with random replicas, and options: some break the rack rule, have too few or
    too many replicas, or are on a broker to be removed."""
    choose = random.Random(seed)
    brokers, racks = choose.randint(3, 9), choose.randint(0, 4)
    ids = list(range(1, brokers + 1))
    factor = choose.randint(1, 3)
    holding = ids[: choose.randint(factor, brokers)]
    partitions = [
        {
            "topic": f"t{topic}",
            "partition": number,
            "replicas": choose.sample(
                holding, factor if choose.random() < 0.9 else choose.randint(1, factor)
            ),
            "size_bytes": choose.randint(0, 9),
        }
        for topic in range(choose.randint(1, 5))
        for number in range(choose.randint(1, 8))
    ]
    cluster = {
        "brokers": [
            {"id": b, "rack": f"r{choose.randrange(racks)}" if racks else None} for b in ids
        ],
        "partitions": partitions,
    }
    options: dict[str, Any] = {"replication_factor": [str(factor)]}
    if choose.random() < 0.5 and brokers - 1 >= factor:
        options["remove_broker"] = [str(choose.choice(ids))]
    if choose.random() < 0.2:
        options["spread"] = "topic"
    return cluster, options


def values(seed: int) -> list[int]:
    """The value of each stage of the plan; nothing where there is no plan."""
    cluster, options = case(seed)
    try:
        plan = partage.plan(Cluster.from_json(cluster), **options)
    except CannotError:
        return []
    return [stage.value for stage in plan.stages]


@contextmanager
def all_networks_large() -> Iterator[None]:
    """So that every network takes the method for large ones."""
    with patch.multiple(network, _LARGE=0, _VERY_LARGE=0):
        yield


@pytest.mark.sampled(10)
@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
def test_plans_are_as_good_as_before(first: int) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    seeds = range(first, first + BLOCK)
    with all_networks_large():
        found = {seed: values(seed) for seed in seeds}
    assert any(found.values())
    assert {seed: one for seed, one in found.items() if one != stored[seed]} == {}


if __name__ == "__main__":
    with all_networks_large():
        print("[" + ",\n".join(json.dumps(values(seed)) for seed in range(CASES)) + "]")
