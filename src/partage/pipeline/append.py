"""``partage profile --append``: a profile that grows by what came since its last run.

Such a profile has two more tables: ``measured``, the files that were read with their length and
time of modification, and ``key_counts``, the records and bytes of each key by partition. Windows
and counts of keys are sums; so those of new files are added to them, and every figure is that of
all records measured at once.

The grown profile is written beside the one before and replaces it, together with its list of files,
by a rename. So a run that died left nothing that counts: the next one reads the same files again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from partage.errors import InputError
from partage.measured_loads import MARKER
from partage.measured_loads.damaged import damaged_counted
from partage.measured_loads.files import read_marker
from partage.measured_loads.max_rejected import MaxRejected
from partage.period import ALWAYS, Period
from partage.pipeline import measure, profile
from partage.pipeline.cache import Cache
from partage.pipeline.damaged import without_damaged
from partage.pipeline.profile import Measurement, Paths, header, measured
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.session import spark_errors
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources import SOURCES, Reading, check_formats, frames, kafka
from partage.pipeline.sources.files import literal, refuse_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURED = "measured"
KEY_COUNTS = "key_counts"

SCHEMAS: dict[str, pa.Schema] = {
    MEASURED: pa.schema(
        [
            ("source", pa.string()),
            ("length", pa.int64()),
            ("modified", pa.timestamp("us", "UTC")),
        ]
    ),
    KEY_COUNTS: pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("key", pa.binary()),
            ("records", pa.int64()),
            ("bytes", pa.int64()),
        ]
    ),
}
"""The columns of the tables that ``append`` needs."""

_SUFFIXES = tuple(suffix for source in SOURCES for suffix in source.suffixes)
_TABLES = ("windows", "rejected", *SCHEMAS)
_KEY = ("topic", "partition", "key")
_COUNTED = (*_KEY, "records", "bytes")
_OPTIONS = {"window": "window_seconds", "top": "top_keys", "since": "from", "until": "to"}


@dataclass(frozen=True)
class Earlier:
    """A profile to append to. ``about``: its ``profile.json``; ``measured``: length and time of
    modification of its files, in microseconds since 1970. Without a profile all are empty."""

    path: Path
    about: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """A table of the profile."""
        schema = from_arrow_schema(SCHEMAS.get(name) or profile.SCHEMAS[name])
        if not self.measured:
            return spark.createDataFrame([], schema)
        reader = spark.read.schema(schema).option("recursiveFileLookup", "true")
        return reader.parquet(f"file:{literal(str((self.path / name).absolute()))}")

    def count(self, name: str) -> int:
        """A count of ``profile.json``."""
        found = self.about.get(name, 0)
        return found if isinstance(found, int) else 0


def append_profile(
    spark: SparkSession,
    paths: Paths,
    out: str | os.PathLike[str],
    *,
    window: int = measure.WINDOW_SECONDS,
    top: int = measure.TOP_KEYS,
    period: Period = ALWAYS,
    max_rejected: MaxRejected | None = None,
    columns: Mapping[str, str] | None = None,
    skip_damaged: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Add the records of new files to the profile in the directory ``out``, or start one.

    ``paths``: files of records, folders or patterns, of which the files that were measured before
    are left out; ``window``, ``top`` and ``period`` must be those of the profile. ``max_rejected``
    is for the new rows, ``columns`` and ``skip_damaged`` are as for ``write_profile``; a file that
    was damaged is new until it is whole. ``overwrite``: start again. Returns the contents of
    ``profile.json``, see ``write_profile``, which has ``new_files``: how many were added. Raises
    InputError, also for a file that has changed since it was measured, and PartageError for too
    many rejected rows.
    """
    sink = Sink(out, MARKER, PARQUET, overwrite=True)
    sink.check(spark)
    _check(sink, spark, paths)
    before = Earlier(Path(out))
    head = header(paths, window, top, period)
    if not overwrite:
        before = _earlier(Path(out), head)
    with spark_errors(), Cache() as cached:
        with reported(spark, progress, "listing files"):
            new = _new_files(spark, paths, before)
        reading = Reading(columns or {})
        if skip_damaged:
            reading = without_damaged(spark, {RECORDS: list(new)}, reading, progress)
            new = {name: stamp for name, stamp in new.items() if name not in reading.left_out}
        if not new:
            return {**before.about, **damaged_counted(reading.left_out), "new_files": 0}
        with (
            measured(
                *(spark, {RECORDS: list(new)}, window, top, period, max_rejected, progress),
                reading=reading,
                listed=True,
            ) as found,
            sink.opened(spark) as tables,
        ):
            if not (before.measured or found.about["totals"]["records"]):
                raise InputError(os.fspath(paths[0]), "no records: all rows are rejected")
            grown = _grown(spark, found, before, cached, window, top, period)
            for name, frame in grown.items():
                with reported(spark, progress, name):
                    schema = SCHEMAS.get(name) or profile.SCHEMAS[name]
                    tables.add(name, frame, schema, profile.ORDER.get(name, _KEY))
            tables.add_here(MEASURED, _as_table({**before.measured, **new}))
            sources = dict.fromkeys([*before.about.get("sources", ()), *head["sources"]])
            tables.about = {
                **head,
                "sources": list(sources),
                **_figures(found, grown, before),
                "new_files": len(new),
            }
    return {**tables.about, "format": PARQUET}


def _grown(
    spark: SparkSession,
    found: Measurement,
    before: Earlier,
    cached: Cache,
    window: int,
    top: int,
    period: Period,
) -> dict[str, DataFrame]:
    """The tables of all records, from those of the new ones and of the profile before."""
    assert found.by_key is not None
    sums = [sf.sum(name).alias(name) for name in ("records", "bytes")]
    spans = [sf.min("first").alias("first"), sf.max("last").alias("last")]
    names = profile.SCHEMAS["windows"].names
    every = before.table(spark, "windows").unionAll(found.frames["windows"]).groupBy(*names[:3])
    windows = cached(every.agg(*sums, sf.sum("null_keys").alias("null_keys"), *spans))
    every_key = before.table(spark, KEY_COUNTS).unionAll(found.by_key.select(*_COUNTED))
    # the rows of a key together, as for a profile that does not grow
    key_counts = cached(every_key.groupBy(*_KEY).agg(*sums).repartition("topic", "key"))
    return {
        "windows": windows.select(*names),
        "partitions": windows.transform(measure.partitions, key_counts, window, period),
        "keys": key_counts.transform(measure.keys, top),
        "rejected": before.table(spark, "rejected").unionAll(found.frames["rejected"]),
        KEY_COUNTS: key_counts,
    }


def _figures(found: Measurement, grown: Mapping[str, DataFrame], before: Earlier) -> dict[str, Any]:
    """The counts of all records for ``profile.json``."""
    windows = grown["windows"].withColumn("in_seconds", sf.lit(0))
    every = windows.transform(measure.figures).collect()[0].asDict()
    rejected = before.about.get("totals", {}).get("rejected", 0) + found.about["totals"]["rejected"]
    reasons = grown["rejected"].transform(measure.reasons).limit(profile.REASONS_SHOWN)
    totals = {name: every[name] for name in ("records", "bytes", "topics", "partitions")}
    return {
        **{n: before.count(n) + found.about[n] for n in ("outside", "in_seconds")},
        **{n: found.about[n] for n in ("damaged", "damaged_files")},
        "totals": {**totals, "rejected": rejected},
        "rejected": [row.asDict() for row in reasons.collect()] if rejected else [],
    }


def _check(sink: Sink, spark: SparkSession, paths: Paths) -> None:
    """Raise InputError where a profile cannot grow."""
    for path in [os.fspath(path) for path in paths]:
        if path.startswith((kafka.SCHEME, frames.SCHEME)):
            shown = path.partition("?")[0]
            raise InputError("`append`", f"knows what is new among files only, found {shown}")
    if not sink.shared(spark):
        problem = "Spark must run on this machine, or share the directory with it"
        raise InputError(os.fspath(sink.path), f"cannot be appended to: {problem}")


def _earlier(path: Path, head: Mapping[str, Any]) -> Earlier:
    """The profile in a directory. ``head``: what its ``profile.json`` must begin with, but for its
    sources. Raises InputError."""
    if not (path / MARKER).is_file():
        return Earlier(path)
    about = read_marker(path / MARKER)
    del about["period"]  # not in the file
    if not all((path / name).is_dir() for name in _TABLES):
        problem = "was not written with `append`: measure again with `append` and `overwrite`"
        raise InputError(os.fspath(path), problem)
    for option, key in _OPTIONS.items():
        if about.get(key) != head[key]:
            problem = f"was measured with `{option}` {about.get(key)}, not {head[key]}"
            raise InputError(os.fspath(path), f"{problem}: keep it, or add `overwrite`")
    return Earlier(path, about, _measured(path / MEASURED))


def _measured(folder: Path) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for file in sorted(folder.glob("*.parquet")):
        try:
            table = pq.ParquetFile(file).read().select(SCHEMAS[MEASURED].names)
            table = table.cast(SCHEMAS[MEASURED])
            table.validate(full=True)  # texts must be UTF-8
        except (pa.ArrowException, OSError, KeyError):
            raise InputError(os.fspath(file), "is not a table of a profile") from None
        times = table["modified"].cast(pa.int64()).to_pylist()
        stamps = zip(table["length"].to_pylist(), times, strict=True)
        found |= dict(zip(table["source"].to_pylist(), stamps, strict=True))
    return found


def _new_files(spark: SparkSession, paths: Paths, before: Earlier) -> dict[str, tuple[int, int]]:
    """The files under ``paths``, with length and time of modification, that were not measured yet.
    Raises InputError for one that has changed since."""
    found: dict[str, tuple[int, int]] = {}
    for path in [os.fspath(path) for path in paths]:
        own = {}
        reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        columns = ("path", "length", sf.unix_micros("modificationTime"))
        for name, length, modified in reader.load(literal(path)).select(*columns).collect():
            local = re.sub("^file:/+", "/", name)
            if local.endswith(_SUFFIXES) and length:
                own[local] = (length, modified)
        refuse_table(path, own)
        found |= own
    if not before.measured:
        check_formats(os.fspath(paths[0]), found)
    for name, stamp in found.items():
        if before.measured.get(name, stamp) != stamp:
            problem = (
                "has changed since it was measured: measure again with `append` and `overwrite`"
            )
            raise InputError(name, problem)
    return {name: found[name] for name in sorted(found.keys() - before.measured.keys())}


def _as_table(measured: Mapping[str, tuple[int, int]]) -> pa.Table:
    """Files that were measured → the table ``measured``."""
    names = sorted(measured)
    columns = [names, [measured[name][0] for name in names], [measured[n][1] for n in names]]
    types = SCHEMAS[MEASURED].types
    arrays = [
        pa.array(columns[0], types[0]),
        pa.array(columns[1], types[1]),
        pa.array(columns[2], pa.int64()).cast(types[2]),
    ]
    return pa.table(arrays, schema=SCHEMAS[MEASURED])
