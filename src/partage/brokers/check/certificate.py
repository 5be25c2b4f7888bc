"""Has the certificate the stages of the options, with the right values and bounds?"""

from __future__ import annotations

from partage.brokers.check.broker_disks import log_dir_bounds
from partage.brokers.check.leader_bounds import leader_bounds
from partage.brokers.check.load_bounds import load_bounds
from partage.brokers.check.placement_bounds import placement_bounds
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.recount import Recount
from partage.brokers.check.size_bounds import size_bounds
from partage.brokers.check.stages import placement_stages, prices_fit, stages_of
from partage.brokers.directory import MARKER


def check_certificate(plan: PlanColumns) -> list[str]:
    """Defects of the certificate; of the stages' names alone if those are wrong."""
    stages, expected = plan.value["certificate"]["stages"], list(stages_of(plan.asked))
    names = [stage["stage"] for stage in stages]
    if names != expected:
        return [f"{MARKER}: certificate: stages are {names}, expected {expected}"]
    if wrong := [stage["stage"] for stage in stages if not prices_fit(plan.asked, stage)]:
        return [f"{MARKER}: certificate: {wrong[0]} has other prices than its bound needs"]
    found = Recount()
    placement = placement_stages(plan.asked)
    if plan.asked.by_load:
        load_bounds(plan, found)
    elif plan.asked.by_size:
        size_bounds(plan, found)
    elif placement:
        placement_bounds(plan, placement, found)
    leader_bounds(plan, found)
    if plan.asked.moves_log_dirs:
        log_dir_bounds(plan, found)
    return [
        *_wrong_exact_flags(plan),
        *found.defects,
        *_wrong_values(plan, found.values),
        *_unreached_bounds(plan),
    ]


def _wrong_exact_flags(plan: PlanColumns) -> list[str]:
    flags = stages_of(plan.asked)
    return [
        f"{MARKER}: certificate: exact of {name} is {stage['exact']}, expected {flags[name]}"
        for name, stage in plan.stages.items()
        if stage["exact"] is not flags[name]
    ]


def _wrong_values(plan: PlanColumns, values: dict[str, int]) -> list[str]:
    return [
        f"{MARKER}: certificate: value of {name} is {stage['value']}, expected {values[name]}"
        for name, stage in plan.stages.items()
        if name in values and stage["value"] != values[name]
    ]


def _unreached_bounds(plan: PlanColumns) -> list[str]:
    """Exact stages above their bounds, of a plan of ``exact`` that no disk limits.

    The worst survivor may be above its bound where the search for a proof over all leader counts
    ends at its limit. Then the balance, which is for the counts chosen, still meets its own.
    """
    if not plan.asked.exact or any(disk is not None for disk in plan.disk):
        return []
    balance = plan.stages["failure balance"]
    excused = {"failure"} if balance["value"] == balance["bound"] else set()
    return [
        f"{MARKER}: certificate: {name} is {stage['value']}, an exact plan reaches {stage['bound']}"
        for name, stage in plan.stages.items()
        if stage["exact"] and stage["value"] != stage["bound"] and name not in excused
    ]
