"""What a profile measured, for people: a table per topic, and the summary that the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from partage.cluster import Cluster
from partage.profile import Profile
from partage.report import printing, units

_DAYS = 30
"""How far ahead sizes are shown."""


def summary(profile: Profile, top: int = 10) -> dict[str, Any]:
    """Totals and the hottest keys of all topics, by their share of the topic's records."""
    hottest = sorted(profile.hot_keys(1), key=lambda key: -key.share)[:top]
    return {
        **{k: profile.totals[k] for k in ("records", "bytes", "topics", "partitions", "rejected")},
        "hot_keys": [
            {
                "topic": key.topic,
                "rank": key.rank,
                "key": key.key,
                "share": key.share,
                "records": key.records,
            }
            for key in hottest
        ],
    }


def print_profile(profile: Profile, cluster: Cluster | None, console: Console) -> None:
    """One line per topic: how much, how fast, how skewed over partitions, and the hottest key.

    With a cluster, also which of its partitions have no record.
    """
    if profile.topics:
        print_totals(profile.totals, console)
    elif profile.totals["rejected"]:
        console.print(f"{units.count(profile.totals['rejected'])} rejected", highlight=False)
    hottest = {key.topic: key for key in profile.hot_keys(1)}
    table = printing.table()
    table.add_column("topic", max_width=24, overflow="ellipsis", no_wrap=True)
    for name in ("parts", "records", "bytes", "rate", "peak", "skew"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("hottest key", max_width=20, overflow="ellipsis", no_wrap=True)
    table.add_column("share", justify="right")
    for t, name in enumerate(profile.topics):
        rows = profile.topic == t
        size = profile.bytes[rows]
        key = hottest.get(name)
        table.add_row(
            Text(name),
            units.count(int(rows.sum())),
            units.count(int(profile.records[rows].sum())),
            units.size(int(size.sum())),
            units.rate(float(profile.bytes_per_second[rows].sum())),
            units.rate(float(profile.peak_bytes_per_second[rows].max())),
            units.decimal(float(size.max() / size.mean())) if size.any() else units.MISSING,
            Text(key.key) if key else units.MISSING,
            f"{100 * key.share:.1f} %" if key else units.MISSING,
        )
    if profile.topics:
        console.print(table)
        console.print("[dim]skew: bytes of the topic's fullest partition over the mean of all[/]")
    _print_sizes(profile, console)
    _print_lags(profile, console)
    if profile.outside:
        console.print(
            f"{units.plural(profile.outside, 'row')} left aside: not {profile.period}",
            highlight=False,
        )
    if cluster is not None:
        missing = profile.aligned(cluster).not_measured
        if missing:
            console.print(
                Text(f"{len(missing)} partitions of the cluster have no record, first {missing[0]}")
            )


def _print_sizes(profile: Profile, console: Console) -> None:
    """One line per topic of the log dirs' sizes over time."""
    sizes = profile.sizes()
    if sizes is None:
        return
    later = sizes.after(_DAYS)
    table = printing.table()
    table.add_column("topic", max_width=40, overflow="ellipsis", no_wrap=True)
    for name in ("parts", "size", "grows a day", "deleted", f"in {_DAYS} days"):
        table.add_column(name, justify="right", no_wrap=True)
    topics = np.array([topic for topic, _ in sizes.names], dtype=object)
    for topic in sorted(set(topics.tolist())):
        rows = topics == topic
        table.add_row(
            Text(topic),
            units.count(int(rows.sum())),
            units.size(int(sizes.size_bytes[rows].sum())),
            units.size(float(sizes.bytes_per_day[rows].sum())),
            units.size(int(sizes.deleted_bytes[rows].sum())),
            units.size(int(later[rows].sum())),
        )
    console.print(table)
    console.print("[dim]sizes of one replica each, out of the log dirs[/]")


def _print_lags(profile: Profile, console: Console) -> None:
    """One line per group of the lags over time."""
    lags = profile.lags()
    if lags is None:
        return
    table = printing.table()
    table.add_column("group", max_width=40, overflow="ellipsis", no_wrap=True)
    for name in ("parts", "lag", "consumed /s", "produced /s"):
        table.add_column(name, justify="right", no_wrap=True)
    groups = np.array(lags.group, dtype=object)
    for group in sorted(set(lags.group)):
        rows = groups == group
        table.add_row(
            Text(group),
            units.count(int(rows.sum())),
            units.count(int(lags.lag[rows].sum())),
            units.significant(float(lags.consumed_per_second[rows].sum())),
            units.significant(float(lags.produced_per_second[rows].sum())),
        )
    console.print(table)


def print_totals(totals: Mapping[str, int], console: Console) -> None:
    """How much was measured, in one line."""
    console.print(
        f"[bold]{units.count(totals['records'])} records[/], {units.size(totals['bytes'])}, "
        f"{totals['topics']} topics, {totals['partitions']} partitions, "
        f"{units.count(totals['rejected'])} rejected",
        highlight=False,
    )
