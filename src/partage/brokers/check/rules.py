"""Does the placement keep every rule?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, pairwise

import numpy as np

from partage.brokers.check.plan_columns import MAX_DEFECTS, PlanColumns, read_json
from partage.brokers.check.racks import keeps_rack_rule
from partage.brokers.check.replan_files import REPLAN, replans
from partage.brokers.check.schema import mismatch
from partage.brokers.directory import MARKER


def check_rules(plan: PlanColumns) -> list[str]:
    """Defects of the new broker lists; of the disks only if there are none of those."""
    found = [
        f"{MARKER}: {plan.names[row]}: {defect}"
        for row in _suspects(plan)
        for defect in _defects(plan, row)
    ]
    found = found[:MAX_DEFECTS] or _overfull_disks(plan)
    return found + _broken_racks_of_replans(plan)[:MAX_DEFECTS]


def _suspects(plan: PlanColumns) -> Iterable[int]:
    """Rows that may break a rule. Of chosen partitions that may move and be led anywhere, those on
    usable brokers with all their replicas in enough racks break none."""
    every = range(len(plan.after))
    of_leaders = plan.asked.leader_racks or plan.asked.demoted
    if plan.asked.no_moves or of_leaders or not _well_formed(plan):
        return every
    usable, after = plan.on_usable(plan.after), plan.positions(plan.after) >= 0
    fine = plan.chosen & (usable == after).all(axis=1) & (after.sum(axis=1) == plan.factor)
    fine &= ~plan.breaks_rack_rule(plan.after)
    rows: list[int] = np.flatnonzero(~fine).tolist()
    return rows


def _well_formed(plan: PlanColumns) -> bool:
    """Whether all new lists are of different brokers of the cluster."""
    if not all(plan.after) or not plan.place.keys() >= set(chain.from_iterable(plan.after)):
        return False
    held = np.sort(plan.positions(plan.after), axis=1)
    return not ((held[:, 1:] == held[:, :-1]) & (held[:, 1:] >= 0)).any()


def _defects(plan: PlanColumns, row: int) -> list[str]:
    malformed = _malformed_list(plan, row)
    if malformed is not None:
        return [malformed]
    if not plan.chosen[row]:
        rules = _LEFT_OUT
    elif plan.asked.no_moves:
        rules = _WITHOUT_MOVES
    else:
        rules = _CHOSEN
    return [defect for rule in rules if (defect := rule(plan, row)) is not None]


def _malformed_list(plan: PlanColumns, row: int) -> str | None:
    new = plan.after[row]
    if not new or len(set(new)) != len(new) or any(b not in plan.place for b in new):
        return f"{new} is not a list of different brokers of the cluster"
    return None


def _changed_though_left_out(plan: PlanColumns, row: int) -> str | None:
    same = plan.before[row] == plan.after[row]
    return None if same else "its broker list changes, although it is not chosen"


def _on_removed_broker(plan: PlanColumns, row: int) -> str | None:
    removed = {*plan.asked.removed, *plan.asked.replaced} & {*plan.after[row]}
    return f"is left out, but on broker {min(removed)}, which must be empty" if removed else None


def _moved_without_moves(plan: PlanColumns, row: int) -> str | None:
    same = sorted(plan.before[row]) == sorted(plan.after[row])
    return None if same else "replicas move, although the options ask for no moves"


def _on_unusable_broker(plan: PlanColumns, row: int) -> str | None:
    unusable = _unusable(plan, row)
    if plan.asked.given:  # it may leave a replica on a dead broker, with a warning
        unusable = [b for b in unusable if _excluded(plan, b) or b not in plan.before[row]]
    return f"has a replica on broker {unusable[0]}, which is dead or excluded" if unusable else None


def _wrong_factor(plan: PlanColumns, row: int) -> str | None:
    count = len(plan.after[row])
    expected = plan.factor[row]
    return None if count == expected else f"has {count} replicas, expected {expected}"


def _breaks_rack_rule(plan: PlanColumns, row: int) -> str | None:
    new, sizes = plan.after[row], plan.rack_sizes
    # other strategies, and relieving disks, may leave a set that breaks the rule as it is
    may_stay = not plan.asked.exact or plan.asked.relieves
    kept = may_stay and sorted(plan.before[row]) == sorted(new)
    if not sizes or kept or _unusable(plan, row):
        return None
    racks = [plan.rack[plan.place[b]] for b in new]
    if keeps_rack_rule([racks.count(rack) for rack in sizes], sizes.values()):
        return None
    return f"{new} breaks the rack rule"


def _led_from_another_rack(plan: PlanColumns, row: int) -> str | None:
    leader = plan.after[row][0]
    if plan.may_lead(row, plan.place[leader]):
        return None
    return f"is led by broker {leader}, which is not in its leader racks"


def _demoted_before_another(plan: PlanColumns, row: int) -> str | None:
    usable = [b for b in plan.after[row] if plan.usable[plan.place[b]]]
    others = [b for b in usable if b not in plan.asked.demoted]
    if not any(plan.may_lead(row, plan.place[b]) for b in others):
        return None
    for first, second in pairwise(usable):
        if first not in others and second in others:
            return f"lists broker {first}, which is demoted, before broker {second}"
    return None


def _excluded(plan: PlanColumns, broker: int) -> bool:
    return bool(plan.value["brokers"][plan.place[broker]]["excluded"])


def _unusable(plan: PlanColumns, row: int) -> list[int]:
    return [b for b in plan.after[row] if not plan.usable[plan.place[b]]]


_Rule = Callable[[PlanColumns, int], str | None]
_LEFT_OUT: tuple[_Rule, ...] = (_changed_though_left_out, _on_removed_broker)
_WITHOUT_MOVES: tuple[_Rule, ...] = (
    _moved_without_moves,
    _led_from_another_rack,
    _demoted_before_another,
)
_CHOSEN: tuple[_Rule, ...] = (
    _on_unusable_broker,
    _wrong_factor,
    _breaks_rack_rule,
    _led_from_another_rack,
    _demoted_before_another,
)


def _overfull_disks(plan: PlanColumns) -> list[str]:
    if plan.asked.no_moves:
        return []
    if all(disk is None for disk in plan.disk):
        return []
    used = dict.fromkeys(plan.ids, 0)
    for brokers, size in zip(plan.after, plan.size.tolist(), strict=True):
        for b in brokers:
            used[b] += size
    return [
        f"{MARKER}: broker {b}: {used[b]} bytes on a disk of {disk}"
        for b, disk, usable in zip(plan.ids, plan.disk, plan.usable, strict=True)
        if disk is not None and usable and used[b] > disk
    ]


def _broken_racks_of_replans(plan: PlanColumns) -> list[str]:
    """Replicas that a run planned again obey the rule for the racks that were left. A broker that
    the plan does not know counts as a separate rack."""
    found: list[str] = []
    files = replans(plan.root) if plan.rack_sizes else []
    if not files:
        return found
    before = {
        (plan.topics[t], n): sorted(lists)
        for t, n, lists in zip(plan.topic.tolist(), plan.number.tolist(), plan.before, strict=True)
    }
    for path in files:
        value = read_json(plan.root, path.name)
        if mismatch(value, REPLAN) is not None:
            continue  # a defect of ``check_files``
        left = (p for b, p in plan.place.items() if plan.usable[p] and b not in value["without"])
        sizes = Counter(plan.rack[place] for place in left)
        for entry in value["partitions"]:
            replicas, key = entry["replicas"], (entry["topic"], entry["partition"])
            per_rack = Counter(plan.rack[plan.place[b]] if b in plan.place else b for b in replicas)
            moved = sorted(replicas) != before.get(key)
            if moved and not keeps_rack_rule(per_rack.values(), sizes.values()):
                found.append(f"{path.name}: {key[0]}-{key[1]}: {replicas} breaks the rack rule")
    return found
