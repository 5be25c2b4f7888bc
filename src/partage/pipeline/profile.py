"""``partage profile``: measure records, and samples of sizes and lags, into a directory of tables.

The tables are collected through Arrow and written by this process (``sinks``), so they end up on
this machine, whole or not at all, whether Spark runs here, on a cluster or behind Spark Connect.
They are small compared with the records: a row per partition, per window of a partition, per hot
key, per rejected row. Each table is sorted and written as one file, so the same records give the
same bytes.

Several jobs use the input (windows, keys, rejected rows), so it is cached. Parquet is not: each job
reads only the columns that it needs, which costs less than caching all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

import partage
from partage.errors import InputError
from partage.measured_loads import FORMAT_VERSION, MARKER
from partage.period import ALWAYS, Period, shown
from partage.pipeline import measure, samples
from partage.pipeline.cache import Cache
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.rows import RowType
from partage.pipeline.samples import LAGS, SIZES
from partage.pipeline.session import spark_errors
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources import read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Paths = Sequence[str | os.PathLike[str]]

_TIME = pa.timestamp("us", "UTC")

SCHEMAS: dict[str, pa.Schema] = {
    "partitions": pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("records", pa.int64()),
            ("bytes", pa.int64()),
            ("bytes_per_second", pa.float64()),
            ("peak_bytes_per_second", pa.float64()),
            ("distinct_keys", pa.int64()),
            ("null_keys", pa.int64()),
            ("first", _TIME),
            ("last", _TIME),
        ]
    ),
    "keys": pa.schema(
        [
            ("topic", pa.string()),
            ("rank", pa.int32()),
            ("key", pa.binary()),
            ("records", pa.int64()),
            ("bytes", pa.int64()),
            ("share", pa.float64()),
        ]
    ),
    "windows": pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("window_start", _TIME),
            ("records", pa.int64()),
            ("bytes", pa.int64()),
        ]
    ),
    "sizes": pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("samples", pa.int64()),
            ("first", _TIME),
            ("last", _TIME),
            ("size_bytes", pa.int64()),
            ("peak_bytes", pa.int64()),
            ("grown_bytes", pa.int64()),
            ("deleted_bytes", pa.int64()),
        ]
    ),
    "lags": pa.schema(
        [
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("samples", pa.int64()),
            ("first", _TIME),
            ("last", _TIME),
            ("committed", pa.int64()),
            ("end_offset", pa.int64()),
            ("lag", pa.int64()),
            ("peak_lag", pa.int64()),
            ("consumed", pa.int64()),
            ("produced", pa.int64()),
        ]
    ),
    "rejected": pa.schema([("source", pa.string()), ("row", pa.string()), ("reason", pa.string())]),
}
"""The columns of the tables. ``sizes`` and ``lags`` exist only if samples of them were given."""

_ORDER = {
    "partitions": ("topic", "partition"),
    "keys": ("topic", "rank"),
    "windows": ("topic", "partition", "window_start"),
    "sizes": ("topic", "partition"),
    "lags": ("group", "topic", "partition"),
    "rejected": ("source", "row", "reason"),
}


def profile_tables(
    spark: SparkSession,
    paths: Paths,
    *,
    sizes: Paths = (),
    lags: Paths = (),
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    period: Period = ALWAYS,
    progress: Progress | None = None,
) -> dict[str, pa.Table]:
    """The tables of ``SCHEMAS``, sorted, in memory.

    ``paths``: records; may be empty if there are samples of ``sizes`` or ``lags``. ``window`` is in
    seconds. Rows outside ``period`` are ignored. Raises InputError for input that cannot be read
    or has no valid row.
    """
    given = {RECORDS: paths, SIZES: sizes, LAGS: lags}
    return _measured(spark, given, window, top, period, progress)[0]


def _measured(
    spark: SparkSession,
    given: Mapping[RowType, Paths],
    window: int,
    top: int,
    period: Period,
    progress: Progress | None,
) -> tuple[dict[str, pa.Table], int]:
    """The tables, and the number of valid rows outside the period."""
    if window < 1:
        raise InputError("window", f"{window} seconds: must be at least 1")
    if period.since is not None and period.until is not None:
        length = (period.until - period.since) / 1000
        if window > length:
            raise InputError(
                "window",
                f"{window} seconds: must not be longer than the {length:g} seconds {period}",
            )
    if top < 1:
        raise InputError("top", f"{top}: must be at least 1")
    with spark_errors(), Cache() as cached:
        kinds = [kind for kind, paths in given.items() if paths] or [RECORDS]
        with reported(spark, progress, "reading"):
            rows = {kind: read_rows(spark, given[kind], kind, cached) for kind in kinds}
        good = {kind: kind.accepted(frame) for kind, frame in rows.items()}
        counted = {kind: frame.where(measure.within(period)) for kind, frame in good.items()}
        frames = {}
        if RECORDS in counted:
            windowed = cached(counted[RECORDS].transform(measure.by_window, window))
            keyed = cached(counted[RECORDS].transform(measure.by_key))
            frames["windows"] = windowed.transform(measure.windows)
            frames["partitions"] = windowed.transform(measure.partitions, keyed, window, period)
            frames["keys"] = keyed.transform(measure.keys, top)
        if SIZES in counted:
            frames["sizes"] = counted[SIZES].transform(samples.sizes)
        if LAGS in counted:
            frames["lags"] = counted[LAGS].transform(samples.lags)
        rejected = [frame.transform(measure.rejected) for frame in rows.values()]
        frames["rejected"] = reduce(lambda one, other: one.unionAll(other), rejected)
        tables = {name: SCHEMAS[name].empty_table() for name in ("windows", "partitions", "keys")}
        for name, frame in frames.items():
            with reported(spark, progress, name):
                tables[name] = _fetch(frame, name)
        outside = 0
        for kind, table in ((RECORDS, "partitions"), (SIZES, "sizes"), (LAGS, "lags")):
            if kind not in rows:
                continue
            found = _outside(good[kind], period) if period else (0, "")
            if tables[table].num_rows == 0:
                why = found[1] or _why_none(rows[kind])
                raise InputError(os.fspath(given[kind][0]), f"no {kind.name}: {why}")
            outside += found[0]
    return tables, outside


def write_profile(
    spark: SparkSession,
    paths: Paths,
    out: str | os.PathLike[str],
    *,
    sizes: Paths = (),
    lags: Paths = (),
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    period: Period = ALWAYS,
    format: str = PARQUET,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the tables of ``profile_tables`` to the directory ``out``, whole or not at all.

    ``format``: any format that Spark knows by name; plans read Parquet only. An existing profile is
    replaced only with ``overwrite``. Returns the contents of ``profile.json``: format_version,
    partage, sources, window_seconds, top_keys, from and to (``period``), outside (valid rows not in
    the period), totals (records, bytes, rejected, topics, partitions) and format. Raises
    InputError.
    """
    sink = Sink(out, MARKER, format, overwrite)
    sink.check(spark)
    given = {RECORDS: paths, SIZES: sizes, LAGS: lags}
    tables, outside = _measured(spark, given, window, top, period, progress)
    measured = tables["partitions"]
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "sources": [os.fspath(path) for own in given.values() for path in own],
        "window_seconds": window,
        "top_keys": top,
        "from": None if period.since is None else shown(period.since),
        "to": None if period.until is None else shown(period.until),
        "outside": outside,
        "totals": {
            "records": pc.sum(measured["records"]).as_py() or 0,
            "bytes": pc.sum(measured["bytes"]).as_py() or 0,
            "rejected": tables["rejected"].num_rows,
            "topics": len(pc.unique(measured["topic"])),
            "partitions": measured.num_rows,
        },
    }
    return sink.write(spark, tables, about)


def _fetch(frame: DataFrame, name: str) -> pa.Table:
    schema = SCHEMAS[name]
    table = frame.toArrow().select(schema.names).cast(schema)
    return table.sort_by([(column, "ascending") for column in _ORDER[name]]).combine_chunks()


def _outside(rows: DataFrame, period: Period) -> tuple[int, str]:
    """The number of rows outside the period, and a sentence about them (empty if there are
    none)."""
    seen = rows.where(~measure.within(period)).agg(
        sf.count("*"),
        sf.unix_millis(sf.min("timestamp")),
        sf.unix_millis(sf.max("timestamp")),
    )
    (count, first, last) = seen.collect()[0]
    if not count:
        return 0, ""
    return count, f"none {period}: all are from {shown(first)} to {shown(last)}"


def _why_none(rows: DataFrame) -> str:
    bad = rows.transform(measure.rejected).sort("source", "row", "reason").select("reason")
    first = bad.head()
    if first is None:
        return "the input is empty"
    return f"all {bad.count()} rows are rejected, the first because {first[0]}"
