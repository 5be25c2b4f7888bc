"""The stages of the objective with their proofs, as stored in plan.json.

A stage has the value that the plan reaches, and a bound that no plan can beat given the values of
the earlier stages. The bound comes from the exact solver's prices, whichever strategy made the
plan. The prices are stored so that ``partage check`` can recompute the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from partage.brokers.budget import MAX_BYTES, MAX_MOVES, TOLERANCE
from partage.brokers.figures import Placement
from partage.brokers.leaders import LeaderProof, Led
from partage.brokers.options import PlanOptions
from partage.brokers.problem import Problem
from partage.brokers.stages import StageName
from partage.cluster import Cluster
from partage.flow.assignment import LOAD, MOVES, SPREAD
from partage.flow.certificate import Prices
from partage.flow.packing import pack
from partage.flow.proof import fairest_loads_for, prove

if TYPE_CHECKING:
    from partage.brokers.leaders.rates import RateProof


_STAGE_OF_COST = {
    LOAD: StageName.REPLICAS,
    MOVES: StageName.MOVES,
    SPREAD: StageName.TOPIC_SPREAD,
}


class Stage(Struct, frozen=True):
    """``prices``: packed dual values and other inputs of the bound (see docs/proofs.md). ``exact``
    is False if the stage is solved by a search with a bound, not by a flow."""

    name: StageName
    value: int
    bound: int
    prices: dict[str, Any] = field(default_factory=dict)
    exact: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.name.value,
            "value": self.value,
            "bound": self.bound,
            "exact": self.exact,
            "prices": self.prices,
        }


def is_aimed(options: PlanOptions, stage: StageName) -> bool:
    """Whether a plan with these options tries to meet the bound of a stage: where loads are
    relieved, the followers keep their order."""
    return not (options.relieved and stage in (StageName.FAILURE, StageName.FAILURE_BALANCE))


def prove_placement(problem: Problem, after: Cluster) -> list[Stage]:
    """Fair loads, fewest moves, topic spread and the budget; or bytes and bytes moved."""
    if problem.options.by_size:
        return _prove_sizes(problem, after)
    found = _prove_share(problem, after)
    if problem.options.limits.any:
        found.append(_prove_budget(problem, after))
    return found


def _prove_share(problem: Problem, after: Cluster) -> list[Stage]:
    sharing = problem.aimed
    value = sharing.costs(problem.broker_slot[after.replicas[problem.items]])
    stages = []
    for proof in prove(sharing, problem.share):
        prices: dict[str, Any] = {
            "weights": proof.weights,
            "load_weights": sharing.weight.tolist(),
            "brokers": pack(proof.slot_price),
        }
        if proof.family_price is not None:
            # the difference from the broker's own price packs well
            prices["topics"] = pack(proof.family_price - proof.slot_price)
        if problem.budgeted.aim is not None:
            prices["aim"] = problem.budgeted.aim.tolist()
        # a limit on bytes may cost topic spread; how much is found by a search
        exact = proof.cost != SPREAD or problem.options.max_bytes_moved is None
        stages.append(
            Stage(_STAGE_OF_COST[proof.cost], value[proof.cost], proof.bound, prices, exact)
        )
    return stages


def _prove_budget(problem: Problem, after: Cluster) -> Stage:
    """The objective under the limits, whether or not one of them takes effect.

    Within a tolerance the moves are the fewest. Where that is too many, or without a tolerance, the
    loads are the fairest for a number of moves. For a limit on bytes the bound is the fairest loads
    without a limit, which may be out of reach.
    """
    sharing, budgeted, limits = problem.sharing, problem.budgeted, problem.options.limits
    fair, windows = budgeted.fair, budgeted.windows
    assert fair is not None, "there are limits"
    value = sharing.costs(problem.broker_slot[after.replicas[problem.items]])
    usual = TOLERANCE if windows else MAX_BYTES if limits.moves is None else MAX_MOVES
    kind = budgeted.kind or usual
    prices: dict[str, Any] = {"limit": kind, "load_weights": sharing.weight.tolist()}
    if windows is not None:
        prices |= {"fair": pack(fair.slot_price), "within": pack(windows.slot_price)}
    if kind == TOLERANCE:
        from partage.flow.size_balancing import fewest_moves

        assert windows is not None, "they come with the tolerance"
        bound = fewest_moves(sharing, windows.low, windows.high, windows.slot_price)
        return Stage(StageName.BUDGET, value[MOVES], bound, prices, exact=False)
    slot_price, move_price, allowed = fair.slot_price, 0, 0
    if budgeted.kind == MAX_MOVES:
        assert budgeted.trade is not None, "it says what is aimed at"
        assert limits.moves is not None, "it takes effect"
        slot_price, move_price = budgeted.trade.slot_price, budgeted.trade.move_price
        allowed = limits.moves
    prices |= {"brokers": pack(slot_price), "move_price": move_price}
    bound = fairest_loads_for(sharing, slot_price, move_price) - move_price * allowed
    return Stage(StageName.BUDGET, value[LOAD], bound, prices, exact=False)


def _prove_sizes(problem: Problem, after: Cluster) -> list[Stage]:
    """The highest bytes of a broker in relation to its capacity, and the bytes moved."""
    from partage.brokers.placement.sizes import size_bands, sized
    from partage.flow.size_balancing import fair_shares, fewest_bytes, slot_prices, tightest

    sharing, _ = sized(problem)
    slots = problem.broker_slot[after.replicas[problem.items]]
    load = problem.sharing.size_on(slots)
    stages = []
    if problem.options.relieve is None:
        bound, confined = tightest(sharing, fair_shares(sharing))
        prices: dict[str, Any] = {
            "confined": problem.cluster.broker_ids[problem.slot_brokers[confined]].tolist(),
            "load_weights": sharing.weight.tolist(),
        }
        value = max(int(w) * int(x) for w, x in zip(sharing.weight, load, strict=True))
        stages.append(Stage(StageName.BYTES, value, bound, prices, exact=False))
    low, high = size_bands(problem, load)
    price = slot_prices(sharing, low, high) if sharing.items else np.zeros_like(low)
    bound = fewest_bytes(sharing, low, high, price)
    prices = {"brokers": pack(price), "low": pack(low), "high": pack(high)}
    moved = problem.sharing.size_moved(slots)
    stages.append(Stage(StageName.BYTES_MOVED, moved, bound, prices, exact=False))
    return stages


def prove_leaders(problem: Problem, after: Cluster, led: Led) -> list[Stage]:
    """Leaders and failures of ``after``, compared with the optimum for its sets; ``led``: its order
    and the proofs."""
    placement = Placement(after, problem.usable)
    place = problem.slot_brokers
    counts = placement.leader_counts()[place]
    stages = []
    if isinstance(led.leaders, LeaderProof) and problem.topic_first is not None:
        stages.append(Stage(StageName.TOPIC_LEADERS, led.leaders.value, led.leaders.bound))
    elif isinstance(led.leaders, LeaderProof):
        stages.append(
            Stage(
                StageName.LEADERS,
                int((counts * counts).sum()),
                led.leaders.bound,
                {"brokers": pack(led.leaders.price)},
            )
        )
    elif led.leaders is not None:
        stages.append(_rate_stage(problem, after, led.leaders))
    stages += _prove_failures(problem, led)
    if led.zone is not None:
        prices = _proof_json(problem, [led.zone.prices])
        stages.append(Stage(StageName.ZONE_BYTES, led.zone.value, led.zone.bound, prices))
    return stages


def _prove_failures(problem: Problem, led: Led) -> list[Stage]:
    failure = led.failure
    floor, cases = (_proof_json(problem, proof) for proof in (failure.floor, failure.cases))
    prices = _proof_json(problem, [failure.prices])
    exact = not problem.options.relieved  # which keeps the order of followers
    found = [
        Stage(StageName.FAILURE, failure.worst, failure.ideal, floor, exact),
        Stage(StageName.FAILURE_BALANCE, failure.value, failure.bound, prices, exact),
    ]
    if not problem.options.leaders_by_search:
        joint = StageName.JOINT_FAILURE_BALANCE
        found.append(Stage(joint, failure.value, failure.joint, cases, exact=False))
    return found


def _proof_json(problem: Problem, proof: Sequence[Prices | int]) -> dict[str, Any]:
    """A proof without cases as its prices; otherwise ``cases``: brokers that distinguish two cases,
    and prices."""
    steps: list[dict[str, Any]] = []
    for step in proof:
        if isinstance(step, Prices):
            steps.append({"pairs": pack(step.option), "brokers": pack(step.slot)})
            steps[-1] |= {} if step.scale == 1 else {"scale": step.scale}
        else:
            broker = problem.slot_brokers[step]
            steps.append({"broker": int(problem.cluster.broker_ids[broker])})
    return {"cases": steps} if len(steps) > 1 else steps[0] if steps else {}


def _rate_stage(problem: Problem, after: Cluster, proof: RateProof) -> Stage:
    from partage.brokers.leaders.rates import scaled

    assert problem.bytes_per_second is not None
    rate = scaled(problem.bytes_per_second)
    load = np.zeros(len(problem.usable), dtype=np.int64)
    np.add.at(load, after.replicas[:, 0], rate)
    confined = problem.cluster.broker_ids[problem.slot_brokers[proof.confined]].tolist()
    value = int(load[problem.usable].max())
    return Stage(StageName.LEADER_RATE, value, proof.bound, {"confined": confined}, exact=False)
