"""Compare strategies on one planning problem, by the same criteria.

Whether a strategy is *deterministic* is measured, too: it solves the problem again from a cluster
whose brokers and partitions are listed in another order, and the two plan.json are compared byte by
byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from partage.brokers.options import GIVEN
from partage.brokers.plan import Plan
from partage.brokers.posing.resolving import resolve
from partage.brokers.problem import Problem
from partage.brokers.solving import solve
from partage.brokers.strategies import STRATEGIES, strategy_named
from partage.cluster import Cluster
from partage.errors import CannotError
from partage.files import to_json
from partage.frames import arrow_table, data_frame, html_table

SEED = 6
"""The seed of the other order of the input."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The strategies by name: the plan of each, or the reason why it has none.

    ``deterministic``: for each strategy with a plan, whether input in another order gives the same
    bytes of plan.json; empty if that was not measured. ``warnings``: of the problem, for all.
    """

    plans: Mapping[str, Plan | str]
    deterministic: Mapping[str, bool] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The value that ``partage compare --json`` prints."""
        return {
            "strategies": {
                name: {"cannot": answer}
                if isinstance(answer, str)
                else {
                    **answer.figures,
                    **_rates_led(answer),
                    "deterministic": self.deterministic.get(name),
                }
                for name, answer in self.plans.items()
            },
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per strategy. Raises PartageError where pandas is not
        installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def __repr__(self) -> str:
        moves = ", ".join(
            f"{name} {'cannot' if isinstance(answer, str) else f'{answer.moves:,}'}"
            for name, answer in self.plans.items()
        )
        return f"<Comparison of {len(self.plans)} strategies, moves: {moves}>"

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        return html_table(f"{len(self.plans)} strategies", columns, rows)

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for name, answer in self.plans.items():
            row = _no_plan(name, answer) if isinstance(answer, str) else _row(name, answer)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return columns


_COLUMNS = (
    "strategy",
    "moves",
    "lower_bound",
    "bytes_moved",
    "fewest_replicas",
    "most_replicas",
    "fewest_leaders",
    "most_leaders",
    "worst_survivor",
    "topic_spread",
    "rack_violations",
    "waves",
    "optimal",
    "settled",
    "seconds",
    "cannot",
)


def _row(name: str, plan: Plan) -> list[Any]:
    figures = plan.figures
    return [
        name,
        plan.moves,
        plan.lower_bound,
        plan.bytes_moved,
        *figures["replicas_per_broker"],
        *figures["leaders_per_broker"],
        figures["leaders_after_failure"]["max"],
        figures["topic_spread"],
        figures["rack_violations"],
        len(plan.waves),
        plan.optimal,
        plan.settled,
        plan.seconds,
        None,
    ]


def _rates_led(plan: Plan) -> dict[str, list[float]]:
    """With ``--leaders rate``: bytes in per second that the brokers lead, least and most."""
    rates, usable = plan.problem.bytes_per_second, plan.problem.usable
    if plan.problem.options.leaders != "rate" or rates is None:
        return {}
    led = np.bincount(plan.after.replicas[:, 0], weights=rates, minlength=len(usable))[usable]
    return {"leader_bytes_per_second": [float(led.min()), float(led.max())]}


def _no_plan(name: str, reason: str) -> list[Any]:
    return [name, *[None] * (len(_COLUMNS) - 2), reason]


def solve_with_each(
    problem: Problem,
    strategies: Iterable[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Plan | str]:
    """A plan per strategy (default: all), or the reason why it has none. The lists of a given
    reassignment are always compared, too.

    The exact answer, which all are measured against, is computed once: its time counts for
    ``exact``.
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

        def report(step: str, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {step}")

        try:
            made = solve(asked, report)
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
    """For each strategy with a plan: whether the problem, from input in another order, gives the
    same bytes of plan.json. It takes as long as the plans took."""
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


def _in_another_order(problem: Problem) -> Problem:
    """The same problem, with brokers and partitions listed in another order."""
    cluster, random = problem.cluster, Random(SEED)
    brokers = [b for b, new in zip(cluster.brokers, problem.added.tolist(), strict=True) if not new]
    lists = cluster.replica_lists()
    rows = list(range(cluster.partitions))
    random.shuffle(brokers)
    random.shuffle(rows)
    at = np.array(rows, dtype=np.int64)
    shuffled = Cluster.build(
        brokers,
        [cluster.topics[cluster.topic[row]] for row in rows],
        cluster.partition[rows].tolist(),
        [lists[row] for row in rows],
        cluster.size_bytes[rows].tolist(),
        bytes_in=cluster.rates_in(at),
        bytes_out=cluster.rates_out(at),
        copy_bytes=np.array(cluster.copy_list())[rows].tolist(),
    ).identified_as(cluster)
    # rates are by (topic, partition) ascending, in whatever order the input was
    other = resolve(shuffled, problem.options, problem.bytes_per_second)
    other.warnings[:], other.loads[:] = problem.warnings, problem.loads
    return other
