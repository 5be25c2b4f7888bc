"""Sources of records, and of samples of sizes and lags.

A file format is a module of this package and a line in ``SOURCES`` (for any row type) or ``TOOLS``
(the output of one of Kafka's tools). A cluster is named by a URL (``kafka``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from partage.errors import InputError
from partage.pipeline.records import RECORDS
from partage.pipeline.rows import RowType
from partage.pipeline.samples import LAGS, SIZES
from partage.pipeline.sources import (
    columnar,
    consumer_groups,
    csv,
    frames,
    jsonl,
    kafka,
    log_dirs,
    tables,
    unsplit,
)
from partage.pipeline.sources.files import (
    AS_THEY_ARE,
    Files,
    Reading,
    Source,
    list_files,
    literal,
    refuse_table,
)
from partage.pipeline.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "AS_THEY_ARE",
    "SOURCES",
    "TOOLS",
    "Files",
    "Keep",
    "Reading",
    "Source",
    "check_formats",
    "known_suffixes",
    "list_files",
    "read_files",
    "read_records",
    "read_rows",
]

SOURCES: tuple[Source, ...] = (
    Source("Parquet", (".parquet", ".parq"), columnar.parquet, quick=True),
    Source("ORC", (".orc",), columnar.orc, quick=True),
    Source("Avro", (".avro",), columnar.avro),
    Source("JSON lines", jsonl.SUFFIXES, jsonl.read),
    Source("CSV", csv.SUFFIXES, csv.read),
)

TOOLS: dict[RowType, tuple[Source, ...]] = {
    SIZES: (Source("kafka-log-dirs.sh", log_dirs.SUFFIXES, log_dirs.read),),
    LAGS: (Source("kafka-consumer-groups.sh", consumer_groups.SUFFIXES, consumer_groups.read),),
}

Keep = Callable[["DataFrame"], "DataFrame"]
"""Returns the same rows, cheap to read again."""


def _unchanged(frame: DataFrame) -> DataFrame:
    return frame


def read_records(
    spark: SparkSession | DataFrame,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    origins: bool = True,
    **columns: str,
) -> DataFrame:
    """The rows of all ``paths`` with the columns of records, valid and rejected ones.

    See ``read_rows``. In place of a session and paths: a DataFrame of your own. ``columns`` names
    those that are called otherwise, or are fields of a structure:
    ``read_records(frame, topic="t", key="payload.id")``.
    """
    from pyspark.sql import DataFrame

    if isinstance(spark, DataFrame):
        with spark_errors():
            return frames.mapped(spark, RECORDS, "DataFrame", columns)
    return read_rows(spark, paths, RECORDS, origins=origins, reading=Reading(columns))


def read_rows(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    row_type: RowType,
    keep: Keep = _unchanged,
    *,
    origins: bool = True,
    reading: Reading = AS_THEY_ARE,
) -> DataFrame:
    """The rows of all ``paths`` with the columns of their row type and ``BOOKKEEPING``.

    A path is a ``kafka://`` URL (records only), a table (``tables``), or a file, a directory
    (searched recursively) or a glob, anywhere Spark can read; the format follows from the file
    names, the rest from ``reading``. Only names, headers and first rows are read yet. ``keep`` is
    applied to rows that are costly to read again: all formats but Parquet and ORC. Without
    ``origins``, the ``source`` of a row of these is its path as given, not its file, which makes
    scans faster. Raises InputError for input that is missing, empty, unreadable, given twice or
    lacks a column.
    """
    if not paths:
        raise InputError("", f"no {row_type.name} given: name a file or a directory")
    row_type.check_mapping(reading.columns, "`columns`")
    read: list[DataFrame] = []
    seen: set[str] = set()
    for path in [os.fspath(path) for path in paths]:
        with spark_errors(tables.shown_as(path)):
            if path.startswith(kafka.SCHEME):
                if row_type != RECORDS:
                    raise InputError(path, f"has records, expected files of {row_type.name}")
                if path in seen:
                    raise InputError(path, "is given twice")
                seen.add(path)
                read.append(keep(kafka.read(spark, path)))
                continue
            if path.startswith(tables.SCHEME):
                read.append(frames.read(spark, path, row_type))
                continue
            files = list_files(spark, path)
            if not files:
                raise InputError(path, "holds no files")
            refuse_table(path, files)
            if again := seen.intersection(files):
                raise InputError(path, f"{min(again)} was already given by another path")
            seen.update(files)
            check_formats(path, files, row_type)
            left = [name for name in files if name not in reading.left_out]
            whole = len(left) == len(files)
            pattern = literal(path) if whole else [literal(name) for name in left]
            read += _by_format(spark, path, pattern, left, row_type, keep, origins, reading)
    if not read:
        raise InputError(os.fspath(paths[0]), f"no {row_type.name}: all files are damaged")
    return _union(read)


def check_formats(path: str, names: Iterable[str], row_type: RowType = RECORDS) -> None:
    """Raise InputError if none of the files of a path has the name of a known format."""
    if not any(name.endswith(known_suffixes(row_type)) for name in names):
        endings = ", ".join(source.suffixes[0] for source in _sources(row_type))
        raise InputError(path, f"no file of a known format (names that end in {endings})")


def read_files(
    spark: SparkSession,
    names: Sequence[str],
    row_type: RowType = RECORDS,
    keep: Keep = _unchanged,
    *,
    origins: bool = True,
    reading: Reading = AS_THEY_ARE,
) -> DataFrame:
    """The rows of these files, whose formats must be known; see ``read_rows``."""
    patterns = [literal(name) for name in names]
    with spark_errors():
        return _union(_by_format(spark, None, patterns, names, row_type, keep, origins, reading))


def _by_format(
    spark: SparkSession,
    named: str | None,
    pattern: str | list[str],
    names: Sequence[str],
    row_type: RowType = RECORDS,
    keep: Keep = _unchanged,
    origins: bool = True,
    reading: Reading = AS_THEY_ARE,
) -> list[DataFrame]:
    """A frame per format among the files; ``named``: the user's name for them, or None."""
    found: list[DataFrame] = []
    for source in _sources(row_type):
        own = tuple(name for name in names if name.endswith(source.suffixes))
        if own:
            several = f"{own[0]} and {len(own) - 1} more" if len(own) > 1 else own[0]
            named_by_row = origins or not source.quick
            shown, columns = named or several, reading.columns
            files = Files(shown, pattern, source, own, row_type, named_by_row, columns)
            if large := unsplit.largest(spark, files):
                reading.note(unsplit.advice(*large))
                files = replace(files, spread=True)
            rows = source.read(spark, files)
            found += rows if source.quick else [keep(_union(rows))]
    return found


def known_suffixes(row_type: RowType) -> tuple[str, ...]:
    """How the names of files end that can have such rows."""
    return tuple(suffix for source in _sources(row_type) for suffix in source.suffixes)


def _sources(row_type: RowType) -> tuple[Source, ...]:
    return (*SOURCES, *TOOLS.get(row_type, ()))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)
