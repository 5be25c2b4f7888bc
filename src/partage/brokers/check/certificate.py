"""Has the certificate the stages of the options, with the right values and bounds?"""

from __future__ import annotations

from partage.brokers.check.leader_bounds import leader_bounds
from partage.brokers.check.placement_bounds import placement_bounds
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.size_bounds import size_bounds
from partage.brokers.directory import MARKER

_LIMITS = ("tolerance", "max_moves", "max_bytes_moved")


def check_certificate(plan: PlanColumns) -> list[str]:
    """Defects of the certificate; of the stages' names alone if those are wrong."""
    placement = _placement_stages(plan)
    wrong_stages = _wrong_stages(plan, placement)
    if wrong_stages:
        return wrong_stages
    found = Recount()
    if plan.by_size and placement:
        size_bounds(plan, found)
    elif placement:
        placement_bounds(plan, placement, found)
    leader_bounds(plan, found)
    return [
        *_wrong_exact_flags(plan),
        *found.defects,
        *_wrong_values(plan, found.values),
        *_unreached_bounds(plan),
    ]


def _placement_stages(plan: PlanColumns) -> tuple[str, ...]:
    """The stages that choose the placement, in the order in which they count."""
    if plan.no_moves:
        return ()
    if plan.by_size:
        return ("bytes moved",) if plan.relieve is not None else ("bytes", "bytes moved")
    if plan.options.get("spread") == "topic":
        return ("topic spread", "replicas", "moves")
    return ("replicas", "moves", "topic spread")


def _wrong_stages(plan: PlanColumns, placement: tuple[str, ...]) -> list[str]:
    names = [stage["stage"] for stage in plan.value["certificate"]["stages"]]
    limited = any(plan.options.get(limit) is not None for limit in _LIMITS)
    # a limit that is not reached leaves no budget to prove
    budget = ("budget",) if limited and "budget" in names and not plan.by_size else ()
    leaders = "leader rate" if plan.options.get("leaders") == "rate" else "leaders"
    expected = [*placement, *budget, leaders, "failure"]
    # only orders that the planner chose have a failure balance
    if names in (expected, [*expected, "failure balance"]):
        return []
    return [f"{MARKER}: certificate: stages are {names}, expected {expected}"]


def _wrong_exact_flags(plan: PlanColumns) -> list[str]:
    searched = {"bytes", "bytes moved", "budget", "leader rate"}
    if plan.options.get("max_bytes_moved") is not None:
        searched.add("topic spread")
    return [
        f"{MARKER}: certificate: exact of {name} is {stage['exact']}, expected {not stage['exact']}"
        for name, stage in plan.stages.items()
        if stage["exact"] is (name in searched)
    ]


def _wrong_values(plan: PlanColumns, values: dict[str, int]) -> list[str]:
    return [
        f"{MARKER}: certificate: value of {name} is {stage['value']}, expected {values[name]}"
        for name, stage in plan.stages.items()
        if name in values and stage["value"] != values[name]
    ]


def _unreached_bounds(plan: PlanColumns) -> list[str]:
    """Exact stages above their bounds, of a plan of ``exact`` that no disk limits."""
    if not plan.exact or any(disk is not None for disk in plan.disk):
        return []
    return [
        f"{MARKER}: certificate: {name} is {stage['value']}, an exact plan reaches {stage['bound']}"
        for name, stage in plan.stages.items()
        if stage["exact"] and stage["value"] != stage["bound"]
    ]
