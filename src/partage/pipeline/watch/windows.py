"""Load windows, closed by a watermark.

The *watermark* is the time of the latest record so far minus the allowed lateness; it never falls.
A batch is compared with the watermark of the batches before it: records of a window that ended at
or before the watermark are late; they are counted and left out. All other records are added to the
open windows. Then the watermark rises, and windows that end at or before it are closed and never
change again. So all partitions of a window close together, in a single batch.

These are the rules of Structured Streaming's watermarks. They are implemented here because Spark's
stateful aggregation cannot count late records (it counts groups of them: in a trial 500 late
records as 2), would read the input a second time for rejected rows, and keeps its state on the
executors, in a checkpoint that all machines must share. The state is small: a row per partition and
open window.

While records wait, as after an outage, a limited batch has a part of each partition's, and some
partitions may be hours ahead of others. Then the watermark rises only to the latest record of the
slowest partition in the batch, so that no record is late for being read later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from partage.pipeline.profile import SCHEMAS

MICROSECONDS = 1_000_000

SCHEMA = SCHEMAS["windows"]

_KEY = ["topic", "partition", "window_start"]
_COUNTS = ("records", "bytes", "bytes_per_second", "peak_bytes_per_second", "null_keys")
_PEAK = "peak"
_FIGURES = {"records": "sum", "bytes": "sum", "null_keys": "sum", "first": "min", "last": "max"}


@dataclass(frozen=True)
class Step:
    """The result of a batch: the open windows and those it closed (both of ``SCHEMA``, sorted), the
    number of late records, and the watermark in microseconds since 1970."""

    open: pa.Table
    closed: pa.Table
    late: int
    watermark: int


def advance(
    open_: pa.Table,
    batch: pa.Table,
    watermark: int,
    *,
    window: int,
    lateness: int,
    more: bool = False,
) -> Step:
    """Add a batch, summed up by window, to the open windows and close those that are due.

    ``window`` and ``lateness`` are in seconds; a watermark of 0 is before any record. ``more``:
    whether records may wait that are older than some of the batch.
    """
    on_time = pc.greater(ends(batch, window), watermark)
    late = pc.sum(batch.filter(pc.invert(on_time))["records"]).as_py() or 0
    latest = _latest(batch, more)
    if latest is not None:
        watermark = max(watermark, latest - lateness * MICROSECONDS)
    windows = _merged(open_, batch.filter(on_time))
    due = pc.less_equal(ends(windows, window), watermark)
    return Step(windows.filter(pc.invert(due)), windows.filter(due), late, watermark)


def _latest(batch: pa.Table, more: bool) -> int | None:
    """The time of the latest record; if there are ``more``, of the slowest partition's."""
    by_partition = batch.group_by(_KEY[:2], use_threads=False).aggregate([("last", "max")])
    ends = by_partition["last_max"].cast(pa.int64())
    latest: int | None = (pc.min(ends) if more else pc.max(ends)).as_py()
    return latest


def starts(windows: pa.Table) -> pa.ChunkedArray:
    """The start of each window, in microseconds since 1970."""
    return windows["window_start"].cast(pa.int64())


def ends(windows: pa.Table, window: int) -> pa.ChunkedArray:
    """The end of each window of ``window`` seconds, in microseconds since 1970."""
    return pc.add(starts(windows), window * MICROSECONDS)


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


def _merged(*tables: pa.Table) -> pa.Table:
    rows = pa.concat_tables(tables)
    found = rows.group_by(_KEY, use_threads=False).aggregate(list(_FIGURES.items()))
    columns = [found[name] for name in _KEY] + [found[f"{n}_{f}"] for n, f in _FIGURES.items()]
    table = pa.table(columns, names=[*_KEY, *_FIGURES]).select(SCHEMA.names).cast(SCHEMA)
    return table.sort_by([(name, "ascending") for name in _KEY]).combine_chunks()
