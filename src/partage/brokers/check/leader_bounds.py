"""The bounds on leaders and on takeovers after a failure, recomputed from their prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partage.brokers.check.failures import leaders_after_failures
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.flow.certificate import overflow_bound, picking_bound, takeover_bound, unpack


def leader_bounds(plan: PlanColumns, found: Recount) -> None:
    """Check the stages of the leaders and of failures."""
    choices = _Choices(plan)
    by_rate = "leader rate" in plan.stages
    if by_rate:
        _check_rates(choices, found)
    else:
        _check_counts(choices, found)
    takeovers = _Takeovers(choices, fixed_leaders=by_rate)
    _check_failure(takeovers, found)
    _check_failure_balance(takeovers, found)


class _Choices:
    """What the orders of the broker lists leave open, on E usable brokers (slots).

    - ``sets``: usable slots of each partition's replicas, ascending; ``leader`` [P] slot of the
      preferred leader, -1 where it is not usable; ``counts`` [E] leaders
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


class _Takeovers:
    """Which broker may take over from which, by pair of leader and follower; with
    ``fixed_leaders`` only from today's leaders.

    - ``level`` [E, E] leaders after a failure, by failed slot and survivor; ``worst``: the most
    - ``free``: rows with a choice and a usable leader; ``quota`` [E]: how many each broker leads
    - ``leader``, ``follower``, ``base``, ``offered`` [O], for each pair: its slots, the leaders
      that the follower has without it, the partitions that could be taken over
    - ``arcs``: which partitions offer which pairs, as arguments of the bounds
    """

    def __init__(self, choices: _Choices, *, fixed_leaders: bool) -> None:
        self.choices = choices
        slots = choices.slots
        self.level = leaders_after_failures(choices.plan, choices.plan.after)
        self.worst = int(self.level.max(initial=0))
        self.free = [i for i in choices.free if choices.leader[i] >= 0]
        self.quota = np.bincount(choices.leader[self.free], minlength=slots)
        triples: list[tuple[int, int, int]] = []
        for k, i in enumerate(self.free):
            for b in [int(choices.leader[i])] if fixed_leaders else choices.sets[i]:
                triples.extend((k, b, f) for f in choices.sets[i] if f != b)
        item, leader, follower = np.array(triples, dtype=np.int64).reshape(-1, 3).T
        pairs, option = np.unique(leader * slots + follower, return_inverse=True)
        self.leader, self.follower = pairs // slots, pairs % slots
        self.base = choices.counts[self.follower] + choices.pair_base[self.leader, self.follower]
        self.offered = np.bincount(option, minlength=len(pairs))
        self.arcs: dict[str, Any] = {
            "item": item,
            "option": option,
            "items": len(self.free),
            "option_slot": self.leader,
            "quota": self.quota,
        }

    def prices(self, stage: dict[str, Any]) -> dict[str, Any]:
        """The stage's prices, as arguments of the bounds."""
        return {
            "option_price": unpack(stage["prices"]["pairs"], len(self.leader)),
            "slot_price": unpack(stage["prices"]["brokers"], self.choices.slots),
        }


def _check_counts(choices: _Choices, found: Recount) -> None:
    """The stage ``leaders``: the sum of squared leader counts."""
    stage = choices.plan.stages["leaders"]
    arcs = [(k, s) for k, i in enumerate(choices.free) for s in choices.sets[i]]
    item, option = np.array(arcs, dtype=np.int64).reshape(-1, 2).T
    bound = picking_bound(
        item=item,
        option=option,
        items=len(choices.free),
        option_base=choices.base,
        option_cap=np.full(choices.slots, len(choices.free)),
        option_price=unpack(stage["prices"]["brokers"], choices.slots),
    )
    found.values["leaders"] = int((choices.counts * choices.counts).sum())
    found.compare_bound(stage, bound)


def _check_failure(takeovers: _Takeovers, found: Recount) -> None:
    """The stage ``failure``: the worst survivor's leaders.

    Its bound follows from prices or, without any, from filling the survivors evenly.
    """
    choices = takeovers.choices
    stage = choices.plan.stages["failure"]
    found.values["failure"] = takeovers.worst
    if stage["prices"]:
        over = overflow_bound(
            **takeovers.arcs,
            **takeovers.prices(stage),
            option_cap=int(stage["bound"]) - 1 - takeovers.base,
        )
        if over < 1:
            found.defect(f"bound of failure is {stage['bound']}, its prices do not prove that")
        return
    offered = np.zeros_like(choices.pair_base)
    offered[takeovers.leader, takeovers.follower] = takeovers.offered
    bound = takeover_bound(takeovers.quota, choices.counts, choices.pair_base, offered)
    found.compare_bound(stage, bound)


def _check_failure_balance(takeovers: _Takeovers, found: Recount) -> None:
    """The stage ``failure balance``: the survivors' squared leader counts, over all failures."""
    stage = takeovers.choices.plan.stages["failure balance"]
    squares = takeovers.level.astype(object) ** 2
    with_choice = np.zeros(takeovers.level.shape, dtype=np.bool_)
    with_choice[takeovers.leader, takeovers.follower] = True
    bound = int(squares[~with_choice].sum()) + picking_bound(
        **takeovers.arcs,
        **takeovers.prices(stage),
        option_base=takeovers.base,
        option_cap=np.minimum(takeovers.worst - takeovers.base, takeovers.offered),
    )
    found.values["failure balance"] = int(squares.sum())
    found.compare_bound(stage, bound)


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
    named = stage["prices"]["confined"]
    inside = {int(plan.slot_of[plan.place[b]]) for b in named}
    if not inside or -1 in inside or named != sorted(set(named)):
        found.defect("leader rate: confined must name usable brokers, ascending")
        return
    confined = sum(rates[i] for i in choices.free if set(choices.sets[i]) <= inside)
    confined += sum(base[s] for s in inside)
    largest = max((rates[i] for i in choices.free), default=0)
    found.compare_bound(stage, max(-(-confined // len(inside)), largest, *base))


def _scaled(rates: list[float]) -> list[int]:
    """[P] the rates in 2**-30 of their sum."""
    exponent = math.frexp(max(float(r) for r in rates))[1]
    scaled = [math.ldexp(float(r), -exponent) for r in rates]
    total = float(np.array(scaled).sum())
    return [int(r * (2**30 / total)) if total > 0 else 0 for r in scaled]
