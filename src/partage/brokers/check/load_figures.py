"""Figures of every load in a placement, counted again from plan.json, for ``balance`` load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from partage.brokers.check.load_columns import CAPACITY, OF_REPLICAS, RESOURCES, LoadColumns
from partage.brokers.check.plan_columns import Lists

_RATES = ("in", "out", "leader_in")


def load_figures(columns: LoadColumns, lists: Lists) -> dict[str, dict[str, Any]]:
    """``resources`` of a placement."""
    return {name: _figure(columns, name, lists) for name in RESOURCES}


def _figure(columns: LoadColumns, name: str, lists: Lists) -> dict[str, Any]:
    load, fair = columns.on_slots(name, lists, columns.everything), columns.fair[name]
    unit = Fraction(1)
    if name in _RATES:
        unit = Fraction(1, 2**columns.bits) if columns.bits > 0 else Fraction(2**-columns.bits)
    average, mean = unit * sum(fair) / len(fair), unit * sum(load) / len(load)

    def shares(values: Sequence[int]) -> list[Fraction]:
        return [average * Fraction(x, f) for x, f in zip(values, fair, strict=True)]

    bound = mean
    if name in ("replicas", "leaders") and len(set(fair)) == 1:
        bound = Fraction(math.ceil(mean))
    for factor, largest in columns.largest(name):
        alone = shares([stays + largest for stays in columns.stays[name]])
        bound = max(bound, sorted(alone)[factor - 1])
    found: dict[str, Any] = {
        "min": _shown(min(shares(load))),
        "max": _shown(max(shares(load))),
        "fair": _shown(mean),
        "band": [_shown(min(shares(columns.low[name]))), _shown(max(shares(columns.high[name])))],
        "bound": _shown(bound),
        "brokers": _of_brokers(columns, name, lists, unit),
    }
    if name in ("out", "leader_in") and len(load) > 1:
        least = average * _stays_online(columns, name, lists) / (sum(fair) - max(fair))
        found["after_failure"] = {
            "max": _shown(max(shares(_survivors(columns, name, lists, load)))),
            "bound": _shown(max(bound, least)),
        }
    return found


def _of_brokers(
    columns: LoadColumns, name: str, lists: Lists, unit: Fraction
) -> list[dict[str, Any]]:
    plan, load = columns.plan, columns.on_brokers(name, lists, columns.everything)
    hottest: dict[int, tuple[int, str]] = {}
    if name not in ("replicas", "leaders"):
        for brokers, adds, partition in zip(lists, columns.load[name], plan.names, strict=True):
            for b in brokers if name in OF_REPLICAS else brokers[:1]:
                if b not in hottest or adds > hottest[b][0]:
                    hottest[b] = adds, partition
    rows = []
    for place, broker in enumerate(plan.value["brokers"]):
        slot = int(plan.slot_of[place])
        parts = (columns.fair, columns.low, columns.high)
        fair, *band = (_shown(unit * part[name][slot]) for part in parts)
        capacity = None if name == "leader_in" else broker.get(CAPACITY.get(name, ""))
        rows.append(
            {
                "broker": broker["id"],
                "load": _shown(unit * load[place]),
                "fair": fair if slot >= 0 else None,
                "band": band if slot >= 0 else None,
                "headroom": _shown(1 - unit * load[place] / capacity) if capacity else None,
                "hottest": hottest[broker["id"]][1] if broker["id"] in hottest else None,
            }
        )
    return rows


def _survivors(columns: LoadColumns, name: str, lists: Lists, load: Sequence[int]) -> list[int]:
    """[E] the most that each broker carries when any other one fails."""
    plan = columns.plan
    taken: dict[int, dict[int, int]] = {}
    rows = zip(
        plan.leaders(lists).tolist(), plan.first_followers(lists), columns.load[name], strict=True
    )
    for leader, follower, moves in rows:
        taker = int(plan.slot_of[follower]) if follower >= 0 else -1
        if leader >= 0 and taker >= 0:
            comes = taken.setdefault(taker, {})
            comes[leader] = comes.get(leader, 0) + moves
    return [own + max(taken.get(e, {0: 0}).values()) for e, own in enumerate(load)]


def _stays_online(columns: LoadColumns, name: str, lists: Lists) -> int:
    """The load of the partitions that have a usable leader and another usable replica, and no
    replica that is live and not usable."""
    plan, total = columns.plan, 0
    for brokers, load in zip(lists, columns.load[name], strict=True):
        places = [plan.place[b] for b in brokers]
        usable = [bool(plan.usable[place]) for place in places]
        live = [bool(plan.alive[place]) for place in places]
        if usable[0] and sum(usable) > 1 and usable == live:
            total += load
    return total


def _shown(value: Fraction | int) -> float | int:
    rounded = round(float(value), 3)
    return int(rounded) if rounded.is_integer() else rounded
