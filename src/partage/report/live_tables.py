"""Terminal tables of a running cluster and its groups, 100 columns wide."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.printable import printable, printable_values
from partage.report import printing, units
from partage.report.printing import clipped, remark, some

_MANY = 60
_NAME = 30
_OWNED = 6
_HOTTEST = 3
_MOST_LAGGING = 5
_IN, _OUT = "bytes_in_per_second", "bytes_out_per_second"


def print_snapshot(found: Mapping[str, Any], console: Console) -> None:
    """Print a snapshot: a table of brokers and a line for each problem."""
    found = printable_values(found)
    brokers, partitions = found["brokers"], found["partitions"]
    topics = {one["topic"] for one in partitions}
    replicas = sum(len(one["replicas"]) for one in partitions)
    size = sum(sum(one["sizes"].values()) for one in partitions)
    console.print(
        Text(
            f"{units.plural(len(brokers), 'broker')}, {units.plural(len(topics), 'topic')}, "
            f"{units.plural(len(partitions), 'partition')}, {units.plural(replicas, 'replica')}, "
            f"{units.size(size)}",
            "bold",
        )
    )
    console.print()
    table = printing.table(("broker", "rack", "state"), ("replicas", "leaders", "disk"))
    table.add_column("free", justify="right")
    measured = found.get("rates")
    if measured:
        table.add_column("in", justify="right")
        table.add_column("out", justify="right")
    for broker in brokers[:_MANY]:
        number = broker["id"]
        held = sum(number in one["replicas"] for one in partitions)
        leads = sum(one["leader"] == number for one in partitions)
        own = sum(one["sizes"].get(str(number), 0) for one in partitions)
        free = [one["usable_bytes"] for one in broker["log_dirs"]]
        table.add_row(
            str(number),
            Text(broker["rack"] or units.MISSING),
            _state(broker),
            units.count(held),
            units.count(leads),
            units.size(own),
            units.size(sum(free)) if free and None not in free else units.MISSING,
            *(map(units.rate, _traffic(number, partitions)) if measured else ()),
        )
    console.print(table)
    if len(brokers) > _MANY:
        console.print(Text(f"and {len(brokers) - _MANY} more brokers", "dim"))
    _log_dirs(brokers, partitions, console)
    if measured:
        _rates(measured, partitions, console)
    _remarks(found, console)


def _log_dirs(
    brokers: Sequence[Mapping[str, Any]],
    partitions: Sequence[Mapping[str, Any]],
    console: Console,
) -> None:
    """A row per log dir, where a broker has several."""
    several = [broker for broker in brokers if len(broker["log_dirs"]) > 1]
    if not several:
        return
    held: dict[tuple[int, str], list[int]] = defaultdict(list)
    for one in partitions:
        for broker, path in zip(one["replicas"], one["log_dirs"], strict=True):
            held[broker, path].append(one["sizes"].get(str(broker), 0))
    table = printing.table(("broker", "log dir", "state"), ("replicas", "bytes", "used"))
    table.add_column("free", justify="right")
    rows = [(broker["id"], log_dir) for broker in several for log_dir in broker["log_dirs"]]
    for number, log_dir in rows[:_MANY]:
        own = held[number, log_dir["path"]]
        disk = log_dir["disk_bytes"]
        table.add_row(
            str(number),
            Text(clipped(log_dir["path"], _NAME)),
            _log_dir_state(log_dir),
            units.count(len(own)),
            units.size(sum(own)),
            f"{sum(own) / disk:.0%}" if disk else units.MISSING,
            units.size(log_dir["usable_bytes"]),
        )
    console.print()
    console.print(table)
    if len(rows) > _MANY:
        console.print(Text(f"and {len(rows) - _MANY} more log dirs", "dim"))


def _log_dir_state(log_dir: Mapping[str, Any]) -> Text:
    if log_dir["offline"] is not None:
        return Text("offline", "red")
    return Text("cordoned", "yellow") if log_dir["cordoned"] else Text("online")


def _traffic(broker: int, partitions: Sequence[Mapping[str, Any]]) -> tuple[float, float | None]:
    """Bytes per second that a broker receives, and that it sends to consumers and followers."""
    held = [one for one in partitions if broker in one["replicas"]]
    led = [one for one in held if one["leader"] == broker]
    copied = sum((len(one["replicas"]) - 1) * one.get(_IN, 0) for one in led)
    unknown = any(_IN in one and _OUT not in one for one in led)
    read = sum(one.get(_OUT, 0) for one in led)
    return sum(one.get(_IN, 0) for one in held), None if unknown else read + copied


def _rates(
    measured: Mapping[str, Any], partitions: Sequence[Mapping[str, Any]], console: Console
) -> None:
    """Over what time rates were measured, their sums, and the hottest partitions."""
    written = sum(one.get(_IN, 0) for one in partitions)
    known = [one[_OUT] for one in partitions if _OUT in one]
    lines = [
        f"Rates of {units.duration(measured['seconds'])}: producers write {units.rate(written)}, "
        f"consumers read {units.rate(sum(known) if known else None)}"
    ]
    hottest = sorted(partitions, key=lambda one: -one.get(_IN, 0) - one.get(_OUT, 0))[:_HOTTEST]
    named = [
        f"{one['topic']}-{one['partition']} (in {units.rate(one[_IN])}, "
        f"out {units.rate(one.get(_OUT))})"
        for one in hottest
        if one.get(_IN, 0) + one.get(_OUT, 0) > 0
    ]
    if named:
        lines.append(f"Hottest partitions: {', '.join(named)}")
    console.print(Text("\n" + "\n".join(lines)))


def _state(broker: Mapping[str, Any]) -> Text:
    if not broker["alive"]:
        return Text("dead", "red")
    return Text("cordoned", "yellow") if broker["cordoned"] else Text("alive")


def _remarks(found: Mapping[str, Any], console: Console) -> None:
    short = [one for one in found["partitions"] if len(one["isr"]) < len(one["replicas"])]
    leaderless = [one for one in found["partitions"] if one["leader"] is None]
    throttled = [*found["throttles"]["brokers"], *found["throttles"]["topics"]]
    lines = [
        (leaderless, "without a leader", "red"),
        (short, "with replicas out of sync", "yellow"),
        (found["reassignments"], "being reassigned: shown as after the reassignment", "yellow"),
    ]
    for rows, what, style in lines:
        if rows:
            named = ", ".join(f"{one['topic']}-{one['partition']}" for one in rows[:3])
            more = ", …" if len(rows) > len(rows[:3]) else ""
            console.print(
                Text(f"\n{units.plural(len(rows), 'partition')} {what}: {named}{more}", style)
            )
    if throttled:
        console.print(
            Text(f"\nReplication throttles are set on: {', '.join(throttled[:8])}", "yellow")
        )
    for warning in found["warnings"]:
        remark(warning, console)


def print_groups(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print one line for each group; the fields are those of ``partage groups --json``."""
    if not rows:
        console.print(Text("The cluster has no consumer groups.", "bold"))
        return
    printing.answered(
        console, lambda: _print_furthest_behind(rows, console), lambda: _groups(rows, console)
    )


def furthest_behind(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The group of the highest known lag, summed over its partitions; of equal ones, that with the
    most partitions whose lag is unknown."""
    return max(rows, key=lambda row: (row["total_lag"] or 0, row["partitions_without_commit"] or 0))


_KINDS = {"share": "share group", "streams": "Streams group"}


def _print_furthest_behind(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    last = furthest_behind(rows)
    kinds = Counter(_KINDS.get(row["type"], "consumer group") for row in rows)
    answer = ", ".join(units.plural(count, kind) for kind, count in sorted(kinds.items()))
    if last["total_lag"]:
        name = clipped(printable(last["group"]), _NAME)
        answer += f"; furthest behind: {name}, {units.plural(last['total_lag'], 'record')}"
    console.print(Text(answer, "bold"))
    unknown = [
        f"{clipped(row['group'], _NAME)} {units.count(row['partitions_without_commit'])}"
        for row in rows
        if row["partitions_without_commit"]
    ]
    if unknown:
        console.print(Text(f"Partitions without a commit, lag unknown: {some(unknown)}", "yellow"))


def _groups(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    numbers = ("members", "loads", "lag", "exact", "moves")
    table = printing.table(("group", "state", "assignor"), numbers)
    for row in printable_values(rows[:_MANY]):
        exact = row["exact"]
        table.add_row(
            Text(clipped(row["group"], _NAME)),
            row["state"],
            Text(row["assignor"] or units.MISSING),
            units.MISSING if row["members"] is None else str(len(row["members"])),
            units.span(row["loads"]) if row["loads"] else units.MISSING,
            _total_lag(row),
            units.span(exact["loads"]) if exact else units.MISSING,
            units.count(exact["moves"]) if exact else units.MISSING,
        )
    console.print(table)
    if len(rows) > _MANY:
        console.print(Text(f"and {len(rows) - _MANY} more groups: --json prints all", "dim"))
    console.print(
        Text(
            "loads: fewest and most partitions of a member; exact: the fairest loads, "
            "and how many partitions would move",
            "dim",
        )
    )
    if any(row["lag"] is None and row["type"] == "share" for row in rows):
        console.print(Text(f"lag of share groups: {_SHARE_LAG}", "dim"))


_SHARE_LAG = "not read, kafka-share-groups.sh --describe prints it"


def _total_lag(row: Mapping[str, Any]) -> str:
    """The lag of a group in a table: ``≥3,332`` where some partitions have no commit."""
    if row["lag"] is None:
        return "not read"
    return _lag(row["total_lag"], bool(row["partitions_without_commit"]))


def _lag(known: int | None, more: bool) -> str:
    """``known``: records, None for an unknown number; ``more``: lags of other partitions are
    unknown."""
    return units.MISSING if known is None else "≥" * more + units.count(known)


def print_group(row: Mapping[str, Any], console: Console) -> None:
    """Print one group: its state, a row for each member, and the lag."""
    row = printable_values(row)
    head = f"{row['group']}: {row['state']}, {row['type']}, {row['assignor'] or 'no assignor'}"
    console.print(Text(head, "bold"))
    if row["state"] in _REBALANCING:
        moment = "The group is rebalancing: partitions shown may be missing, or those of before."
        console.print(Text(moment, "yellow"))
    if row["members"] is None:
        console.print(Text("Its members cannot be read (not consumers, or missing ACL).", "yellow"))
    if row["members"]:
        console.print()
        names = member_names(row["members"])
        console.print(_members(row["members"], names, row["lag"] or {}))
        for member in row["members"]:
            for kind in ("standby", "warmup"):
                if copies := member.get("tasks", {}).get(kind):
                    line = f"{names[member['id']]} {kind}: {some(copies, _OWNED)}"
                    console.print(Text(line))
    console.print(Text(f"\nLag: {_lag_in_words(row)}"))
    if behind := _most_lagging(row):
        table = printing.table(("partition",), ("lag",))
        table.add_column("member", no_wrap=True)
        for records, partition, member in behind:
            table.add_row(Text(partition), units.count(records), Text(member))
        printing.titled(console, "Most lagging partitions", table)


_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
"""States in which Kafka reports no assignment of classic members, or the one before."""


def _most_lagging(row: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Records, partition and member of the partitions that are furthest behind."""
    names = member_names(row["members"] or ())
    owner = {
        (topic, number): names[member["id"]]
        for member in row["members"] or ()
        for topic, number in member["owned"]
    }
    lags = [
        (-records, topic, number)
        for topic, of_topic in (row["lag"] or {}).items()
        for number, records in enumerate(of_topic)
        if records
    ]
    return [
        (-records, f"{topic}-{number}", owner.get((topic, number), units.MISSING))
        for records, topic, number in sorted(lags)[:_MOST_LAGGING]
    ]


def _lag_in_words(row: Mapping[str, Any]) -> str:
    """``3,332 records, 5 partitions without a commit``."""
    if row["lag"] is None:
        return _SHARE_LAG if row["type"] == "share" else "not read"
    total, without = row["total_lag"], row["partitions_without_commit"]
    known = "unknown" if total is None else units.plural(total, "record")
    if not without:
        return f"{known}, no commits" if total is None else known
    return f"{known}, {units.plural(without, 'partition')} without a commit"


def member_names(members: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A short name of each member by its id: the instance id or the client id; where several
    members would have the same one, with the beginning of what their ids add to it."""
    named = {one["id"]: one["instance_id"] or one["client_id"] or one["id"] for one in members}
    often = Counter(clipped(name, _NAME) for name in named.values())
    return {
        member: name
        if often[name := clipped(full, _NAME)] == 1
        else f"{clipped(full, _NAME - 9)} {member.removeprefix(f'{full}-')[:8]}"
        for member, full in named.items()
    }


def _members(
    members: Iterable[Mapping[str, Any]],
    names: Mapping[str, str],
    lag: Mapping[str, Sequence[int | None]],
) -> Table:
    """``names`` by member id; ``lag``: records, or None where unknown, of each partition of each
    topic."""
    table = printing.table(("member", "host", "rack"), ("load", "lag"))
    table.add_column("partitions")
    for member in members:
        owned = member["owned"]
        known = [records for pair in owned if (records := _lag_of(lag, *pair)) is not None]
        table.add_row(
            Text(names[member["id"]]),
            Text(member["host"]),
            Text(member["rack"] or units.MISSING),
            units.count(len(owned)),
            _lag(sum(known) if known else None, len(known) < len(owned)),
            Text(some([f"{topic}-{number}" for topic, number in owned], _OWNED)),
        )
    return table


def _lag_of(lag: Mapping[str, Sequence[int | None]], topic: str, number: int) -> int | None:
    """The lag of a partition in records, None where it is unknown."""
    lags = lag.get(topic, ())
    return lags[number] if number < len(lags) else None
