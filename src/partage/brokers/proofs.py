"""The objective's stages with what proves them, as plan.json carries it.

A stage has the value that the plan reaches and a bound that no plan can beat, given the stages
before it. The bound comes from the exact solver's prices, whichever strategy made the plan; the
prices are stored, so that ``partage check`` can work the bound out again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.figures import Placement
from partage.brokers.leaders import Led
from partage.brokers.rates import RateProof
from partage.brokers.task import Task
from partage.cluster import Cluster
from partage.flow.certificate import pack
from partage.flow.proof import prove
from partage.flow.sharing import LOAD, MOVES, SPREAD

Ints = npt.NDArray[np.int64]

STAGE_OF = {LOAD: "replicas", MOVES: "moves", SPREAD: "topic spread"}


@dataclass(frozen=True)
class Stage:
    """``prices``: packed dual values and what else the bound is made of (see docs/proofs.md).
    ``exact`` is False where the stage is a search with a bound, not a flow."""

    name: str
    value: int
    bound: int
    prices: dict[str, Any] = field(default_factory=dict)
    exact: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.name,
            "value": self.value,
            "bound": self.bound,
            "exact": self.exact,
            "prices": self.prices,
        }


def prove_placement(task: Task, after: Cluster) -> list[Stage]:
    """Fair loads, fewest moves, topic spread."""
    problem = task.sharing
    value = problem.costs(task.broker_slot[after.replicas[task.items]])
    stages = []
    for proof in prove(problem, task.share):
        prices: dict[str, Any] = {
            "weights": proof.weights,
            "load_weights": problem.weight.tolist(),
            "brokers": pack(proof.slot_price),
        }
        if proof.family_price is not None:
            # the difference from the broker's own price packs well
            prices["topics"] = pack(proof.family_price - proof.slot_price)
        stages.append(Stage(STAGE_OF[proof.cost], value[proof.cost], proof.bound, prices))
    return stages


def prove_leaders(task: Task, after: Cluster, led: Led) -> list[Stage]:
    """Leaders and failures of ``after``, against what its replica sets allow (``led``)."""
    placement = Placement(after, task.usable)
    place = task.slot_brokers
    counts = placement.leader_counts()[place]
    stages = []
    if isinstance(led.leaders, RateProof):
        stages.append(_rate_stage(task, after, led.leaders))
    else:
        stages.append(
            Stage(
                "leaders",
                int((counts * counts).sum()),
                led.leaders.bound,
                {"brokers": pack(led.leaders.price)},
            )
        )
    failure = placement.after_failure()
    ours = np.array_equal(after.replicas, after.with_replicas(led.replicas).replicas)
    prices: dict[str, Any] = {}
    if ours and led.failure.floor is not None:
        prices = {"pairs": pack(led.failure.floor[0]), "brokers": pack(led.failure.floor[1])}
    stages.append(
        Stage(
            "failure",
            failure["max"],
            led.failure.ideal if ours else failure["ideal"],
            prices,
        )
    )
    if ours:
        stages.append(
            Stage(
                "failure balance",
                led.failure.value,
                led.failure.bound,
                {"pairs": pack(led.failure.pair_price), "brokers": pack(led.failure.slot_price)},
            )
        )
    return stages


def _rate_stage(task: Task, after: Cluster, proof: RateProof) -> Stage:
    from partage.brokers.rates import scaled

    assert task.bytes_per_second is not None
    rate = scaled(task.bytes_per_second)
    load = np.zeros(len(task.usable), dtype=np.int64)
    np.add.at(load, after.replicas[:, 0], rate)
    confined = task.cluster.broker_ids[task.slot_brokers[proof.confined]].tolist()
    value = int(load[task.usable].max())
    return Stage("leader rate", value, proof.bound, {"confined": confined}, exact=False)
