"""The key figures at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass

from partage.report import units
from partage.report.view import Verdict, View


@dataclass(frozen=True)
class Tile:
    """One key figure: what it is, its value after, what it was, and whether that is good."""

    label: str
    value: str
    note: str
    verdict: Verdict = "none"


def tiles(plan: View) -> tuple[Tile, ...]:
    old, new = plan.figures_before, plan.figures
    verdicts = {criterion.key: criterion.verdict for criterion in plan.criteria}

    def was(text: str, now: str) -> str:
        if text == units.MISSING:
            return ""
        return "as before" if text == now else f"before: {text}"

    def span(label: str, key: str, criterion: str) -> Tile:
        now = units.span(new.get(key))
        return Tile(label, now, was(units.span(old.get(key)), now), verdicts[criterion])

    def figure(label: str, key: str, verdict: Verdict, ratio: bool = False) -> Tile:
        text = units.decimal if ratio else units.count
        now = text(new.get(key))
        return Tile(label, now, was(text(old.get(key)), now), verdict)

    bound = f"at least {units.count(plan.lower_bound)} needed"
    if plan.bytes_bound is not None:
        bound = f"at least {units.size(plan.bytes_bound)} to copy"
    elif plan.short:
        bound = f"the fairest share needs {plan.fair_moves}"
    if plan.fewest:
        bound = "proven minimum" if plan.moves else "none needed"
    waves = units.plural(len(plan.waves), "wave") if plan.waves else "no waves"
    if plan.seconds is not None:
        waves += f", about {units.duration(plan.seconds)}"
    failure = new.get("leaders_after_failure") or {}
    failed_before = (old.get("leaders_after_failure") or {}).get("max")
    ideal = "" if plan.ideal is None else f"ideal {units.count(plan.ideal)}"
    before = was(units.count(failed_before), units.count(failure.get("max")))
    shown = [
        Tile("Moves", units.count(plan.moves), bound, verdicts["moves"]),
        Tile("To copy", units.size(plan.bytes_moved), waves, "none"),
        span("Replicas per broker", "replicas_per_broker", "storage"),
        span("Leaders per broker", "leaders_per_broker", "leaders"),
        Tile(
            "Most leaders after a failure",
            units.count(failure.get("max")),
            ", ".join(filter(None, (ideal, before))),
            verdicts["failure"],
        ),
        figure("Rack violations", "rack_violations", verdicts["racks"]),
        figure("Topic spread", "topic_spread", "none"),
        figure("Bytes, fullest / mean broker", "bytes_max_over_mean", "none", ratio=True),
    ]
    if not plan.moves:
        shown[1] = Tile("To copy", units.size(0), "nothing", "none")
    if not plan.racks:
        shown[5] = Tile("Rack violations", units.MISSING, "no racks are named", "none")
    if not plan.load("bytes"):
        if plan.moves:
            shown[1] = Tile("To copy", units.MISSING, "sizes unknown", "none")
        shown[-1] = figure("Leader changes", "leader_changes", "none")
    return tuple(shown)
