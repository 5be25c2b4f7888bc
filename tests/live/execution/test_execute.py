"""A plan checked against a cluster and run: what one run leaves to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("kafka")

import partage
from partage.testing import FakeCluster

ORIGINAL = {(topic, n): (1, 2) for topic in ("t", "u") for n in range(2)}


@pytest.mark.parametrize("replicas", [(1, 2), (2, 1), (3, 2), (3, 4)])
def test_a_topic_created_again_between_two_runs(tmp_path: Path, replicas: tuple[int, int]) -> None:
    """It is neither moved nor rolled back, whatever replicas it has; its neighbour is."""
    live = FakeCluster(ORIGINAL, range(1, 5))
    times = {"clock": live.clock, "sleep": live.sleep}
    partage.plan(partage.snapshot(admin=live.admin), spread="topic").write(tmp_path)
    assert partage.apply(tmp_path, admin=live.admin, **times).state == "done"
    moved = dict(live.replicas)
    assert all(moved[key] != original for key, original in ORIGINAL.items())
    live.delete_topic("t")
    live.create_topic("t", [replicas, replicas])
    recreated = {("t", 0): replicas, ("t", 1): replicas}
    for run in (partage.apply, partage.rollback):
        outcome = run(tmp_path, admin=live.admin, **times)
        assert set(outcome.problems) == {"t-0", "t-1"}
        wanted = moved if run is partage.apply else ORIGINAL
        assert live.replicas == wanted | recreated
    assert live.throttles == {}
