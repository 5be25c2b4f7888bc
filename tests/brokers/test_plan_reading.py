"""A plan read back from its directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partage
from partage.errors import InputError
from tests.bundled import grown

OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_broker": "10:c", "throttle": "50MB"},
    {"remove_broker": 1},
    {"replication_factor": {"console": 2}},
    {"no_moves": True},
    {"max_moves": 60},
    {"tolerance": 0.1},
    {"balance": "bytes", "tolerance": "5%"},
    {"relieve": "60%"},
    {"topics": "cons.*", "concurrency": 5, "batch": 3},
    {"strategy": "generate"},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_plan_is_read_back_from_its_directory(options: dict[str, Any], tmp_path: Path) -> None:
    cluster = grown()
    if "relieve" in options:
        value = cluster.to_json()
        for broker in value["brokers"]:
            broker["disk_bytes"] = 700_000_000_000
        cluster = partage.Cluster.from_json(value)
    plan = partage.plan(cluster, **options)
    plan.write(tmp_path / "plan")
    read = partage.Plan.read(tmp_path / "plan")
    assert read.document() == json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert read.figures | {"seconds": plan.seconds} == plan.figures
    read.write(tmp_path / "again")
    assert partage.check(tmp_path / "again").sound
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").rglob("*.json")}
    assert again == {path.name: path.read_bytes() for path in (tmp_path / "plan").rglob("*.json")}


def test_lists_of_another_tool_are_read_back(tmp_path: Path) -> None:
    cluster = grown()
    lists = partage.plan(cluster, strategy="generate").after.to_reassignment(np.array([0, 1, 5]))
    (tmp_path / "lists.json").write_text(json.dumps(lists))
    partage.plan(cluster, reassignment=tmp_path / "lists.json").write(tmp_path / "plan")
    (tmp_path / "lists.json").unlink()
    read = partage.Plan.read(tmp_path / "plan")
    assert read.document() == json.loads((tmp_path / "plan" / "plan.json").read_text())


def test_a_damaged_directory_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no plan\.json: not a plan directory"):
        partage.Plan.read(tmp_path)
    partage.plan(grown()).write(tmp_path / "plan")
    (tmp_path / "plan" / "waves" / "001.json").unlink()
    with pytest.raises(InputError, match=r"001\.json: no such file"):
        partage.Plan.read(tmp_path / "plan")
    marker = tmp_path / "plan" / "plan.json"
    marker.write_text(marker.read_text().replace('"added":false', '"added":true', 1))
    with pytest.raises(InputError, match="fingerprint"):
        partage.Plan.read(tmp_path / "plan")


@pytest.mark.parametrize(
    ("field", "value"), [("topic", "unknown"), ("partition", 99), ("replicas", [3])]
)
def test_a_wave_that_is_not_the_plans(tmp_path: Path, field: str, value: object) -> None:
    partage.plan(grown()).write(tmp_path / "plan")
    name = tmp_path / "plan" / "waves" / "001.json"
    wave = json.loads(name.read_text())
    wave["partitions"][0][field] = value
    name.write_text(json.dumps(wave))
    with pytest.raises(InputError, match=r"001\.json: .*: its replicas differ from plan\.json"):
        partage.Plan.read(tmp_path / "plan")
    del wave["partitions"][0]
    name.write_text(json.dumps(wave))
    with pytest.raises(InputError, match=r"plan: waves/ and plan\.json differ"):
        partage.Plan.read(tmp_path / "plan")
