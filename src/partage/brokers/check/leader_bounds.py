"""The bounds on leaders and on takeovers after a failure, out of their prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partage.brokers.check.counts import level_after_failures, loose_failure_bound
from partage.brokers.check.plan_file import PlanFile, wrong_bound
from partage.brokers.directory import MARKER
from partage.flow.certificate import overflow_bound, picking_bound, takeover_bound, unpack


def leader_bounds(plan: PlanFile, stages: dict[str, Any], values: dict[str, int]) -> list[str]:
    """Defects of the leaders' stages; fills in their ``values`` as counted."""
    choices = _Choices(plan)
    by_rate = "leader rate" in stages
    if by_rate:
        found = _rate_bound(choices, stages["leader rate"], values)
    else:
        found = _count_bound(choices, stages["leaders"], values)
    takeovers = _Takeovers(choices, led=by_rate)
    found += _failure_bound(takeovers, stages, values)
    if "failure balance" in stages:
        found += _failure_balance_bound(takeovers, stages["failure balance"], values)
    return found


class _Choices:
    """What the orders of the lists leave open, on E usable brokers.

    - ``sets``: usable slots of each partition's replicas, ascending; ``leader`` [P] slot of the
      first of the list, -1 where it is not usable; ``counts`` [E] leaders
    - ``free``: rows with a choice, those of two usable replicas or more
    - ``fixed``: the other rows, each with the slot of its leader, where that is usable; ``base``
      [E], ``pair_base`` [E, E]: these leaders, and their takeovers by leader and taker
    """

    def __init__(self, plan: PlanFile) -> None:
        self.plan = plan
        slots = self.slots = len(plan.slots)
        self.leader = plan.slot_of[[plan.place[r[0]] for r in plan.after]]
        self.counts = np.bincount(self.leader[self.leader >= 0], minlength=slots)
        self.sets = [
            sorted({int(plan.slot_of[plan.place[b]]) for b in r} - {-1}) for r in plan.after
        ]
        self.free: list[int] = []
        self.fixed: list[tuple[int, int]] = []
        for i, usable in enumerate(self.sets):
            if plan.chosen[i] and len(usable) >= 2:
                self.free.append(i)
                continue
            # a lone usable replica leads, also where a dead broker's is listed before it
            leader = usable[0] if plan.chosen[i] and usable else int(self.leader[i])
            if leader >= 0:
                self.fixed.append((i, leader))
        self.base = np.zeros(slots, dtype=np.int64)
        self.pair_base = np.zeros((slots, slots), dtype=np.int64)
        taker = plan.slot_of[plan.followers(plan.after)]
        for i, leader in self.fixed:
            self.base[leader] += 1
            if taker[i] >= 0:
                self.pair_base[leader, taker[i]] += 1


class _Takeovers:
    """Who may take over from whom, pair by pair of leader and taker; where the partitions are
    ``led`` already, from their leaders alone.

    - ``level`` [E, E] leaders after a failure, by failed slot and survivor; ``worst``: the most
    - ``quota`` [E] leaders of partitions with a choice
    - ``leader``, ``taker``, ``base``, ``offered`` [O], for each pair: its slots, the leaders that
      the taker has without it, the partitions that could be taken over
    - ``arcs``: which partitions offer which pairs, as the bounds take it
    """

    def __init__(self, choices: _Choices, *, led: bool) -> None:
        self.choices = choices
        slots = choices.slots
        self.level = level_after_failures(choices.plan, choices.plan.after)
        self.worst = int(self.level.max(initial=0))
        self.quota = np.zeros(slots, dtype=np.int64)
        np.add.at(self.quota, choices.leader[choices.free], 1)
        triples: list[tuple[int, int, int]] = []
        for k, i in enumerate(choices.free):
            for b in [int(choices.leader[i])] if led else choices.sets[i]:
                triples.extend((k, b, f) for f in choices.sets[i] if f != b)
        item, leader, taker = np.array(triples, dtype=np.int64).reshape(-1, 3).T
        pairs, option = np.unique(leader * slots + taker, return_inverse=True)
        self.leader, self.taker = pairs // slots, pairs % slots
        self.base = choices.counts[self.taker] + choices.pair_base[self.leader, self.taker]
        self.offered = np.bincount(option, minlength=len(pairs))
        self.arcs: dict[str, Any] = {
            "item": item,
            "option": option,
            "items": len(choices.free),
            "option_slot": self.leader,
            "quota": self.quota,
        }

    def prices(self, stage: dict[str, Any]) -> dict[str, Any]:
        """The stage's prices, as the bounds take them."""
        return {
            "option_price": unpack(stage["prices"]["pairs"], len(self.leader)),
            "slot_price": unpack(stage["prices"]["brokers"], self.choices.slots),
        }


def _count_bound(choices: _Choices, stage: dict[str, Any], values: dict[str, int]) -> list[str]:
    """The sum of squared leader counts."""
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
    values["leaders"] = int((choices.counts * choices.counts).sum())
    return wrong_bound("leaders", stage["bound"], bound)


def _failure_bound(
    takeovers: _Takeovers, stages: dict[str, Any], values: dict[str, int]
) -> list[str]:
    """The most leaders of a survivor: out of prices, or counted failure by failure."""
    choices, stage = takeovers.choices, stages["failure"]
    values["failure"] = takeovers.worst
    if stage["prices"]:
        over = overflow_bound(
            **takeovers.arcs,
            **takeovers.prices(stage),
            option_cap=int(stage["bound"]) - 1 - takeovers.base,
        )
        if over >= 1:
            return []
        return [f"{MARKER}: certificate: the prices of failure do not prove {stage['bound']}"]
    room = np.zeros_like(choices.pair_base)
    room[takeovers.leader, takeovers.taker] = takeovers.offered
    bounds = {takeover_bound(takeovers.quota, choices.counts, choices.pair_base, room)}
    if "failure balance" not in stages:
        bounds.add(loose_failure_bound(choices.plan, choices.plan.after))
    if stage["bound"] in bounds:
        return []
    return wrong_bound("failure", stage["bound"], max(bounds))


def _failure_balance_bound(
    takeovers: _Takeovers, stage: dict[str, Any], values: dict[str, int]
) -> list[str]:
    """The sum of squared leader counts of the survivors, over all failures."""
    squares = takeovers.level.astype(object) ** 2
    values["failure balance"] = int(squares.sum())
    with_choice = np.zeros(takeovers.level.shape, dtype=np.bool_)
    with_choice[takeovers.leader, takeovers.taker] = True
    bound = int(squares[~with_choice].sum()) + picking_bound(
        **takeovers.arcs,
        **takeovers.prices(stage),
        option_base=takeovers.base,
        option_cap=np.minimum(takeovers.worst - takeovers.base, takeovers.offered),
    )
    return wrong_bound("failure balance", stage["bound"], bound)


def _rate_bound(choices: _Choices, stage: dict[str, Any], values: dict[str, int]) -> list[str]:
    """The rate of the busiest leader, in 2**30ths of all: partitions wholly inside the named
    brokers must be led there, whoever leads them."""
    plan = choices.plan
    exponent = math.frexp(max(float(r) for r in plan.rates))[1]
    rates = [math.ldexp(float(r), -exponent) for r in plan.rates]
    total = float(np.array(rates).sum())
    scaled = [int(r * (2**30 / total)) if total > 0 else 0 for r in rates]
    load = [0] * choices.slots
    base = [0] * choices.slots
    for i, leader in enumerate(choices.leader.tolist()):
        if leader >= 0:
            load[leader] += scaled[i]
    for i, leader in choices.fixed:
        base[leader] += scaled[i]
    values["leader rate"] = max(load)
    inside = {int(plan.slot_of[plan.place[b]]) for b in stage["prices"]["confined"]}
    if not inside or -1 in inside:
        return [f"{MARKER}: certificate: leader rate names brokers that cannot be used"]
    confined = sum(scaled[i] for i in choices.free if set(choices.sets[i]) <= inside)
    confined += sum(base[s] for s in inside)
    proven = max(
        -(-confined // len(inside)),
        max((scaled[i] for i in choices.free), default=0),
        max(base, default=0),
    )
    return wrong_bound("leader rate", stage["bound"], proven)
