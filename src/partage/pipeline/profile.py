"""``partage profile``: measure records, and samples of sizes and lags, into a directory of tables.

The records are read twice, to group them by window and by key, and once more if rows are rejected.
Both groupings are cached, on disk where memory is short, and the executors write the tables
(``sinks``): no table is collected, so the driver needs the same memory for any number of records,
windows, keys and rejected rows. The same records give the same rows, however many files they are
in. Approximately, samples take the place of the grouping by key (``approximate``).

Input that costs more to read than a cache of it is cached, too: all formats but Parquet, of which
each pass reads only the columns that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

import partage
from partage.errors import InputError
from partage.measured_loads import FORMAT_VERSION, MARKER
from partage.measured_loads.damaged import damaged_counted
from partage.measured_loads.files import LONGEST_WINDOW
from partage.measured_loads.max_rejected import MaxRejected
from partage.period import ALWAYS, Period, shown
from partage.pipeline import approximate as approximation
from partage.pipeline import measure, samples
from partage.pipeline.cache import Cache
from partage.pipeline.damaged import skipping_advised, without_damaged
from partage.pipeline.far_records import far_records
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.rows import RowType
from partage.pipeline.samples import LAGS, SIZES
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources import AS_THEY_ARE, Keep, Reading, read_rows
from partage.pipeline.sources.tables import pinned, shown_as
from partage.pipeline.spark_errors import spark_errors
from partage.redaction import redacted
from partage.units import MAX_COUNT, plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Paths = Sequence[str | os.PathLike[str]]

NewRows = Callable[[Keep, bool], "DataFrame"]
"""Returns records, of which ``keep`` is applied to those that are costly to read again; with the
file of each only if that is wanted."""

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
            ("null_keys", pa.int64()),
            ("first", _TIME),
            ("last", _TIME),
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

ORDER = {
    "partitions": ("topic", "partition"),
    "keys": ("topic", "rank"),
    "windows": ("topic", "partition", "window_start"),
    "sizes": ("topic", "partition"),
    "lags": ("group", "topic", "partition"),
    "rejected": ("source", "row", "reason"),
}


@dataclass(frozen=True)
class Measurement:
    """``frames`` by table; ``about``: figures for ``profile.json``: outside, totals, rejected.
    ``records``: the valid ones of the period; None if there are only samples."""

    frames: Mapping[str, DataFrame]
    about: Mapping[str, Any]
    records: DataFrame | None = None


def profile_tables(
    spark: SparkSession,
    paths: Paths,
    *,
    sizes: Paths = (),
    lags: Paths = (),
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    period: Period = ALWAYS,
    approximate: bool = False,
    progress: Progress | None = None,
) -> dict[str, pa.Table]:
    """The tables of ``SCHEMAS``, sorted, in memory.

    ``paths``: records; may be empty if there are samples of ``sizes`` or ``lags``. ``window`` is in
    seconds. Rows outside ``period`` are ignored. ``approximate``: see ``write_profile``. Raises
    InputError for input that cannot be read or has no valid row.
    """
    given = {RECORDS: _pinned(spark, paths), SIZES: sizes, LAGS: lags}
    tables = {}
    with measured(
        spark, given, window, top, period, None, progress, approximate=approximate
    ) as found:
        for name, frame in found.frames.items():
            with reported(spark, progress, name):
                tables[name] = _fetch(frame, name)
    return tables


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
    max_rejected: MaxRejected | None = None,
    columns: Mapping[str, str] | None = None,
    skip_damaged: bool = False,
    approximate: bool = False,
    format: str = PARQUET,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the tables of ``profile_tables`` to the directory ``out``, whole or not at all.

    ``max_rejected``: fail if more rows are rejected. ``columns``: those of the files of records
    that are called otherwise, ``{"key": "payload.id"}``. ``skip_damaged``: leave damaged files out,
    where they would be an error. ``approximate``: estimate distinct and hottest keys, with the
    bounds in ``profile.json`` (``pipeline.approximate``). ``format``: any format that Spark knows
    by name; plans read Parquet only. An existing profile is replaced only with ``overwrite``.
    Returns the contents of ``profile.json``: format_version, partage, sources, window_seconds,
    top_keys, from and to (``period``), outside (valid rows not in the period), in_seconds (rows
    whose time is a number of seconds), damaged and damaged_files (number and first names), totals
    (records, bytes, rejected, topics, partitions), rejected (rows by source and reason, the most
    frequent ones), far_records (topics with records far from all others in time), invalid_topics
    (names that Kafka does not accept), approximate (bounds, if the profile is) and format. Raises
    InputError, and PartageError for too many rejected rows.
    """
    sink = Sink(out, MARKER, format, overwrite)
    sink.check(spark)
    given = {RECORDS: _pinned(spark, paths), SIZES: sizes, LAGS: lags}
    reading = Reading(columns or {})
    if skip_damaged:
        reading = without_damaged(spark, given, reading, progress)
    with (
        measured(
            *(spark, given, window, top, period, max_rejected, progress),
            reading=reading,
            approximate=approximate,
        ) as found,
        sink.opened(spark) as tables,
    ):
        for name, frame in found.frames.items():
            with reported(spark, progress, name):
                tables.add(name, frame, SCHEMAS[name], ORDER[name])
        sources = [path for own in given.values() for path in own]
        tables.about = {**header(sources, window, top, period), **found.about}
    return {**tables.about, "format": format}


def _pinned(spark: SparkSession, paths: Paths) -> Paths:
    """The paths, those of tables with the version that is read."""
    found = []
    for path in [os.fspath(one) for one in paths]:
        with spark_errors(shown_as(path)):
            found.append(pinned(spark, path))
    return found


def header(sources: Paths, window: int, top: int, period: Period) -> dict[str, Any]:
    """What ``profile.json`` begins with."""
    return {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "sources": [redacted(os.fspath(path)) for path in sources],
        "window_seconds": window,
        "top_keys": top,
        "from": None if period.since is None else shown(period.since),
        "to": None if period.until is None else shown(period.until),
    }


@contextmanager
def measured(
    spark: SparkSession,
    given: Mapping[RowType, Paths],
    window: int,
    top: int,
    period: Period,
    max_rejected: MaxRejected | None,
    progress: Progress | None,
    *,
    reading: Reading = AS_THEY_ARE,
    new_rows: NewRows | None = None,
    approximate: bool = False,
) -> Iterator[Measurement]:
    """The tables to compute, with their inputs cached until the end of the block.

    ``reading``: how files are read; ``new_rows``: the records, in place of those of the paths, of
    which none needs to be valid. Raises InputError for input that cannot be read or has no valid
    row, PartageError for too many rejected rows.
    """
    check_options(window, top, period)
    with skipping_advised(), spark_errors(), Cache() as cached:
        kinds = [kind for kind, paths in given.items() if paths] or [RECORDS]
        with reported(spark, progress, "reading") as note:
            noting = replace(reading, note=note)
            rows = {
                kind: _rows(spark, given[kind], kind, cached, noting, new_rows, origins=False)
                for kind in kinds
            }
            windowed = None
            if RECORDS in rows:
                every = rows[RECORDS].transform(measure.with_uncounted, period)
                aggregates = {"bitmaps": approximation.bitmaps()} if approximate else {}
                windowed = cached(every.transform(measure.by_window, window, aggregates))
            figures = {
                kind: measure.figures(windowed)
                if kind == RECORDS and windowed is not None
                else measure.counts(rows[kind], period)
                for kind in kinds
            }
            found = {kind: one.collect()[0].asDict() for kind, one in figures.items()}
            for kind, own in found.items():
                if own["records"] == 0 and new_rows is None:
                    why = _all_outside(own, period) or _why_none(rows[kind])
                    raise InputError(os.fspath(given[kind][0]), f"no {kind.name}: {why}")
            bad = sum(own["rejected"] for own in found.values())
            rejected = _empty(spark, "rejected")
            reasons: list[dict[str, Any]] = []
            if bad:
                named = (
                    _rows(spark, given[kind], kind, cached, reading, new_rows) for kind in kinds
                )
                every_bad = (frame.transform(measure.rejected) for frame in named)
                every_row = _union(every_bad).hint("rebalance", "source", "row")
                rejected = cached(every_row, on_disk=True)
                counted = rejected.transform(measure.reasons)
                reasons = [row.asDict() for row in counted.collect()]
            far = []
            if windowed is not None and new_rows is None:
                far = far_records(windowed, found[RECORDS], window, period)
        if max_rejected is not None and bad:
            read = bad + sum(own["records"] + own["outside"] for own in found.values())
            max_rejected.check(bad, read, f"{reasons[0]['reason']} ({reasons[0]['source']})")
        frames = {name: _empty(spark, name) for name in ("windows", "partitions", "keys")}
        good = {kind: _good(kind, frame, found[kind], period) for kind, frame in rows.items()}
        bounds: dict[str, Any] = {}
        if windowed is not None:
            frames["windows"] = windowed.transform(measure.windows)
            if approximate:
                with reported(spark, progress, "sampling"):
                    places = approximation.places(windowed)
                    drawn = cached(good[RECORDS].transform(approximation.drawn, places))
                    counts = approximation.counts(drawn, places)
                keyed = spark.createDataFrame(approximation.distinct_keys(counts))
                bounds = {"approximate": approximation.bounds(counts)}
                frames["keys"] = drawn.transform(approximation.keys, counts, top)
            else:
                highest = found[RECORDS]["highest"] or 0
                keyed = cached(good[RECORDS].transform(_by_key, highest + 1))
                every_record = windowed.transform(measure.topic_records)
                frames["keys"] = keyed.transform(measure.keys, top, every_record)
            frames["partitions"] = windowed.transform(measure.partitions, keyed, window, period)
        if SIZES in good:
            frames["sizes"] = good[SIZES].transform(samples.sizes)
        if LAGS in good:
            frames["lags"] = good[LAGS].transform(samples.lags)
        of_records = found.get(RECORDS, {})
        totals = {
            "records": of_records.get("records", 0),
            "bytes": of_records.get("bytes", 0),
            "rejected": bad,
            "topics": of_records.get("topics", 0),
            "partitions": of_records.get("partitions", 0),
        }
        outside = sum(own["outside"] for own in found.values())
        in_seconds = sum(own["in_seconds"] for own in found.values())
        about: dict[str, Any] = {"outside": outside, "in_seconds": in_seconds, "totals": totals}
        about |= {"rejected": reasons, "far_records": far}
        about["invalid_topics"] = of_records.get("invalid_topics", [])
        about |= {**bounds, **damaged_counted(reading.left_out)}
        yield Measurement({**frames, "rejected": rejected}, about, good.get(RECORDS))


def _good(kind: RowType, rows: DataFrame, found: Mapping[str, Any], period: Period) -> DataFrame:
    """The valid rows of the period. Where all rows have been found to be, they are not checked
    again, and the columns that only the checks need are not read."""
    if found["rejected"] or found["outside"]:
        return kind.accepted(rows).where(measure.within(period))
    return rows.select(*kind.columns)


def _by_key(records: DataFrame, partitions: int) -> DataFrame:
    """Records of partitions below ``partitions`` → ``measure.key_places``, or ``by_key`` for very
    many partitions; the rows of a key are in one task."""
    if partitions <= measure.MOST_PLACES:
        return measure.key_places(records, partitions)
    return measure.by_key(records).repartition("topic", "key")


def _rows(
    spark: SparkSession,
    paths: Paths,
    kind: RowType,
    cached: Cache,
    reading: Reading,
    new_rows: NewRows | None,
    *,
    origins: bool = True,
) -> DataFrame:
    if new_rows is not None:
        return new_rows(cached, origins)
    own = reading.of(kind)
    return read_rows(spark, paths, kind, cached, origins=origins, reading=own)


def check_options(window: int, top: int, period: Period) -> None:
    """Raise InputError for what is not a number of seconds or of keys, and for a window that is
    longer than the period."""
    _check_whole("window", window, LONGEST_WINDOW, "seconds")
    _check_whole("top", top, MAX_COUNT, "keys")
    if period.since is not None and period.until is not None:
        length = (period.until - period.since) / 1000
        if window > length:
            raise InputError(
                "window",
                f"{window} s: must not be longer than the period of {length:g} s, {period}",
            )


def _check_whole(name: str, given: Any, most: int, unit: str) -> None:
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not (whole and 1 <= int(given) <= most):
        expected = f"expected a whole number of {unit}, 1 to {most:,}"
        raise InputError(f"{name} {repr(given)[:60]}", expected)


def _empty(spark: SparkSession, name: str) -> DataFrame:
    return spark.createDataFrame([], from_arrow_schema(SCHEMAS[name]))


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)


def _fetch(frame: DataFrame, name: str) -> pa.Table:
    schema = SCHEMAS[name]
    table = frame.toArrow().select(schema.names).cast(schema)
    return table.sort_by([(column, "ascending") for column in ORDER[name]]).combine_chunks()


def _all_outside(found: Mapping[str, Any], period: Period) -> str:
    """A sentence about the rows outside the period; empty if there are none."""
    if not found["outside"]:
        return ""
    first, last = found["outside_first"], found["outside_last"]
    return f"none {period}: all are from {shown(first)} to {shown(last)}"


def _why_none(rows: DataFrame) -> str:
    bad = rows.transform(measure.rejected).sort("source", "row", "reason").select("reason")
    first = bad.head()
    if first is None:
        return "the input is empty"
    rows = plural(bad.count(), "row is", "rows are")
    return f"{rows} rejected, the first because {first[0]}"
