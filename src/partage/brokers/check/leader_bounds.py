"""The bounds on leaders and on takeovers after a failure, recomputed from their prices."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np

from partage.arrays import Bools, Ints
from partage.brokers.check.failures import leaders_after_failures
from partage.brokers.check.plan_columns import PlanColumns, pair_counts
from partage.brokers.check.recount import Recount
from partage.brokers.check.zones import Zones
from partage.flow.certificate import Prices, Takeovers, fairest_range, picking_bound, proven_bound
from partage.flow.packing import unpack


def leader_bounds(plan: PlanColumns, found: Recount) -> None:
    """Check the stages of the leaders and of failures."""
    choices = _Choices(plan)
    if "leader rate" in plan.stages:
        _check_rates(choices, found)
    elif "leaders" in plan.stages:
        _check_counts(choices, found)
    level = leaders_after_failures(plan, plan.after)
    worst = found.values["failure"] = int(level.max(initial=0))
    squares = sum((level * level).sum(axis=1).tolist())
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

    - ``sets`` [P, R]: usable slots of each partition's replicas, ascending after padding with -1;
      ``may_lead``, ``may_follow`` [P, R]: those that the options allow to lead, and to come second;
      ``leader`` [P]: slot of the preferred leader, -1 where it is not usable; ``counts`` [E]:
      leaders
    - ``free``: rows with a choice: chosen partitions with two usable replicas or more
    - ``fixed``: the other rows, and the slots that lead them, if any can; ``base`` [E]: how many
      each leads; ``pair_base`` [E, E]: their takeovers by preferred leader and follower
    """

    def __init__(self, plan: PlanColumns) -> None:
        self.plan = plan
        slots = self.slots = len(plan.slots)
        self.leader = plan.leaders(plan.after)
        self.counts = np.bincount(self.leader[self.leader >= 0], minlength=slots)
        on = plan.slot_of[plan.positions(plan.after)]
        self.sets: Ints = np.sort(on, axis=1)
        self.may_lead: Bools = self.sets >= 0
        if plan.asked.leader_racks:
            for row, column in np.argwhere(self.may_lead).tolist():
                place = int(plan.slots[self.sets[row, column]])
                self.may_lead[row, column] = plan.may_lead(row, place)
        self.may_follow: Bools = self.sets >= 0
        if plan.asked.demoted:
            demoted = np.isin(np.array(plan.ids)[plan.slots], plan.asked.demoted)
            last = np.append(demoted, False)[self.sets] & plan.chosen[:, None]
            last &= (self.may_lead & ~last).any(axis=1, keepdims=True)
            self.may_lead &= ~last
            two = (self.may_follow & ~last).sum(axis=1, keepdims=True) > 1
            self.may_follow &= ~(last & two)
        usable = (self.sets >= 0).sum(axis=1)
        free = plan.chosen & (usable >= 2)
        self.free = np.flatnonzero(free)
        rest = np.flatnonzero(~free)
        # a lone usable replica leads, even if a dead broker's is listed before it
        alone = plan.chosen[rest] & (usable[rest] > 0)
        leader = np.where(alone, self.sets[rest, -1], self.leader[rest])
        self.fixed = rest[leader >= 0], leader[leader >= 0]
        self.base = np.bincount(self.fixed[1], minlength=slots)
        follower = plan.slot_of[plan.first_followers(plan.after)][rest]
        led = self.leader[rest]
        both = (led >= 0) & (follower >= 0)
        self.pair_base = pair_counts(led[both], follower[both], slots, slots)


def _takeovers(choices: _Choices) -> Takeovers:
    """Which broker may take over from which, by pair of leader and follower.

    Where the leaders are proven to be the fairest, all leader counts as fair are allowed; otherwise
    only these. By rate or load, the leaders stay.
    """
    plan, slots = choices.plan, choices.slots
    free = choices.free[choices.leader[choices.free] >= 0]
    base = choices.counts - np.bincount(choices.leader[free], minlength=slots)
    low = high = choices.counts
    sets, may_lead = choices.sets[free], choices.may_lead[free]
    may_follow = choices.may_follow[free]
    stage = plan.stages.get("leaders")
    if stage is None:
        may_lead = sets == choices.leader[free, None]
    elif (
        stage["value"] == stage["bound"]
        and len(free) == len(choices.free)
        and (base == choices.base).all()
    ):
        price = unpack(stage["prices"]["brokers"], slots)
        low, high = fairest_range(base, price, len(free))
        paid = np.where(may_lead, price[sets], np.iinfo(np.int64).max)
        may_lead &= paid == paid.min(axis=1, keepdims=True)
    arcs = [(np.zeros(0, dtype=np.int64),) * 2]
    for i, j in permutations(range(sets.shape[1]), 2):
        rows = np.flatnonzero(may_lead[:, i] & may_follow[:, j])
        arcs.append((rows, sets[rows, i] * slots + sets[rows, j]))
    item, pair = map(np.concatenate, zip(*arcs, strict=True))
    allowed = np.bincount(pair, minlength=slots * slots) > 0
    pairs, option = np.flatnonzero(allowed), (np.cumsum(allowed) - 1)[pair]
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
    item, column = np.nonzero(choices.may_lead[choices.free])
    option = choices.sets[choices.free][item, column]
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
        found.compare_bound(stage, takeovers.counting_bound)
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
    free = choices.free[choices.leader[choices.free] >= 0].tolist()
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
    for i, leader in zip(*(part.tolist() for part in choices.fixed), strict=True):
        base[leader] += rates[i]
    found.values["leader rate"] = max(load)
    inside = {int(plan.slot_of[plan.place[b]]) for b in stage["prices"]["confined"]}
    if not inside or -1 in inside:
        found.defect("leader rate: confined must name usable brokers")
        return
    confined = sum(rates[i] for i in choices.free.tolist() if _leaders(choices, i) <= inside)
    confined += sum(base[s] for s in inside)
    largest = max((rates[i] for i in choices.free.tolist()), default=0)
    found.compare_bound(stage, max(-(-confined // len(inside)), largest, *base))


def _leaders(choices: _Choices, row: int) -> set[int]:
    return set(choices.sets[row][choices.may_lead[row]].tolist())


def _scaled(rates: list[float]) -> list[int]:
    """[P] the rates in 2**-30 of their sum."""
    exponent = math.frexp(max(float(r) for r in rates))[1]
    scaled = [math.ldexp(float(r), -exponent) for r in rates]
    total = float(np.array(scaled).sum())
    return [int(r * (2**30 / total)) if total > 0 else 0 for r in scaled]
