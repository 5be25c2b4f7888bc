"""Do the figures in plan.json match a recount of the two placements?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.brokers.check.broker_disks import uneven_brokers
from partage.brokers.check.failures import (
    leaders_after_failures,
    leaders_after_rack_failure,
    least_rack_survivor,
    least_worst_survivor,
    loose_failure_bound,
)
from partage.brokers.check.known_warnings import check_warnings
from partage.brokers.check.load_columns import LoadColumns
from partage.brokers.check.load_figures import load_figures
from partage.brokers.check.placement_bounds import within_tolerance
from partage.brokers.check.placement_model import PlacementModel
from partage.brokers.check.plan_columns import Lists, PlanColumns
from partage.brokers.check.schema import identical
from partage.brokers.check.size_bounds import within_bands
from partage.brokers.check.stages import is_aimed
from partage.brokers.check.zones import Zones
from partage.brokers.directory import MARKER


def check_figures(plan: PlanColumns) -> list[str]:
    """Defects of ``figures``, ``gaps`` and ``warnings``."""
    stated, gaps = plan.value["figures"], _gaps(plan)
    before = _placement_figures(plan, plan.before, loose_failure_bound(plan, plan.before))
    after = _placement_figures(plan, plan.after, plan.stages["failure"]["bound"])
    if (plan.bytes_in != []) != ("fair" in plan.value["certificate"] or plan.asked.by_load):
        return [f"{MARKER}: certificate: fair shares go with rates in and out"]
    if plan.bytes_in:
        loads = LoadColumns(plan)
        if wrong := loads.wrong_fair():
            problem = f"the fair shares of {wrong[0]} are not what racks and capacities give"
            return [f"{MARKER}: certificate: {problem}"]
        before["resources"] = load_figures(loads, plan.before)
        after["resources"] = load_figures(loads, plan.after)
    elif "resources" in stated["before"] or "resources" in stated["after"]:
        return [f"{MARKER}: figures: resources go with rates in and out"]
    zones = Zones(plan)
    for name, lists, counted in (("before", plan.before, before), ("after", plan.after, after)):
        if "zone_bytes" in stated[name] or (plan.bytes_in and len(plan.rack_names) > 1):
            counted["zone_bytes"] = zones.figure(lists)
    return [
        *_differences("figures.before.", stated["before"], before),
        *_differences("figures.after.", stated["after"], after),
        *_differences("", plan.value, {"gaps": gaps}),
        *_differences("figures.after.", stated["after"], _plan_figures(plan, gaps)),
        *check_warnings(plan),
    ]


def _differences(path: str, stated: Mapping[str, Any], counted: Mapping[str, Any]) -> Iterator[str]:
    for key, value in counted.items():
        if not identical(stated.get(key), value):
            yield f"{MARKER}: {path}{key} is {stated.get(key)}, expected {value}"


def _plan_figures(plan: PlanColumns, gaps: dict[str, float]) -> dict[str, Any]:
    """The figures that are not of one placement alone; None for those that the plan must lack."""
    deleted = int(plan.deleted.sum())
    led_before, led_after = (plan.positions(one)[:, 0] for one in (plan.before, plan.after))
    figures = {
        "moves": plan.moves,
        "bytes_moved": plan.bytes_moved if plan.sized else None,
        "replicas_deleted": deleted or None,
        "partitions_with_fewer_replicas": int(np.count_nonzero(plan.deleted)) or None,
        "leader_changes": int((led_before != led_after).sum()),
        "waves": len(plan.value["waves"]),
        "bytes_moved_lower_bound": plan.stages.get("bytes moved", {}).get("bound"),
        "moves_lower_bound": _moves_lower_bound(plan),
        "optimal": all(_is_met(plan, stage) for stage in plan.stages.values())
        and _keeps_rules(plan),
        "strategy": plan.value["strategy"],
        "binding": plan.value["binding"],
        "gaps": gaps,
    }
    if must_be_settled(plan):
        figures["settled"] = True
    return figures


def _gaps(plan: PlanColumns) -> dict[str, float]:
    """By stage, and for the waves: how far the value is above the bound, as a share of the bound;
    the value itself where the bound is 0."""
    gaps = {
        name: round(s["value"] / s["bound"] - 1, 6) if s["bound"] else float(s["value"])
        for name, s in plan.stages.items()
        if s["value"] > s["bound"] and is_aimed(plan.asked, name)
    }
    waves, bound = len(plan.value["waves"]), plan.value["figures"]["after"]["waves_lower_bound"]
    return gaps | ({"waves": round(waves / bound - 1, 6)} if waves > bound else {})


def must_be_settled(plan: PlanColumns) -> bool:
    """Whether it follows, without a second run, that one would change nothing.

    A given reassignment is there by then. Where every stage of an exact plan is exact and meets its
    bound, changing nothing is optimal and costs nothing; the search for better leader counts ends
    only where it finds none. An exact plan without changes is its own second run, unless a search
    ends at its time limit: that for what fits the disks, or that for balanced loads. Moves between
    log dirs are found by a search.
    """
    if plan.asked.moves_log_dirs:
        return False
    if not plan.asked.exact:
        return plan.asked.given
    met = all(
        name == "joint failure balance" or (s["exact"] and s["value"] == s["bound"])
        for name, s in plan.stages.items()
    )
    unlimited = not plan.asked.timed and all(disk is None for disk in plan.disk)
    return met or (plan.before == plan.after and unlimited)


def _is_met(plan: PlanColumns, stage: Any) -> bool:
    """Whether a stage meets its bound, as far as ``optimal`` asks for it."""
    if stage["stage"] == "bytes":
        limit = stage["bound"] * (1 + plan.asked.tolerance) + max(stage["prices"]["load_weights"])
        return bool(stage["value"] <= limit)
    if stage["stage"] == "bytes moved" and plan.asked.by_size and not within_bands(plan):
        return False
    if stage["prices"].get("limit") == "tolerance" and not within_tolerance(plan):
        return False  # full disks asked for other counts
    if stage["stage"] == "log dirs":
        return not uneven_brokers(plan)
    searched = ("leader rate", "joint failure balance")
    if stage["stage"] in searched or not is_aimed(plan.asked, stage["stage"]):
        return True
    return bool(stage["value"] == stage["bound"])


def _keeps_rules(plan: PlanColumns) -> bool:
    """Whether no chosen partition breaks the rack rule, and none is led by a broker that is not
    usable while others could lead it."""
    usable = plan.on_usable(plan.after)
    if (plan.chosen & usable.any(axis=1) & ~usable[:, 0]).any():
        return False
    if not plan.rack_sizes or plan.asked.no_moves or plan.asked.relieves:
        return True
    return not (plan.chosen & plan.breaks_rack_rule(plan.after)).any()


def _moves_lower_bound(plan: PlanColumns) -> int:
    """The proven bound; where bytes are balanced, the moves that the rules force."""
    if plan.asked.by_size or (plan.asked.relieved and not plan.asked.no_moves):
        return PlacementModel(plan).forced_moves()
    bound = int(plan.stages["moves"]["bound"]) if "moves" in plan.stages else 0
    if plan.asked.by_load:
        return bound
    # where disks keep the loads from being fairest, fewer moves may be enough
    return min(bound, plan.moves) if plan.asked.exact else bound


def _placement_figures(plan: PlanColumns, lists: Lists, failure_bound: int) -> dict[str, Any]:
    """The figures of one placement."""
    _, broker = plan.pairs(lists)
    slots, count = plan.slots, len(plan.ids)
    leaders = np.bincount(plan.positions(lists)[:, 0], minlength=count)
    level = leaders_after_failures(plan, lists)
    return {
        "replicas_per_broker": _range(np.bincount(broker, minlength=count)[slots]),
        "leaders_per_broker": _range(leaders[slots]),
        "rack_violations": int(plan.breaks_rack_rule(lists).sum()),
        "topic_spread": _topic_spread(plan, lists),
        "bytes_max_over_mean": _bytes_max_over_mean(plan, lists),
        "leaders_after_failure": {
            "max": int(level.max()) if len(slots) > 1 else 0,
            "ideal": failure_bound,
        },
        "worst_survivor_lower_bound": least_worst_survivor(plan, lists),
        "leaders_after_rack_failure": leaders_after_rack_failure(plan, lists),
        "rack_survivor_lower_bound": least_rack_survivor(plan, lists),
    }


def _topic_spread(plan: PlanColumns, lists: Lists) -> int:
    """The largest difference, over topics, of replicas between two usable brokers."""
    topic, _, count = plan.topic_counts(lists)
    most = np.zeros(len(plan.topics), dtype=np.int64)
    least = np.full(len(plan.topics), len(plan.topic))
    np.maximum.at(most, topic, count)
    np.minimum.at(least, topic, count)
    least[np.bincount(topic, minlength=len(least)) < len(plan.slots)] = 0  # a broker has none
    return int((most - least).max())


def _range(counts: Ints) -> list[int]:
    return [int(counts.min()), int(counts.max())]


def _bytes_max_over_mean(plan: PlanColumns, lists: Lists) -> float | None:
    if not plan.sized:
        return None
    row, broker = plan.pairs(lists)
    held = np.zeros(len(plan.ids), dtype=np.int64)
    np.add.at(held, broker, plan.size[row])
    used = held[plan.slots].tolist()
    return round(max(used) * len(used) / sum(used), 4) if sum(used) else 1.0
