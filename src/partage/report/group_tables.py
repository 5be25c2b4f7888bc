"""Assignments and simulations of consumer groups in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.arrays import Ints
from partage.consumers.assignment import Assignment
from partage.consumers.rack_reads import RackReads
from partage.consumers.read_again import COMMIT_INTERVALS
from partage.consumers.shared_assignment import SharedAssignment
from partage.consumers.simulation import SimulatedRound, Simulation
from partage.group import Group
from partage.printable import printable
from partage.report import printing, units
from partage.report.printing import (
    clipped_at_a_word,
    lines_of,
    partitions,
    remark,
    short_names,
    some,
)
from partage.report.timeline import MANY_LINES, print_timeline

_MANY_MEMBERS = 40
_EXTREMES = 5
_LONG = 60
_ROUNDS = 20
_PUSHED = (
    "if pushed: records that a member would buffer if brokers pushed them; by: those that do not "
    "fit"
)


def print_assignment(
    found: Assignment, assignor: str, console: Console, names: Mapping[str, str] | None = None
) -> None:
    """Print what each member keeps, gains and gives up, idle members, and warnings; ``names``:
    names of all members by id, by default short ones."""
    group = found.group
    names = names or short_names([member.id for member in group.members])
    load = found.target_loads
    shape = f"{units.plural(group.partitions, 'partition')}, " + units.plural(
        len(group.members), "member"
    )
    moves = units.plural(found.moves, "move")
    if isinstance(found, SharedAssignment):
        one = set(found.sharers_span) == {1}
        moves += (
            f", {units.span(found.sharers_span)} {'member' if one else 'members'} per partition"
        )
    spread = units.span([int(load.min()), int(load.max())])
    console.print(Text(f"{assignor}: {shape}, loads {spread}, {moves}", style="bold"))
    order = np.arange(len(group.members))
    if len(order) > _MANY_MEMBERS:
        by_load = np.argsort(-load, kind="stable")
        order = np.concatenate((by_load[:_EXTREMES], by_load[-_EXTREMES:]))
        extremes = (
            f"The {_EXTREMES} members with the highest load and the {_EXTREMES} with the lowest:"
        )
        console.print(Text(extremes, "dim"))
    console.print()
    printing.drawn(console, lambda: _picture(found, assignor, names))
    console.print(_members(found, names, load, order))
    _waiting(found, names, console)
    if found.idle:
        console.print(Text(f"\nIdle: {some([names[one] for one in found.idle])}", "yellow"))
    if found.bound is not None and found.gap is not None:
        console.print(
            Text(
                f"\nHighest load by weight {units.count(int(found.weights.max()))}, "
                f"lower bound {units.count(found.bound)}: "
                + (units.gap(found.gap) if found.gap else "proven minimum")
            )
        )
    _copies(found, console)
    _reads(found, console)
    if found.delay_ms:
        console.print(
            Text(f"\nWaits {units.duration(found.delay_ms / 1000)} for members that left.")
        )
    for warning in found.warnings:
        remark(warning, console)


def _picture(found: Assignment, assignor: str, names: Mapping[str, str]) -> str:
    from partage.report.pictures import assignment_svg  # a terminal needs no templates

    title = "The partitions of each member"
    return assignment_svg(found, assignor, title, names=names, inline=True)


def _copies(found: Assignment, console: Console) -> None:
    """Kafka Streams: standbys, warm-ups, tasks that wait for them, reads across racks."""
    lines = [
        f"{printable(member)} {what}: {partitions(copies)}"
        for what, by_id in (("standby", found.standbys_by_id), ("warm-up", found.warmups_by_id))
        for member, copies in by_id.items()
        if copies
    ]
    for line in ["", *lines] if lines else []:
        console.print(Text(line))
    warming = found.warming
    if warming is not None and warming.probing_ms is not None:
        tasks = units.plural(warming.waiting, "task")
        when = units.duration(warming.probing_ms / 1000)
        console.print(
            Text(f"\n{tasks} not yet in place: a probing rebalance is due in {when}", "yellow")
        )
    if found.cross_rack is not None:
        far = units.plural(found.cross_rack, "partition")
        console.print(Text(f"\n{far} without a replica in the rack of the member"))


def _reads(found: Assignment, console: Console) -> None:
    """What crosses racks, before and after, where racks are known."""
    before, after = found.reads
    if before is None or after is None or found.cross_rack is not None:
        return
    then = f" (before: {_across(before)})" if any(before.partitions) else ""
    console.print(Text(f"\nRead across racks: {_across(after)}{then}"), highlight=False)
    if unknown := after.partitions[2]:
        console.print(Text(f"Rack not known: {units.plural(unknown, 'partition')}", "yellow"))


def _across(reads: RackReads) -> str:
    """``3 of 9 partitions, 1.20 MB/s of 3.40 MB/s``."""
    text = f"{reads.partitions[1]:,} of {units.plural(sum(reads.partitions), 'partition')}"
    rates = reads.bytes_per_second
    if rates is not None:
        text += f", {units.rate(rates[1])} of {units.rate(sum(rates))}"
    elif reads.weight is not None:
        text += f", weight {units.count(reads.weight[1])} of {units.count(sum(reads.weight))}"
    return text


def _members(
    found: Assignment,
    names: Mapping[str, str],
    load: Ints,
    order: Iterable[int],
) -> Table:
    group = found.group
    claims = [set[int]() for _ in group.members]
    for member, partition in zip(*(column.tolist() for column in group.claims), strict=True):
        claims[member].add(partition)
    table = _table("member", "load", "keeps", "gains", "gives up")
    for at in order:
        has = set(found.rows(at).tolist())
        goes = claims[at] - set(found.target_rows(at).tolist())
        table.add_row(
            Text(printable(names[group.members[at].id])),
            units.count(int(load[at])),
            Text(_named(group, has & claims[at])),
            Text(_named(group, has - claims[at]), "green"),
            Text(_named(group, goes), "yellow"),
        )
    return table


def _waiting(found: Assignment, names: Mapping[str, str], console: Console) -> None:
    """Partitions that another member must revoke first."""
    rows = found.revoke_first
    if not rows:
        return
    console.print(
        Text(f"\n{units.plural(len(rows), 'partition')} must be revoked first:", "yellow")
    )
    for topic, number, member in rows[:_ROUNDS]:
        row = int(found.group.offset[found.group.position(topic) or 0]) + number
        before = printable(names[member])
        then = printable(names[found.group.members[int(found.target[row])].id])
        line = f"  {topic}-{number}: {before} revokes it, {then} gets it in the next round"
        console.print(Text(line))
    if len(rows) > _ROUNDS:
        console.print(Text(f"  and {len(rows) - _ROUNDS} more"))


def print_simulation(
    found: Simulation,
    console: Console,
    by: str | None = None,
    commit_intervals: Sequence[float] = COMMIT_INTERVALS,
) -> None:
    """Print what paused, and the rounds, the timeline, and the records that members processed, or
    read again."""
    printing.answered(
        console,
        lambda: _what_paused(found, console),
        lambda: _details(found, console, by, commit_intervals),
    )


def _what_paused(found: Simulation, console: Console) -> None:
    """What partitions waited, what it took, and whether the protocol kept its guarantees."""
    pauses = found.pauses
    paused = f"{pauses.partition_seconds:,.1f} partition-seconds paused"
    if pauses.partitions:
        which = units.plural(pauses.partitions, "partition")
        paused += f": {which}, the longest for {pauses.longest:,.1f} s"
    console.print(Text(paused, "bold"))
    lines = []
    if abs(found.unowned - pauses.partition_seconds) >= 0.05:  # seconds, as rounded
        unowned = f"{found.unowned:,.1f} partition-seconds without an owner"
        more = found.unowned > pauses.partition_seconds
        which = "with the waits for a first owner" if more else "while a member was running"
        lines.append(f"{unowned}, {which}")
    if found.restoring is not None:
        lines.append(f"{found.restoring:,.1f} task-seconds restoring state")
    rounds = units.plural(len(found.rounds), "round")
    moved = units.plural(found.moved, "partition")
    lines.append(f"{found.assignor}, {found.protocol}: {rounds}, {moved} moved")
    for line in lines:
        console.print(Text(line))
    for member, why in found.refused.items():
        console.print(Text(f"{printable(member)} was rejected: {why}", "yellow"))
    for violation in found.violations[:_ROUNDS]:
        console.print(Text(f"✗ {violation}", "red"))
    if not any(held for one in found.rounds for held in one.assignment.values()):
        console.print(Text("No member was ever assigned a partition.", "yellow"))
    elif not found.violations:
        kept = "✓ No partition had two owners, and each had one whenever the group was stable."
        console.print(Text(kept, "green"))


def _details(
    found: Simulation, console: Console, by: str | None, commit_intervals: Sequence[float]
) -> None:
    """The rounds, the steps, the timeline and the records."""
    printing.print_fitting(console, _rounds(found), _rounds_by_change(found))
    if len(found.rounds) > _ROUNDS:
        console.print(Text(f"and {len(found.rounds) - _ROUNDS} more rounds", "dim"))
    _steps(found, console)
    console.print()
    few = len(found.produce) <= MANY_LINES
    print_timeline(found, console, by or ("partition" if few else "member"))
    if any(found.produce.values()):
        _records(found, console)
        _read_again(found, console, commit_intervals)


def _rounds(found: Simulation) -> Table:
    """A row per round, its changes side by side."""
    waits = [_waits(one) for one in found.rounds]
    table = _table("", "at", "generation", "added", "revoked", "lost", *["waits"] * any(waits))
    for column in table.columns[2:]:
        column.no_wrap = True
    table.columns[2].justify = "right"
    for number, one in list(enumerate(found.rounds, 1))[:_ROUNDS]:
        table.add_row(
            *_when(number, one),
            *(Text(lines_of(held, _LONG)) for held in (one.added, one.revoked, one.lost)),
            *[waits[number - 1]] * any(waits),
        )
    return table


def _rounds_by_change(found: Simulation) -> Table:
    """A row per round and kind of change, for a narrow terminal."""
    table = _table("", "at", "generation", "", "partitions")
    table.columns[2].justify = "right"
    for number, one in list(enumerate(found.rounds, 1))[:_ROUNDS]:
        changes = [
            ("added", lines_of(one.added, _LONG)),
            ("revoked", lines_of(one.revoked, _LONG)),
            ("lost", lines_of(one.lost, _LONG)),
            ("waits", _waits(one)),
        ]
        when = _when(number, one)
        for kind, text in [change for change in changes if change[1]] or [("", "")]:
            table.add_row(*when, kind, Text(text))
            when = ("", "", "")
    return table


def _when(number: int, one: SimulatedRound) -> tuple[str, str, str]:
    return f"{number}", f"{one.at:,.2f} s", str(one.generation)


def _steps(found: Simulation, console: Console) -> None:
    """What each step of the scenario costs, where it has steps."""
    if not found.steps:
        return
    console.print()
    printing.print_fitting(console, _step_table(found), _step_table(found, narrow=True))
    explained = "revoked, paused: partitions; longest pause; partition-seconds of pauses in all"
    console.print(Text(explained, "dim"))


def _step_table(found: Simulation, narrow: bool = False) -> Table:
    """A row per step; ``narrow``: the protocols below the assignors."""
    counts = ("rounds", "revoked", "paused", "longest", "in all")
    names = ("assignor,\nprotocol",) if narrow else ("assignor", "protocol")
    table = _table("step", "from", *counts[:1], *names, *counts[1:])
    for column in table.columns:
        column.justify = "right" if column.header in (*counts, "from") else "left"
        column.no_wrap = column.header != "step"
    for step in found.steps:
        assignors = "\n".join(map(printable, step.assignors))
        protocols = "\n".join(step.protocols)
        table.add_row(
            Text(printable(step.name)),
            f"{step.at:g} s",
            str(step.rounds),
            *(map(Text, [f"{assignors}\n{protocols}"] if narrow else [assignors, protocols])),
            str(step.revoked),
            str(step.pauses.partitions),
            f"{step.pauses.longest:.1f} s",
            f"{step.pauses.partition_seconds:,.1f} s",
        )
    return table


def _waits(one: SimulatedRound) -> str:
    """What waits after a round of Streams or Connect."""
    details = one.details
    if details.get("delay_ms"):
        what = "lost tasks" if details["lost_tasks_wait"] else "balancing"
        return f"{what}: {units.duration(details['delay_ms'] / 1000)}"
    if details.get("waiting"):
        due = units.duration(details["probing_rebalance_ms"] / 1000)
        return f"{units.plural(details['waiting'], 'copy', 'copies')}: {due}"
    return ""


def _records(found: Simulation, console: Console) -> None:
    table = _table("member", "processes", "empty polls", "if pushed: buffer", "overrun at", "by")
    for actor in found.scenario.members[:_MANY_MEMBERS]:
        pushed, empty = found.pushed[actor.id], found.empty_polls[actor.id]
        late = pushed.overrun_at is not None
        table.add_row(
            Text(printable(actor.id)),
            "any number" if actor.rate is None else f"{actor.rate:g}/s",
            "spins" if empty is None else units.count(empty),
            f"{units.count(pushed.most)} of {actor.buffer:g}",
            f"{pushed.overrun_at:.1f} s" if late else "never",
            Text(f"{units.count(pushed.overrun)} records" if late else "", "red"),
        )
    for column in table.columns[1:]:
        column.justify = "right"
    console.print()
    console.print(table)
    printing.note(console, _PUSHED)


def _read_again(found: Simulation, console: Console, intervals: Sequence[float]) -> None:
    """Records between the last commit and a crash, where members crash."""
    totals = [found.read_again(interval) for interval in intervals]
    if not any(totals):
        return
    table = _table("commit every", "read again after a crash", "partitions")
    for interval, again in zip(intervals, totals, strict=True):
        records = units.plural(round(sum(again.values())), "record")
        table.add_row(f"{interval:g} s", records, str(len(again)))
    for column in table.columns:
        column.justify = "right"
    console.print()
    console.print(table)


def _named(group: Group, rows: Iterable[int]) -> str:
    return clipped_at_a_word(partitions(group.named(row) for row in sorted(rows)), _LONG)


def _table(*names: str) -> Table:
    table = printing.table()
    for name in names:
        right = name in ("load", "at", "generation")
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table
