"""Every strategy on the same job, measured by the same criteria.

Whether a strategy is *deterministic* is measured too: it decides the same job once more from a
cluster that names its brokers and partitions in another order, and the two plan.json are compared
byte by byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from partage.brokers.options import GIVEN
from partage.brokers.plan import Plan
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.brokers.strategies import STRATEGIES, strategy_named
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.files import to_json

SEED = 6
"""Of the other order of the input: any fixed number will do."""


def compare(
    problem: Problem,
    strategies: Iterable[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Plan | str]:
    """A plan per strategy (all when None), or the sentence why it has none; lists that are given
    are always among them.

    The exact answer, the measure of all, is worked out once: its time is that of ``exact``.
    """
    answers: dict[str, Plan | str] = {}
    shared = 0.0
    names = list(STRATEGIES if strategies is None else strategies)
    if problem.given is not None and GIVEN not in names:
        names.append(GIVEN)
    for name in names:
        strategy_named(name)
        began = time.perf_counter()
        asked = problem.by_strategy(name)
        shared += time.perf_counter() - began

        def tell(step: str, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {step}")

        try:
            made = solve(asked, tell)
        except CannotError as error:
            answers[name] = str(error)
            continue
        own = shared if name == "exact" else 0.0
        answers[name] = replace(made, seconds=round(made.seconds + own, 3))
    return answers


def deterministic(
    problem: Problem,
    answers: Mapping[str, Plan | str],
    progress: Callable[[str], None] | None = None,
) -> dict[str, bool]:
    """Per strategy with a plan for ``problem``: whether the job, from input in another order, makes
    the same bytes of plan.json. It costs as much again as the plans did."""
    other = _in_another_order(problem)
    same = {}
    for name, answer in answers.items():
        if isinstance(answer, str):
            continue
        if progress is not None:
            progress(f"{name}: again from shuffled input")
        try:
            again = solve(other.by_strategy(name))
        except CannotError:
            same[name] = False
        else:
            same[name] = to_json(again.document()) == to_json(answer.document())
    return same


def comparison(
    answers: Mapping[str, Plan | str], same: Mapping[str, bool] | None = None
) -> dict[str, Any]:
    """The value that ``compare --json`` prints. ``same``: what ``deterministic`` has measured; a
    strategy that is not in it says null."""
    measured = same or {}
    return {
        "strategies": {
            name: {"cannot": answer}
            if isinstance(answer, str)
            else {**answer.figures, "deterministic": measured.get(name)}
            for name, answer in answers.items()
        }
    }


def _in_another_order(problem: Problem) -> Problem:
    """The job again, from its cluster as somebody else might have written it down."""
    cluster, random = problem.cluster, Random(SEED)
    brokers = [b for b, new in zip(cluster.brokers, problem.added.tolist(), strict=True) if not new]
    lists = cluster.replica_lists()
    rows = list(range(cluster.partitions))
    random.shuffle(brokers)
    random.shuffle(rows)
    shuffled = Cluster.build(
        brokers,
        [cluster.topics[cluster.topic[row]] for row in rows],
        cluster.partition[rows].tolist(),
        [lists[row] for row in rows],
        cluster.size_bytes[rows].tolist(),
    )
    shuffled = replace(shuffled, cluster_id=cluster.cluster_id, racks_known=cluster.racks_known)
    # rates are by (topic, partition) ascending, in whatever order the input was
    other = Problem.resolve(shuffled, problem.options, problem.bytes_per_second)
    other.warnings[:], other.loads[:] = problem.warnings, problem.loads
    return other
