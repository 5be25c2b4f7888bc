"""The remaining changes in new waves: within the limit, complete, and within the disks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("kafka")

from partage.errors import CannotError
from partage.live.execution.changes import Change
from partage.live.execution.rescheduling import reschedule
from tests.live.execution.builders import MB, plan_of, snapshot
from tests.profiles import examples

replica_lists = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)


@examples(100)
@given(
    st.lists(st.tuples(replica_lists, replica_lists, st.booleans()), min_size=1, max_size=25),
    st.integers(1, 4),
)
def test_new_waves_keep_the_limit_and_are_complete(
    moves: list[tuple[tuple[int, ...], tuple[int, ...], bool]], concurrency: int
) -> None:
    changes = [Change("t", n, a, b) for n, (a, b, _) in enumerate(moves) if a != b]
    if not changes:
        return
    done = {("t", n) for n, (_, _, done) in enumerate(moves) if done}
    cluster = snapshot({c.key: c.target if c.key in done else c.origin for c in changes})
    plan = reschedule(plan_of(changes), cluster, concurrency)
    left = sorted(c.key for c in changes if c.key not in done)
    assert sorted(key for wave in plan.waves for key in wave) == left
    assert plan.concurrency == concurrency
    for wave in plan.waves:
        copied = [c for key in wave if (c := plan.changes[key]).adding]
        received = Counter(b for c in copied for b in c.adding)
        assert max(received.values(), default=0) <= concurrency
        sent = Counter(c.origin[0] for c in copied for _ in c.adding)
        for broker, count in sent.items():
            alone = sum(c.origin[0] == broker for c in copied) == 1
            assert count <= concurrency or alone


def test_disks_limit_new_waves() -> None:
    changes = [Change("t", n, (1,), (2,)) for n in range(3)]
    replicas = {change.key: change.origin for change in changes}
    assert len(reschedule(plan_of(changes), snapshot(replicas, free=40 * MB), 3).waves) == 1
    with pytest.raises(CannotError, match="broker 2: its disk"):
        reschedule(plan_of(changes), snapshot(replicas, free=20 * MB), 3)


def test_a_target_broker_that_is_not_in_the_cluster() -> None:
    changes = [Change("t", 0, (1, 2), (9, 1)), Change("t", 1, (1, 2), (2, 1))]
    cluster = snapshot({change.key: change.origin for change in changes})
    plan = reschedule(plan_of(changes), cluster, 1)
    assert sorted(key for wave in plan.waves for key in wave) == [("t", 0), ("t", 1)]
