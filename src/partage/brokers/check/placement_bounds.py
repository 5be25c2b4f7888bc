"""The bounds on fair loads, moves and topic spread, out of their prices; and on a budget's."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from partage.brokers.check.plan_file import (
    Ints,
    MalformedError,
    PlanFile,
    percent,
    wrong_bound,
)
from partage.brokers.check.problem import Problem
from partage.brokers.directory import MARKER
from partage.flow.certificate import sharing_bound, unpack
from partage.flow.size_certificate import moved_bound

_LIMITS = ("tolerance", "max-moves", "max-bytes-moved")

_FAR = 2**31
"""More replicas than a broker ever has: loads counted from there are still exact."""


def placement_bounds(
    plan: PlanFile, stages: dict[str, Any], order: tuple[str, ...], values: dict[str, int]
) -> list[str]:
    """Defects of the placement's stages; fills in their ``values`` as counted."""
    problem = Problem(plan)
    load = problem.count.sum(axis=0)
    fixed = problem.fixed.sum(axis=0)
    families, e = problem.families, len(plan.slots)
    found: list[str] = []
    proven: dict[str, int] = {}
    for position, name in enumerate(order):
        prices = stages[name]["prices"]
        aim = _aim(stages, prices, e)
        if aim is None:
            weight, wrong = problem.weights(prices)
            found += wrong
            aim = np.zeros(e, dtype=np.int64)
        else:
            weight = np.array(prices["load_weights"], dtype=np.int64)
            if weight.tolist() != [1] * e:
                found.append(f"{MARKER}: certificate: {name}: with an aim, load_weights are 1")
        use = prices["weights"]
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
        total = _bound(problem, fixed - aim, weight, use, of_broker, of_topic + of_broker)
        value = {
            "load": sum(
                int(w) * int(x) ** 2 for w, x in zip(weight, (load - aim).tolist(), strict=True)
            ),
            "moves": problem.moves,
            "spread": int((problem.count[families] ** 2).sum()),
        }
        values[name] = value[kind[name]]
        # the stages before this one are held at their proven bounds
        earlier = sum(use[kind[n]] * proven[n] for n in order[:position])
        proven[name] = total - earlier
        found += wrong_bound(name, stages[name]["bound"], proven[name])
    if "budget" in stages:
        found += _budget(plan, problem, stages["budget"], values)
    return found + problem.limits_missed()


def _aim(stages: dict[str, Any], prices: Any, slots: int) -> Ints | None:
    """[E] the loads aimed at; only a budget may set them."""
    if "aim" not in prices:
        return None
    aim = prices["aim"]
    if "budget" not in stages or len(aim) != slots:
        raise MalformedError(f"{MARKER}: certificate: an aim that no budget sets")
    if max(map(abs, aim)) > _FAR:
        raise MalformedError(f"{MARKER}: certificate: an aim that no loads reach")
    return np.array(aim, dtype=np.int64)


def _bound(
    problem: Problem,
    base: Ints,
    weight: Ints,
    use: dict[str, int],
    of_broker: Ints,
    of_topic: Ints,
) -> int:
    return sharing_bound(
        family=problem.family,
        demand=problem.demand,
        least=problem.least,
        most=problem.most,
        sits=problem.sits,
        zone=problem.zone,
        base=base,
        family_base=problem.fixed[problem.families],
        load_weight=use["load"] * weight,
        move_weight=use["moves"],
        spread_weight=use["spread"],
        slot_price=of_broker,
        family_price=of_topic,
    )


def _budget(plan: PlanFile, problem: Problem, stage: Any, values: dict[str, int]) -> list[str]:
    """What the limit that binds leaves: the fewest moves within windows, or the fairest loads."""
    prices, e = stage["prices"], len(plan.slots)
    weight, found = problem.weights(prices)
    of_broker, limit = unpack(prices["brokers"], e), prices["limit"]
    if limit not in _LIMITS or plan.options.get(limit.replace("-", "_")) is None:
        return [*found, f"{MARKER}: certificate: budget: no such limit as {limit!r} is asked for"]
    load, fixed = problem.count.sum(axis=0), problem.fixed.sum(axis=0)
    if limit == "tolerance":
        fair = unpack(prices["fair"], e)
        if not _are_fair(problem, weight, fair):
            found.append(f"{MARKER}: certificate: budget: no fair loads have these prices")
        width = percent(plan.options["tolerance"])
        low, high = _windows(weight, fair, width, fixed, fixed + len(problem.items))
        # full disks may ask for other counts
        free = all(disk is None for disk in plan.disk)
        if free and ((load < low).any() or (load > high).any()):
            found.append(f"{MARKER}: a broker's replicas are outside the tolerance")
        values["budget"] = problem.moves
        bound = moved_bound(
            size=np.ones_like(problem.demand),
            demand=problem.demand,
            least=problem.least,
            most=problem.most,
            sits=problem.sits,
            zone=problem.zone,
            base_size=fixed,
            low=low,
            high=high,
            price=of_broker,
        )
        return found + wrong_bound("budget", stage["bound"], bound)
    price = prices["move_price"]
    if price < 0 or (price and limit != "max-moves"):
        found.append(f"{MARKER}: certificate: budget: a move's price of {price} proves nothing")
        return found
    use = {"load": 1, "moves": price, "spread": 0}
    of_topic = np.repeat(of_broker[None, :], len(problem.families), axis=0)
    allowed = plan.options["max_moves"] if limit == "max-moves" else 0
    bound = _bound(problem, fixed, weight, use, of_broker, of_topic) - price * allowed
    values["budget"] = sum(
        int(w) * int(x) ** 2 for w, x in zip(weight.tolist(), load.tolist(), strict=True)
    )
    return found + wrong_bound("budget", stage["bound"], bound)


def _are_fair(problem: Problem, weight: Ints, price: Ints) -> bool:
    """Whether prices can be the dual values of the fairest loads: then these loads are among the
    counts that are best at the prices, add up to all the replicas, in every rack to what it may
    take, and cost what the prices prove."""
    fixed = problem.fixed.sum(axis=0)
    low, high = _windows(weight, price, Fraction(0), fixed, fixed + len(problem.items))
    least, most = problem.zone_totals()
    racks = range(len(least))
    low_in, high_in = ([int(n[problem.zone == z].sum()) for z in racks] for n in (low, high))
    if (low_in > most).any() or (high_in < least).any():
        return False
    more = int(problem.count.sum() - low.sum())
    # where two counts are equally good, the larger costs the price more
    steps = sorted(price[high > low].tolist())
    if not 0 <= more <= len(steps):
        return False
    of_topic = np.repeat(price[None, :], len(problem.families), axis=0)
    use = {"load": 1, "moves": 0, "spread": 0}
    proven = _bound(problem, fixed, weight, use, price, of_topic)
    rest = proven - sum(int(w) * x * x for w, x in zip(weight, low.tolist(), strict=True))
    return bool(sum(steps[:more]) <= rest <= sum(steps[len(steps) - more :]))


def _windows(
    weight: Ints, price: Ints, width: Fraction, least: Ints, most: Ints
) -> tuple[Ints, Ints]:
    """[E] counts whose next replica costs at least the price and whose last at most, widened."""
    low, high = [], []
    for w, p, a, b in zip(
        weight.tolist(), price.tolist(), least.tolist(), most.tolist(), strict=True
    ):
        fewest, largest = ceil(Fraction(p - w, 2 * w)), floor(Fraction(p + w, 2 * w))
        low.append(min(max(ceil(fewest * (1 - width)), a), b))
        high.append(min(max(floor(largest * (1 + width)), a), b))
    return np.array(low), np.array(high)
