"""How much work plans take, counted, so that a slow-down shows on a noisy machine.

Each limit is the count of today and some more: a change that needs more arcs, rounds or swaps for
the same plans has to be better elsewhere.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from benchmarks.clusters import cluster_json

import partage
from partage.brokers import solving, survivors
from partage.brokers.plan import Plan
from partage.cluster import Cluster
from partage.flow import network, picking, primal_dual, takeover_counts
from partage.flow.assignment import size_swaps
from partage.flow.counts_below_cap import CappedPicks

JOBS = {
    "expansion": (18, 2, 0.0, {}),
    "removal": (20, 0, 0.0, {"remove_broker": ["19", "20"]}),
    "racks": (20, 0, 0.1, {}),
}


def cluster_of(brokers: int, new: int, misplaced: float) -> Cluster:
    return Cluster.from_json(
        cluster_json(
            brokers=brokers, new=new, racks=5, partitions=2000, topics=80, misplaced=misplaced
        )
    )


def counts_of(kind: str) -> tuple[Plan, dict[str, int]]:
    """The plan of a job with all networks counted as large, and the work that it took."""
    brokers, new, misplaced, options = JOBS[kind]
    cluster = cluster_of(brokers, new, misplaced)
    counts = {"arcs": 0, "rounds": 0, "arcs in paths": 0, "swaps tried": 0, "decisions": 0}
    solve, route = network.solve, primal_dual._route
    pairs, decide = size_swaps._SizeSwaps._pairs, solving._decide

    def counted(name, call, size=lambda *_: 1):  # type: ignore[no-untyped-def]
        def wrapped(*args, **named):  # type: ignore[no-untyped-def]
            counts[name] += size(*args)
            return call(*args, **named)

        return wrapped

    counted_arcs = counted("arcs", solve, lambda arcs, *_: len(arcs.tail))
    with (
        patch.multiple(network, _LARGE=0, _VERY_LARGE=0),
        patch.object(survivors, "MAX_SIZE", 0),
        patch.object(size_swaps, "_TOGETHER", 0),
        patch.object(network, "solve", counted_arcs),
        patch.object(picking, "solve", counted_arcs),
        patch.object(
            primal_dual,
            "_route",
            counted("rounds", counted("arcs in paths", route, lambda _, paths, *__: len(paths[0]))),
        ),
        patch.object(size_swaps._SizeSwaps, "_pairs", counted("swaps tried", pairs)),
        patch.object(solving, "_decide", counted("decisions", decide)),
    ):
        plan = partage.plan(cluster, **options)  # type: ignore[arg-type]
    return plan, counts


@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        (
            "expansion",
            {
                "arcs": 38_000,
                "rounds": 30,
                "arcs in paths": 41_000,
                "swaps tried": 25,
                "decisions": 1,
            },
        ),
        (
            "removal",
            {
                "arcs": 49_000,
                "rounds": 41,
                "arcs in paths": 90_000,
                "swaps tried": 42,
                "decisions": 1,
            },
        ),
        (
            "racks",
            {
                "arcs": 37_000,
                "rounds": 32,
                "arcs in paths": 50_000,
                "swaps tried": 38,
                "decisions": 1,
            },
        ),
    ],
)
def test_a_plan_takes_no_more_work(kind: str, limits: dict[str, int]) -> None:
    plan, counts = counts_of(kind)
    assert plan.settled
    assert {name: n for name, n in counts.items() if n > limits[name]} == {}, counts


def test_a_search_for_leader_counts_ends() -> None:
    """None of the counts that it tries lowers the worst survivor, and it cannot exclude that some
    would."""
    flows = programs = 0
    cut, solve = CappedPicks.cuts, takeover_counts._solve_program

    def counted_flow(*args: Any) -> Any:
        nonlocal flows
        flows += 1
        return cut(*args)

    def counted_program(**args: Any) -> Any:
        nonlocal programs
        programs += 1
        return solve(**args)

    cluster = Cluster.from_json(
        cluster_json(brokers=40, racks=4, partitions=141, topics=20, misplaced=0.3)
    )
    with (
        patch.object(CappedPicks, "cuts", counted_flow),
        patch.object(takeover_counts, "_solve_program", counted_program),
    ):
        plan = partage.plan(cluster)
    assert plan.gaps["failure"] > 0
    assert 0 < flows <= 4_000
    assert programs <= 20
