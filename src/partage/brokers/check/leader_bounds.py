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
    slots = len(plan.slots)
    found: list[str] = []
    first = [plan.place[r[0]] for r in plan.after]
    counts = np.bincount(plan.slot_of[first][plan.slot_of[first] >= 0], minlength=slots)
    # partitions with a choice: two usable replicas or more; the others' leaders and pairs stay
    sets = [sorted({int(plan.slot_of[plan.place[b]]) for b in r} - {-1}) for r in plan.after]
    free = [i for i, s in enumerate(sets) if plan.chosen[i] and len(s) >= 2]
    free_set = set(free)
    base = np.zeros(slots, dtype=np.int64)
    pair_base = np.zeros((slots, slots), dtype=np.int64)
    takers = plan.followers(plan.after)
    for i, taker in enumerate(takers):
        if i in free_set:
            continue
        leader = _fixed_leader(plan, i, sets[i])
        if leader < 0:
            continue
        base[leader] += 1
        if taker >= 0 and plan.slot_of[taker] >= 0:
            pair_base[leader, plan.slot_of[taker]] += 1
    rate = "leader rate" in stages
    if rate:
        found += _rate_proof(plan, stages["leader rate"], sets, free_set, values)
    else:
        arcs = [(k, s) for k, i in enumerate(free) for s in sets[i]]
        item, option = np.array(arcs, dtype=np.int64).reshape(-1, 2).T
        bound = picking_bound(
            item=item,
            option=option,
            items=len(free),
            option_base=base,
            option_cap=np.full(slots, len(free)),
            option_price=unpack(stages["leaders"]["prices"]["brokers"], slots),
        )
        found += wrong_bound("leaders", stages["leaders"]["bound"], bound)
        values["leaders"] = int((counts * counts).sum())
    quota = np.zeros(slots, dtype=np.int64)
    triples: list[tuple[int, int, int]] = []
    for k, i in enumerate(free):
        leader = int(plan.slot_of[first[i]])
        quota[leader] += 1
        for b in [leader] if rate else sets[i]:
            triples.extend((k, b, f) for f in sets[i] if f != b)
    item, pair_leader, pair_taker = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    codes, option = np.unique(pair_leader * slots + pair_taker, return_inverse=True)
    offered = np.bincount(option, minlength=len(codes))
    level = level_after_failures(plan, plan.after)
    worst = int(level.max()) if slots > 1 else 0
    values["failure"] = worst
    failure = stages["failure"]
    option_slot, taker_slot = codes // slots, codes % slots
    option_base = counts[taker_slot] + pair_base[option_slot, taker_slot]
    arcs_of: dict[str, Any] = {
        "item": item,
        "option": option,
        "items": len(free),
        "option_slot": option_slot,
    }
    if failure["prices"]:
        over = overflow_bound(
            **arcs_of,
            option_cap=int(failure["bound"]) - 1 - option_base,
            option_price=unpack(failure["prices"]["pairs"], len(codes)),
            slot_price=unpack(failure["prices"]["brokers"], slots),
            quota=quota,
        )
        if over < 1:
            found.append(
                f"{MARKER}: certificate: the prices of failure do not prove {failure['bound']}"
            )
    else:
        room = np.zeros((slots, slots), dtype=np.int64)
        room[option_slot, taker_slot] = offered
        bounds = {takeover_bound(quota, counts, pair_base, room)}
        if "failure balance" not in stages:
            bounds.add(loose_failure_bound(plan, plan.after))
        if failure["bound"] not in bounds:
            found += wrong_bound("failure", failure["bound"], max(bounds))
    if "failure balance" in stages:
        stage = stages["failure balance"]
        squares = level.astype(object) ** 2
        values["failure balance"] = int(squares.sum())
        with_choice = np.zeros((slots, slots), dtype=np.bool_)
        with_choice[option_slot, taker_slot] = True
        rest = int(squares[~with_choice].sum())
        bound = rest + picking_bound(
            **arcs_of,
            option_base=option_base,
            option_cap=np.minimum(worst - option_base, offered),
            option_price=unpack(stage["prices"]["pairs"], len(codes)),
            slot_price=unpack(stage["prices"]["brokers"], slots),
            quota=quota,
        )
        found += wrong_bound("failure balance", stage["bound"], bound)
    return found


def _fixed_leader(plan: PlanFile, i: int, usable: list[int]) -> int:
    """Slot of the leader of a partition without a choice, or -1: a lone usable replica leads, also
    where a dead broker's is listed before it."""
    if plan.chosen[i] and usable:
        return usable[0]
    return int(plan.slot_of[plan.place[plan.after[i][0]]])


def _rate_proof(
    plan: PlanFile,
    stage: dict[str, Any],
    sets: list[list[int]],
    free: set[int],
    values: dict[str, int],
) -> list[str]:
    """Rates in 2**30ths of their total: partitions wholly inside the named brokers must be led
    there, whoever leads them."""
    exponent = math.frexp(max(float(r) for r in plan.rates))[1]
    rates = [math.ldexp(float(r), -exponent) for r in plan.rates]
    total = float(np.array(rates).sum())
    scaled = [int(r * (2**30 / total)) if total > 0 else 0 for r in rates]
    slots = len(plan.slots)
    load = [0] * slots
    base = [0] * slots
    for i, brokers in enumerate(plan.after):
        leader = int(plan.slot_of[plan.place[brokers[0]]])
        if leader >= 0:
            load[leader] += scaled[i]
        fixed = -1 if i in free else _fixed_leader(plan, i, sets[i])
        if fixed >= 0:
            base[fixed] += scaled[i]
    values["leader rate"] = max(load)
    inside = {int(plan.slot_of[plan.place[b]]) for b in stage["prices"]["confined"]}
    if not inside or -1 in inside:
        return [f"{MARKER}: certificate: leader rate names brokers that cannot be used"]
    confined = sum(scaled[i] for i in free if set(sets[i]) <= inside)
    confined += sum(base[s] for s in inside)
    proven = max(
        -(-confined // len(inside)),
        max((scaled[i] for i in free), default=0),
        max(base, default=0),
    )
    return wrong_bound("leader rate", stage["bound"], proven)
