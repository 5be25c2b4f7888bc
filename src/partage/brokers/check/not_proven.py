"""What a plan states and ``check`` cannot prove from its files.

Every leaf of plan.json is either proven, so that another value is a defect, or named here.
"""

from __future__ import annotations

from collections.abc import Iterator

from partage.brokers.check.figures import must_be_settled
from partage.brokers.check.plan_columns import PlanColumns
from partage.brokers.check.replan_files import replans
from partage.brokers.check.stages import placement_stages
from partage.brokers.directory import COMPARE, JOURNAL, MEASURED, OVERRIDES, REPORT


def not_proven(plan: PlanColumns) -> Iterator[str]:
    """A line each: places in plan.json, separated by commas, a colon, and what is not proven."""
    asked = plan.asked
    clients = ["clients"] if "clients" in plan.value else []
    places = ("cluster_id", "brokers", "topics", "topic_ids", *clients, "partitions")
    yield f"{', '.join(places)}: that they are the cluster's"
    yield "options: that they are what you want"
    yield "partage, binding, loads, warnings: sentences that plan.json cannot show"
    if not (asked.exact or asked.given):
        yield f"strategy, figures.after.strategy: that {asked.strategy} made the placement"
    if not must_be_settled(plan):
        yield "figures.after.settled: that a second run changes nothing"
    if "fair" in plan.stages.get("budget", {"prices": {}})["prices"]:
        yield "stage budget: that racks and brokers allow the fair counts that the tolerance widens"
        yield "stage budget: that no loads within the tolerance, for as few moves, are fairer"
    if asked.by_load:
        if not asked.relieved:
            yield "stage load: that no other leaders of these replicas would be closer to the bands"
        if plan.stages["load"]["value"] > 0:
            yield "stage load: that no plan with this worst excess is closer to the other bands"
    else:
        yield "stage leaders: that no placement as good in the stages before has better leaders"
    if asked.moves_log_dirs and plan.moves:
        yield "stage log dirs: that other log dirs for new replicas would not save moves"
    yield "figures.after.leader_changes: that no plan as good changes fewer leaders or orders"
    for name, stage in plan.stages.items():
        if stage["value"] > stage["bound"]:
            yield f"stage {name}: that {stage['value']} is the least; its bound is {stage['bound']}"
    yield from _of_unreached_bounds(plan)
    waves, fewest = len(plan.value["waves"]), plan.value["figures"]["after"]["waves_lower_bound"]
    if waves > fewest:
        yield f"waves: that {waves} are the fewest; their bound is {fewest}"
    for path in replans(plan.root):
        yield f"{path.name}: the moves that a run planned again"
    for name in (REPORT, COMPARE, MEASURED, JOURNAL, OVERRIDES):
        if (plan.root / name).exists():
            yield f"{name}: what it shows"


def _of_unreached_bounds(plan: PlanColumns) -> Iterator[str]:
    """Bounds that hold for placements which reach those of the stages before. That one does is
    shown by the plan alone, so where it does not, prices that prove too little there prove
    anything here."""
    if plan.asked.by_size or plan.asked.by_load:
        return  # whose bounds hold for what the plan itself reaches
    unreached = None
    for name in placement_stages(plan.asked):
        stage = plan.stages[name]
        if unreached:
            figure = ", figures.after.moves_lower_bound" if name == "moves" else ""
            yield f"stage {name}{figure}: its bound; the plan does not reach that of {unreached}"
        elif stage["value"] != stage["bound"]:
            unreached = name
