"""The field's six criteria with verdicts: storage, racks, movement, leaders, determinism, leaders
after a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from partage.report import units
from partage.report.view.facts import Facts, after_failure
from partage.report.view.sentences import above, as_even, fair_moves

Verdict = Literal["good", "limit", "bad", "none"]

MARKS: dict[Verdict, str] = {"good": "✓", "limit": "◆", "bad": "✗", "none": units.MISSING}
"""A sign for every verdict, so that colour is never its only carrier."""


@dataclass(frozen=True)
class Criterion:
    """One of the six questions by which partition tools are judged, before and after."""

    key: str
    name: str
    before: str
    after: str
    verdict: Verdict
    note: str


def criteria_of(plan: Facts) -> tuple[Criterion, ...]:
    """All six, in the order in which they are shown."""
    return (
        _share(plan, "storage", "Storage", "replicas"),
        _racks(plan),
        _movement(plan),
        _share(plan, "leaders", "Leaders", "leaders"),
        _deterministic(plan),
        _after_failure(plan),
    )


def _share(plan: Facts, key: str, name: str, what: str) -> Criterion:
    def text(figures: Mapping[str, Any]) -> str:
        shown = units.span(figures.get(f"{what}_per_broker"))
        ratio = figures.get("bytes_max_over_mean") if plan.load("bytes") else None
        if what == "leaders" or ratio is None:
            return shown
        return f"{shown}, bytes ×{units.decimal(ratio)}"

    pair = plan.figures.get(f"{what}_per_broker") or (0, 0)
    verdict: Verdict
    if pair[-1] - pair[0] <= 1:
        verdict, note = "good", f"{what} differ by at most one"
    elif weighed := _weighed(plan, what):
        verdict, note = "limit", f"shared by {weighed}, not by count"
    elif what == "replicas" and plan.stage("budget") is not None:
        verdict, note = "limit", _within_limit(plan)
    elif plan.proven(what):
        verdict = "limit" if plan.binding and what == "replicas" else "good"
        note = "as even as can be, proven"
    else:
        verdict, note = "bad", f"{what} differ by {units.count(pair[-1] - pair[0])}"
    return Criterion(key, name, text(plan.figures_before), text(plan.figures), verdict, note)


def _weighed(plan: Facts, what: str) -> str:
    """What the options share instead of counts: bytes of replicas, rates of leaders."""
    if what == "replicas":
        if plan.asked.get("relieve"):
            return "disks"
        return "bytes" if plan.asked.get("balance") == "bytes" else ""
    return "rate" if plan.asked.get("leaders") == "rate" else ""


def _within_limit(plan: Facts) -> str:
    """How even the replicas are where a budget binds."""
    prices = next(stage["prices"] for stage in plan.raw_stages if stage.get("stage") == "budget")
    if not plan.proven("replicas"):
        return "as even as was found for these disks"
    if prices.get("limit") == "tolerance":
        return "within the tolerance"
    proven = plan.proven("budget")
    return f"as even as {'the limit allows, proven' if proven else 'was found within the limit'}"


def _racks(plan: Facts) -> Criterion:
    was, now = (f.get("rack_violations") for f in (plan.figures_before, plan.figures))
    verdict: Verdict
    if not plan.racks:
        verdict, note = "none", "the cluster names no racks"
        was = now = None
    elif not now:
        verdict, note = "good", "spread as far as the racks go"
    else:
        verdict, note = "bad", "replicas share a rack without need"
        if plan.asked.get("no_moves"):
            verdict, note = "limit", "no moves were asked for"
        elif plan.asked.get("topics"):
            verdict, note = "limit", "topics that were left out stay as they are"
        elif plan.asked.get("relieve"):
            verdict, note = "limit", "to relieve disks mends no racks"

    def text(number: int | None) -> str:
        return units.MISSING if number is None else units.plural(number, "violation")

    return Criterion("racks", "Racks", text(was), text(now), verdict, note)


def _movement(plan: Facts) -> Criterion:
    verdict: Verdict = "good" if plan.fewest else "limit"
    if plan.short:
        note = f"less even than the fairest share, which needs {fair_moves(plan)}"
    elif not plan.moves:
        note = "no replica moves"
    elif plan.fewest:
        least = "moves fewer" if plan.bytes_bound is None else "copies less"
        note = f"no plan {as_even(plan)} {least}, proven"
    elif plan.bytes_bound is not None:
        note = above(plan)
    else:
        note = f"{units.count(plan.moves - plan.lower_bound)} above the proven lower bound"
    text = units.count(plan.moves)
    if not plan.short:
        text = f"{text}, at least {units.count(plan.lower_bound)}"
    if plan.bytes_bound is not None:
        text = f"{units.size(plan.bytes_moved)}, at least {units.size(plan.bytes_bound)}"
    return Criterion("moves", "Movement", units.MISSING, text, verdict, note)


def _deterministic(plan: Facts) -> Criterion:
    verdict: Verdict
    text, verdict, note = "settled", "good", "a second run would plan nothing"
    if not plan.settled:
        text, verdict, note = "not settled", "bad", "a second run would plan again"
        if "max_moves" in plan.asked or "max_bytes_moved" in plan.asked:
            verdict, note = "limit", "a second run goes on where the limit stopped"
    return Criterion("settled", "Determinism", units.MISSING, text, verdict, note)


def _after_failure(plan: Facts) -> Criterion:
    def text(figures: Mapping[str, Any]) -> str:
        worst, ideal = after_failure(figures)
        if worst is None:
            return units.MISSING
        known = "" if ideal is None else f", ideal {units.count(ideal)}"
        return f"{units.count(worst)}{known}"

    worst, ideal = after_failure(plan.figures)
    verdict: Verdict
    if worst is None:
        verdict, note = "none", "not counted"
    elif ideal is not None and worst <= ideal:
        verdict, note = "good", "as low as can be, proven"
    else:
        over = worst - (ideal or 0)
        verdict, note = "limit", f"{units.plural(over, 'leader')} above the lower bound"
    before, after = text(plan.figures_before), text(plan.figures)
    return Criterion("failure", "After failure", before, after, verdict, note)
