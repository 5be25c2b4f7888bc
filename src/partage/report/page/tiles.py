"""The key figures at the top of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from partage.report import units
from partage.report.view import Rating, View
from partage.report.view.sentences import worst_survivor


@dataclass(frozen=True)
class Tile:
    """A key figure: its label, its value after the plan, a comparison, and a rating."""

    label: str
    value: str
    note: str
    rating: Rating = "none"


def tiles(plan: View) -> tuple[Tile, ...]:
    """The key figures of a plan."""
    before, after = plan.figures_before, plan.figures
    ratings = {criterion.key: criterion.rating for criterion in plan.criteria}
    spread = _compared("Topic spread", units.count, before.topic_spread, after.topic_spread)
    if not plan.load("bytes"):
        last = Tile("Leader changes", units.count(after.leader_changes), "")
    else:
        last = _compared(
            "Bytes, fullest / mean broker",
            units.decimal,
            before.bytes_max_over_mean,
            after.bytes_max_over_mean,
        )
    return (
        _moves(plan, ratings["moves"]),
        _copies(plan),
        _compared(
            "Replicas per broker",
            units.span,
            before.replicas_per_broker,
            after.replicas_per_broker,
            ratings["storage"],
        ),
        _compared(
            "Leaders per broker",
            units.span,
            before.leaders_per_broker,
            after.leaders_per_broker,
            ratings["leaders"],
        ),
        _failure(plan, ratings["failure"]),
        _racks(plan, ratings["racks"]),
        spread,
        last,
    )


def _compared(
    label: str, show: Callable[[Any], str], before: Any, after: Any, rating: Rating = "none"
) -> Tile:
    return Tile(label, show(after), _was(show(before), show(after)), rating)


def _was(before: str, after: str) -> str:
    if before == units.MISSING:
        return ""
    return "as before" if before == after else f"before: {before}"


def _moves(plan: View, rating: Rating) -> Tile:
    if plan.minimal:
        note = "proven minimum" if plan.moves else "none needed"
    elif plan.bytes_bound is not None:
        note = f"at least {units.size(plan.bytes_bound)} to copy"
    elif plan.less_balanced:
        note = f"the fairest placement needs {plan.fairest_moves}"
    else:
        note = f"at least {units.count(plan.lower_bound)} needed"
    return Tile("Moves", units.count(plan.moves), note, rating)


def _copies(plan: View) -> Tile:
    if not plan.moves:
        return Tile("To copy", units.size(0), "nothing")
    if not plan.load("bytes"):
        return Tile("To copy", units.MISSING, "sizes unknown")
    waves = units.plural(len(plan.waves), "wave") if plan.waves else "no waves"
    if plan.seconds is not None:
        waves += f", about {units.duration(plan.seconds)}"
    return Tile("To copy", units.size(plan.bytes_moved), waves)


def _failure(plan: View, rating: Rating) -> Tile:
    before, after = worst_survivor(plan.figures_before), worst_survivor(plan.figures)
    bound = plan.failure_bound
    notes = ["" if bound is None else f"at least {units.count(bound)}"]
    notes.append(_was(units.count(before), units.count(after)))
    value = units.count(after)
    return Tile("Most leaders after a failure", value, ", ".join(filter(None, notes)), rating)


def _racks(plan: View, rating: Rating) -> Tile:
    label = "Rack violations"
    if not plan.racks:
        return Tile(label, units.MISSING, "no racks")
    before, after = plan.figures_before.rack_violations, plan.figures.rack_violations
    return _compared(label, units.count, before, after, rating)
