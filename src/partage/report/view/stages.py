"""What each stage of a certificate proves, in one sentence."""

from __future__ import annotations

from partage.brokers.plan_file import PlanStage
from partage.brokers.stages import RATE_SCALE, StageName
from partage.report import units
from partage.report.view.data import PlanData
from partage.units import percent

_PROVEN = {
    StageName.REPLICAS: "No placement within these rules balances the replicas better.",
    StageName.BYTES: "No placement within these rules balances the bytes better.",
    StageName.MOVES: "No plan that is as balanced moves fewer replicas.",
    StageName.TOPIC_SPREAD: "With these moves, no plan spreads each topic's replicas more evenly.",
    StageName.BUDGET: "No plan within the limits does better.",
    StageName.BYTES_MOVED: "No plan within the same limits per broker copies fewer bytes.",
    StageName.LOG_DIRS: "No way to the same bytes per log dir copies fewer between log dirs.",
    StageName.LOAD: "No placement within these rules brings every load closer to its band.",
    StageName.LEADERS: "No choice of leaders among these replicas is more even.",
    StageName.TOPIC_LEADERS: "No order of these replicas spreads the topic's leaders more evenly.",
    StageName.FAILURE: "After any one broker fails, no order of these replicas leaves the busiest "
    "survivor with fewer leaders.",
    StageName.FAILURE_BALANCE: "No order of these replicas spreads a failed broker's leaders more "
    "evenly over the survivors.",
    StageName.JOINT_FAILURE_BALANCE: "No order of these replicas with leaders as even spreads a "
    "failed broker's leaders more evenly over the survivors.",
    StageName.ZONE_BYTES: "No order as even, with as many leaders on each broker, sends fewer "
    "bytes across racks.",
    StageName.LEADER_RATE: "No choice of leaders lowers the rate of the busiest leader.",
}


def shown(plan: PlanData, stage: PlanStage, value: int) -> str:
    """The value or the bound of a stage, in its unit."""
    if stage.name in (StageName.BYTES, StageName.BYTES_MOVED, StageName.LOG_DIRS):
        return units.size(value)
    rate = plan.load("rate")
    part = plan.file.partitions
    if stage.name == StageName.ZONE_BYTES and part.bytes_in_per_second is not None:
        every = sum(part.bytes_in_per_second) + sum(part.bytes_out_per_second or ())
        return units.rate(value / RATE_SCALE * every)
    if stage.name == StageName.LEADER_RATE and rate is not None:
        return units.rate(value / RATE_SCALE * float(rate.after.sum()))
    if stage.name == StageName.LOAD:
        return percent(value / 1e6)
    return units.count(value)


def gaps(plan: PlanData) -> tuple[tuple[str, str], ...]:
    """(name, text) of each figure that is above its lower bound."""

    def text(name: str, gap: float) -> str:
        stage = next((one for one in plan.file.certificate.stages if one.name == name), None)
        if stage is None or (stage.bound and gap < units.WEAK_BOUND):
            return units.gap(gap)
        value, bound = (shown(plan, stage, number) for number in (stage.value, stage.bound))
        return f"{value}, the bound is {bound}"

    return tuple((name, text(name, gap)) for name, gap in plan.file.gaps.items())


def meaning(stage: PlanStage) -> str:
    """What the stage proves, or why it proves nothing."""
    if stage.proven:
        return _PROVEN[stage.name]
    if stage.value < stage.bound:
        return "The bound holds for plans that are as good in the earlier stages; this one is not."
    return "The value is above its lower bound: good, but not proven optimal."
