"""How many members a group needs, for the terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from partage.consumers.size import GroupSize
from partage.printable import printable
from partage.report import printing, units

Show = Callable[[float], str]
"""How a load is shown."""

_MANY = 60
_NAMED = 6


def print_group_size(
    found: GroupSize, rate: float, headroom: float, per: int, unit: str, console: Console
) -> None:
    """Print the answer and a row for each member. Loads are of ``per`` seconds."""
    shown = _SHOWN[unit]
    printing.answered(
        console,
        lambda: _fewest(found, rate, headroom, per, shown, console),
        lambda: _members(found, rate, per, shown, console),
    )
    for warning in found.group.warnings:
        printing.remark(warning, console)


def _fewest(
    found: GroupSize, rate: float, headroom: float, per: int, shown: Show, console: Console
) -> None:
    """How many members, what is proven, and which are not needed."""
    members, total = len(found.members), sum(found.loads) / per
    console.print(
        Text(
            f"{units.plural(members, 'member')} for {shown(total)}, at {shown(rate)} each with "
            f"{headroom:.0%} headroom; today {len(found.group.members):,}",
            "bold",
        )
    )
    fewer = (
        "fewer are proven not to suffice"
        if members == found.lower_bound
        else (f"fewer than {found.lower_bound:,} are proven not to suffice")
    )
    bound = (
        "proven minimum"
        if found.moves == found.moves_lower_bound
        else (f"at least {found.moves_lower_bound:,}, proven")
    )
    moves = units.plural(found.moves, "partition")
    console.print(Text(f"{fewer[0].upper()}{fewer[1:]}. {moves} moved ({bound})."))
    if found.removed:
        names = [printable(name) for name in found.removed]
        console.print(Text(f"Not needed: {printing.some(names, _NAMED)}"))


def _members(found: GroupSize, rate: float, per: int, shown: Show, console: Console) -> None:
    """A row for each member."""
    members = len(found.members)
    table = printing.table(("member",), ("partitions", "load", "of its rate"))
    owned = [int((found.owner == k).sum()) for k in range(members)]
    rows = list(zip(found.members, owned, found.loads, strict=True))
    for name, count, load in rows[:_MANY]:
        share = load / per / rate
        table.add_row(Text(printable(name)), units.count(count), shown(load / per), f"{share:.0%}")
    console.print(table)
    if members > _MANY:
        console.print(Text(f"and {members - _MANY} more members: --json prints all", "dim"))


def _records(value: float) -> str:
    return f"{units.significant(value)} records/s"


_SHOWN: dict[str, Show] = {
    "bytes": units.rate,
    "records": _records,
    "": units.significant,
}
"""A load per second by its unit; empty: that of the file's weights."""
