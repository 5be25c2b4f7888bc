"""The bounds where bytes are shared out, out of their prices, and the limits asked for."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from partage.brokers.check.plan_file import Ints, PlanFile, percent, wrong_bound
from partage.brokers.check.problem import Problem
from partage.brokers.directory import MARKER
from partage.flow.certificate import unpack
from partage.flow.size_certificate import level_bound, moved_bound

_ROUNDING = 4
"""Bytes by which a band's ends, rounded to whole ones, may be off."""


def size_bounds(plan: PlanFile, stages: dict[str, Any], values: dict[str, int]) -> list[str]:
    """Defects of the stages ``bytes`` and ``bytes moved``; fills in their ``values`` as counted."""
    problem = Problem(plan)
    e = len(plan.slots)
    free = problem.movable()
    load, fixed = np.zeros(e, dtype=np.int64), np.zeros(e, dtype=np.int64)
    row, broker = plan.pairs(plan.after)
    at = plan.slot_of[broker]
    size = plan.size.astype(np.int64)
    np.add.at(load, at[at >= 0], size[row[at >= 0]])
    stay = np.ones(len(plan.number), dtype=np.bool_)
    stay[problem.items[free]] = False
    kept = (at >= 0) & stay[row]
    np.add.at(fixed, at[kept], size[row[kept]])

    position = np.cumsum(free) - 1
    sits = free[problem.sits[0]]
    job = {
        "size": size[problem.items[free]],
        "demand": problem.demand[free],
        "least": problem.least[free],
        "most": problem.most[free],
        "zone": problem.zone,
        "base_size": fixed,
    }
    found = problem.limits_missed()
    if plan.relieve is None:
        prices = stages["bytes"]["prices"]
        weight, wrong = problem.weights(prices)
        confined = np.isin(np.array(plan.ids)[plan.slots], prices["confined"])
        values["bytes"] = max(w * x for w, x in zip(weight.tolist(), load.tolist(), strict=True))
        bound = level_bound(**job, weight=weight, confined=confined)
        found += wrong + wrong_bound("bytes", stages["bytes"]["bound"], bound)
    else:
        allowed = _allowed(plan)
        for s in plan.slots[load > allowed].tolist():
            found.append(f"{MARKER}: broker {plan.ids[s]}: its disk stays above {plan.relieve}")
    prices = stages["bytes moved"]["prices"]
    low, high, price = (unpack(prices[key], e) for key in ("low", "high", "brokers"))
    if (load < low).any() or (load > high).any():
        found.append(f"{MARKER}: certificate: bytes moved: a broker's bytes are outside its band")
    if plan.relieve is not None and ((low > 0).any() or (high < allowed).any()):
        found.append(f"{MARKER}: certificate: bytes moved: a band is narrower than the disk's part")
    if plan.relieve is None:
        # no narrower than the tolerance: in a narrower band more must move
        width = percent(plan.options.get("tolerance", "2%"))
        for s, a, b in zip(plan.slots.tolist(), low.tolist(), high.tolist(), strict=True):
            if b * max(1 - width, 0) < a * (1 + width) - _ROUNDING and b != plan.disk[s]:
                where = f"{MARKER}: certificate: bytes moved: the band of broker {plan.ids[s]}"
                found.append(f"{where} is narrower than the tolerance")
    bound = moved_bound(
        **job,
        sits=(position[problem.sits[0][sits]], problem.sits[1][sits]),
        low=low,
        high=high,
        price=price,
    )
    values["bytes moved"] = problem.bytes_moved
    return found + wrong_bound("bytes moved", stages["bytes moved"]["bound"], bound)


def _allowed(plan: PlanFile) -> Ints:
    """[E] what each disk may be filled to; where none is known, more than there is to hold."""
    part = percent(plan.relieve or "100%")
    no_end = int((plan.size * plan.factor).sum()) + 1
    disks = [plan.disk[s] for s in plan.slots.tolist()]
    return np.array([no_end if disk is None else floor(disk * part) for disk in disks])
