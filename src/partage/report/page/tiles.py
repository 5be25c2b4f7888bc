"""The key figures at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from partage.report import units
from partage.report.view import Rating, View
from partage.report.view.criteria import Criterion
from partage.report.view.sentences import worst_survivor


@dataclass(frozen=True)
class Tile:
    """A key figure: its label, its value, a note with a rating, and its value before the plan."""

    label: str
    value: str
    note: str = ""
    rating: Rating = "none"
    before: str = ""


def tiles(plan: View) -> tuple[Tile, ...]:
    """What the plan costs and deletes, then what it achieves, then what else it changes."""
    before, after = plan.figures_before, plan.figures
    storage, racks, moves, leaders, _, failure, *_ = plan.criteria
    cost = [_copies(plan), _moves(plan, moves)]
    led = _rated("Leaders per broker", leaders.before, leaders.after, leaders)
    if plan.by_rate is not None:  # what was asked for comes first
        led = replace(led, label="Bytes in as leader, per broker")
    first = [led, *cost] if plan.by_rate is not None else cost
    return (
        *first,
        *_deleted(plan),
        _rated(
            "Replicas per broker",
            units.span(before.replicas_per_broker),
            units.span(after.replicas_per_broker),
            storage,
        ),
        *([] if led in first else [led]),
        _rated(
            "Most leaders after a failure",
            units.count(worst_survivor(before)),
            units.count(worst_survivor(after)),
            failure,
        ),
        _rated(
            "Rack violations",
            units.count(before.rack_violations if plan.racks else None),
            units.count(after.rack_violations if plan.racks else None),
            racks,
        ),
        _compared(
            "Topic spread",
            units.count(before.topic_spread),
            units.count(after.topic_spread),
            "most minus fewest replicas of one topic on a broker",
        ),
        _last(plan),
    )


def _rated(label: str, before: str, after: str, criterion: Criterion) -> Tile:
    return _compared(label, before, after, criterion.note, criterion.rating)


def _compared(label: str, before: str, after: str, note: str, rating: Rating = "none") -> Tile:
    was = "" if before == units.MISSING else "as before" if before == after else f"before: {before}"
    return Tile(label, after, note, rating, was)


def _moves(plan: View, movement: Criterion) -> Tile:
    by_bytes = plan.bytes_bound is not None and not plan.minimal
    note = f"bytes to copy: {movement.note}" if by_bytes and plan.moves else movement.note
    return Tile("Moves", units.count(plan.moves), note, movement.rating)


def _deleted(plan: View) -> list[Tile]:
    """The replicas that are deleted, where any are."""
    if not plan.deleted:
        return []
    note = f"of {units.plural(plan.shortened, 'partition')}, not replaced"
    return [Tile("Replicas deleted", units.count(plan.deleted), note)]


def _copies(plan: View) -> Tile:
    if not plan.moves:
        return Tile("To copy", units.size(0), "nothing")
    if not plan.load("bytes"):
        return Tile("To copy", units.MISSING, "sizes unknown")
    if len(plan.racks) < 2:
        return Tile("To copy", units.size(plan.bytes_moved), units.plural(len(plan.waves), "wave"))
    between = f"{units.size(_between_racks(plan))} of it between racks"
    return Tile("To copy", units.size(plan.bytes_moved), between)


def _between_racks(plan: View) -> float:
    """The bytes copied from one rack to another, which cloud providers charge for."""
    brokers = len(plan.brokers)
    within = (plan.rack[:, None] == plan.rack[None, :]) & (plan.rack[:, None] >= 0)
    return float(plan.move_bytes.sum() - plan.move_bytes[:brokers][within].sum())


def _last(plan: View) -> Tile:
    before, after = plan.figures_before, plan.figures
    if not plan.load("bytes"):
        changes = units.count(after.leader_changes)
        return Tile("Leader changes", changes, "partitions with another preferred leader")
    return _compared(
        "Bytes, fullest / mean broker",
        units.decimal(before.bytes_max_over_mean),
        units.decimal(after.bytes_max_over_mean),
        "1.00: every broker stores the same",
    )
