"""Criteria of a plan, each rated: storage, racks, movement, leaders, determinism, leaders after
a failure; and what it deletes, which is not rated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from partage.brokers.plan_file import FailureFigures, PlanFigures
from partage.brokers.stages import StageName
from partage.report import units
from partage.report.view.data import PlanData
from partage.report.view.loads import Load
from partage.report.view.sentences import (
    above,
    comparable,
    deletion,
    fairest_moves,
    worst_survivor,
)

Rating = Literal["good", "limit", "bad", "none"]
"""``good``: also a proven optimum, whatever constraint limits it; ``limit``: as good as an option
allows, or not proven to be the best; ``none``: not applicable or not rated."""

MARKS: dict[Rating, str] = {"good": "✓", "limit": "◆", "bad": "✗", "none": units.MISSING}
"""A sign for every rating, so that colour is never its only carrier."""


class Criterion(Struct, frozen=True):
    """A criterion before and after the plan."""

    key: str
    name: str
    before: str
    after: str
    rating: Rating
    note: str


def criteria_of(plan: PlanData) -> tuple[Criterion, ...]:
    """The criteria in the order of display; the failure of a rack only where there are racks, and
    deletion only where replicas are deleted."""
    return (
        _storage(plan),
        _racks(plan),
        _movement(plan),
        _leaders(plan),
        _determinism(plan),
        _after_failure(plan),
        *_after_rack_failure(plan),
        *_log_dirs(plan),
        *_deletion(plan),
    )


def _storage(plan: PlanData) -> Criterion:
    def text(figures: PlanFigures) -> str:
        ratio = figures.bytes_max_over_mean if plan.load("bytes") else None
        counts = units.span(figures.replicas_per_broker)
        return counts if ratio is None else f"{counts}, bytes ×{units.decimal(ratio)}"

    difference = _difference(plan.figures.replicas_per_broker)
    rating, note = _even("replica", difference)
    if rating == "bad" and (other := _balanced_instead_of_replicas(plan)):
        rating, note = "limit", f"balanced by {other}, not by count"
    elif rating == "bad" and _is_limited(plan):
        rating, note = "limit", _within_limit(plan)
    elif rating == "bad" and plan.proven(StageName.REPLICAS):
        rating, note = "good", "proven as even as possible"
    before, after = text(plan.figures_before), text(plan.figures)
    return Criterion("storage", "Storage", before, after, rating, note)


def _log_dirs(plan: PlanData) -> Iterator[Criterion]:
    """The fullest log dir of the brokers on which the plan chooses some."""
    found = plan.figures.log_dirs
    if found is None or found.fullest is None or found.bound is None:
        return
    met = found.fullest <= found.bound
    note = "proven minimum" if met else f"at least {found.bound:.1%} for any choice"
    rating: Rating = "good" if met else "limit"
    text = f"fullest {found.fullest:.1%} where chosen"
    yield Criterion("log dirs", "Log dirs", units.MISSING, text, rating, note)


def _deletion(plan: PlanData) -> Iterator[Criterion]:
    """All replicas before and after, where the plan deletes some."""
    deletes = deletion(plan)
    if not deletes:
        return
    before, after = (
        units.plural(int((lists >= 0).sum()), "replica") for lists in (plan.before, plan.after)
    )
    yield Criterion("deletion", "Deletion", before, after, "none", deletes)


def _leaders(plan: PlanData) -> Criterion:
    if plan.by_rate is not None:
        return _led_rates(plan, plan.by_rate)
    rating, note = _even("leader", _difference(plan.figures.leaders_per_broker))
    if rating == "bad" and plan.options.get("balance") == "load":
        rating, note = "limit", "balanced by load, not by count"
    elif rating == "bad" and plan.relieves_loads:
        rating, note = "limit", "--relieve changes few leaders"
    elif rating == "bad" and plan.proven(StageName.LEADERS):
        rating, note = "good", "proven as even as possible"
    before = units.span(plan.figures_before.leaders_per_broker)
    after = units.span(plan.figures.leaders_per_broker)
    return Criterion("leaders", "Leaders", before, after, rating, note)


def _led_rates(plan: PlanData, rate: Load) -> Criterion:
    """The rates that brokers lead."""
    rating: Rating = "limit"
    gap = plan.file.gaps.get(StageName.LEADER_RATE)
    if gap is not None:
        note = f"busiest broker {units.gap(gap)}"
    elif plan.proven(StageName.LEADER_RATE):
        rating, note = "good", "busiest broker proven as low as possible"
    else:
        note = "balanced by rate, not by count"
    before, after = rate.span(rate.before), rate.span(rate.after[plan.usable])
    return Criterion("leaders", "Leaders", before, after, rating, note)


def _difference(pair: tuple[int, int] | None) -> int:
    return 0 if pair is None else pair[1] - pair[0]


def _even(noun: str, difference: int) -> tuple[Rating, str]:
    if difference == 0:
        return "good", f"equal {noun} counts"
    if difference == 1:
        return "good", f"{noun}s differ by at most one"
    return "bad", f"{noun}s differ by {units.count(difference)}"


def _balanced_instead_of_replicas(plan: PlanData) -> str:
    if plan.options.get("relieve"):
        return "limits of loads" if plan.relieves_loads else "disk usage"
    balance = plan.options.get("balance")
    return str(balance) if balance in ("bytes", "load") else ""


def _is_limited(plan: PlanData) -> bool:
    """Whether a limit on moves or balance takes effect: loads are then counted from an aim."""
    stage = plan.stage(StageName.REPLICAS)
    return stage is not None and stage.prices.aim is not None


def _within_limit(plan: PlanData) -> str:
    """How even the replicas are where a limit on moves or balance applies."""
    budget = plan.stage(StageName.BUDGET)
    assert budget is not None
    if not plan.proven(StageName.REPLICAS):
        return "the most even placement found for these disks"
    if budget.prices.limit == "tolerance":
        return "within the tolerance"
    if budget.proven:
        return "proven as even as the limit allows"
    return "the most even placement found within the limit"


def _racks(plan: PlanData) -> Criterion:
    was, now = plan.figures_before.rack_violations, plan.figures.rack_violations
    rating: Rating = "bad"
    if not plan.racks:
        was = now = None
        rating, note = "none", "the cluster has no racks"
    elif not now:
        rating, note = "good", "on as many racks as possible"
    elif reason := _rack_limit(plan):
        rating, note = "limit", reason
    else:
        note = "replicas share a rack unnecessarily"

    def text(number: int | None) -> str:
        return units.MISSING if number is None else units.plural(number, "violation")

    return Criterion("racks", "Racks", text(was), text(now), rating, note)


def _rack_limit(plan: PlanData) -> str:
    """The option that keeps rack violations."""
    if plan.options.get("no_moves"):
        return "--no-moves keeps replicas in place"
    if plan.options.get("topics"):
        return "--topics leaves some as they are"
    return "--relieve does not repair racks" if plan.options.get("relieve") else ""


def _movement(plan: PlanData) -> Criterion:
    moves, bound = units.count(plan.moves), units.count(plan.lower_bound)
    text = moves if plan.less_balanced else f"{moves}, at least {bound}"
    if plan.bytes_bound is not None:
        least = f", at least {units.size(plan.bytes_bound)}" if plan.bytes_bound else ""
        text = f"{units.size(plan.bytes_moved)}{least}"
    if plan.less_balanced:
        note = f"less balanced than the fairest placement, which needs {fairest_moves(plan)}"
    elif not plan.moves:
        note = "no replica moves"
    elif plan.minimal:
        less = "moves fewer" if plan.bytes_bound is None else "copies less"
        note = f"proven minimum: no plan {comparable(plan)} {less}"
    elif plan.bytes_bound is not None:
        note = above(plan)
    else:
        note = f"{units.count(plan.moves - plan.lower_bound)} above the proven lower bound"
    rating: Rating = "good" if plan.minimal else "limit"
    return Criterion("moves", "Movement", units.MISSING, text, rating, note)


def _determinism(plan: PlanData) -> Criterion:
    rating: Rating = "good"
    text, note = "stable", "a second run changes nothing"
    if not plan.figures.settled:
        rating, text, note = "bad", "not stable", "a second run would change more"
        if "max_moves" in plan.options or "max_bytes_moved" in plan.options:
            rating, note = "limit", "a second run continues where the limit stopped"
    return Criterion("settled", "Determinism", units.MISSING, text, rating, note)


def _after_failure(plan: PlanData) -> Criterion:
    worst, bound = worst_survivor(plan.figures), plan.failure_bound
    rating: Rating = "limit"
    if worst is None:
        rating, note = "none", "not counted"
    elif bound is not None and worst <= bound:
        least = plan.least_for_other_sets
        if least is None:
            rating, note = "good", "proven lowest"
        else:
            note = _for_its_sets(least)
    else:
        note = f"{units.plural(worst - (bound or 0), 'leader')} above the lower bound"
    before, after = (
        _worst_and_bound(figures.leaders_after_failure)
        for figures in (plan.figures_before, plan.figures)
    )
    return Criterion("failure", "After failure", before, after, rating, _of_set(plan, note))


def _after_rack_failure(plan: PlanData) -> Iterator[Criterion]:
    found, least = plan.figures.leaders_after_rack_failure, plan.figures.rack_survivor_lower_bound
    if found is None or found.max is None or least is None:
        return
    rating: Rating = "limit"
    if found.max <= least:
        rating, note = "good", "proven lowest"
    elif found.max == found.ideal:
        note = _for_its_sets(least)
    else:
        note = "not proven lowest"
    before, after = (
        _worst_and_bound(figures.leaders_after_rack_failure)
        for figures in (plan.figures_before, plan.figures)
    )
    yield Criterion("rack failure", "Rack failure", before, after, rating, _of_set(plan, note))


def _of_set(plan: PlanData, note: str) -> str:
    """The note of failures, which are counted among a set of brokers alone if there is one."""
    return f"{note}; only brokers of the set are counted" if plan.has_broker_set else note


def _for_its_sets(least: int) -> str:
    """Other leaders cannot lower it; other replica sets perhaps, to no less than ``least``."""
    return f"lowest for its replica sets; others ≥ {units.count(least)}"


def _worst_and_bound(failure: FailureFigures | None) -> str:
    if failure is None or failure.max is None:
        return units.MISSING
    bound = "" if failure.ideal is None else f", at least {units.count(failure.ideal)}"
    return f"{units.count(failure.max)}{bound}"
