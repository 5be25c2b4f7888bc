"""A plan directory is replaced unless its plan was executed or is another cluster's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from partage.brokers.directory import ROLLBACK
from partage.brokers.kept_rollback import check_rollback
from partage.brokers.planning import plan
from partage.cluster import Cluster
from partage.errors import InputError
from tests.matrices import cluster_of, partitions

REMEDY = ": name another directory, or delete this one if you do not need that rollback"
FULL = cluster_of("1,2 1,2 1,2 1,2", "1 2 3")


def written(folder: Path, cluster: Cluster = FULL) -> bytes:
    plan(cluster).write(folder)
    return (folder / ROLLBACK).read_bytes()


def test_the_same_placement_may_be_planned_again(tmp_path: Path) -> None:
    written(tmp_path / "plan")
    plan(FULL, add_broker="4").write(tmp_path / "plan")
    with_new_topic = cluster_of("1,2 1,2 1,2 1,2 u: 1,2", "1 2 3")
    plan(with_new_topic).write(tmp_path / "plan")


def test_a_plan_that_changes_nothing_may_be_replaced(tmp_path: Path) -> None:
    written(tmp_path / "plan", cluster_of("1 2", "1 2"))
    plan(FULL).write(tmp_path / "plan")


@pytest.mark.parametrize(
    "other",
    [cluster_of("1,3 1,3 1,3 1,3", "1 2 3"), cluster_of("u: 1,2 1,2 1,2 1,2", "1 2 3")],
    ids=["other moves", "other topics"],
)
def test_a_plan_that_was_not_executed_may_be_replaced(tmp_path: Path, other: Cluster) -> None:
    written(tmp_path / "plan", cluster_of("1,2 1,2 1,2 1,2", "1 2 4"))
    plan(other).write(tmp_path / "plan")


@pytest.mark.parametrize(("cluster_id", "other"), [("one", ""), (None, ", or for another cluster")])
def test_a_plan_that_was_executed_is_kept(
    tmp_path: Path, cluster_id: str | None, other: str
) -> None:
    full = replace(FULL, cluster_id=cluster_id)
    kept = written(tmp_path / "plan", full)
    expected = (
        rf"has the rollback\.json of a plan that was executed{other} "
        rf"\(t-\d is where it put it\){REMEDY}$"
    )
    with pytest.raises(InputError, match=expected):
        plan(plan(full).after, add_broker="4").write(tmp_path / "plan")
    assert (tmp_path / "plan" / ROLLBACK).read_bytes() == kept


def test_another_cluster_with_the_same_placement_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "plan", replace(FULL, cluster_id="one"))
    check_rollback(tmp_path / "plan", FULL)
    check_rollback(tmp_path / "plan", replace(FULL, cluster_id="one"))
    with pytest.raises(InputError, match=f"of a plan for another cluster, one{REMEDY}$"):
        check_rollback(tmp_path / "plan", replace(FULL, cluster_id="two"))


def test_replicas_that_changed_their_log_dir_are_refused(tmp_path: Path) -> None:
    brokers = [{"id": 1, "log_dirs": [{"path": path, "disk_bytes": 100} for path in ("/a", "/b")]}]

    def in_log_dirs(*log_dirs: str) -> Cluster:
        rows = partitions([[1]] * 4, [10] * 4)
        named = [row | {"log_dirs": [one]} for row, one in zip(rows, log_dirs, strict=True)]
        return Cluster.from_json({"brokers": brokers, "partitions": named})

    full = in_log_dirs("/a", "/a", "/a", "/a")
    made = plan(full, balance_disks=True)
    made.write(tmp_path / "plan")
    check_rollback(tmp_path / "plan", full)
    with pytest.raises(
        InputError, match=r"executed, or for another cluster \(t-\d is where it put it\)"
    ):
        check_rollback(tmp_path / "plan", made.after)


def test_a_damaged_plan_is_one_line(tmp_path: Path) -> None:
    check_rollback("", FULL)
    check_rollback(tmp_path / "nosuch", FULL)
    written(tmp_path / "plan")
    (tmp_path / "plan" / ROLLBACK).write_text("{}")
    with pytest.raises(InputError, match=r"rollback\.json cannot be read: name another directory"):
        check_rollback(tmp_path / "plan", FULL)
