"""The bounds on leaders and on takeovers after a failure, recomputed from their prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partage.brokers.check.failures import leaders_after_failures
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.zones import Zones
from partage.flow.certificate import (
    Prices,
    Takeovers,
    fairest_range,
    picking_bound,
    proven_bound,
    unpack,
)


def leader_bounds(plan: PlanColumns, found: Recount) -> None:
    """Check the stages of the leaders and of failures."""
    choices = _Choices(plan)
    if "leader rate" in plan.stages:
        _check_rates(choices, found)
    elif "leaders" in plan.stages:
        _check_counts(choices, found)
    level = leaders_after_failures(plan, plan.after)
    worst = found.values["failure"] = int(level.max(initial=0))
    squares = int((level.astype(object) ** 2).sum())
    takeovers = _takeovers(choices)
    _check_worst(plan, takeovers, found)
    same_counts = takeovers.within(choices.counts, choices.counts)
    _check_balance(plan, same_counts, "failure balance", worst, squares, found)
    if "joint failure balance" in plan.stages:
        _check_balance(plan, takeovers, "joint failure balance", worst, squares, found)
    if "zone bytes" in plan.stages:
        _check_zones(choices, same_counts, worst, found)


class _Choices:
    """What the orders of the broker lists leave open, on E usable brokers (slots).

    - ``sets``: usable slots of each partition's replicas, ascending; ``may_lead``: those that the
      options allow to lead; ``leader`` [P] slot of the preferred leader, -1 where it is not usable;
      ``counts`` [E] leaders
    - ``free``: rows with a choice: chosen partitions with two usable replicas or more
    - ``fixed``: the other rows, with the slot that leads them, if any can; ``base`` [E]: how many
      each leads; ``pair_base`` [E, E]: their takeovers by preferred leader and follower
    """

    def __init__(self, plan: PlanColumns) -> None:
        self.plan = plan
        slots = self.slots = len(plan.slots)
        self.leader = plan.leaders(plan.after)
        self.counts = np.bincount(self.leader[self.leader >= 0], minlength=slots)
        self.sets = [
            sorted({int(plan.slot_of[plan.place[b]]) for b in r} - {-1}) for r in plan.after
        ]
        self.may_lead = [
            [s for s in slots if plan.may_lead(i, int(plan.slots[s]))]
            for i, slots in enumerate(self.sets)
        ]
        may_choose = [bool(c) and len(s) >= 2 for c, s in zip(plan.chosen, self.sets, strict=True)]
        self.free = [i for i, free in enumerate(may_choose) if free]
        rest = [i for i, free in enumerate(may_choose) if not free]
        self.fixed = [(i, leader) for i in rest if (leader := self._fixed_leader(i)) >= 0]
        self.base = np.zeros(slots, dtype=np.int64)
        self.pair_base = np.zeros((slots, slots), dtype=np.int64)
        follower = plan.slot_of[plan.first_followers(plan.after)]
        for _, leader in self.fixed:
            self.base[leader] += 1
        for i in rest:
            if self.leader[i] >= 0 and follower[i] >= 0:
                self.pair_base[self.leader[i], follower[i]] += 1

    def _fixed_leader(self, row: int) -> int:
        """A lone usable replica leads, even if a dead broker's is listed before it."""
        usable = self.sets[row]
        return usable[0] if self.plan.chosen[row] and usable else int(self.leader[row])


def _takeovers(choices: _Choices) -> Takeovers:
    """Which broker may take over from which, by pair of leader and follower.

    Where the leaders are proven to be the fairest, all leader counts as fair are allowed; otherwise
    only these. By rate or load, the leaders stay.
    """
    plan, slots = choices.plan, choices.slots
    free = [i for i in choices.free if choices.leader[i] >= 0]
    base = choices.counts - np.bincount(choices.leader[free], minlength=slots)
    low = high = choices.counts
    may_lead = [choices.may_lead[i] for i in free]
    stage = plan.stages.get("leaders")
    if stage is None:
        may_lead = [[int(choices.leader[i])] for i in free]
    elif (
        stage["value"] == stage["bound"]
        and len(free) == len(choices.free)
        and (base == choices.base).all()
    ):
        price = unpack(stage["prices"]["brokers"], slots)
        low, high = fairest_range(base, price, len(free))
        least = [min(int(price[b]) for b in brokers) for brokers in may_lead]
        may_lead = [
            [b for b in brokers if price[b] == cheapest]
            for brokers, cheapest in zip(may_lead, least, strict=True)
        ]
    triples = [
        (k, b, f)
        for k, i in enumerate(free)
        for b in may_lead[k]
        for f in choices.sets[i]
        if f != b
    ]
    item, leader, follower = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    pairs, option = np.unique(leader * slots + follower, return_inverse=True)
    return Takeovers(
        item=item,
        option=option,
        items=len(free),
        holder=pairs // slots,
        taker=pairs % slots,
        base=base,
        fixed=choices.pair_base,
        low=low,
        high=high,
        total=int(choices.counts.sum()),
    )


def _proof(plan: PlanColumns, prices: dict[str, Any], takeovers: Takeovers) -> list[Prices | int]:
    """The prices of a stage, or its cases. Raises ValueError."""
    steps: list[Prices | int] = []
    for step in prices.get("cases", [prices]):
        if "broker" in step:
            steps.append(int(plan.slot_of[plan.place[step["broker"]]]))
        else:
            option = unpack(step["pairs"], len(takeovers.holder))
            slot = unpack(step["brokers"], takeovers.slots)
            steps.append(Prices(option, slot, step.get("scale", 1)))
    return steps


def _check_counts(choices: _Choices, found: Recount) -> None:
    """The stage ``leaders``: the sum of squared leader counts."""
    stage = choices.plan.stages["leaders"]
    arcs = [(k, s) for k, i in enumerate(choices.free) for s in choices.may_lead[i]]
    item, option = np.array(arcs, dtype=np.int64).reshape(-1, 2).T
    bound = picking_bound(
        item=item,
        option=option,
        items=len(choices.free),
        base=choices.base,
        price=unpack(stage["prices"]["brokers"], choices.slots),
        limit=len(choices.free),
    )
    found.values["leaders"] = int((choices.counts * choices.counts).sum())
    found.compare_bound(stage, bound)


def _check_worst(plan: PlanColumns, takeovers: Takeovers, found: Recount) -> None:
    """The stage ``failure``: the worst survivor's leaders. Its bound follows from a proof that one
    less is impossible or, without prices, from filling the survivors evenly."""
    stage = plan.stages["failure"]
    if not stage["prices"]:
        found.compare_bound(stage, takeovers.counting_bound())
        return
    cap = int(stage["bound"]) - 1
    if proven_bound(takeovers, cap, _proof(plan, stage["prices"], takeovers)) is not None:
        found.defect(f"bound of failure is {stage['bound']}, its prices do not prove that")


def _check_balance(
    plan: PlanColumns, takeovers: Takeovers, name: str, worst: int, squares: int, found: Recount
) -> None:
    """A sum of the survivors' squared leader counts over all failures, among the orders with the
    same worst survivor. Without prices, those of ``failure balance`` prove the bound."""
    found.values[name] = squares
    stage = plan.stages[name]
    prices = stage["prices"] or plan.stages["failure balance"]["prices"]
    bound = proven_bound(takeovers, worst, _proof(plan, prices, takeovers))
    if bound is None:
        found.defect(f"prices of {name} exclude the plan itself")
    else:
        found.compare_bound(stage, bound)


def _check_zones(choices: _Choices, takeovers: Takeovers, worst: int, found: Recount) -> None:
    """The stage ``zone bytes``: what crosses racks, in 2**-30 of all rates, among the orders that
    the prices of ``failure balance`` leave, if these prove it to be the best."""
    plan = choices.plan
    stage, balance = plan.stages["zone bytes"], plan.stages["failure balance"]
    if balance["value"] != balance["bound"]:
        found.defect("zone bytes has no bound where failure balance is above its own")
        return
    zones, rates = Zones(plan), _scaled([*plan.bytes_in, *plan.bytes_out])
    costs = [zones.costs(i, brokers, rates) for i, brokers in enumerate(plan.after)]
    led = [cost[brokers[0]] for cost, brokers in zip(costs, plan.after, strict=True)]
    found.values["zone bytes"] = sum(led)
    free = [i for i in choices.free if choices.leader[i] >= 0]
    leaders = plan.slots[takeovers.holder[takeovers.option]].tolist()
    arcs = zip(takeovers.item.tolist(), leaders, strict=True)
    cost = np.array([costs[free[k]][plan.ids[b]] for k, b in arcs], dtype=np.int64)
    fair, own = (_proof(plan, one["prices"], takeovers)[0] for one in (balance, stage))
    assert isinstance(fair, Prices)
    assert isinstance(own, Prices)
    rest = sum(led) - sum(led[i] for i in free)
    found.compare_bound(stage, rest + takeovers.cost_bound(worst, fair, cost, own))


def _check_rates(choices: _Choices, found: Recount) -> None:
    """The stage ``leader rate``: the busiest leader's rate, in 2**-30 of the total. Partitions with
    all usable replicas on the brokers ``confined`` must be led by one of those."""
    plan, stage = choices.plan, choices.plan.stages["leader rate"]
    rates = _scaled(plan.rates)
    load, base = [0] * choices.slots, [0] * choices.slots
    for i, leader in enumerate(choices.leader.tolist()):
        if leader >= 0:
            load[leader] += rates[i]
    for i, leader in choices.fixed:
        base[leader] += rates[i]
    found.values["leader rate"] = max(load)
    inside = {int(plan.slot_of[plan.place[b]]) for b in stage["prices"]["confined"]}
    if not inside or -1 in inside:
        found.defect("leader rate: confined must name usable brokers")
        return
    confined = sum(rates[i] for i in choices.free if set(choices.may_lead[i]) <= inside)
    confined += sum(base[s] for s in inside)
    largest = max((rates[i] for i in choices.free), default=0)
    found.compare_bound(stage, max(-(-confined // len(inside)), largest, *base))


def _scaled(rates: list[float]) -> list[int]:
    """[P] the rates in 2**-30 of their sum."""
    exponent = math.frexp(max(float(r) for r in rates))[1]
    scaled = [math.ldexp(float(r), -exponent) for r in rates]
    total = float(np.array(scaled).sum())
    return [int(r * (2**30 / total)) if total > 0 else 0 for r in scaled]
