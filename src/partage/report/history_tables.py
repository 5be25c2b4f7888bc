"""The history of a group in a terminal: members, rounds, timeline, replays, unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from os.path import commonpath
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.consumers.history import History, RecordedRound, Rejected
from partage.consumers.history.model import seconds
from partage.consumers.history.replay import as_simulation
from partage.consumers.history.saving import Saving, saving_of
from partage.consumers.history.timestamps import format_timestamp
from partage.consumers.protocol import CONSUMER, PROTOCOLS
from partage.measured_loads.damaged import damaged_counted, damaged_line
from partage.report import printing, units
from partage.report.printing import clipped_at_a_word, lines_of, partitions, short_names
from partage.report.timeline import MANY_LINES, print_timeline

Replays = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Results by assignor and protocol."""

_ENDED = {None: "still there", "left": "left"}
_ROUNDS = 30
_LONG = 44


def print_history(
    history: History, replays: Replays, console: Console, by: str | None = None
) -> None:
    """Print a group's history. ``by``: timeline per partition or per member."""
    saving = saving_of(history, replays)

    def details() -> None:
        _details(history, replays, console, by)

    if saving is None:
        details()
    else:
        printing.answered(console, lambda: _saved(history.group, saving, console), details)


def _details(history: History, replays: Replays, console: Console, by: str | None) -> None:
    names = labels(history)
    _head(history, console)
    console.print()
    console.print(_members(history, names))
    _more(history.member_count, "members", console)
    if history.rounds:
        console.print()
        console.print(_rounds(history, names))
    _more(history.round_count, "rounds", console)
    if history.left_out.keys() & {"members", "spans"}:
        console.print(Text("No picture: too many members or changes of owners to draw", "dim"))
    elif history.topics and history.until > history.start:
        few = sum(history.topics.values()) <= MANY_LINES
        console.print()
        print_timeline(
            as_simulation(history, names), console, by or ("partition" if few else "member")
        )
    if replays:
        console.print(Text("\nThe same members under other assignors", "bold"))
        console.print()
        printing.print_fitting(console, _replays(history, replays))
        console.print(Text("no owner: the sum of all partitions", "dim"))
        if none := [name for name, one in replays.items() if _cannot(one)]:
            console.print(Text(f"Not possible: {', '.join(none)} (--json shows why)", "dim"))
    if history.unknown:
        console.print(Text("\nUnknown from the logs", "bold"))
        console.print(_unknown(history.unknown, names))


def _head(history: History, console: Console) -> None:
    counts = [
        units.plural(history.member_count, "member"),
        units.plural(history.generation_count, "round"),
    ]
    if history.owners_known:
        counts.append(f"{units.plural(history.moved, 'partition')} moved")
    console.print(Text(f"{history.group}: {', '.join(counts)}", style="bold"))
    console.print(Text(_unowned_in_all(history)))
    start, length = (
        format_timestamp(history.start, history.zoned),
        history.since_start(history.until),
    )
    console.print(f"From {start} for {length:,.3f} s", style="dim", highlight=False)


def _unowned_in_all(history: History) -> str:
    """For how long partitions had no owner, and which of them the longest."""
    if not history.owners_known:
        return "Moves and time without an owner: unknown, no line shows who owned a partition"
    total = sum(history.unowned.values())
    text = f"{seconds(total):,.3f} partition-seconds without an owner"
    longest = max(history.unowned, key=lambda p: history.unowned[p], default=None)
    if longest is not None:
        most = seconds(history.unowned[longest])
        name = f"{longest[0]}-{longest[1]}"
        whole = history.unowned[longest] == total
        text += f", all of them of {name}" if whole else f", {name} the longest: {most:,.3f} s"
    return text


def print_more(groups: int, console: Console) -> None:
    """Print how many groups are left out."""
    if groups:
        less = "and {} with less time without an owner: --group NAME shows one"
        console.print(Text(less.format(units.plural(groups, "more group")), "dim"))


def print_rejected(first: Sequence[Rejected], count: int, console: Console) -> None:
    """Print how many lines could not be read, and the ``first`` of them."""
    if first:
        console.print(
            Text(
                f"{units.plural(count, 'line')} rejected, the first {first[0].source}:"
                f"{first[0].line}: {first[0].reason}",
                "yellow",
            )
        )


def print_damaged(files: Sequence[str], console: Console) -> None:
    """Print how many damaged files were left out, and the first of them."""
    if line := damaged_line(damaged_counted(files)):
        console.print(Text(line, "yellow"))


def _more(number: int, what: str, console: Console) -> None:
    if number > _ROUNDS:
        console.print(Text(f"and {number - _ROUNDS} more {what}", "dim"))


def labels(history: History) -> dict[str, str]:
    """Short, unique names of members: without Java's ``consumer-GROUP-``, too."""
    return short_names([one.id for one in history.members], f"consumer-{history.group}-")


def _members(history: History, names: Mapping[str, str]) -> Table:
    table = _table("member", "from", "to", "at the end", "client", "log")
    for column in table.columns[1:3]:
        column.justify, column.no_wrap = "right", True
    table.columns[-1].overflow = "fold"
    files = _files(history)
    for member in history.members[:_ROUNDS]:
        end = history.until if member.ends is None else member.ends
        table.add_row(
            Text(names[member.id]),
            f"{history.since_start(member.joins):,.3f} s",
            f"{history.since_start(end):,.3f} s",
            "gone, did not leave" if member.crashed else _ENDED.get(member.ended, "gone"),
            Text(member.client or units.MISSING),
            Text(units.MISSING if member.source is None else files[member.source]),
        )
    return table


def _files(history: History) -> dict[str, str]:
    """The members' log files, without their common directory."""
    sources = sorted({one.source for one in history.members if one.source is not None})
    common = len(commonpath([PurePath(one).parent for one in sources])) if sources else 0
    return {one: one[common:].lstrip("/") if common else one for one in sources}


def _rounds(history: History, names: Mapping[str, str]) -> Table:
    table = _table("at", "generation", "added", "given up", "no owner before")
    for column in table.columns[:2]:
        column.justify, column.no_wrap = "right", True
    for one in history.rounds[:_ROUNDS]:
        gone = [lines_of(one.revoked, _LONG, names), lines_of(one.lost, _LONG, names, "lost ")]
        table.add_row(
            f"{history.since_start(one.at):,.3f} s",
            "" if one.generation is None else str(one.generation),
            Text(lines_of(one.added, _LONG, names)),
            Text("\n".join(text for text in gone if text)),
            Text(_unowned(one), "red"),
        )
    return table


def _unowned(one: RecordedRound) -> str:
    if not one.unowned:
        return ""
    upto = "up to " if len(set(one.unowned.values())) > 1 else ""
    longest = seconds(max(one.unowned.values()))
    return f"{clipped_at_a_word(partitions(sorted(one.unowned)), _LONG)}: {upto}{longest:,.3f} s"


def _replays(history: History, replays: Replays) -> Table:
    titles = chain(*((f"{one}:\nmoved", "no owner", "rounds") for one in PROTOCOLS))
    table = printing.table(("assignor",), titles, bottom=True)
    observed = {one.protocol for one in history.rounds if one.generation is not None}
    if len(observed) == 1 and history.owners_known:
        result = {
            "moved": history.moved,
            "unowned_partition_seconds": seconds(sum(history.unowned.values())),
            "rounds": history.generation_count,
        }
        cells = [_cells(result) if one in observed else [""] * 3 for one in PROTOCOLS]
        table.add_row("as in the logs", *chain(*cells), style="bold")
    for assignor, by_protocol in replays.items():
        if CONSUMER not in by_protocol and not _cannot(by_protocol):
            results = (by_protocol[protocol] for protocol in PROTOCOLS)
            table.add_row(assignor, *chain(*map(_cells, results)))
    return table


def _saved(group: str, saving: Saving, console: Console) -> None:
    console.print(Text(f"{group}: {saving.sentence}", "bold"))
    if saving.consumer_sentence:
        console.print(Text(saving.consumer_sentence))
    console.print()
    console.print(_saving(saving))


def _saving(saving: Saving) -> Table:
    """The numbers below the sentence."""
    rows = {"as in the logs": saving.observed_seconds}
    if saving.crash_seconds:
        rows["  of it until crashed members were removed"] = saving.crash_seconds
    if saving.used is not None and saving.used_seconds is not None:
        rows[f"{saving.used}, the group's, replayed"] = saving.used_seconds
    if saving.assignor != saving.used and saving.saved is not None:
        rows[f"{saving.assignor}, replayed"] = saving.seconds
    table = _table("", "no owner")
    table.columns[1].justify = "right"
    for name, found in rows.items():
        table.add_row(name, f"{found:,.1f} s")
    return table


def _cannot(by_protocol: Mapping[str, Mapping[str, Any]]) -> bool:
    return all("cannot" in result for result in by_protocol.values())


def _unknown(sentences: Sequence[str], names: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for sentence in sentences:
        for full, short in names.items():
            sentence = sentence.replace(full, short)
        table.add_row(" •", Text(sentence))
    return table


def _cells(result: Mapping[str, Any]) -> list[str]:
    if "cannot" in result:
        return ["cannot", units.MISSING, units.MISSING]
    return [
        units.count(result["moved"]),
        f"{result['unowned_partition_seconds']:,.1f} s",
        units.count(result["rounds"]),
    ]


def _table(*names: str) -> Table:
    table = printing.table()
    for name in names:
        table.add_column(name)
    return table
