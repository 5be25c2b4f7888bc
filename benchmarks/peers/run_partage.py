"""partage: ``partage.plan`` as users call it, with a clock around each stage.

The stages are timed by wrapping the functions that the plan calls, so the real code is measured.
``the rest`` is the time outside them. VARIANT: options of ``partage.plan`` as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from exchange import Clock, request

import partage
from partage.brokers import planning, solving
from partage.brokers.strategies import STRATEGIES


def timed(clock: Clock, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its time added to ``stage``."""

    def wrapped(*arguments: Any, **named: Any) -> Any:
        with clock.stage(stage):
            return call(*arguments, **named)

    return wrapped


def main() -> None:
    asked = request()
    clock = Clock()
    exact = STRATEGIES["exact"]
    STRATEGIES["exact"] = exact._replace(decide=timed(clock, "replicas", exact.decide))
    for module, name, stage in (
        (solving, "lead", "leaders"),
        (solving, "prove_placement", "proofs"),
        (solving, "prove_leaders", "proofs"),
        (solving, "schedule_waves", "waves"),
        (planning, "posed", "read job"),
    ):
        setattr(module, name, timed(clock, stage, getattr(module, name)))

    with clock.stage("read cluster"):
        cluster = partage.Cluster.read(asked.path)
    with clock.stage("whole"):
        options = json.loads(asked.variant or "{}")
        plan = planning.plan(cluster, remove_broker=asked.removed, **options)
    whole, inside = clock.stages.pop("whole"), dict(clock.stages)
    inside.pop("read cluster")
    clock.stages["the rest"] = {
        key: whole[key] - sum(spent[key] for spent in inside.values()) for key in whole
    }

    # partitions may be in another order than in the file
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
        bytes_lower_bound=plan.figures["bytes_moved_lower_bound"],
    )


if __name__ == "__main__":
    main()
