"""Is it a plan of the cluster and the job that it names, and does it keep every rule?"""

from __future__ import annotations

import re
import warnings

from partage.brokers.check.plan_file import PlanFile, most_per_rack
from partage.brokers.directory import MARKER, fingerprint
from partage.brokers.options import GIVEN


def check_fingerprint(plan: PlanFile) -> list[str]:
    if plan.value["fingerprint"] != fingerprint(plan.value):
        return [f"{MARKER}: the fingerprint is not that of the cluster and options in it"]
    asked = plan.options.get("strategy", "exact")
    if plan.value["strategy"] != asked:
        return [f"{MARKER}: strategy is {plan.value['strategy']!r}, the options say {asked!r}"]
    return []


def check_options(plan: PlanFile) -> list[str]:
    """Who is excluded, what is chosen and how many replicas are asked follow from the options."""
    options = plan.options
    replaced = [word.split("=") for word in options.get("replace_broker", [])]
    removed = {int(b) for b in options.get("remove_broker", [])} | {int(old) for old, _ in replaced}
    racks: dict[int, str | None] = {}
    for word in options.get("add_broker", []):
        number, _, rack = word.partition(":")
        racks[int(number)] = rack or None
    may_be_new = {*racks, *(int(name) for _, name in replaced)}
    found = []
    for broker in plan.value["brokers"]:
        b = broker["id"]
        if broker["excluded"] is not (b in removed):
            found.append(f"{MARKER}: broker {b}: excluded is {broker['excluded']}, not as asked")
        if b in racks and broker["rack"] != racks[b]:
            found.append(f"{MARKER}: broker {b}: rack is {broker['rack']}, not as asked")
        if (broker["added"] and b not in may_be_new) or (not broker["added"] and b in racks):
            found.append(f"{MARKER}: broker {b}: added is {broker['added']}, not as asked")
    if not (removed | may_be_new) <= set(plan.ids):
        found.append(f"{MARKER}: a broker that the options name is not listed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # what a pattern may mean in other Pythons
        pattern = re.compile(options.get("topics", "(?s:.*)"))  # without one, all
    wanted = [pattern.fullmatch(name) is not None for name in plan.topics]
    factor: dict[str, int] = {}
    for word in options.get("replication_factor", []):
        topic, _, number = word.rpartition("=")
        factor[topic] = int(number)
    # lists that are given say how many replicas, and leave out what fits on no brokers
    given = plan.value["strategy"] == GIVEN and not plan.no_moves
    usual = plan.after if given else plan.before
    for i, name in enumerate(plan.names):
        topic = plan.topics[int(plan.topic[i])]
        stays = given and plan.before[i] == plan.after[i]
        chosen = wanted[int(plan.topic[i])] and not (
            stays and len(plan.before[i]) > len(plan.slots)
        )
        if bool(plan.chosen[i]) is not chosen:
            found.append(f"{MARKER}: {name}: chosen is {bool(plan.chosen[i])}, not as asked")
        asked = factor.get(topic, factor.get("", len(usual[i])))
        if plan.factor[i] != (asked if chosen else len(plan.before[i])):
            found.append(f"{MARKER}: {name}: replication_factor is {plan.factor[i]}, not as asked")
    return found[:20]


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
        # other strategies may leave a set that breaks the rule as it is, and so does relieving
        may_stay = plan.value["strategy"] != "exact" or plan.relieve is not None
        kept = may_stay and sorted(old) == sorted(new)
        if racks and not bad and not kept:
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
    return max(held) <= most_per_rack(sizes, total)
