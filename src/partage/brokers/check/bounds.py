"""Every bound worked out again from its prices, every value of the objective counted anew."""

from __future__ import annotations

from partage.brokers.check.leader_bounds import leader_bounds
from partage.brokers.check.placement_bounds import placement_bounds
from partage.brokers.check.plan_file import PlanFile
from partage.brokers.directory import MARKER

_PLACEMENT = ("replicas", "moves", "topic spread")


def check_proofs(plan: PlanFile) -> list[str]:
    stages = plan.stages
    names = [stage["stage"] for stage in plan.value["certificate"]["stages"]]
    first = () if plan.no_moves else _PLACEMENT
    if plan.options.get("spread") == "topic" and first:
        first = ("topic spread", "replicas", "moves")
    lead = "leader rate" if plan.options.get("leaders") == "rate" else "leaders"
    wanted = [*first, lead, "failure"]
    if names not in ([*wanted], [*wanted, "failure balance"]):
        return [f"{MARKER}: certificate: stages are {names}, expected {wanted}"]
    found = [
        f"{MARKER}: certificate: {name} is marked as no exact stage"
        for name in names
        if stages[name]["exact"] is not (name != "leader rate")
    ]
    values: dict[str, int] = {}
    if first:
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
