"""Load windows, closed by a watermark.

The *watermark* is the time of the latest record so far minus the allowed lateness; it never falls.
A batch is compared with the watermark of the batches before it: records of a window that ended at
or before the watermark are late; they are counted and left out. All other records are added to the
open windows. Then the watermark rises, and windows that end at or before it are closed and never
change again. So all partitions of a window close together, in a single batch.

These are the rules of Structured Streaming's watermarks. They are implemented here because Spark's
stateful aggregation cannot count late records (it counts groups of them: in a trial 500 late
records as 2), would read the input a second time for rejected rows, and keeps its state in a
checkpoint that all machines must share. Here too the executors hold the windows, a row per
partition and window; the driver gets the totals of a batch.

While records wait, as after an outage, a limited batch has a part of each partition's, and some
partitions may be hours ahead of others. Then the watermark rises only to the latest record of the
slowest partition in the batch, so that no record is late for being read later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from partage.pipeline.profile import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MICROSECONDS = 1_000_000

SCHEMA = SCHEMAS["windows"]

ORDER = ("topic", "partition", "window_start")
"""A window's key; the rows of a file are sorted by it."""

_KEY = list(ORDER)
_COUNTS = ("records", "bytes", "bytes_per_second", "peak_bytes_per_second", "null_keys")
_PEAK = "peak"
_FIGURES = {"records": "sum", "bytes": "sum", "null_keys": "sum", "first": "min", "last": "max"}


@dataclass(frozen=True)
class Totals:
    """Those of a batch: the rows that were read, rejected ones among them, the late records, and
    the watermark after it, in microseconds since 1970."""

    read: int
    rejected: int
    late: int
    watermark: int


@dataclass(frozen=True)
class Figures:
    """Those of some windows: how many, their records and bytes, and the start of the first and the
    last of them, in microseconds since 1970 (None without a window)."""

    windows: int = 0
    records: int = 0
    bytes: int = 0
    first: int | None = None
    last: int | None = None


def totals(
    batch: DataFrame, watermark: int, *, window: int, lateness: int, more: bool = False
) -> Totals:
    """The totals of a batch, summed up by window; rejected rows have no topic.

    ``watermark`` is that of the batches before, 0 before any record; ``window`` and ``lateness``
    are in seconds. ``more``: whether records may wait that are older than some of the batch.
    """
    good = sf.col("topic").isNotNull()
    last, late = sf.unix_micros("last"), good & (_end(window) <= watermark)
    by_partition = batch.groupBy("topic", "partition").agg(
        sf.sum("records").alias("read"),
        sf.sum(sf.when(late, sf.col("records"))).alias("late"),
        sf.max(last).alias("latest"),
    )
    latest = sf.min if more else sf.max
    found = by_partition.agg(
        sf.coalesce(sf.sum("read"), sf.lit(0)),
        sf.coalesce(sf.sum(sf.when(~good, sf.col("read"))), sf.lit(0)),
        sf.coalesce(sf.sum("late"), sf.lit(0)),
        latest(sf.when(good, sf.col("latest"))),
    )
    read, rejected, late_records, reached = found.collect()[0]
    if reached is not None:
        watermark = max(watermark, reached - lateness * MICROSECONDS)
    return Totals(read, rejected, late_records, watermark)


def added(open_: DataFrame, batch: DataFrame, watermark: int, window: int) -> DataFrame:
    """The open windows with the records of a batch that are not late. ``watermark``: that of the
    batches before."""
    on_time = batch.where(sf.col("topic").isNotNull() & (_end(window) > watermark))
    rows = open_.select(*SCHEMA.names).unionAll(on_time.select(*SCHEMA.names))
    aggregates = {"sum": sf.sum, "min": sf.min, "max": sf.max}
    figures = [aggregates[kind](name).alias(name) for name, kind in _FIGURES.items()]
    return rows.groupBy(*_KEY).agg(*figures).select(*SCHEMA.names)


def due(watermark: int, window: int) -> Column:
    """Whether a window is closed by the watermark."""
    return _end(window) <= watermark


def divided(windows: DataFrame, watermark: int, window: int) -> tuple[Figures, Figures]:
    """The figures of the windows that stay open, and of those that the watermark closes."""
    start = sf.unix_micros("window_start")
    found = windows.groupBy(due(watermark, window).alias("due")).agg(
        sf.count("*"), sf.sum("records"), sf.sum("bytes"), sf.min(start), sf.max(start)
    )
    of = {is_due: Figures(*figures) for is_due, *figures in found.collect()}
    return of.get(False, Figures()), of.get(True, Figures())


def _end(window: int) -> Column:
    return sf.unix_micros("window_start") + sf.lit(window * MICROSECONDS)


def starts(windows: pa.Table) -> pa.ChunkedArray:
    """The start of each window, in microseconds since 1970."""
    return windows["window_start"].cast(pa.int64())


def partitions(
    tables: Iterable[pa.Table], before: pa.Table, *, window: int, seconds: float
) -> pa.Table:
    """Tables of windows → a profile's ``partitions``: rates over ``seconds``, peaks of the fullest
    window. Only one of the tables is held at a time.

    A partition of the table ``before`` without a window stays in the table, with zeros. Keys are
    not counted: ``distinct_keys`` is 0.
    """
    found = _by_partition(SCHEMA.empty_table())
    for table in tables:
        found = _by_partition(pa.concat_tables([found, _by_partition(table)]))
    columns = {
        **{name: found[name] for name in [*_KEY[:2], *_FIGURES]},
        "bytes_per_second": pc.divide(found["bytes"].cast(pa.float64()), seconds),
        "peak_bytes_per_second": pc.divide(found[_PEAK].cast(pa.float64()), float(window)),
        "distinct_keys": pa.array([0] * found.num_rows, pa.int64()),
    }
    schema = SCHEMAS["partitions"]
    table = pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)
    table = pa.concat_tables([table, _without_records(before, table)])
    return table.sort_by([("topic", "ascending"), ("partition", "ascending")]).combine_chunks()


def _by_partition(windows: pa.Table) -> pa.Table:
    """The figures of windows, or of tables that this has returned, by partition."""
    if _PEAK not in windows.column_names:
        windows = windows.append_column(_PEAK, windows["bytes"])
    figures = {**_FIGURES, _PEAK: "max"}
    found = windows.group_by(_KEY[:2], use_threads=False).aggregate(list(figures.items()))
    names = {f"{name}_{figure}": name for name, figure in figures.items()}
    return found.rename_columns([names.get(name, name) for name in found.column_names]).select(
        [*_KEY[:2], *figures]
    )


def _without_records(before: pa.Table, now: pa.Table) -> pa.Table:
    idle = before.join(
        now.select(["topic", "partition"]), ["topic", "partition"], join_type="left anti"
    )
    for place, column in enumerate(before.schema):
        if column.name in _COUNTS:
            zeros = pa.array([0] * idle.num_rows, column.type)
            idle = idle.set_column(place, column, zeros)
    return idle.cast(before.schema)
