"""What-if results in a terminal: percentiles over many runs, in tables that fit the width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.report import printing, units
from partage.report.survivor_table import survivor_table, survivors_note

Row = Mapping[str, Any]
Show = Callable[[float], str]
Column = tuple[str, str, str, Show]
"""A heading, a measure, its percentile (or ``above``), and how to show its values."""

_ALL = ("p50", "p90", "p99", "max")
_ENDS = ("p50", "max")


def print_churn(value: Mapping[str, Any], console: Console) -> None:
    """Print what pauses least, and a row per assignor and protocol."""
    printing.answered(
        console, lambda: _least_paused(value, console), lambda: _churn_details(value, console)
    )


def _least_paused(value: Mapping[str, Any], console: Console) -> None:
    rows = [row for row in value["percentiles"] if row["measure"] == "paused_partition_seconds"]
    least, most = (pick(rows, key=lambda row: row["p50"]) for pick in (min, max))
    seconds = units.count(least["p50"])
    text = f"{_case(least)} pauses least: {seconds} partition-seconds in the median run"
    if most["p50"] > least["p50"]:
        text += f"; {_case(most)} most: {units.count(most['p50'])}"
    _head(console, text)
    if value["violations"]:
        broken = units.plural(value["violations"], "run")
        console.print(Text(f"✗ {broken} violated the protocol's guarantees", "red"))


def _case(row: Row) -> str:
    return f"{row['assignor']} ({row['protocol']})"


def _churn_details(value: Mapping[str, Any], console: Console) -> None:
    runs = units.plural(value["runs"], "run")
    console.print(
        Text(f"{runs} of {value['scenario']} with 1 to {value['events']} additional events")
    )
    _dim(
        console,
        "Events: a join, a leave, a crash or a rolling restart. Every row had the same runs.",
    )
    _show(
        console,
        value["percentiles"],
        ("assignor", "protocol"),
        [
            _columns("moved", "moved", _ALL, units.count),
            _columns("paused_partition_seconds", "paused", _ALL, units.count),
            _columns("rounds", "rounds", _ALL, units.count),
            _columns("lag_peak", "lag", _ALL, units.count),
        ],
    )
    _dim(
        console,
        "\nMoved: partitions that changed their member; paused: partition-seconds between two "
        "owners; lag: the maximum in one partition, in records; p50: the median run.",
    )


def print_failures(value: Mapping[str, Any], console: Console) -> None:
    """Print what the worst failure costs, and a table per kind of failure, a row per placement."""
    printing.answered(
        console, lambda: _worst_failures(value, console), lambda: _failure_details(value, console)
    )


_COSTS: Mapping[str, str] = {"offline": "offline", "under_min_isr": "below min ISR"}
"""What is worse than many leaders on one survivor, the worst first."""


_RATE = "bytes_per_second_over_mean"


def _worst_failures(value: Mapping[str, Any], console: Console) -> None:
    """The worst broker and the worst rack to lose, today and with the plan that loses least."""
    shown: list[str] = []
    for failure in ("broker", "rack"):
        rows = [row for row in value["worst"] if row["failure"] == failure]
        if not rows or not _cost(rows[0]):
            continue
        today, *plans = rows
        shown.append(f"Today the worst {failure} to lose is {today['fails']}: {_cost(today)}")
        if plans:
            best = _least(plans)
            shown.append(f"With {best['placement']} it is {best['fails']}: {_cost(best)}")
    for number, line in enumerate(shown):
        console.print(Text(line, "" if number else "bold"))


def _least(plans: Iterable[Row]) -> Row:
    """Of the worst failures with each plan, the one that costs least."""
    return min(plans, key=lambda row: [row[name] for name in (*_COSTS, "leaders")])


def _cost(row: Row) -> str:
    """``21 partitions below min ISR, broker 7 then leads 59``; empty without partitions."""
    parts = [f"{units.plural(row[key], 'partition')} {_COSTS[key]}" for key in _COSTS if row[key]]
    if row["survivor"] is None:
        return "".join(parts[:1])
    leads = units.count(row["leaders"]) if parts else units.plural(row["leaders"], "partition")
    return ", ".join([*parts[:1], f"broker {row['survivor']} then leads {leads}"])


def _failure_details(value: Mapping[str, Any], console: Console) -> None:
    placements = units.plural(len(value["placements"]), "placement")
    console.print(Text(f"Failures under {placements}"))
    for failure, title in (
        ("broker", "Any one broker fails"),
        ("rack", "Any one rack fails"),
        ("pair", "Any two brokers fail"),
    ):
        rows = [row for row in value["percentiles"] if row["failure"] == failure]
        if not rows:
            continue
        console.print(Text(f"\n{title} ({max(row['runs'] for row in rows)} tried)", "bold"))
        _show(
            console,
            rows,
            ("placement",),
            [
                _columns("offline", "offline", _ENDS, units.count),
                _columns("under_min_isr", "<min ISR", _ENDS, units.count),
                _columns("leaders", "leaders", _ENDS, units.count),
                _columns("leaders_over_mean", "/mean", _ENDS, units.decimal),
                _columns(_RATE, "in/mean", _ENDS, units.decimal),
                _columns("bytes_out_per_second_over_mean", "out/mean", _ENDS, units.decimal),
            ],
        )
    _survivors(value, console)
    _cannot(value, console)
    rated = any(row["runs"] for row in value["percentiles"] if row["measure"] == _RATE)
    rates = "in, out: bytes per second that it receives and sends as leader; " if rated else ""
    least = value["min_isr_assumed"]
    assumed = "" if least is None else f" ({least} assumed: the input has that of no topic)"
    _dim(
        console,
        "\nOffline: partitions without a live replica; <min ISR: partitions with fewer live "
        f"replicas than min.insync.replicas{assumed}; leaders: of the worst survivor, and relative "
        "to the mean; "
        f"{rates}p50: the median failure. The worst to lose has the most partitions offline, then "
        "below min ISR, then on one survivor.",
    )


def _survivors(value: Mapping[str, Any], console: Console) -> None:
    """What brokers lead after the failure that adds most, today and with the best plan."""
    worst = [row for row in value["worst"] if row["failure"] == "broker"]
    shown = [worst[0], *([_least(worst[1:])] if worst[1:] else [])] if worst else []
    for name in (row["placement"] for row in shown):
        rows = [
            row
            for row in value["survivors"]
            if row["placement"] == name and row["failure"] == "broker"
        ]
        title, table = survivor_table(rows)
        console.print(Text(f"\n{title}: {name}", "bold"))
        console.print()
        console.print(table)
    if shown:
        _dim(console, f"\n{survivors_note(value['survivors'])}")


def print_growth(value: Mapping[str, Any], console: Console) -> None:
    """Print how uneven the brokers become, and a row per placement."""
    printing.answered(
        console, lambda: _after_growth(value, console), lambda: _growth_details(value, console)
    )


def _after_growth(value: Mapping[str, Any], console: Console) -> None:
    """A line for the rates, and one for the disks where their capacities are known."""
    busiest, fullest = (
        {row["placement"]: row for row in value["percentiles"] if row["measure"] == measure}
        for measure in ("leader_rate", "disk")
    )
    rates = {name: row["p50"] for name, row in busiest.items() if row["runs"]}
    shown = _today_and_best("the busiest broker leads {} × the mean rate", rates, units.decimal)
    _head(console, f"In the median run {shown}")
    shares = {name: row["above"] for name, row in fullest.items() if row["runs"]}
    if shares:
        full = _today_and_best("in {} of the runs", shares, _share)
        console.print(Text(f"A disk is fuller than {_share(value['full'])} {full}"))


def _growth_details(value: Mapping[str, Any], console: Console) -> None:
    console.print(
        Text(
            f"{units.plural(value['runs'], 'run')} in which topics grow {value['factor']:g}-fold, "
            f"each by a separate factor (sigma {value['sigma']:g})"
        )
    )
    uneven, full = f">{value['above']:g}", f">{_share(value['full'])}"
    _show(
        console,
        value["percentiles"],
        ("placement",),
        [
            [*_columns(measure, heading, _ALL, show), (f"\n{limit}", measure, "above", _share)]
            for measure, heading, show, limit in (
                ("leader_rate", "led", units.decimal, uneven),
                ("rate", "written", units.decimal, uneven),
                ("bytes", "stored", units.decimal, uneven),
                ("disk", "disk", _share, full),
            )
        ],
    )
    _cannot(value, console)
    _dim(
        console,
        "\nBusiest broker / mean: bytes per second led, written (as leader or follower), and bytes "
        "stored. Disk: usage of the fullest. "
        f"{uneven}, {full}: share of runs above; p50: the median run.",
    )


def _today_and_best(text: str, values: Mapping[str, float], show: Show) -> str:
    """The value today and with the best plan."""
    (today, now), *plans = values.items()
    text = f"{text.format(show(now))} {today}"
    if not plans:
        return text
    best, least = min(plans, key=lambda plan: plan[1])
    return f"{text}, {show(least)} with {best}"


def _columns(measure: str, heading: str, parts: Sequence[str], show: Show) -> list[Column]:
    """The percentiles of a measure; the first heading contains its name."""
    return [
        (f"{heading if part == parts[0] else ''}\n{part}", measure, part, show) for part in parts
    ]


def _show(
    console: Console, rows: Iterable[Row], keys: Sequence[str], groups: Iterable[list[Column]]
) -> None:
    """Print a row per case, in as few tables as the width allows, with less space between the
    columns where that makes one, and without measures that no case has."""
    cases: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        cases.setdefault(tuple(row[key] for key in keys), {})[row["measure"]] = row
    known = [group for group in groups if any(own[group[0][1]]["runs"] for own in cases.values())]

    fits = partial(printing.fits, console)
    whole = printing.closer(_table(cases, keys, list(chain(*known))))
    tables: list[list[Column]] = [[]]
    for group in known:
        if tables[-1] and not fits(_table(cases, keys, [*tables[-1], *group])):
            tables.append([])
        tables[-1] += group
    if len(tables) > 1 and fits(whole):
        console.print()
        console.print(whole)
        return
    for columns in tables:
        console.print()
        console.print(_table(cases, keys, columns))


def _table(
    cases: Mapping[tuple[str, ...], Mapping[str, Row]],
    keys: Sequence[str],
    columns: Sequence[Column],
) -> Table:
    table = printing.table(keys, [Text(heading) for heading, *_ in columns], bottom=True)
    for case, own in cases.items():
        table.add_row(
            *map(Text, case),
            *(_cell(own[measure], part, show) for _, measure, part, show in columns),
        )
    return table


def _cell(row: Row, part: str, show: Show) -> str:
    value = row.get(part)
    return units.MISSING if value is None else show(value)


def _share(value: float) -> str:
    """``85%``; ``<1%`` for small shares above 0."""
    percent = 100 * value
    return "<1%" if 0 < percent < 0.5 else f"{percent:,.0f}%"


def _head(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))


def _dim(console: Console, text: str) -> None:
    console.print(text, style="dim", highlight=False)


def _cannot(value: Mapping[str, Any], console: Console) -> None:
    for name, why in value["cannot"].items():
        console.print(Text.assemble(("\n✗ ", "red"), (name, "bold"), f" cannot: {why}"))
