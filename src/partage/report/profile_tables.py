"""A profile in a terminal: a row per topic, the sizes of its log dirs, the lags of its groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from partage.cluster import Cluster
from partage.kafka_names import TOPIC_RULE
from partage.measured_loads import Profile
from partage.measured_loads.damaged import damaged_line
from partage.measured_loads.far_records import far_lines
from partage.report import printing, units
from partage.units import listed

_DAYS = 30
"""How far ahead sizes are forecast."""

_KEY = 20
_TOPIC, _NAME = 24, 40


def print_profile(profile: Profile, cluster: Cluster | None, console: Console) -> None:
    """Print a row per topic: amounts, rates, skew over partitions, and the hottest key.

    With a cluster, also how many of its partitions have no record.
    """
    if profile.topics:
        print_totals(profile.totals, console)
        _print_topics(profile, console)
    elif profile.totals["rejected"]:
        console.print(f"{units.count(profile.totals['rejected'])} rejected", highlight=False)
    _print_sizes(profile, console)
    _print_lags(profile, console)
    if profile.outside:
        outside = units.plural(profile.outside, "row")
        console.print(f"{outside} ignored: not {profile.period}", highlight=False)
    if cluster is not None:
        missing = profile.aligned(cluster).not_measured
        if missing:
            number = units.plural(len(missing), "partition")
            have = "has" if len(missing) == 1 else "have"
            console.print(Text(f"{number} of the cluster {have} no record, first {missing[0]}"))


def print_notes(about: Mapping[str, Any], console: Console) -> None:
    """Print what was read in another way than usual: ``about`` as ``write_profile`` returns it."""
    if about["in_seconds"]:
        number = units.plural(about["in_seconds"], "time")
        console.print(f"{number} read as seconds since 1970, not milliseconds", highlight=False)
    if bounds := about.get("approximate"):
        line = f"distinct keys are within {100 * bounds['distinct_keys']:.0f} %"
        if bounds["share"]:
            line += f", shares of keys within {100 * bounds['share']:.1f} percentage points"
        console.print(f"{line} (four standard errors)", highlight=False)
    if invalid := about.get("invalid_topics"):
        names = listed(invalid, 3)
        console.print(Text(f"names that Kafka does not accept for topics ({TOPIC_RULE}): {names}"))
    lines = (
        *far_lines(about.get("far_records", ())),
        damaged_line(about),
        *(_lost_lines(about) if "new_offsets" in about else ()),
    )
    for line in filter(None, lines):
        console.print(Text(line))


def _lost_lines(about: Mapping[str, Any]) -> Iterator[str]:
    """What happened to topics between two runs of ``profile --append``."""
    if removed := about["removed_partitions"]:
        number = units.plural(about["removed_offsets"], "offset")
        names = [f"{one['topic']}-{one['partition']}" for one in removed]
        yield f"Kafka removed {number} before they were measured, now of {listed(names, 3)}"
    for topic in about["recreated_topics"]:
        yield f"topic {topic} was created again: its records are added to those of the one before"
    for one in about["went_back"]:
        name, place = f"{one['topic']}-{one['partition']}", f"{one['from']:,} to {one['to']:,}"
        yield f"the next offset of {name} went back from {place}: records are lost in Kafka"


def _print_topics(profile: Profile, console: Console) -> None:
    of_topic = [profile.topic == t for t in range(len(profile.topics))]
    rates = [float(profile.bytes_per_second[rows].sum()) for rows in of_topic]
    peaks = [float(profile.peak_bytes_per_second[rows].sum()) for rows in of_topic]
    rate_divisor, rate_unit = units.common_rate(max(rates))
    peak_divisor, peak_unit = units.common_rate(max(peaks))
    hottest = {key.topic: key for key in profile.hot_keys(1)}
    names = ("parts", "records", "bytes", f"rate,\n{rate_unit}", f"peak,\n{peak_unit}", "skew")
    loads, keys, both = (
        printing.table(("topic",), columns, bottom=True) for columns in (names, (), names)
    )
    for table in (keys, both):
        table.add_column("hottest key", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
    for name, rows, rate, peak in zip(profile.topics, of_topic, rates, peaks, strict=True):
        size = profile.bytes[rows]
        key = hottest.get(name)
        numbers = (
            units.count(int(rows.sum())),
            units.count(int(profile.records[rows].sum())),
            units.size(int(size.sum())),
            units.significant(rate / rate_divisor),
            units.significant(peak / peak_divisor),
            units.decimal(float(size.max() / size.mean())) if size.any() else units.MISSING,
        )
        hot = (
            Text(printing.clipped(key.key, _KEY)) if key else units.MISSING,
            f"{100 * key.share:.1f} %" if key else units.MISSING,
        )
        topic = Text(printing.clipped(name, _TOPIC))
        loads.add_row(topic, *numbers)
        keys.add_row(topic, *hot)
        both.add_row(topic, *numbers, *hot)
    whole = printing.fits(console, both)
    for table in (both,) if whole else (loads, keys):
        printing.print_fitting(console, table)
    printing.note(console, "rate and peak: each partition's mean and fullest window, added up")
    printing.note(console, "skew: bytes of the fullest partition / mean of the topic's partitions")


def _print_sizes(profile: Profile, console: Console) -> None:
    """A row per topic: sizes of log dirs over time."""
    sizes = profile.sizes()
    if sizes is None:
        return
    later = sizes.after(_DAYS)
    names = ("parts", "size", "growth per day", "deleted", f"in {_DAYS} days")
    table = printing.table(("topic",), names)
    topics = np.array([topic for topic, _ in sizes.names], dtype=object)
    for topic in sorted(set(topics.tolist())):
        rows = topics == topic
        table.add_row(
            Text(printing.clipped(topic, _NAME)),
            units.count(int(rows.sum())),
            units.size(int(sizes.size_bytes[rows].sum())),
            units.size(float(sizes.bytes_per_day[rows].sum())),
            units.size(int(sizes.deleted_bytes[rows].sum())),
            units.size(int(later[rows].sum())),
        )
    printing.print_fitting(console, table)
    printing.note(console, "sizes of one replica of each partition, from the log dirs")


def _print_lags(profile: Profile, console: Console) -> None:
    """A row per group: lags over time."""
    lags = profile.lags()
    if lags is None:
        return
    table = printing.table(("group",), ("parts", "lag", "consumed /s", "produced /s"))
    groups = np.array(lags.group, dtype=object)
    for group in sorted(set(lags.group)):
        rows = groups == group
        table.add_row(
            Text(printing.clipped(group, _NAME)),
            units.count(int(rows.sum())),
            units.count(int(lags.lag[rows].sum())),
            units.significant(float(lags.consumed_per_second[rows].sum())),
            units.significant(float(lags.produced_per_second[rows].sum())),
        )
    printing.print_fitting(console, table)


def print_totals(totals: Mapping[str, int], console: Console) -> None:
    """Print the totals in one line."""
    line = Text(units.plural(totals["records"], "record"), "bold")
    counts = (
        units.size(totals["bytes"]),
        units.plural(totals["topics"], "topic"),
        units.plural(totals["partitions"], "partition"),
        f"{units.count(totals['rejected'])} rejected",
    )
    console.print(line.append(f", {', '.join(counts)}", "not bold"))
