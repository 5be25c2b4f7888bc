"""Every bound worked out again from its prices, every value of the objective counted anew."""

from __future__ import annotations

from partage.brokers.check.leader_bounds import leader_bounds
from partage.brokers.check.placement_bounds import placement_bounds
from partage.brokers.check.plan_file import PlanFile
from partage.brokers.check.size_bounds import size_bounds
from partage.brokers.directory import MARKER

_PLACEMENT = ("replicas", "moves", "topic spread")
_SEARCHED = ("bytes", "bytes moved", "budget", "leader rate")
_LIMITS = ("tolerance", "max_moves", "max_bytes_moved")


def check_proofs(plan: PlanFile) -> list[str]:
    stages = plan.stages
    names = [stage["stage"] for stage in plan.value["certificate"]["stages"]]
    first: tuple[str, ...] = () if plan.no_moves else _PLACEMENT
    if plan.options.get("spread") == "topic" and first:
        first = ("topic spread", "replicas", "moves")
    if plan.by_size and first:
        first = ("bytes moved",) if plan.relieve is not None else ("bytes", "bytes moved")
    budget = any(plan.options.get(limit) is not None for limit in _LIMITS)
    placed = (*first, "budget") if budget and "budget" in names and not plan.by_size else first
    lead = "leader rate" if plan.options.get("leaders") == "rate" else "leaders"
    wanted = [*placed, lead, "failure"]
    if names not in ([*wanted], [*wanted, "failure balance"]):
        return [f"{MARKER}: certificate: stages are {names}, expected {wanted}"]
    searched = set(_SEARCHED)
    if plan.options.get("max_bytes_moved") is not None:
        searched.add("topic spread")
    found = [
        f"{MARKER}: certificate: {name} is marked as exact or not, the other way round"
        for name in names
        if stages[name]["exact"] is (name in searched)
    ]
    values: dict[str, int] = {}
    if plan.by_size and first:
        found += size_bounds(plan, stages, values)
    elif first:
        found += placement_bounds(plan, stages, first, values)
    found += leader_bounds(plan, stages, values)
    for name in names:
        stage = stages[name]
        if name in values and stage["value"] != values[name]:
            found.append(
                f"{MARKER}: certificate: {name} has the value {values[name]}, not {stage['value']}"
            )
    if plan.value["strategy"] == "exact" and all(disk is None for disk in plan.disk):
        found += [
            f"{MARKER}: certificate: {name} is {stages[name]['value']}, "
            f"an exact plan reaches {stages[name]['bound']}"
            for name in names
            if stages[name]["exact"] and stages[name]["value"] != stages[name]["bound"]
        ]
    return found
