"""What-if results in a terminal: percentiles over many runs, in tables that fit the width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from partage.report import printing, units

Row = Mapping[str, Any]
Show = Callable[[float], str]
Column = tuple[str, str, str, Show]
"""A heading, a measure, its percentile (or ``above``), and how to show its values."""

_ALL = ("p50", "p90", "p99", "max")
_ENDS = ("p50", "max")


def print_churn(value: Mapping[str, Any], console: Console) -> None:
    """Print a row per assignor and protocol."""
    runs = units.plural(value["runs"], "run")
    _head(console, f"{runs} of {value['scenario']} with 1 to {value['events']} additional events")
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
            _columns("unowned_partition_seconds", "no owner", _ALL, units.count),
            _columns("rounds", "rounds", _ALL, units.count),
            _columns("lag_peak", "lag", _ALL, units.count),
        ],
    )
    _dim(
        console,
        "\nMoved: partitions that changed their member; no owner: partition-seconds without one; "
        "lag: the maximum in one partition, in records.",
    )
    if value["violations"]:
        broken = units.plural(value["violations"], "run")
        console.print(Text(f"\n✗ {broken} violated the protocol's guarantees", "red"))


def print_failures(value: Mapping[str, Any], console: Console) -> None:
    """Print a table per kind of failure, a row per placement."""
    _head(console, f"Failures under {units.plural(len(value['placements']), 'placement')}")
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
                _columns("bytes_per_second_over_mean", "rate/mean", _ENDS, units.decimal),
            ],
        )
    _cannot(value, console)
    _dim(
        console,
        "\nOffline: partitions without a live replica; <min ISR: replicated partitions with fewer "
        "than two live replicas; leaders: of the worst survivor, and relative to the mean; "
        "rate: bytes per second led.",
    )


def print_growth(value: Mapping[str, Any], console: Console) -> None:
    """Print a row per placement."""
    _head(
        console,
        f"{units.plural(value['runs'], 'run')} in which topics grow {value['factor']:g}-fold, each "
        f"by a separate factor (sigma {value['sigma']:g})",
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
        f"{uneven}, {full}: share of runs above.",
    )


def _columns(measure: str, heading: str, parts: Sequence[str], show: Show) -> list[Column]:
    """The percentiles of a measure; the first heading contains its name."""
    return [
        (f"{heading if part == parts[0] else ''}\n{part}", measure, part, show) for part in parts
    ]


def _show(
    console: Console, rows: Iterable[Row], keys: Sequence[str], groups: Iterable[list[Column]]
) -> None:
    """Print a row per case, in as few tables as the width allows, without measures that no case
    has."""
    cases: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        cases.setdefault(tuple(row[key] for key in keys), {})[row["measure"]] = row
    unbounded = console.options.update(max_width=1000)
    tables: list[list[Column]] = [[]]
    for group in groups:
        if not any(own[group[0][1]]["runs"] for own in cases.values()):
            continue
        wider = [*tables[-1], *group]
        needed = console.measure(_table(cases, keys, wider), options=unbounded).maximum
        if tables[-1] and needed > console.width:
            tables.append([])
        tables[-1] += group
    for columns in tables:
        console.print()
        console.print(_table(cases, keys, columns))


def _table(
    cases: Mapping[tuple[str, ...], Mapping[str, Row]],
    keys: Sequence[str],
    columns: Sequence[Column],
) -> Table:
    table = printing.table()
    for key in keys:
        table.add_column(key, vertical="bottom", no_wrap=True)
    for heading, *_ in columns:
        table.add_column(Text(heading), justify="right", vertical="bottom", no_wrap=True)
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
