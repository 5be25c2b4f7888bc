"""Where rows come from: records, and samples of sizes and lags. A format of files is one module
here and one line in ``SOURCES`` (any kind of rows) or ``TOOLS`` (what a tool of Kafka's prints); a
cluster is named by a URL (``kafka``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from partage.errors import InputError
from partage.pipeline.records import RECORDS
from partage.pipeline.rows import Kind
from partage.pipeline.samples import LAGS, SIZES
from partage.pipeline.session import spark_errors
from partage.pipeline.sources import consumer_groups, csv, jsonl, kafka, log_dirs, parquet
from partage.pipeline.sources.files import Files, Source, list_files, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SOURCES", "TOOLS", "Files", "Source", "read_files", "read_records", "read_rows"]

SOURCES: tuple[Source, ...] = (
    Source("Parquet", (".parquet", ".parq"), parquet.read, quick=True),
    Source("JSON lines", jsonl.SUFFIXES, jsonl.read),
    Source("CSV", csv.SUFFIXES, csv.read),
)

TOOLS: dict[Kind, tuple[Source, ...]] = {
    SIZES: (Source("kafka-log-dirs.sh", log_dirs.SUFFIXES, log_dirs.read),),
    LAGS: (Source("kafka-consumer-groups.sh", consumer_groups.SUFFIXES, consumer_groups.read),),
}

Keep = Callable[["DataFrame"], "DataFrame"]
"""Takes rows, and gives the same that cost little to read again."""


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


def read_records(spark: SparkSession, paths: Sequence[str | os.PathLike[str]]) -> DataFrame:
    """The rows of all ``paths`` as ``partage.pipeline.records`` has them: good ones and bad ones.

    See ``read_rows``.
    """
    return read_rows(spark, paths, RECORDS)


def read_rows(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    kind: Kind,
    keep: Keep = _as_it_is,
) -> DataFrame:
    """The rows of all ``paths`` as columns of their kind, with ``BOOKKEEPING``.

    A path is a URL of a cluster (``kafka``, records only), or a file, a directory (searched to the
    bottom) or a glob, wherever Spark can read; the format follows from the files' names. Nothing
    but names, headers and first rows is read yet. ``keep`` is applied to the rows that are costly
    to read again: all but those of Parquet. Raises InputError for what is missing, empty,
    unreadable, given twice or lacks a column.
    """
    if not paths:
        raise InputError("", f"no {kind.name} given: name a file or a directory")
    frames: list[DataFrame] = []
    seen: set[str] = set()
    for path in [os.fspath(path) for path in paths]:
        with spark_errors(path):
            if path.startswith(kafka.SCHEME):
                if kind != RECORDS:
                    raise InputError(path, f"has records, expected files of {kind.name}")
                if path in seen:
                    raise InputError(path, "is given twice")
                seen.add(path)
                frames.append(keep(kafka.read(spark, path)))
                continue
            files = list_files(spark, path)
            if not files:
                raise InputError(path, "holds no files")
            if again := seen.intersection(files):
                raise InputError(path, f"{min(again)} was already given by another path")
            seen.update(files)
            own = _by_format(spark, path, literal(path), files, kind, keep)
            if not own:
                known = ", ".join(source.suffixes[0] for source in _sources(kind))
                raise InputError(path, f"no file of a known format (names that end in {known})")
            frames += own
    return _union(frames)


def read_files(spark: SparkSession, names: Sequence[str]) -> DataFrame:
    """The rows of just these files, of known formats, as ``read_records`` has them."""
    with spark_errors():
        return _union(_by_format(spark, None, [literal(name) for name in names], names))


def _by_format(
    spark: SparkSession,
    named: str | None,
    pattern: str | list[str],
    names: Sequence[str],
    kind: Kind = RECORDS,
    keep: Keep = _as_it_is,
) -> list[DataFrame]:
    """A frame for each format that there are files of; told by their names where None is given."""
    frames = []
    for source in _sources(kind):
        own = tuple(name for name in names if name.endswith(source.suffixes))
        if own:
            several = f"{own[0]} and {len(own) - 1} more" if len(own) > 1 else own[0]
            files = Files(named or several, pattern, source, own, kind)
            rows = source.read(spark, files)
            frames.append(rows if source.quick else keep(rows))
    return frames


def _sources(kind: Kind) -> tuple[Source, ...]:
    return (*SOURCES, *TOOLS.get(kind, ()))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)
