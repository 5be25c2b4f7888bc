"""Every bound worked out again from its prices, every value of the objective counted anew."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from partage.brokers.check.counts import level_after_failures
from partage.brokers.check.plan_file import Ints, PlanFile
from partage.brokers.directory import MARKER
from partage.flow.certificate import (
    overflow_bound,
    picking_bound,
    sharing_bound,
    takeover_bound,
    unpack,
)

_PLACEMENT = ("replicas", "moves", "topic spread")


def check_proofs(plan: PlanFile) -> list[str]:
    stages = plan.stages
    names = [stage["stage"] for stage in plan.value["certificate"]["stages"]]
    first = () if plan.no_moves else _PLACEMENT
    if plan.options.get("spread") == "topic" and first:
        first = ("topic spread", "replicas", "moves")
    lead = "leader rate" if plan.options.get("leaders") == "rate" else "leaders"
    wanted = [*first, lead, "failure"]
    if names not in ([*wanted], [*wanted, "failure balance"]):
        return [f"{MARKER}: certificate: stages are {names}, expected {wanted}"]
    found = [
        f"{MARKER}: certificate: {name} is marked as no exact stage"
        for name in names
        if stages[name]["exact"] is not (name != "leader rate")
    ]
    values: dict[str, int] = {}
    if first:
        found += _placement_proofs(plan, stages, first, values)
    found += _leader_proofs(plan, stages, values)
    for name in names:
        stage = stages[name]
        if name in values and stage["value"] != values[name]:
            found.append(
                f"{MARKER}: certificate: {name} has the value {values[name]}, not {stage['value']}"
            )
    return found


def _wrong_bound(name: str, stated: Any, proven: int) -> list[str]:
    if stated == proven:
        return []
    return [f"{MARKER}: certificate: the prices of {name} prove {proven}, not {stated}"]


def _placement_proofs(
    plan: PlanFile, stages: dict[str, Any], order: tuple[str, ...], values: dict[str, int]
) -> list[str]:
    items = np.flatnonzero(plan.chosen)
    slots, e = plan.slots, len(plan.slots)
    families = sorted(set(plan.topic[items].tolist()))
    family = np.searchsorted(families, plan.topic[items])
    fixed = np.zeros((len(plan.topics), e), dtype=np.int64)
    count = np.zeros((len(plan.topics), e), dtype=np.int64)
    row, broker = plan.pairs(plan.after)
    slot = plan.slot_of[broker]
    ok = slot >= 0
    np.add.at(count, (plan.topic[row[ok]], slot[ok]), 1)
    stay = ok & ~plan.chosen[row]
    np.add.at(fixed, (plan.topic[row[stay]], slot[stay]), 1)
    was_row, was_broker = plan.pairs(plan.before)
    was_slot = plan.slot_of[was_broker]
    own = (was_slot >= 0) & plan.chosen[was_row]
    sits = (np.searchsorted(items, was_row[own]), was_slot[own])

    racks = [plan.rack[s] for s in slots.tolist()]
    names = sorted({r for r in racks if r is not None})
    zone = np.array([names.index(r) if names else 0 for r in racks])
    sizes = np.bincount(zone)
    demand = plan.factor[items]
    least, most = np.zeros_like(demand), demand.copy()
    for factor in np.unique(demand).tolist() if names else []:
        m = 1
        while np.minimum(sizes, m).sum() < factor:
            m += 1
        most[demand == factor] = m
        least[demand == factor] = int(factor > len(names))

    load = count.sum(axis=0)
    new = sum(len(set(a) - set(b)) for b, a in zip(plan.before, plan.after, strict=True))
    found: list[str] = []
    proven: dict[str, int] = {}
    for position, name in enumerate(order):
        prices = stages[name]["prices"]
        weight = np.array(prices["load_weights"], dtype=np.int64)
        found += _wrong_weights(plan, weight)
        use = {k: int(prices["weights"][k]) for k in ("load", "moves", "spread")}
        kind = {"replicas": "load", "moves": "moves", "topic spread": "spread"}
        later = [kind[n] for n in order[position + 1 :]]
        if use[kind[name]] != 1 or any(use[k] for k in later) or min(use.values()) < 0:
            found.append(f"{MARKER}: certificate: {name}: weights {use} prove nothing about it")
            continue
        of_broker = unpack(prices["brokers"], e)
        of_topic = np.zeros((len(families), e), dtype=np.int64)
        if "topics" in prices:
            of_topic = unpack(prices["topics"], len(families) * e).reshape(len(families), e)
        total = sharing_bound(
            family=family,
            demand=demand,
            least=least,
            most=most,
            sits=sits,
            zone=zone,
            base=fixed.sum(axis=0),
            family_base=fixed[families],
            load_weight=use["load"] * weight,
            move_weight=use["moves"],
            spread_weight=use["spread"],
            slot_price=of_broker,
            family_price=of_topic + of_broker,
        )
        value = {
            "load": sum(int(w) * int(x) ** 2 for w, x in zip(weight, load, strict=True)),
            "moves": new,
            "spread": int((count[families] ** 2).sum()),
        }
        values[name] = value[kind[name]]
        # the stages before this one are held at their proven bounds
        earlier = sum(use[kind[n]] * proven[n] for n in order[:position])
        proven[name] = total - earlier
        found += _wrong_bound(name, stages[name]["bound"], proven[name])
    return found


def _wrong_weights(plan: PlanFile, weight: Ints) -> list[str]:
    """Weights must be in proportion to 1 / capacity, within the rounding that is allowed."""
    if len(weight) != len(plan.slots) or (weight < 1).any():
        return [f"{MARKER}: certificate: load_weights do not fit the brokers"]
    product = [int(w) * plan.capacity[s] for w, s in zip(weight, plan.slots, strict=True)]
    if max(product) > min(product) * Fraction(9, 8):
        return [f"{MARKER}: certificate: load_weights are not in proportion to 1 / capacity"]
    return []


def _leader_proofs(plan: PlanFile, stages: dict[str, Any], values: dict[str, int]) -> list[str]:
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
        leader = int(plan.slot_of[first[i]])
        if i in free_set or leader < 0:
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
        found += _wrong_bound("leaders", stages["leaders"]["bound"], bound)
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
            bounds.add(_loose_bound(plan, level, counts))
        if failure["bound"] not in bounds:
            found += _wrong_bound("failure", failure["bound"], max(bounds))
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
        found += _wrong_bound("failure balance", stage["bound"], bound)
    return found


def _loose_bound(plan: PlanFile, level: Ints, counts: Ints) -> int:
    """The takeover bound of a plan whose order is not ours: every holder may take over."""
    slots = len(plan.slots)
    together = np.zeros((slots, slots), dtype=np.int64)
    for brokers in plan.after:
        on = [int(plan.slot_of[plan.place[b]]) for b in brokers]
        for one in on:
            for other in on:
                if one != other and one >= 0 and other >= 0:
                    together[one, other] += 1
    pairs = level - counts[None, :]
    np.fill_diagonal(pairs, 0)
    return takeover_bound(pairs.sum(axis=1), counts, np.zeros_like(pairs), together)


def _rate_proof(
    plan: PlanFile,
    stage: dict[str, Any],
    sets: list[list[int]],
    free: set[int],
    values: dict[str, int],
) -> list[str]:
    """Rates in 2**30ths of their total: partitions wholly inside the named brokers must be led
    there, whoever leads them."""
    rates = [float(r) for r in plan.rates]
    total = float(np.array(rates).sum())
    scaled = [int(r * (2**30 / total)) if total > 0 else 0 for r in rates]
    slots = len(plan.slots)
    load = [0] * slots
    base = [0] * slots
    for i, brokers in enumerate(plan.after):
        leader = int(plan.slot_of[plan.place[brokers[0]]])
        if leader >= 0:
            load[leader] += scaled[i]
            if i not in free:
                base[leader] += scaled[i]
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
    return _wrong_bound("leader rate", stage["bound"], proven)
