"""Questions to a plan, answered by an oracle: used by the tests of strategy ``exact``.

An oracle is a module with ``best_placement``, ``best_leaders`` and ``best_order``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.oracles import job as reading
from tests.oracles.job import Job, Lists


def lists_of(plan: Any) -> Lists:
    return plan.after.replica_lists()


def assert_best_placement(job: Job, plan: Any, oracle: ModuleType) -> None:
    """Stages 0 to 3, and the proven number of moves."""
    lists = lists_of(plan)
    assert not reading.defects(job, lists)
    value = reading.placement_value(job, lists)
    if job.no_moves:
        assert plan.moves == 0 == value[1]
        return
    assert value == oracle.best_placement(job)
    assert plan.moves == value[1]
    assert plan.lower_bound <= plan.moves
    if not job.spread_first:
        assert plan.lower_bound == plan.moves


def assert_best_order(job: Job, plan: Any, oracle: ModuleType) -> None:
    """Stages 4 to 7 for the replica sets that the plan chose."""
    lists = lists_of(plan)
    value = reading.leader_value(job, lists)
    led = reading.leader_counts(job, lists)
    squares, changes = oracle.best_leaders(job, lists)
    assert value.squares == squares
    assert value.leader_changes >= changes
    # of the fair shares the plan chose one that keeps as many leaders as any
    assert oracle.fewest_changes(job, lists, led) == changes, (
        "another fair share keeps more leaders"
    )
    found = (value.worst, value.failure_squares, value.leader_changes, value.order_changes)
    assert found == oracle.best_order(job, lists, led)


def assert_true_figures(job: Job, plan: Any) -> None:
    """What the plan says of itself against a recount."""
    lists, figures = lists_of(plan), plan.figures
    loads = reading.loads(job, lists).values()
    led = reading.leader_counts(job, lists).values()
    assert figures["moves"] == plan.moves == reading.moves(job, lists)
    assert figures["moves_lower_bound"] == plan.lower_bound
    assert figures["optimal"] is True
    assert figures["replicas_per_broker"] == [min(loads), max(loads)]
    assert figures["leaders_per_broker"] == [min(led), max(led)]
    survivors = reading.after_failure(job, lists)
    if survivors:
        assert figures["leaders_after_failure"]["max"] == max(survivors)
        assert figures["leaders_after_failure"]["ideal"] <= max(survivors)
    assert figures["leader_changes"] == reading.leader_changes(job, lists)
