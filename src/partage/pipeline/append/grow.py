"""Add what is new to the tables of a profile.

A profile that grows has two more tables: ``measured``, how far each source is measured (``marks``),
and ``key_counts``, the records and bytes of each key by partition. Windows and counts of keys are
sums; so those of new records are added to them, and every figure is that of all records measured at
once.

The grown profile is written beside the one before and replaces it, together with ``measured``, in
one step (``sinks``). So a run that died left nothing that counts: the next one reads the same
records again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from partage.errors import InputError
from partage.measured_loads import MARKER
from partage.measured_loads.damaged import damaged_counted
from partage.measured_loads.files import checked_marker
from partage.measured_loads.max_rejected import MaxRejected
from partage.measured_loads.offsets import ReadOffsets
from partage.measured_loads.places import FILES, Place
from partage.outputs import is_store
from partage.period import ALWAYS, Period
from partage.pipeline import measure, profile
from partage.pipeline.append import marks, topics
from partage.pipeline.append.files import new_files
from partage.pipeline.append.marks import Mark, New
from partage.pipeline.append.tables import new_rows
from partage.pipeline.cache import Cache
from partage.pipeline.far_records import far_records
from partage.pipeline.profile import Measurement, Paths, header, measured
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.sinks import PARQUET, Sink
from partage.pipeline.sources import Keep, Reading, kafka
from partage.pipeline.sources.files import literal
from partage.pipeline.sources.tables import SCHEME, Table
from partage.pipeline.spark_errors import spark_errors
from partage.pipeline.stored_places import PlaceOfStore
from partage.pipeline.stores import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURED = "measured"
KEY_COUNTS = "key_counts"

SCHEMAS: dict[str, pa.Schema] = {
    MEASURED: marks.SCHEMA,
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

_TABLES = ("windows", "rejected", *SCHEMAS)
_KEY = ("topic", "partition", "key")
_OPTIONS = {"window": "window_seconds", "top": "top_keys", "since": "from", "until": "to"}
_NOTHING = {"new_files": 0, "tables": [], **damaged_counted(()), **topics.Unread().about()}
"""Fields of ``profile.json`` about a run without files, tables and topics."""


@dataclass(frozen=True)
class Earlier:
    """A profile to append to. ``about``: its ``profile.json``; ``measured``: how far its sources
    were. Without a profile all are empty."""

    place: Place
    about: Mapping[str, Any] = field(default_factory=dict)
    measured: Sequence[Mark] = ()

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """A table of the profile."""
        schema = from_arrow_schema(SCHEMAS.get(name) or profile.SCHEMAS[name])
        if not self.about:
            return spark.createDataFrame([], schema)
        files = [self.place.shown(file) for file in self.place.files(name) or ()]
        if not is_store(self.place.path):
            files = [f"file:{literal(str(Path(file).absolute()))}" for file in files]
        return spark.read.schema(schema).parquet(*files)

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
    read_offsets: ReadOffsets | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Add the records of new files and offsets to the profile in the directory ``out``, or start
    one.

    ``paths``: files of records, folders or patterns, of which the files that were measured before
    are left out; tables, of which the rows that came since are read; and ``kafka://`` URLs, which
    are read from where the last run ended, if ``read_offsets`` is given (``partage.profile`` does).
    ``window``, ``top`` and ``period`` must be those of the profile. ``max_rejected`` is for the new
    rows, ``columns`` and ``skip_damaged`` are as for ``write_profile``; a file that was damaged is
    new until it is whole. ``overwrite``: start again. Returns the contents of ``profile.json``, see
    ``write_profile``, with what was new: ``new_files``, ``tables`` (versions), ``new_offsets``, and
    the offsets that were lost (``partage.pipeline.append.topics``). Raises InputError, also for a
    file or a row of a table that has changed since it was measured, and PartageError for too many
    rejected rows.
    """
    named = [os.fspath(path) for path in paths]
    sink = Sink(out, MARKER, PARQUET, overwrite=True)
    sink.check(spark)
    if read_offsets is None and any(path.startswith(kafka.SCHEME) for path in named):
        raise InputError("`append`", "needs `read_offsets` for Kafka")
    _check(sink, spark)
    place = PlaceOfStore(Store(spark, os.fspath(out))) if is_store(out) else Place(os.fspath(out))
    before = Earlier(place)
    head = header(named, window, top, period)
    if not overwrite:
        before = _earlier(place, head)
    files = [path for path in named if not path.startswith((kafka.SCHEME, SCHEME))]
    urls = [path for path in named if path.startswith(kafka.SCHEME)]
    with spark_errors(), Cache() as cached, topics.explained() if urls else nullcontext():
        every: list[New] = []
        if files:
            reading = Reading(columns or {})
            own = (spark, files, before.measured, reading, progress)
            every.append(new_files(*own, skip_damaged=skip_damaged))
        for path in named:
            if path.startswith(SCHEME):
                with reported(spark, progress, "comparing versions"):
                    every.append(new_rows(spark, Table.of(path), before.measured))
        if urls:
            assert read_offsets is not None
            with reported(spark, progress, "asking Kafka for offsets"):
                every += [
                    topics.new_records(spark, url, before.measured, read_offsets) for url in urls
                ]
        new = _together(every)
        about = {**_NOTHING, **new.about}
        about["removed_offsets"] += before.count("removed_offsets")
        if not new.marks:
            return {**before.about, **about}
        with (
            measured(
                *(spark, {RECORDS: named}, window, top, period, max_rejected, progress),
                new_rows=new.rows,
            ) as found,
            sink.opened(spark) as tables,
        ):
            if not (before.about or found.about["totals"]["records"]):
                why = "it is empty"
                if found.about["outside"]:
                    why = f"none {period}"
                elif found.about["totals"]["rejected"]:
                    why = "all rows are rejected"
                raise InputError(named[0], f"no records: {why}")
            grown = _grown(spark, found, before, cached, window, top, period)
            for name, frame in grown.items():
                with reported(spark, progress, name):
                    schema = SCHEMAS.get(name) or profile.SCHEMAS[name]
                    tables.add(name, frame, schema, profile.ORDER.get(name, _KEY))
            tables.add_here(MEASURED, marks.as_table(marks.merged(before.measured, new.marks)))
            sources = dict.fromkeys([*before.about.get("sources", ()), *head["sources"]])
            tables.about = {
                **head,
                "sources": list(sources),
                **_figures(found, grown, before, window, period),
                **about,
            }
            new.check()
    return {**tables.about, "format": PARQUET}


def _together(every: Sequence[New]) -> New:
    """All that is new. Raises InputError for what is given twice."""
    found: set[tuple[str, str, int, str]] = set()
    for one in every:
        if twice := found & {mark.key for mark in one.marks}:
            raise InputError(f"topic {min(twice)[1]}", "is given twice")
        found |= {mark.key for mark in one.marks}

    def rows(keep: Keep, origins: bool) -> DataFrame:
        return reduce(
            lambda one, other: one.unionAll(other),
            (new.rows(keep, origins) for new in every if new.marks),
        )

    def check() -> None:
        for new in every:
            new.check()

    return New(
        tuple(mark for one in every for mark in one.marks),
        rows,
        _added([one.about for one in every]),
        check,
    )


def _added(every: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts and lists by name, added up."""
    found: dict[str, Any] = {}
    for about in every:
        found |= {name: found[name] + own if name in found else own for name, own in about.items()}
    return found


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
    assert found.records is not None
    sums = [sf.sum(name).alias(name) for name in ("records", "bytes")]
    spans = [sf.min("first").alias("first"), sf.max("last").alias("last")]
    names = profile.SCHEMAS["windows"].names
    every = before.table(spark, "windows").unionAll(found.frames["windows"]).groupBy(*names[:3])
    windows = cached(every.agg(*sums, sf.sum("null_keys").alias("null_keys"), *spans))
    every_key = before.table(spark, KEY_COUNTS).unionAll(found.records.transform(measure.by_key))
    # the rows of a key together, as for a profile that does not grow
    key_counts = cached(every_key.groupBy(*_KEY).agg(*sums).repartition("topic", "key"))
    return {
        "windows": windows.select(*names),
        "partitions": windows.transform(measure.partitions, key_counts, window, period),
        "keys": key_counts.transform(measure.keys, top),
        "rejected": before.table(spark, "rejected").unionAll(found.frames["rejected"]),
        KEY_COUNTS: key_counts,
    }


def _figures(
    found: Measurement,
    grown: Mapping[str, DataFrame],
    before: Earlier,
    window: int,
    period: Period,
) -> dict[str, Any]:
    """The counts of all records for ``profile.json``."""
    windows = grown["windows"].withColumn("in_seconds", sf.lit(0))
    every = windows.transform(measure.figures).collect()[0].asDict()
    rejected = before.about.get("totals", {}).get("rejected", 0) + found.about["totals"]["rejected"]
    reasons = grown["rejected"].transform(measure.reasons)
    totals = {name: every[name] for name in ("records", "bytes", "topics", "partitions")}
    return {
        **{n: before.count(n) + found.about[n] for n in ("outside", "in_seconds")},
        "totals": {**totals, "rejected": rejected},
        "rejected": [row.asDict() for row in reasons.collect()] if rejected else [],
        "invalid_topics": every["invalid_topics"],
        "far_records": far_records(grown["windows"], every, window, period),
    }


def _check(sink: Sink, spark: SparkSession) -> None:
    """Raise InputError where a profile cannot grow."""
    if not (is_store(sink.path) or sink.shared(spark)):
        problem = "Spark must run on this machine, or share the directory with it"
        raise InputError(os.fspath(sink.path), f"cannot be appended to: {problem}")


def _earlier(place: Place, head: Mapping[str, Any]) -> Earlier:
    """The profile in a place. ``head``: what its ``profile.json`` must begin with, but for its
    sources. Raises InputError."""
    if not place.has(MARKER):
        return Earlier(place)
    about = checked_marker(place.about(), place.shown(MARKER))
    del about["period"]  # not in the file
    about.pop(FILES, None)
    if any(place.files(name) is None for name in _TABLES):
        problem = "was not written with `append`: measure again with `append` and `overwrite`"
        raise InputError(place.path, problem)
    for option, key in _OPTIONS.items():
        if about.get(key) != head[key]:
            problem = f"was measured with `{option}` {about.get(key)}, not {head[key]}"
            raise InputError(place.path, f"{problem}: keep it, or add `overwrite`")
    return Earlier(place, about, marks.read_marks(place, MEASURED))
