"""Figures of every load in a placement, counted again from plan.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from partage.brokers.check.asked import OF_REPLICAS, RESOURCES
from partage.brokers.check.load_columns import CAPACITY, LoadColumns
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
        "bound": _shown(bound),
        "brokers": _of_brokers(columns, name, lists, unit),
    }
    if columns.banded:
        ends = min(shares(columns.low[name])), max(shares(columns.high[name]))
        found["band"] = [_shown(end) for end in ends]
    if name in ("out", "leader_in") and len(load) > 1:
        least = average * _least_survivor(columns, name, lists)
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
        parts = (columns.low, columns.high) if columns.banded else ()
        band = [_shown(unit * part[name][slot]) for part in parts]
        capacity = None if name == "leader_in" else broker.get(CAPACITY.get(name, ""))
        rows.append(
            {
                "broker": broker["id"],
                "load": _shown(unit * load[place]),
                "fair": _shown(unit * columns.fair[name][slot]) if slot >= 0 else None,
                "band": band if band and slot >= 0 else None,
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


def _least_survivor(columns: LoadColumns, name: str, lists: Lists) -> Fraction:
    """A lower bound on the worst survivor's load, divided by its fair share. Either the broker with
    the largest fair share fails, and the others lead what stays online; or what racks allow."""
    plan, fair = columns.plan, columns.fair[name]
    online, apart = _stays_online(columns, name, lists)
    level = max(Fraction(online, sum(fair) - max(fair)), Fraction(apart, sum(fair)))
    of_rack: dict[str, list[int]] = {}
    for slot, place in enumerate(plan.slots.tolist()):
        of_rack.setdefault(str(plan.rack[place]), []).append(fair[slot])
    while apart:
        led, slope = Fraction(-apart), Fraction(0)
        for shares in of_rack.values():
            least, falls = _must_lead(sorted(shares), sum(fair), apart, level)
            led, slope = led + least, slope + falls
        if led <= 0:
            break
        level += led / slope
    return level


def _must_lead(
    shares: list[int], everything: int, load: int, level: Fraction
) -> tuple[Fraction, Fraction]:
    """What brokers of one rack (fair shares ascending) lead at least of ``load``, so that no
    survivor has more than ``level`` times its fair share; and how fast that falls with the level.

    What a broker leads, brokers of other racks take over, up to their level. The smallest brokers
    of the rack are limited by their own level instead.
    """
    least, falls = Fraction(0), Fraction(0)
    for small in range(len(shares) - 1):
        large = len(shares) - small
        room = large * (everything - sum(shares)) + sum(shares[:small])
        must = (large * load - level * room) / (large - 1)
        if must > least:
            least, falls = must, Fraction(room, large - 1)
    return least, falls


def _stays_online(columns: LoadColumns, name: str, lists: Lists) -> tuple[int, int]:
    """The load of the partitions that have a usable leader and another usable replica, and no
    replica that is live and not usable; and of those of them with replicas in different racks."""
    plan, total, apart = columns.plan, 0, 0
    for brokers, load in zip(lists, columns.load[name], strict=True):
        places = [plan.place[b] for b in brokers]
        usable = [bool(plan.usable[place]) for place in places]
        live = [bool(plan.alive[place]) for place in places]
        if usable[0] and sum(usable) > 1 and usable == live:
            total += load
            racks = [plan.rack[place] for place in places]
            apart += load if plan.rack_sizes and len(set(racks)) == len(racks) else 0
    return total, apart


def _shown(value: Fraction | int) -> float | int:
    rounded = round(float(value), 3)
    return int(rounded) if rounded.is_integer() else rounded
