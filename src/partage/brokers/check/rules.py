"""Is it a plan of the cluster and the job that it names, and does it keep every rule?"""

from __future__ import annotations

from partage.brokers.check.plan_file import PlanFile
from partage.brokers.directory import MARKER, fingerprint


def check_fingerprint(plan: PlanFile) -> list[str]:
    if plan.value["fingerprint"] != fingerprint(plan.value):
        return [f"{MARKER}: the fingerprint is not that of the cluster and options in it"]
    return []


def check_rules(plan: PlanFile) -> list[str]:
    found: list[str] = []
    racks = sorted({plan.rack[s] for s in plan.slots if plan.rack[s] is not None})
    sizes = {r: sum(plan.rack[s] == r for s in plan.slots) for r in racks}
    used: dict[int, int] = dict.fromkeys(plan.ids, 0)
    for i, (old, new) in enumerate(zip(plan.before, plan.after, strict=True)):
        where = f"{MARKER}: {plan.names[i]}"
        if not new or len(set(new)) != len(new) or any(b not in plan.place for b in new):
            found.append(f"{where}: {new} is not a list of different listed brokers")
            continue
        for b in new:
            used[b] += int(plan.size[i])
        if not plan.chosen[i]:
            if old != new:
                found.append(f"{where}: left out of the plan, yet changed")
            continue
        if plan.no_moves:
            if sorted(old) != sorted(new):
                found.append(f"{where}: replicas move though no moves were asked for")
            continue
        bad = [b for b in new if not plan.usable[plan.place[b]]]
        if bad:
            found.append(f"{where}: replica on broker {bad[0]}, which is dead or to be emptied")
        if len(new) != plan.factor[i]:
            found.append(f"{where}: {len(new)} replicas, {plan.factor[i]} were asked for")
        if racks and not bad:
            held = [sum(plan.rack[plan.place[b]] == r for b in new) for r in racks]
            if not _rack_rule(held, list(sizes.values())):
                found.append(f"{where}: {new} breaks the rack rule")
    if found:
        return found[:20]
    for i, b in enumerate(plan.ids):
        if (
            plan.disk[i] is not None
            and plan.usable[i]
            and not plan.no_moves
            and used[b] > plan.disk[i]
        ):
            found.append(f"{MARKER}: broker {b}: {used[b]} bytes on a disk of {plan.disk[i]}")
    return found


def _rack_rule(held: list[int], sizes: list[int]) -> bool:
    """As many racks as possible, then as level as the rack sizes allow."""
    total = sum(held)
    if sum(h > 0 for h in held) < min(total, len(sizes)):
        return False
    most = 1
    while sum(min(s, most) for s in sizes) < total:
        most += 1
    return max(held) <= most
