"""Which changes of a wave are pending, incomplete or skipped, and what may be rescheduled."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("kafka")

from partage.errors import CannotError
from partage.live.execution.changes import Change
from partage.live.execution.progress import Progress
from tests.live.execution.builders import MB, plan_of, snapshot


def test_pending_changes() -> None:
    """Complete changes are not pending; deleted and foreign partitions are skipped."""
    changes = [Change("t", n, (1,), (2,)) for n in range(4)]
    progress = Progress(plan_of(changes))
    cluster = snapshot({("t", 0): (1,), ("t", 1): (2,), ("t", 2): (5,)})
    states = {state.key: state for state in cluster.partitions}
    keys = progress.begin_next_wave()
    assert (progress.wave, progress.waves, progress.remaining_waves) == (1, 1, [])
    assert progress.pending(keys, states) == [changes[0]]
    assert progress.skipped == {
        ("t", 2): "someone else moved it to [5]",
        ("t", 3): "it no longer exists",
    }
    progress.skipped[changes[0].key] = "no"
    assert progress.pending(keys, states) == []


def test_incomplete_changes() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(4)]
    progress = Progress(plan_of(changes))
    progress.skipped["t", 3] = "no"
    cluster = snapshot({("t", 0): (1,), ("t", 1): (2,), ("t", 3): (1,)})
    states = {state.key: state for state in cluster.partitions}
    assert progress.incomplete(changes, states) == [changes[0]]
    assert progress.skipped == {("t", 2): "it no longer exists", ("t", 3): "no"}


def test_only_remaining_waves_are_rescheduled() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(5)]
    plan = plan_of(changes)
    progress = Progress(replace(plan, waves=tuple((change.key,) for change in changes)))
    assert progress.begin_next_wave() == (("t", 0),)
    progress.skipped["t", 4] = "no"
    replicas = {change.key: change.origin for change in changes}
    with pytest.raises(CannotError, match="broker 2: its disk"):
        progress.reschedule(snapshot(replicas, free=20 * MB), 3)
    assert (progress.concurrency, progress.waves) == (3, 5)
    assert progress.reschedule(snapshot(replicas), 2) == 2
    assert progress.waves == 3
    left = [key for wave in progress.remaining_waves for key in wave]
    assert sorted(left) == [("t", 1), ("t", 2), ("t", 3)]
