"""What-ifs as people read them: percentiles over many futures, in tables that fit the width."""

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
"""A heading, the measure and the percentile of it (or ``above``), and how its values are shown."""

_ALL = ("p50", "p90", "p99", "max")
_ENDS = ("p50", "max")


def print_churn(value: Mapping[str, Any], console: Console) -> None:
    """A line per assignor and protocol."""
    runs = units.plural(value["runs"], "run")
    _head(console, f"{runs} of {value['scenario']} with 1 to {value['events']} happenings more")
    _dim(
        console,
        "Each a join, a leave, a crash or a rolling restart; every line played the same runs.",
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
        "\nMoved: partitions that came to another member; no owner: partition-seconds without one; "
        "lag: records that waited in one partition at most.",
    )
    if value["violations"]:
        broken = units.plural(value["violations"], "run")
        console.print(Text(f"\n✗ {broken} broke a promise of the protocol", "red"))


def print_failures(value: Mapping[str, Any], console: Console) -> None:
    """A table per kind of failure, a line per placement."""
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
                _columns("offline", "off-line", _ENDS, units.count),
                _columns("under_min_isr", "<min ISR", _ENDS, units.count),
                _columns("leaders", "leaders", _ENDS, units.count),
                _columns("leaders_over_mean", "/mean", _ENDS, units.decimal),
                _columns("bytes_per_second_over_mean", "rate/mean", _ENDS, units.decimal),
            ],
        )
    _cannot(value, console)
    _dim(
        console,
        "\nOff-line: partitions without a live replica; <min ISR: with fewer than two of several; "
        "leaders: of the worst survivor, and over the mean of all; rate: bytes per second led.",
    )


def print_growth(value: Mapping[str, Any], console: Console) -> None:
    """A line per placement."""
    _head(
        console,
        f"{units.plural(value['runs'], 'run')} in which topics grow {value['factor']:g}-fold, each "
        f"by a factor of its own (sigma {value['sigma']:g})",
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
        "\nBusiest broker over the mean: bytes per second led, written (led or followed), and "
        "bytes stored. Disk: how full the fullest is. "
        f"{uneven}, {full}: in how many runs it is above.",
    )


def _columns(measure: str, heading: str, parts: Sequence[str], show: Show) -> list[Column]:
    """The percentiles of a measure; the first of them is headed by its name."""
    return [
        (f"{heading if part == parts[0] else ''}\n{part}", measure, part, show) for part in parts
    ]


def _show(
    console: Console, rows: Iterable[Row], keys: Sequence[str], groups: Iterable[list[Column]]
) -> None:
    """A line per case, in as few tables as the width allows; what is known of no case is left
    out."""
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
    """``85%``, and ``<1%`` for what is not nothing."""
    percent = 100 * value
    return "<1%" if 0 < percent < 0.5 else f"{percent:,.0f}%"


def _head(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))


def _dim(console: Console, text: str) -> None:
    console.print(text, style="dim", highlight=False)


def _cannot(value: Mapping[str, Any], console: Console) -> None:
    for name, why in value["cannot"].items():
        console.print(Text.assemble(("\n✗ ", "red"), (name, "bold"), f" cannot: {why}"))
