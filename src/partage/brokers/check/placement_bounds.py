"""The bounds on fair loads, moves, topic spread and a budget, recomputed from their prices."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from partage.arrays import Ints
from partage.brokers.check.asked import Asked
from partage.brokers.check.placement_model import PlacementModel
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER
from partage.flow.certificate import assignment_bound
from partage.flow.packing import unpack
from partage.flow.size_certificate import moved_bound

_COST = {"replicas": "load", "moves": "moves", "topic spread": "spread"}
"""The cost that each stage proves a bound on, as its ``weights`` name it."""

_MAX_AIM = 2**31
"""More replicas than a broker ever has: loads less an aim up to here are exact in 64 bits."""


def placement_bounds(plan: PlanColumns, order: tuple[str, ...], found: Recount) -> None:
    """Check the placement's stages, in the order in which they count, and the limits on moves."""
    model = PlacementModel(plan)
    aim = _aim(plan, order)
    proven: dict[str, int] = {}
    for position, name in enumerate(order):
        _check_stage(model, aim, order[: position + 1], proven, found)
        if name not in proven:  # a later bound needs this one
            break
    if "budget" in plan.stages:
        _check_budget(model, found, aimed=aim is not None)
    found.defects += model.broken_limits()


def _aim(plan: PlanColumns, order: tuple[str, ...]) -> Ints | None:
    """[E] the loads that a budget aims at, the same in every stage; None without an aim."""
    aims = [plan.stages[name]["prices"].get("aim") for name in order]
    if all(aim is None for aim in aims):
        return None
    if "budget" not in plan.stages or len(aims[0] or ()) != len(plan.slots):
        raise MalformedError(f"{MARKER}: certificate: aim: no budget sets this one")
    if any(aim != aims[0] for aim in aims):
        raise MalformedError(f"{MARKER}: certificate: aim: differs between stages")
    if max(map(abs, aims[0])) > _MAX_AIM:
        raise MalformedError(f"{MARKER}: certificate: aim: no loads reach it")
    return np.array(aims[0], dtype=np.int64)


def _check_stage(
    model: PlacementModel,
    aim: Ints | None,
    order: tuple[str, ...],
    proven: dict[str, int],
    found: Recount,
) -> None:
    """Check the last stage of ``order``; ``proven``: the bounds of those before it, and then its
    own."""
    plan, name = model.plan, order[-1]
    stage = plan.stages[name]
    prices, use, cost = stage["prices"], stage["prices"]["weights"], _COST[order[-1]]
    if aim is None:
        weight, aim = model.load_weights(stage, found), np.zeros(len(plan.slots), dtype=np.int64)
    else:
        weight = np.ones(len(plan.slots), dtype=np.int64)
        if prices["load_weights"] != weight.tolist():
            found.defect(f"load_weights of {name} must be 1, because it has an aim")
    if not _weights_prove(use, order):
        found.defect(f"weights of {name} are {use}, which prove nothing about {name}")
        return
    families, slots = len(model.families), len(plan.slots)
    slot_price = unpack(prices["brokers"], slots)
    family_price = None
    if "topics" in prices:
        family_price = unpack(prices["topics"], families * slots).reshape(families, slots)
        family_price += slot_price
    if use["load"] * int(weight.max()) >= 2**62:
        raise MalformedError(f"{MARKER}: certificate: {name}: weights too large to be summed")
    base = model.base - aim
    total = _bound(model, base, weight, use, slot_price, family_price)
    # the earlier stages are held at their proven bounds
    proven[name] = total - sum(use[_COST[earlier]] * proven[earlier] for earlier in order[:-1])
    found.compare_bound(stage, proven[name])
    if cost == "load":
        found.values[name] = _squares(weight, model.load - aim)
    elif cost == "moves":
        found.values[name] = plan.moves
    else:
        found.values[name] = model.spread_squares()


def _weights_prove(use: dict[str, int], order: tuple[str, ...]) -> bool:
    """Whether the weighted sum of costs bounds the last stage of ``order``: its own cost counts
    once, and no cost of a later stage counts."""
    later = _COST.keys() - set(order)
    own = use[_COST[order[-1]]]
    return own == 1 and not any(use[_COST[name]] for name in later) and min(use.values()) >= 0


def _squares(weight: Ints, load: Ints) -> int:
    return sum(int(w) * int(x) ** 2 for w, x in zip(weight.tolist(), load.tolist(), strict=True))


def _bound(
    model: PlacementModel,
    base: Ints,
    weight: Ints,
    use: dict[str, int],
    slot_price: Ints,
    family_price: Ints | None,
) -> int:
    """The bound from prices; ``family_price`` None: the slot's in every family. Where those have no
    cost either, all items may as well be of one family."""
    if family_price is None and not use["spread"]:
        families, fixed = np.zeros_like(model.family), np.zeros((1, len(base)), dtype=np.int64)
    else:
        families, fixed = model.family, model.family_base
    if family_price is None:
        family_price = np.broadcast_to(slot_price, fixed.shape)
    return assignment_bound(
        family=families,
        demand=model.demand,
        least=model.least,
        most=model.most,
        current=model.sits,
        zone=model.zone,
        base=base,
        family_base=fixed,
        load_weight=use["load"] * weight,
        move_weight=use["moves"],
        spread_weight=use["spread"],
        slot_price=slot_price,
        family_price=family_price,
    )


def _load_bound(model: PlacementModel, weight: Ints, price: Ints, move_price: int) -> int:
    """The bound on the loads' squares, and on the moves at their price, from the slots' prices."""
    use = {"load": 1, "moves": move_price, "spread": 0}
    return _bound(model, model.base, weight, use, price, None)


def _check_budget(model: PlacementModel, found: Recount, *, aimed: bool) -> None:
    """What the limits leave to optimise: the fewest moves within a tolerance, or the fairest loads
    for so many moves."""
    plan, stage = model.plan, model.plan.stages["budget"]
    prices, asked = stage["prices"], plan.asked
    weight, limit = model.load_weights(stage, found), prices["limit"]
    if limit not in _limits(asked):
        found.defect(f"budget: limit is {limit!r}, which the options do not ask for")
        return
    fewest = _check_tolerance(model, weight, found) if asked.tolerance else None
    if limit == "tolerance":
        assert fewest is not None, "the tolerance is above 0"
        found.values["budget"] = plan.moves
        found.compare_bound(stage, fewest)
        return
    move_price = prices["move_price"]
    if move_price < 0 or (move_price and limit != "max-moves"):
        found.defect(f"budget: move_price is {move_price}, which proves nothing")
        return
    slot_price = unpack(prices["brokers"], len(plan.slots))
    allowed = asked.max_moves or 0
    bound = _load_bound(model, weight, slot_price, move_price) - move_price * allowed
    value = found.values["budget"] = _squares(weight, model.load)
    found.compare_bound(stage, bound)
    # without an aim, the other stages prove the fewest moves of all fairest plans; with one they
    # prove it for these loads, and a price of moves for all loads that are as fair
    least = not aimed or move_price > 0
    too_many = fewest is None or (limit == "max-moves" and fewest > allowed)
    if value == bound and not (least and too_many):
        found.defect(f"budget: nothing proves that {limit} is what limits the plan")


def _limits(asked: Asked) -> list[str]:
    """The limits that the options ask for, as a budget names them."""
    given = {
        "tolerance": asked.tolerance > 0,
        "max-moves": asked.max_moves is not None,
        "max-bytes-moved": asked.max_bytes is not None,
    }
    return [name for name, is_given in given.items() if is_given]


def _check_tolerance(model: PlacementModel, weight: Ints, found: Recount) -> int:
    """The bound on the moves of any placement within the tolerance; loads outside are a defect if
    the tolerance is what limits the plan."""
    plan, prices = model.plan, model.plan.stages["budget"]["prices"]
    within, fair = (unpack(prices[key], len(plan.slots)) for key in ("within", "fair"))
    if not _are_fair(model, weight, fair):
        found.defect("budget: no fair loads have these prices")
    # full disks may ask for other counts
    bound_to_windows = prices["limit"] == "tolerance" and all(disk is None for disk in plan.disk)
    if bound_to_windows and not within_tolerance(plan):
        found.defects.append(f"{MARKER}: a broker's replicas are outside the tolerance")
    low, high = _windows(model, weight, fair, plan.asked.tolerance)
    return moved_bound(
        size=np.ones_like(model.demand),
        demand=model.demand,
        least=model.least,
        most=model.most,
        current=model.sits,
        zone=model.zone,
        base_size=model.base,
        low=low,
        high=high,
        price=within,
    )


def within_tolerance(plan: PlanColumns) -> bool:
    """Whether every broker's replicas are within the tolerance around the fair counts."""
    model = PlacementModel(plan)
    fair = unpack(plan.stages["budget"]["prices"]["fair"], len(plan.slots))
    low, high = _windows(model, model.weights(), fair, plan.asked.tolerance)
    load = model.load
    return bool(((low <= load) & (load <= high)).all())


def _are_fair(model: PlacementModel, weight: Ints, price: Ints) -> bool:
    """Whether the prices can be the dual values of the fairest loads.

    Then these loads are among the counts that are best at the prices, add up to all the replicas,
    in every rack to what it may hold, and cost what the prices prove.
    """
    low, high = _windows(model, weight, price, Fraction(0))
    least, most = model.zone_totals()
    racks = range(len(least))
    low_in, high_in = ([int(n[model.zone == z].sum()) for z in racks] for n in (low, high))
    if (low_in > most).any() or (high_in < least).any():
        return False
    more = int(model.load.sum() - low.sum())
    # where two counts are equally good, the larger costs the price more
    steps = sorted(price[high > low].tolist())
    if not 0 <= more <= len(steps):
        return False
    rest = _load_bound(model, weight, price, 0) - _squares(weight, low)
    return bool(sum(steps[:more]) <= rest <= sum(steps[len(steps) - more :]))


def _windows(
    model: PlacementModel, weight: Ints, price: Ints, width: Fraction
) -> tuple[Ints, Ints]:
    """[E] the fewest and the most replicas that are best at the prices (the next costs at least the
    price, the last at most) of the counts that the fixed replicas allow, widened by the
    tolerance."""
    fixed = model.base
    low, high = [], []
    for w, p, least in zip(weight.tolist(), price.tolist(), fixed.tolist(), strict=True):
        most = least + len(model.items)
        fewest, largest = ceil(Fraction(p - w, 2 * w)), floor(Fraction(p + w, 2 * w))
        fewest, largest = (min(max(n, least), most) for n in (fewest, largest))
        low.append(max(ceil(fewest * (1 - width)), least))
        high.append(min(floor(largest * (1 + width)), most))
    return np.array(low), np.array(high)
