"""Verify a plan with an oracle: used by the tests of strategy ``exact``.

An oracle is a module with ``best_placement``, ``best_leaders``, ``fewest_changes`` and
``best_order``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.oracles import mip
from tests.oracles import naive_problem as reading
from tests.oracles.naive_problem import Lists, NaiveProblem


def lists_of(plan: Any) -> Lists:
    return plan.after.replica_lists()


def assert_best_placement(problem: NaiveProblem, plan: Any, oracle: ModuleType) -> None:
    """Stages 0 to 3, and the proven number of moves."""
    lists = lists_of(plan)
    assert not reading.defects(problem, lists)
    value = reading.placement_value(problem, lists)
    if problem.no_moves:
        assert plan.moves == 0 == value[1]
        return
    assert value == oracle.best_placement(problem)
    assert plan.moves == value[1]
    assert plan.lower_bound <= plan.moves
    if not problem.spread_first:
        assert plan.lower_bound == plan.moves


def assert_best_order(problem: NaiveProblem, plan: Any, oracle: ModuleType) -> None:
    """Stages 4 to 7 for the replica sets that the plan chose."""
    lists = lists_of(plan)
    value = reading.leader_value(problem, lists)
    led = reading.leader_counts(problem, lists)
    squares, changes = oracle.best_leaders(problem, lists)
    assert value.squares == squares
    assert value.leader_changes >= oracle.fewest_changes(problem, lists, led) >= changes
    found = (value.worst, value.failure_squares, value.leader_changes, value.order_changes)
    assert found == oracle.best_order(problem, lists, led)
    assert_best_after_failure(problem, plan)


def assert_best_after_failure(problem: NaiveProblem, plan: Any) -> None:
    """Stage 5 over all equally fair leader counts: the worst survivor is the least, and no bound
    is above what is possible."""
    lists = lists_of(plan)
    value = reading.leader_value(problem, lists)
    assert value.worst == plan.figures["leaders_after_failure"]["ideal"]
    joint = next(stage for stage in plan.stages if stage.name == "joint failure balance")
    assert joint.bound <= value.failure_squares == joint.value
    assert mip.is_best_after_failure(problem, lists, value.worst, joint.bound)


def assert_true_figures(problem: NaiveProblem, plan: Any) -> None:
    """What the plan says of itself against a recount."""
    lists, figures = lists_of(plan), plan.figures
    loads = reading.loads(problem, lists).values()
    led = reading.leader_counts(problem, lists).values()
    assert figures["moves"] == plan.moves == reading.moves(problem, lists)
    assert figures["moves_lower_bound"] == plan.lower_bound
    assert figures["optimal"] is True
    assert figures["replicas_per_broker"] == [min(loads), max(loads)]
    assert figures["leaders_per_broker"] == [min(led), max(led)]
    survivors = reading.after_failure(problem, lists)
    if survivors:
        assert figures["leaders_after_failure"]["max"] == max(survivors)
        assert figures["leaders_after_failure"]["ideal"] <= max(survivors)
    assert figures["leader_changes"] == reading.leader_changes(problem, lists)
