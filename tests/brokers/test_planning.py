"""The Python interface of the planner: keywords with types, paths, and the same plan."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import partage
from partage.brokers.options import declared

CLUSTER: dict[str, Any] = {
    "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}],
    "partitions": [{"topic": "t", "partition": p, "replicas": [1, 2]} for p in range(6)],
}


def test_the_signature_names_every_option_with_its_type_and_default() -> None:
    parameters = inspect.signature(partage.plan).parameters
    assert list(parameters) == [
        "cluster",
        *(one.name for one in declared()),
        *("profile", "progress"),
    ]
    assert all(one.kind is one.KEYWORD_ONLY for one in list(parameters.values())[1:])
    shown = {name: str(one) for name, one in parameters.items()}
    tolerance = "str | float | fractions.Fraction | collections.abc.Mapping[str, str | float]"
    assert shown["tolerance"] == f"tolerance: {tolerance} | None = None"
    assert shown["concurrency"] == "concurrency: str | int = 2"
    assert shown["no_moves"] == "no_moves: bool = False"
    assert shown["leaders"] == "leaders: Literal['count', 'rate'] = 'count'"
    assert shown["strategy"] == "strategy: str = 'exact'"


def test_help_describes_every_option() -> None:
    text = inspect.getdoc(partage.plan) or ""
    for one in declared():
        assert f"{one.name}: {one.help}" in text


def test_a_path_is_taken_for_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER))
    made = partage.plan(path, add_broker=(3, "c"), replication_factor=2)
    cluster = partage.Cluster.from_json(CLUSTER)
    same = partage.plan(cluster, add_broker="3:c", replication_factor="2")
    assert made.document() == same.document()
    assert partage.plan(str(path)).moves == 0


def test_an_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(
        TypeError,
        match=r"plan\(\) got an unexpected keyword argument 'tolerence': did you mean tolerance",
    ):
        partage.plan(partage.Cluster.from_json(CLUSTER), tolerence=1)  # type: ignore[call-arg]


def test_an_unknown_strategy_is_rejected() -> None:
    with pytest.raises(partage.InputError, match="strategy best: expected one of exact, "):
        partage.plan(partage.Cluster.from_json(CLUSTER), strategy="best")
    with pytest.raises(partage.InputError, match="strategy given: needs replica lists"):
        partage.plan(partage.Cluster.from_json(CLUSTER), strategy="given")
