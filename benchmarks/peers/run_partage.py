"""partage: ``partage.plan`` as anyone calls it, with a clock around each of its stages.

The stages are timed by wrapping the functions that ``brokers.plan`` calls, so that what is measured
is the whole plan and no copy of it. ``the rest`` is what the plan does outside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from exchange import Clock, question

import partage
import partage.brokers.plan as planning
from partage.brokers.strategies import STRATEGIES


def timed(clock: Clock, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its time counted as ``stage``."""

    def wrapped(*arguments: Any, **named: Any) -> Any:
        with clock.stage(stage):
            return call(*arguments, **named)

    return wrapped


def main() -> None:
    asked = question()
    clock = Clock()
    exact = STRATEGIES["exact"]
    STRATEGIES["exact"] = replace(exact, decide=timed(clock, "replicas", exact.decide))
    for name, stage in (
        ("lead", "leaders"),
        ("prove_placement", "proofs"),
        ("prove_leaders", "proofs"),
        ("schedule_waves", "waves"),
        ("problem_of", "read job"),
    ):
        setattr(planning, name, timed(clock, stage, getattr(planning, name)))

    with clock.stage("read cluster"):
        cluster = partage.Cluster.read(asked.path)
    with clock.stage("whole"):
        plan = planning.plan(cluster, remove_broker=asked.removed)
    whole, inside = clock.stages.pop("whole"), dict(clock.stages)
    inside.pop("read cluster")
    clock.stages["the rest"] = {
        key: whole[key] - sum(spent[key] for spent in inside.values()) for key in whole
    }

    # the cluster's order may be another than the file's
    after = {
        (topic, partition): brokers
        for topic, partition, brokers in zip(
            [plan.after.topics[t] for t in plan.after.topic.tolist()],
            plan.after.partition.tolist(),
            plan.after.replica_lists(),
            strict=True,
        )
    }
    file = asked.read()["partitions"]
    asked.reply(
        [after[p["topic"], p["partition"]] for p in file],
        clock,
        optimal=plan.optimal,
        moves_lower_bound=plan.lower_bound,
        moves_own_count=plan.moves,
    )


if __name__ == "__main__":
    main()
