"""When a group should have how many members, for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from partage.consumers.comparison import ScheduleComparison
from partage.consumers.lag_scaler import COOLDOWN, INTERVAL
from partage.consumers.scaled_group import Played
from partage.consumers.schedule import PER_SECONDS
from partage.period import shown
from partage.report import printing, units

_MANY = 60
_COLUMNS = {"schedule": "schedule", "constant": "constant", "lag_scaler": "by lag"}


def print_schedule(
    found: ScheduleComparison, rate: float, headroom: float, console: Console
) -> None:
    """Print the answer, the schedule, and what each way does."""
    printing.answered(
        console,
        lambda: _answer(found, rate, headroom, console),
        lambda: _details(found, console),
    )


def _answer(found: ScheduleComparison, rate: float, headroom: float, console: Console) -> None:
    plan = found.schedule
    least = min(one.members for one in plan.stretches)
    members = f"{least:,}–{plan.most:,} members" if least < plan.most else _members(plan.most)
    console.print(
        Text(
            f"{members} at {units.rate(rate)} each with {headroom:.0%} headroom: "
            f"{_hours(plan.member_seconds)} with {units.plural(plan.rebalances, 'rebalance')}; "
            f"today {len(plan.loads.group.members):,}",
            "bold",
        )
    )
    price = f"where a rebalance counts as {_hours(plan.price)}"
    bound = f"at least {_hours(plan.cost_bound)} in total"
    console.print(
        Text(
            f"No schedule costs less, {price}: proven."
            if plan.proven
            else f"Any schedule costs {bound}, {price}; this one {_hours(plan.cost)}."
        )
    )


def _members(number: int) -> str:
    return units.plural(number, "member")


def _hours(seconds: float) -> str:
    return f"{units.significant(seconds / 3600)} member-hours"


def _details(found: ScheduleComparison, console: Console) -> None:
    printing.drawn(console, lambda: _picture(found))
    _stretches(found, console)
    console.print()
    _compared(found, console)


def _picture(found: ScheduleComparison) -> str:
    from partage.report.pictures import schedule_svg  # a terminal needs no templates

    return schedule_svg(found)


def _stretches(found: ScheduleComparison, console: Console) -> None:
    plan = found.schedule
    table = printing.table(("from", "to"), ("members", "highest rates", "of capacity"))
    for one in plan.stretches[:_MANY]:
        share = one.load / (one.members * plan.capacity)
        table.add_row(
            shown(plan.loads.moment(one.first)),
            shown(plan.loads.moment(one.end)),
            units.count(one.members),
            units.rate(one.load / PER_SECONDS),
            f"{share:.0%}",
        )
    console.print(table)
    if len(plan.stretches) > _MANY:
        more = len(plan.stretches) - _MANY
        console.print(Text(f"and {more:,} more: --json prints all", "dim"))


def _compared(found: ScheduleComparison, console: Console) -> None:
    table = printing.table(("simulated",), [_COLUMNS[name] for name in found.played])
    ways = list(found.played.values())
    rows = {
        "rebalances": [units.count(one.rebalances) for one in ways],
        "member-hours": [units.significant(one.member_seconds / 3600) for one in ways],
        "most members": [units.count(_most(one)) for one in ways],
        "worst lag, records": [units.count(round(one.most_lag / found.record)) for one in ways],
        "partitions moved": [units.count(one.moved) for one in ways],
        "paused, partition-seconds": [
            units.count(round(one.paused.partition_seconds)) for one in ways
        ],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    console.print(table)
    printing.note(
        console,
        f"by lag: a member per {units.plural(found.lag_threshold, 'record')} of lag, checked every "
        f"{INTERVAL:g} s, fewer after {COOLDOWN:g} s; all: assignor {ways[0].assignor}",
    )


def _most(one: Played) -> int:
    return max(members for _, members in one.changes)
