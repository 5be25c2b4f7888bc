"""The bounds on fair loads, moves and topic spread, out of their prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from partage.brokers.check.plan_file import (
    Ints,
    MalformedError,
    PlanFile,
    most_per_rack,
    wrong_bound,
)
from partage.brokers.directory import MARKER
from partage.flow.certificate import sharing_bound, unpack

_LARGEST_WEIGHT = 20_000
"""Load weights up to here are exact, see docs/proofs.md."""


def placement_bounds(
    plan: PlanFile, stages: dict[str, Any], order: tuple[str, ...], values: dict[str, int]
) -> list[str]:
    """Defects of the placement's stages; fills in their ``values`` as counted."""
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
    if int(demand.max(initial=0)) > e:
        raise MalformedError(f"{MARKER}: partitions.replication_factor: above the usable brokers")
    least, most = np.zeros_like(demand), demand.copy()
    for factor in np.unique(demand).tolist() if names else []:
        most[demand == factor] = most_per_rack(sizes.tolist(), factor)
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
        if use["load"] * int(weight.max()) >= 2**62:
            raise MalformedError(f"{MARKER}: certificate: {name}: weights too large to be summed")
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
        found += wrong_bound(name, stages[name]["bound"], proven[name])
    return found


def _wrong_weights(plan: PlanFile, weight: Ints) -> list[str]:
    """Weights must be 1 / capacity in whole numbers up to 20,000: in proportion where these exist,
    else rounded at the finest scale that keeps them so small."""
    most = max(plan.capacity[s] for s in plan.slots)
    wanted = [most / plan.capacity[s] for s in plan.slots]
    scale = math.lcm(*(x.denominator for x in wanted))
    if scale * max(wanted) > _LARGEST_WEIGHT:
        scale = math.floor(_LARGEST_WEIGHT / max(wanted))
    if weight.tolist() != [round(x * scale) for x in wanted]:
        return [f"{MARKER}: certificate: load_weights are not in proportion to 1 / capacity"]
    return []
