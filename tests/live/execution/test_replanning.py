"""Changes planned again without a dead broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.brokers.option_values import LeaderRacks
from partage.errors import CannotError
from partage.files import parse_json
from partage.live.admin.states import Key
from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import Direction
from partage.live.execution.replanning import replan_without
from tests.live.execution.builders import plan_of, snapshot


def replanned(
    folder: Path,
    changes: list[Change],
    keys: set[Key],
    rack_of: Mapping[int, str] = {},
    **more: Any,
) -> tuple[dict[Key, tuple[int, ...]], int]:
    """The new replicas of these partitions without broker 3, and how many replicas move."""
    plan = plan_of(changes, str(folder), **more)
    cluster = snapshot({change.key: change.origin for change in changes}, (3,))
    racked = (replace(one, rack=rack_of.get(one.id)) for one in cluster.brokers)
    cluster = replace(cluster, brokers=tuple(racked))
    path, moves = replan_without(plan, cluster, (3,), keys, 2)
    value = parse_json(path.read_text(), str(path))
    assert value["without"] == sorted({3} | plan.racks.keys() - {1, 2, 4, 5, 6})
    entries = value["partitions"]
    return {(e["topic"], e["partition"]): tuple(e["replicas"]) for e in entries}, moves


def test_the_rest_of_the_plan_is_kept_and_counts(tmp_path: Path) -> None:
    changes = [
        Change("t", 0, (1, 2), (1, 3)),
        Change("t", 1, (1, 2), (4, 5)),
        Change("t", 2, (2, 1), (6, 3)),
    ]
    replicas, _ = replanned(tmp_path, changes, {("t", 0), ("t", 2)})
    assert set(replicas) == {("t", 0), ("t", 2)}
    load = Counter(b for listed in (*replicas.values(), (4, 5)) for b in listed)
    assert 3 not in load
    assert max(load.values()) == 2  # six replicas on five brokers
    assert min(load[b] for b in (1, 2, 4, 5, 6)) == 1


def test_excluded_brokers_stay_empty(tmp_path: Path) -> None:
    changes = [Change("t", n, (1,), (3,)) for n in range(4)]
    replicas, moves = replanned(
        tmp_path, changes, {c.key for c in changes}, excluded=(1,), racks={2: "a", 7: "b"}
    )
    assert moves == 4
    assert Counter(replicas.values()) == {(2,): 1, (4,): 1, (5,): 1, (6,): 1}


RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}


def test_leaders_stay_in_their_racks(tmp_path: Path) -> None:
    changes = [Change("t", n, (1, 2), (1, 2, 3)) for n in range(6)]
    asked = (LeaderRacks("t", ("b", "gone")), LeaderRacks("dropped", ("a",)))
    keys = {change.key for change in changes}
    replicas, _ = replanned(tmp_path, changes, keys, RACKS, leader_racks=asked)
    assert {listed[0] for listed in replicas.values()} <= {2, 5}
    (tmp_path / "replan-1.json").unlink()
    back = {"leader_racks": asked, "direction": Direction.ROLLBACK}
    replicas, _ = replanned(tmp_path, changes, keys, RACKS, **back)
    assert {RACKS[listed[0]] for listed in replicas.values()} == {"a", "b", "c"}


def test_demoted_brokers_stay_so(tmp_path: Path) -> None:
    changes = [Change("t", n, (1, 2), (1, 2, 3)) for n in range(6)]
    keys = {change.key for change in changes}
    replicas, _ = replanned(tmp_path, changes, keys, RACKS, demoted=(2, 3, 5))
    assert {listed[0] for listed in replicas.values()} <= {1, 4, 6}
    (tmp_path / "replan-1.json").unlink()
    for given in ({"demoted": (1,), "direction": Direction.ROLLBACK}, {"demoted": tuple(RACKS)}):
        replicas, _ = replanned(tmp_path, changes, keys, RACKS, **given)
        assert 1 in {listed[0] for listed in replicas.values()}
        (tmp_path / "replan-1.json").unlink()


def test_leaders_leave_their_racks_where_no_replica_is_there(tmp_path: Path) -> None:
    change = Change("t", 0, (1,), (3,))
    asked = (LeaderRacks(None, ("c",)),)
    replicas, moves = replanned(tmp_path, [change], {change.key}, RACKS, leader_racks=asked)
    assert (replicas, moves) == ({change.key: (1,)}, 0)


def test_no_placement_without_the_broker(tmp_path: Path) -> None:
    with pytest.raises(CannotError, match="t-0 has no live replica"):
        replanned(tmp_path, [Change("t", 0, (3,), (3, 1))], {("t", 0)})
    wide = [Change("t", 0, (1,), (1, 2, 3, 4, 5, 6))]
    with pytest.raises(CannotError, match="t-0 needs 6 live brokers, 5 are"):
        replanned(tmp_path, wide, {("t", 0)})
