"""Do the brokers and partitions of plan.json follow from its options?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns, lengths
from partage.brokers.directory import MARKER, fingerprint

_NETWORK = ("network_in_bytes_per_second", "network_out_bytes_per_second")


def check_fingerprint(plan: PlanColumns) -> list[str]:
    """Defects of the fingerprint and the strategy's name."""
    if plan.value["fingerprint"] != fingerprint(plan.value):
        return [f"{MARKER}: fingerprint does not match the cluster and options in plan.json"]
    if plan.value["strategy"] != plan.asked.strategy:
        return [_by_options("strategy", plan.value["strategy"], plan.asked.strategy)]
    return []


def check_options(plan: PlanColumns) -> list[str]:
    """Defects of the brokers added and excluded, the partitions chosen, their factors, and of
    options that the planner refuses for this cluster."""
    found = [*_broker_defects(plan), *_partition_defects(plan), *_refused(plan)]
    return found[:MAX_DEFECTS]


def _broker_defects(plan: PlanColumns) -> Iterator[str]:
    asked, entries = plan.asked, {b["id"]: b for b in plan.value["brokers"]}
    emptied = [*asked.removed, *asked.replaced]
    wanted = {*emptied, *asked.added, *asked.replaced.values()}
    if missing := wanted - set(entries):
        yield f"{MARKER}: brokers: {min(missing)} is missing, which the options name"
        return
    if len(set(emptied)) < len(emptied):
        yield f"{MARKER}: options: a broker is removed twice"
    if both := set(emptied) & {*asked.added, *asked.replaced.values()}:
        yield f"{MARKER}: options: broker {min(both)} is removed and added"
    for identity, entry in entries.items():
        expected = {"excluded": identity in emptied} | _expected_of_new(plan, entries, identity)
        for key, value in expected.items():
            if entry.get(key) != value:
                yield _by_options(f"broker {identity}: {key}", entry.get(key), value)
    if unknown := set(asked.broker_set) - set(entries):
        yield f"{MARKER}: options.broker_set: broker {min(unknown)} is missing"
    for identity, entry in entries.items():
        outside = bool(asked.broker_set) and identity not in asked.broker_set
        if entry.get("outside", False) is not outside:
            yield _by_options(f"broker {identity}: outside", entry.get("outside", False), outside)
    held = set(chain.from_iterable(plan.before))
    for identity, entry in entries.items():
        if entry["added"] and identity in held:
            yield f"{MARKER}: broker {identity}: is added, but has replicas before"


def _expected_of_new(
    plan: PlanColumns, entries: dict[int, dict[str, Any]], identity: int
) -> dict[str, Any]:
    """What a broker that the options add must be like; of others, that they are not added."""
    asked = plan.asked
    if identity in asked.added:
        known = [b for b in entries.values() if not b["added"]]
        capacity = Counter(b["capacity"] for b in known).most_common(1)
        disks = Counter(b["disk_bytes"] for b in known)
        return {
            "added": True,
            "alive": True,
            "rack": asked.added[identity],
            "capacity": capacity[0][0] if known else None,
            "disk_bytes": None if None in disks or not known else disks.most_common(1)[0][0],
            **{key: _usual(entries.values(), key) for key in _NETWORK},
        }
    olds = [old for old, new in asked.replaced.items() if new == identity]
    if not olds:
        return {"added": False}
    if not entries[identity]["added"]:
        return {}  # one of the cluster's
    old = entries[olds[0]]
    copied = {key: old.get(key) for key in ("rack", "capacity", "disk_bytes", *_NETWORK)}
    return copied | {"alive": True}


def _usual(entries: Iterable[dict[str, Any]], key: str) -> Any:
    """What most brokers of the cluster have, if all have it."""
    known = Counter(entry.get(key) for entry in entries if not entry["added"])
    return None if None in known or not known else known.most_common(1)[0][0]


def _partition_defects(plan: PlanColumns) -> Iterator[str]:
    asked, matches = plan.asked, [plan.asked.may_change(name) for name in plan.topics]
    before, after = lengths(plan.before), lengths(plan.after)
    # a given reassignment sets the factors, and leaves out what fits on no brokers
    given = asked.given and not asked.no_moves
    too_many = given & ~plan.new_list & (before > len(plan.slots))
    chosen = np.array(matches)[plan.topic] & ~too_many
    asked_for = [asked.factors.get(name, asked.factors.get(None, 0)) for name in plan.topics]
    factor = np.array(asked_for)[plan.topic]
    factor = np.where(factor > 0, factor, after if given else before)
    factor = np.where(chosen, factor, before)
    for row in np.flatnonzero((plan.chosen != chosen) | (plan.factor != factor)).tolist():
        columns = (("chosen", plan.chosen, chosen), ("replication_factor", plan.factor, factor))
        for name, stated, expected in columns:
            if stated[row] != expected[row]:
                yield _by_options(f"{plan.names[row]}: {name}", stated[row], expected[row])


def _refused(plan: PlanColumns) -> Iterator[str]:
    """What the planner refuses for this cluster."""
    asked, matches = plan.asked, [plan.asked.may_change(name) for name in plan.topics]
    if not any(matches):
        yield f"{MARKER}: options.topics: matches no topic"
    chosen = {plan.topics[t] for t in plan.topic[plan.chosen].tolist()}
    for topic in asked.factors:
        if topic is not None and topic not in chosen:
            yield f"{MARKER}: options.replication_factor: topic {topic!r} is not chosen"
    yield from _refused_leaders(plan, chosen)
    yield from _refused_log_dirs(plan)
    if asked.prefer_zone and len(plan.rack_names) < 2:
        yield f"{MARKER}: options.prefer_zone: needs two racks or more"
    if asked.leaders == "rate" and plan.rates is None:
        yield f"{MARKER}: options.leaders: rate needs bytes_per_second"
    needed = asked.by_size or asked.by_load or asked.prefer_zone or asked.max_bytes is not None
    if needed and not plan.sized:
        yield f"{MARKER}: options: bytes are limited or balanced, but no size is known"
    if (asked.by_load or asked.prefer_zone) and asked.no_moves:
        rows = (plan.before[row] for row in np.flatnonzero(plan.chosen).tolist())
        if not all(plan.usable[plan.place[b]] for row in rows for b in row):
            yield f"{MARKER}: options.no_moves: a replica is on a dead broker"
    of_disks = asked.relieve is not None or "disk" in asked.relieved
    if of_disks and all(disk is None for disk in plan.disk):
        yield f"{MARKER}: options.relieve: no disk is known"


def _refused_leaders(plan: PlanColumns, chosen: set[str]) -> Iterator[str]:
    for topic, racks in plan.asked.leader_racks.items():
        if topic is not None and topic not in chosen:
            yield f"{MARKER}: options.leader_racks: topic {topic!r} is not chosen"
        if unknown := set(racks) - set(plan.rack):
            yield f"{MARKER}: options.leader_racks: no broker is in rack {min(unknown)!r}"
    for broker in plan.asked.demoted:
        if broker not in plan.place:
            yield f"{MARKER}: options.demote_broker: broker {broker} is not in the cluster"
    if {plan.ids[slot] for slot in plan.slots.tolist()} <= set(plan.asked.demoted):
        yield f"{MARKER}: options.demote_broker: no broker is left that may lead"


def _refused_log_dirs(plan: PlanColumns) -> Iterator[str]:
    dirs = {b["id"]: [one["path"] for one in b.get("log_dirs", ())] for b in plan.value["brokers"]}
    for broker, path in plan.asked.removed_log_dirs:
        if path not in dirs.get(broker, ()):
            yield f"{MARKER}: options.remove_log_dir: broker {broker} has no log dir {path}"
    if plan.asked.moves_log_dirs and "log_dirs_before" not in plan.value["partitions"]:
        yield f"{MARKER}: options: log dirs are balanced or emptied, but none are known"
    if plan.asked.balance_disks and not plan.sized:
        yield f"{MARKER}: options.balance_disks: no size is known"


def _by_options(what: str, stated: object, expected: object) -> str:
    return f"{MARKER}: {what} is {stated}, expected {expected} by the options"
