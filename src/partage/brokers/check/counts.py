"""Every figure counted anew from the two placements."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from partage.brokers.check.plan_file import Ints, Lists, PlanFile, most_per_rack, percent
from partage.brokers.check.problem import Problem
from partage.brokers.check.shape import same
from partage.brokers.directory import MARKER
from partage.brokers.options import GIVEN
from partage.flow.certificate import fill_level, takeover_bound


def check_figures(plan: PlanFile) -> list[str]:
    stages, found = plan.stages, []
    stated = plan.value["figures"]
    for when, lists, ideal in (
        ("before", plan.before, loose_failure_bound(plan, plan.before)),
        ("after", plan.after, stages["failure"]["bound"]),
    ):
        for key, value in _counted(plan, lists, ideal).items():
            if not same(stated[when][key], value):
                found.append(
                    f"{MARKER}: figures.{when}.{key} is {stated[when][key]}, "
                    f"the placement says {value}"
                )
    new = [len(set(a) - set(b)) for b, a in zip(plan.before, plan.after, strict=True)]
    mine = {
        "moves": sum(new),
        "bytes_moved": sum((plan.size * new).tolist()) if plan.sized else None,
        "leader_changes": sum(b[0] != a[0] for b, a in zip(plan.before, plan.after, strict=True)),
        "waves": len(plan.value["waves"]),
        "bytes_moved_lower_bound": stages.get("bytes moved", {}).get("bound"),
        "moves_lower_bound": _fewest_moves(plan, sum(new)),
        "optimal": all(_met(plan, name, stage) for name, stage in stages.items()),
        "strategy": plan.value["strategy"],
        "binding": plan.value["binding"],
        "gaps": {
            name: round(s["value"] / s["bound"] - 1, 6) if s["bound"] else float(s["value"])
            for name, s in stages.items()
            if s["value"] > s["bound"]
        },
    }
    fewest = stated["after"]["waves_lower_bound"]
    if mine["waves"] > fewest:
        mine["gaps"]["waves"] = round(mine["waves"] / fewest - 1, 6)
    if not same(plan.value["gaps"], mine["gaps"]):
        found.append(f"{MARKER}: gaps are {plan.value['gaps']}, the stages say {mine['gaps']}")
    if _settled(plan, stages):
        mine["settled"] = True
    for key, value in mine.items():
        if not same(stated["after"][key], value):
            found.append(
                f"{MARKER}: figures.after.{key} is {stated['after'][key]}, counted anew: {value}"
            )
    return found + _lost(plan)


def _lost(plan: PlanFile) -> list[str]:
    """Nobody can copy a partition whose holders are all dead: that must have been told."""
    what = "no live replica to copy from"
    lost = sum(not any(plan.alive[plan.place[b]] for b in brokers) for brokers in plan.before)
    wanted = [f"{lost} partitions have {what}"] if lost else []
    told = [warning.partition(",")[0] for warning in plan.value["warnings"] if what in warning]
    return [] if told == wanted else [f"{MARKER}: warnings: {lost} partitions have {what}"]


def _settled(plan: PlanFile, stages: dict[str, Any]) -> bool:
    """Whether it follows that a second run would change nothing: lists that are given are there by
    then; and where every stage is exact and meets its bound, to change nothing is optimal, and
    costs nothing. A plan without changes is its own second run, as long as no clock ends a search
    for what fits the disks. Elsewhere only that run can tell."""
    if plan.value["strategy"] != "exact":
        return bool(plan.value["strategy"] == GIVEN)
    met = all(s["exact"] and s["value"] == s["bound"] for s in stages.values())
    return met or (plan.before == plan.after and all(disk is None for disk in plan.disk))


def _met(plan: PlanFile, name: str, stage: Any) -> bool:
    """Whether nothing that counts as optimal is missing from a stage."""
    if name == "bytes":
        width = percent(plan.options.get("tolerance", "2%"))
        limit = stage["bound"] * (1 + width) + max(stage["prices"]["load_weights"])
        return bool(stage["value"] <= limit)
    counts = stage["exact"] or name in ("budget", "bytes moved")
    return not counts or bool(stage["value"] == stage["bound"])


def _fewest_moves(plan: PlanFile, made: int) -> int:
    """The proven bound; where bytes are shared out, what the rules force."""
    if plan.by_size and not plan.no_moves:
        return Problem(plan).forced_moves()
    bound = int(plan.stages["moves"]["bound"]) if "moves" in plan.stages else 0
    # where disks keep the loads from being fairest, fewer moves may do
    return min(bound, made) if plan.value["strategy"] == "exact" else bound


def _counted(plan: PlanFile, lists: Lists, ideal: int) -> dict[str, Any]:
    """``ideal``: the bound on the worst survivor after a failure."""
    row, broker = plan.pairs(lists)
    slots, count = plan.slots, len(plan.ids)
    replicas = np.bincount(broker, minlength=count)[slots]
    first = np.array([plan.place[r[0]] for r in lists])
    leaders = np.bincount(first, minlength=count)[slots]
    topic = np.zeros((len(plan.topics), count), dtype=np.int64)
    np.add.at(topic, (plan.topic[row], broker), 1)
    held = [0] * count
    for r, b in zip(row.tolist(), broker.tolist(), strict=True):
        held[b] += int(plan.size[r])
    used = [held[s] for s in slots.tolist()]
    full = None
    if plan.sized:
        full = round(max(used) * len(used) / sum(used), 4) if sum(used) else 1.0
    sizes: dict[str, int] = {}
    for s in slots.tolist():
        if plan.rack[s] is not None:
            sizes[plan.rack[s]] = sizes.get(plan.rack[s], 0) + 1
    broken = 0
    for brokers in lists if sizes else []:
        of = [plan.rack[plan.place[b]] for b in brokers]
        most = most_per_rack(sizes.values(), len(of))
        broken += len(set(of)) < min(len(of), len(sizes)) or max(map(of.count, set(of))) > most
    level = level_after_failures(plan, lists)
    return {
        "replicas_per_broker": [int(replicas.min()), int(replicas.max())],
        "leaders_per_broker": [int(leaders.min()), int(leaders.max())],
        "rack_violations": broken,
        "topic_spread": int(np.ptp(topic[:, slots], axis=1).max()),
        "bytes_max_over_mean": full,
        "leaders_after_failure": {
            "max": int(level.max()) if len(slots) > 1 else 0,
            "ideal": ideal,
        },
        "leaders_after_rack_failure": _after_rack_failure(plan, lists),
    }


def _after_rack_failure(plan: PlanFile, lists: Lists) -> dict[str, int] | None:
    """Worst survivor, its bound, and partitions offline, over the racks that may fail."""
    racks = {plan.rack[s] for s in plan.slots.tolist()}
    if len(racks) < 2:
        return None
    led, taken, shared = Counter[int](), Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    offline = dict.fromkeys(racks, 0)
    for brokers in lists:
        leader = plan.place[brokers[0]]
        led[leader] += 1
        live = [b for b in map(plan.place.__getitem__, brokers) if plan.alive[b]]
        held = {plan.rack[b] for b in live}
        for rack in racks if len(held) == 0 else racks & held if len(held) == 1 else ():
            offline[rack] += 1
        for rack in held:
            others = [b for b in live if plan.rack[b] != rack]
            shared.update((rack, b) for b in others)
            if others and plan.alive[leader] and rack == plan.rack[leader]:
                taken[rack, others[0]] += 1
    worst = ideal = 0
    for rack in racks:
        there = [s for s in plan.slots.tolist() if plan.rack[s] != rack]
        level = np.array([led[s] for s in there])
        more = np.array([taken[rack, s] for s in there])
        room = np.array([shared[rack, s] for s in there])
        worst = max(worst, int((level + more).max()))
        ideal = max(ideal, fill_level(level, room, int(more.sum())))
    return {"max": worst, "ideal": ideal, "offline": max(offline.values())}


def level_after_failures(plan: PlanFile, lists: Lists) -> Ints:
    """[E, E] leaders of survivor f after the failure of b; 0 on the diagonal."""
    slots = len(plan.slots)
    leader = plan.slot_of[[plan.place[r[0]] for r in lists]]
    taker = plan.slot_of[plan.followers(lists)]
    load = np.bincount(leader[leader >= 0], minlength=slots)
    both = (leader >= 0) & (taker >= 0)
    pairs = np.zeros((slots, slots), dtype=np.int64)
    np.add.at(pairs, (leader[both], taker[both]), 1)
    level = load[None, :] + pairs
    np.fill_diagonal(level, 0)
    return level


def loose_failure_bound(plan: PlanFile, lists: Lists) -> int:
    """The bound on the worst survivor for the leaders of ``lists``, whose order is not ours: every
    holder may take over."""
    slots = len(plan.slots)
    level = level_after_failures(plan, lists)
    leader = plan.slot_of[[plan.place[r[0]] for r in lists]]
    counts = np.bincount(leader[leader >= 0], minlength=slots)
    together = np.zeros((slots, slots), dtype=np.int64)
    for brokers in lists:
        on = [int(plan.slot_of[plan.place[b]]) for b in brokers]
        for one in on:
            for other in on:
                if one != other and one >= 0 and other >= 0:
                    together[one, other] += 1
    pairs = level - counts[None, :]
    np.fill_diagonal(pairs, 0)
    return takeover_bound(pairs.sum(axis=1), counts, np.zeros_like(pairs), together)
