"""Warnings that follow from plan.json itself: each must be there, with its number, if and only if
it applies. Others come from files that are not kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from partage.brokers.check.plan_columns import MAX_WEIGHT, PlanColumns
from partage.brokers.directory import MARKER

_PARTITIONS = r"([\d,]+) partitions?"


def check_warnings(plan: PlanColumns) -> list[str]:
    """Defects of ``warnings``."""
    stated: list[str] = plan.value["warnings"]
    found = []
    for pattern, number in _expected(plan):
        matches = (re.match(pattern, warning) for warning in stated)
        numbers = [match[1].replace(",", "") for match in matches if match is not None]
        expected = [str(number)] if number else []
        if numbers != expected:
            about = pattern.replace(_PARTITIONS, "N partitions")
            found.append(f"{MARKER}: warnings {about!r}: {numbers}, expected {expected}")
    return found


def _expected(plan: PlanColumns) -> Iterator[tuple[str, int | str]]:
    """How each warning begins, with its number, and what that must be; 0: no warning."""
    asked = plan.asked
    known = [size is not None for size in plan.value["partitions"]["size_bytes"]]
    live, held = plan.live(plan.before), plan.positions(plan.before) >= 0
    lost = int((~live.any(axis=1)).sum())
    yield rf"no live replica to copy from: {_PARTITIONS}", lost
    unknown = known.count(False) if any(known) else 0
    yield rf"unknown sizes count as 0 bytes: {_PARTITIONS}", unknown
    left_out = np.array([not asked.may_change(topic) for topic in plan.topics])[plan.topic]
    stuck = int((left_out & (held & ~live).any(axis=1)).sum())
    what = rf"the topics left out keep replicas on dead brokers: {_PARTITIONS}"
    yield what, 0 if asked.no_moves else stuck
    yield r"brokers? .+ (?:is|are) dead: (no|[\d,]+) replicas?", _off_the_dead(plan)
    yield from _about_capacities(plan)
    if asked.given and not asked.no_moves:
        yield from _about_given_lists(plan)


def _off_the_dead(plan: PlanColumns) -> int | str:
    """How many replicas move from dead brokers that are not to be removed: ``no``, or a number; 0
    without such brokers."""
    excluded = np.array([broker["excluded"] for broker in plan.value["brokers"]], dtype=np.bool_)
    dead = ~plan.alive & ~excluded
    if not dead.any():
        return 0
    if plan.asked.no_moves:
        return "no"
    moved = 0
    for row in np.flatnonzero(plan.chosen).tolist():
        before, kept = plan.before[row], plan.after[row]
        if not plan.asked.given:
            kept = [broker for broker in before if plan.usable[plan.place[broker]]]
        gone = sum(dead[plan.place[broker]] and broker not in kept for broker in before)
        new = int(plan.factor[row]) - sum(broker in kept for broker in before)
        moved += min(gone, max(0, new))
    return moved or "no"


def _about_capacities(plan: PlanColumns) -> Iterator[tuple[str, int | str]]:
    added = any(broker["added"] for broker in plan.value["brokers"])
    several = len(set(plan.capacity)) > 1
    yield "added brokers count with (capacity)", "capacity" if added and several else 0
    several = len(set(plan.disk)) > 1
    of_added = [b["disk_bytes"] for b in plan.value["brokers"] if b["added"]]
    disk = "an unlimited disk" if None in of_added[:1] else "a disk"
    yield "added brokers count with (an unlimited disk|a disk)", disk if added and several else 0
    largest = max(plan.capacity[s] for s in plan.slots.tolist())
    shares = [largest / plan.capacity[s] for s in plan.slots.tolist()]
    rounded = math.lcm(*(share.denominator for share in shares)) * max(shares) > MAX_WEIGHT
    yield "(capacities) have no small common measure", "capacities" if rounded else 0


def _about_given_lists(plan: PlanColumns) -> Iterator[tuple[str, int | str]]:
    alive = {b for b, is_alive in zip(plan.ids, plan.alive.tolist(), strict=True) if is_alive}
    rows = list(zip(plan.chosen.tolist(), plan.before, plan.after, strict=True))
    others = sum(chosen and len(old) != len(new) for chosen, old, new in rows)
    yield rf"another replication factor for {_PARTITIONS}", others
    held_up = sum(
        chosen and bool({*new} - {*old}) and not alive >= {*new} for chosen, old, new in rows
    )
    yield rf"a replica stays on a dead broker while others move: {_PARTITIONS}", held_up
