"""A group's history as people read it: its rounds, the picture, the replays, what is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.consumers.history.groups import History, Round
from partage.consumers.history.replay import as_simulation
from partage.report import units
from partage.report.group_tables import partitions
from partage.report.timeline import MANY_LINES, print_timeline

_ROUNDS = 30
_NAMES = 8
_LONG = 44
_SHORT = 8


def print_history(
    history: History,
    replays: Mapping[str, Mapping[str, Mapping[str, Any]]],
    console: Console,
    by: str | None = None,
) -> None:
    """One group. ``by``: whether the picture's lines are partitions or members."""
    names = labels(history)
    rounds = [one for one in history.rounds if one.generation is not None]
    console.print(
        Text(
            f"{history.group}: {units.plural(len(history.members), 'member')}, "
            f"{units.plural(len(rounds), 'round')}, "
            f"{units.plural(history.moved, 'partition')} moved",
            style="bold",
        )
    )
    longest = max(history.unowned, key=lambda p: history.unowned[p], default=None)
    text = f"{history.unowned_seconds:,.3f} partition-seconds without an owner"
    if longest is not None:
        text += f", the most {longest[0]}-{longest[1]} with {history.unowned[longest]:,.3f} s"
    console.print(text, highlight=False)
    console.print(f"From {history.start}, {history.until:,.3f} s", style="dim", highlight=False)
    console.print()
    console.print(_rounds(history.rounds, names))
    if len(history.rounds) > _ROUNDS:
        console.print(Text(f"and {len(history.rounds) - _ROUNDS} more rounds", "dim"))
    console.print()
    if history.topics and history.until > 0:
        few = sum(history.topics.values()) <= MANY_LINES
        shown = by or ("partition" if few else "member")
        print_timeline(as_simulation(history, names), console, shown)
    if replays:
        console.print(Text("\nThe same members under other assignors", "bold"))
        console.print(_replays(replays))
    if history.unknown:
        console.print(Text("What the logs leave unknown", "bold"))
        for sentence in history.unknown:
            for full, short in names.items():
                sentence = sentence.replace(full, short)
            console.print(Text(f" • {sentence}"))


def print_rejected(rejected: Sequence[Any], console: Console) -> None:
    """How many lines could not be read, and the first of them."""
    if rejected:
        first = rejected[0]
        console.print(
            Text(
                f"{units.plural(len(rejected), 'line')} rejected, the first {first.source}:"
                f"{first.line}: {first.reason}",
                "yellow",
            )
        )


def labels(history: History) -> dict[str, str]:
    """Short names of members: a member id without the coordinator's random end, where that still
    tells all apart, else with a bit of it."""
    found: dict[str, str] = {}
    stems = {member.id: _stem(member.id) for member in history.members}
    for member in history.members:
        stem = stems[member.id]
        shared = list(stems.values()).count(stem) > 1
        found[member.id] = f"{stem}-{member.id[len(stem) + 1 :][:_SHORT]}" if shared else stem
    if len(set(found.values())) < len(found):
        return {member.id: member.id for member in history.members}
    return found


def _stem(member_id: str) -> str:
    """``client-a`` of ``client-a-56a695ad-68c2-4e09-88a2-759e3854e366``."""
    parts = member_id.rsplit("-", 5)
    sizes = [len(part) for part in parts[1:]]
    return parts[0] if sizes == [8, 4, 4, 4, 12] and parts[0] else member_id


def _rounds(rounds: Sequence[Round], names: Mapping[str, str]) -> Table:
    table = _table("at", "generation", "added", "given up", "no owner before")
    for name in ("at", "generation"):
        next(c for c in table.columns if c.header == name).justify = "right"
    for one in rounds[:_ROUNDS]:
        gone = [_told(one.revoked, names), _told(one.lost, names, "lost ")]
        table.add_row(
            f"{one.at:,.3f} s",
            "" if one.generation is None else str(one.generation),
            Text(_told(one.added, names)),
            Text("\n".join(text for text in gone if text)),
            Text(_unowned(one), "red"),
        )
    return table


def _told(
    held: Mapping[str, Sequence[tuple[str, int]]], names: Mapping[str, str], what: str = ""
) -> str:
    lines = [
        _short(f"{what}{names.get(member, member)}: {partitions(held[member])}")
        for member in sorted(held)
    ]
    if len(lines) > _NAMES:
        lines = [*lines[:_NAMES], f"and {len(lines) - _NAMES} members more"]
    return "\n".join(lines)


def _unowned(one: Round) -> str:
    if not one.unowned:
        return ""
    longest = max(one.unowned.values())
    return f"{partitions(sorted(one.unowned))}: {'up to ' if len(one.unowned) > 1 else ''}" + (
        f"{longest:,.3f} s"
    )


def _replays(replays: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    table = _table("assignor", "eager: moved", "no owner", "rounds", "cooperative: moved")
    for name in ("no owner", "rounds"):
        table.add_column(name)
    for column in table.columns[1:]:
        column.justify = "right"
    for assignor, by_protocol in replays.items():
        cells: list[str] = []
        for protocol in ("eager", "cooperative"):
            result = by_protocol.get(protocol, {"cannot": ""})
            if "cannot" in result:
                cells += ["cannot", units.MISSING, units.MISSING]
            else:
                seconds = f"{result['unowned_partition_seconds']:,.1f} s"
                cells += [str(result["moved"]), seconds, str(result["rounds"])]
        table.add_row(assignor, *cells)
    return table


def _short(text: str) -> str:
    return text if len(text) <= _LONG else text[:_LONG].rsplit(" ", 1)[0] + " …"


def _table(*names: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1), pad_edge=False, show_edge=False
    )
    for name in names:
        table.add_column(name)
    return table
