"""A plan directory as the executor reads it, replan files included."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

import partage
from partage.cluster import Broker, Cluster
from partage.errors import InputError
from partage.files import to_json
from partage.live.execution.execution_plan import Direction, ExecutionPlan
from partage.live.execution.journal import Journal
from tests.live.execution.builders import three_brokers


def test_read(plan: ExecutionPlan) -> None:
    assert plan.cluster_id == "id"
    assert sorted(key for wave in plan.waves for key in wave) == sorted(plan.changes)
    assert sum(len(change.adding) for change in plan.changes.values()) == 2
    assert all(change.adding == (3,) for change in plan.changes.values() if change.adding)


def test_reversed(plan: ExecutionPlan) -> None:
    back = plan.reversed()
    assert (plan.direction, back.direction) == (Direction.FORWARD, Direction.ROLLBACK)
    assert back.waves == tuple(reversed(plan.waves))
    assert all(back.changes[key].target == plan.changes[key].origin for key in plan.changes)
    assert back.reversed() == plan


def test_a_directory_with_a_journal_is_not_replaced(plan: ExecutionPlan) -> None:
    made = partage.plan(three_brokers().cluster())
    made.write(plan.directory)
    with Journal.open(plan.directory) as journal:
        journal.write("started")
    with pytest.raises(InputError, match=r"was applied, and its journal\.jsonl is needed"):
        made.write(plan.directory)
    assert (Path(plan.directory) / "journal.jsonl").exists()


def test_an_edited_plan(plan: ExecutionPlan) -> None:
    path = Path(plan.directory) / "plan.json"
    path.write_text(path.read_text().replace('"rack":null', '"rack":"a"', 1))
    with pytest.raises(InputError, match="was changed after it was planned"):
        ExecutionPlan.read(plan.directory)


@pytest.mark.parametrize("name", ["plan.json", "waves/001.json", "replan-1.json"])
def test_a_pipe_does_not_hold_a_command_up(plan: ExecutionPlan, name: str) -> None:
    path = Path(plan.directory) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"is a named pipe|has no plan\.json"):
        ExecutionPlan.read(plan.directory)
    if name == "plan.json":
        with pytest.raises(InputError):
            partage.check(plan.directory)
    else:
        assert not partage.check(plan.directory).sound


def test_not_a_plan(tmp_path: Path, plan: ExecutionPlan) -> None:
    with pytest.raises(InputError, match=r"has no plan\.json: not a plan directory"):
        ExecutionPlan.read(tmp_path)
    wave = Path(plan.directory) / "waves" / "001.json"
    wave.write_text('{"version": 1, "partitions": []}')
    with pytest.raises(InputError, match=r"waves/ and plan\.json differ"):
        ExecutionPlan.read(plan.directory)


# ---------------------------------------------------------------------- replan files


def test_replans_override_the_plan(plan: ExecutionPlan) -> None:
    keys = sorted(key for key, change in plan.changes.items() if change.adding)
    for number, lists in ((1, ((2, 3), (3, 2))), (2, ((1, 2), (3, 2)))):
        entries = [
            {"topic": topic, "partition": partition, "replicas": list(replicas), "wave": 1}
            for (topic, partition), replicas in zip(keys, lists, strict=True)
        ]
        value = {"version": 1, "without": [9], "partitions": entries}
        (Path(plan.directory) / f"replan-{number}.json").write_text(json.dumps(value))
    again = ExecutionPlan.read(plan.directory)
    assert keys[0] not in again.changes  # it stays where it was
    assert again.changes[keys[1]].target == (3, 2)
    assert again.changes[keys[1]].origin == plan.changes[keys[1]].origin
    assert again.waves[-1] == (keys[1],)
    assert sorted(key for wave in again.waves for key in wave) == sorted(again.changes)
    assert again.reversed().changes[keys[1]].target == plan.changes[keys[1]].origin
    (Path(plan.directory) / "replan-2.json").write_text('{"partitions": [{}]}')
    with pytest.raises(InputError, match=r"replan-2\.json: was not written by a run"):
        ExecutionPlan.read(plan.directory)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"replicas": [4, 4, 4]},
            r"replicas: \[4, 4, 4\], expected a list of different broker ids",
        ),
        ({"replicas": []}, r"replicas: \[\], expected a list of different broker ids"),
        ({"replicas": [3.0, 1]}, r"replicas: \[3.0, 1\], expected a list of different broker ids"),
        ({"replicas": "31"}, "replicas: '31', expected a list of different broker ids"),
        ({"partition": True}, "partition: True, expected a whole number from 0"),
        ({"wave": None}, "wave: None, expected a whole number from 0"),
        ({"log_dirs": ["any"]}, "log_dirs: unknown key"),
        ({"partition": 1}, "the plan does not change t-1"),
    ],
    ids=str,
)
def test_a_damaged_replan(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    """t-0 moves from 1, 2 to 2, 3; t-1 stays."""
    cluster = Cluster.build(
        [Broker(b) for b in (1, 2, 3)], ["t", "t"], [0, 1], [[1, 2], [3, 1]], [-1, -1]
    )
    moves = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 3]}]}
    partage.plan(cluster, reassignment=moves).write(tmp_path / "plan")
    entry = {"topic": "t", "partition": 0, "replicas": [3, 1], "wave": 1}
    path = tmp_path / "plan" / "replan-1.json"
    path.write_text(to_json({"version": 1, "without": [], "partitions": [entry]}))
    assert ExecutionPlan.read(tmp_path / "plan").changes["t", 0].target == (3, 1)
    path.write_text(to_json({"version": 1, "without": [], "partitions": [entry | change]}))
    with pytest.raises(
        InputError, match=rf"replan-1\.json: was not written by a run \(.*{problem}"
    ):
        ExecutionPlan.read(tmp_path / "plan")
