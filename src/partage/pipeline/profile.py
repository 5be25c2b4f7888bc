"""``partage profile``: records in, a directory of measured tables out.

The tables come home through Arrow and are written here, not by Spark's executors: only so do they
end up on this machine whether Spark runs inside it, on a cluster or behind Spark Connect, and whole
or not at all. They are small against the records (a row per partition, per window of a partition,
per hot key, per bad row); each is sorted and written as one file, so that the same records give the
same bytes.

Records are cached when they are first read: three jobs use them (windows, keys, rejected).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import partage
from partage.errors import InputError
from partage.files import check_writable_directory, new_directory, to_json
from partage.pipeline import measure
from partage.pipeline.cache import Cache
from partage.pipeline.progress import Progress, reported
from partage.pipeline.session import spark_errors
from partage.pipeline.sources import read_records
from partage.profile import FORMAT_VERSION, MARKER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    "rejected": pa.schema([("source", pa.string()), ("row", pa.string()), ("reason", pa.string())]),
}
"""The tables' columns."""

_ORDER = {
    "partitions": ("topic", "partition"),
    "keys": ("topic", "rank"),
    "windows": ("topic", "partition", "window_start"),
    "rejected": ("source", "row", "reason"),
}


def profile_tables(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    *,
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    progress: Progress | None = None,
) -> dict[str, pa.Table]:
    """The four tables of ``SCHEMAS``, sorted, in memory. ``window`` is in seconds.

    Raises InputError for input that cannot be read or holds no record.
    """
    if window < 1:
        raise InputError("window", f"{window} seconds: a window has at least one")
    if top < 1:
        raise InputError("top", f"{top}: at least one key per topic")
    with spark_errors(), Cache() as cached:
        with reported(spark, progress, "reading"):
            records = cached(read_records(spark, paths))
        good = records.transform(measure.accepted)
        windowed = cached(good.transform(measure.by_window, window))
        keyed = cached(good.transform(measure.by_key))
        frames = {
            "windows": windowed.transform(measure.windows),
            "partitions": windowed.transform(measure.partitions, keyed, window),
            "keys": keyed.transform(measure.keys, top),
            "rejected": records.transform(measure.rejected),
        }
        tables = {}
        for name, frame in frames.items():
            with reported(spark, progress, name):
                tables[name] = _fetch(frame, name)
    if tables["partitions"].num_rows == 0:
        raise InputError(os.fspath(paths[0]), _why_none(tables["rejected"]))
    return tables


def write_profile(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the records under ``paths`` and write ``out`` whole or not at all.

    Returns what ``profile.json`` in it says: format_version, partage, sources, window_seconds,
    top_keys and totals (records, bytes, rejected, topics, partitions). Raises InputError.
    """
    check_writable_directory(out, MARKER)
    tables = profile_tables(spark, paths, window=window, top=top, progress=progress)
    measured = tables["partitions"]
    about = {
        "format_version": FORMAT_VERSION,
        "partage": partage.__version__,
        "sources": [os.fspath(path) for path in paths],
        "window_seconds": window,
        "top_keys": top,
        "totals": {
            "records": pc.sum(measured["records"]).as_py(),
            "bytes": pc.sum(measured["bytes"]).as_py(),
            "rejected": tables["rejected"].num_rows,
            "topics": len(pc.unique(measured["topic"])),
            "partitions": measured.num_rows,
        },
    }
    with new_directory(out, MARKER) as directory:
        for name, table in tables.items():
            (directory / name).mkdir()
            pq.write_table(table, directory / name / "part-00000.parquet", compression="zstd")
        (directory / MARKER).write_text(to_json(about, indent=2), encoding="utf-8")
    return about


def _fetch(frame: DataFrame, name: str) -> pa.Table:
    schema = SCHEMAS[name]
    table = frame.toArrow().select(schema.names).cast(schema)
    return table.sort_by([(column, "ascending") for column in _ORDER[name]]).combine_chunks()


def _why_none(rejected: pa.Table) -> str:
    if rejected.num_rows == 0:
        return "no records: the input is empty"
    first = rejected["reason"][0].as_py()
    return f"no records: all {rejected.num_rows} rows are rejected, the first because {first}"
