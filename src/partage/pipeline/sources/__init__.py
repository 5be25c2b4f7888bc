"""Where records come from. A format of files is one module here and one line in ``SOURCES``; a
cluster is named by a URL (``kafka``)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from partage.errors import InputError
from partage.pipeline.session import spark_errors
from partage.pipeline.sources import csv, jsonl, kafka, parquet
from partage.pipeline.sources.files import Files, Source, list_files, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SOURCES", "Files", "Source", "read_records"]

SOURCES: tuple[Source, ...] = (
    Source("Parquet", (".parquet", ".parq"), parquet.read),
    Source("JSON lines", jsonl.SUFFIXES, jsonl.read),
    Source("CSV", csv.SUFFIXES, csv.read),
)


def read_records(spark: SparkSession, paths: Sequence[str | os.PathLike[str]]) -> DataFrame:
    """The rows of all ``paths`` as ``partage.pipeline.records`` has them: good ones and bad ones.

    A path is a URL of a cluster (``kafka``), or a file, a directory (searched to the bottom) or a
    glob, wherever Spark can read; the format follows from the files' names. Nothing but names,
    headers and first rows is read yet. Raises InputError for what is missing, empty, unreadable,
    given twice or lacks a column.
    """
    if not paths:
        raise InputError("", "no records given: name a file or a directory")
    frames: list[DataFrame] = []
    seen: set[str] = set()
    for path in [os.fspath(path) for path in paths]:
        with spark_errors(path):
            if path.startswith(kafka.SCHEME):
                if path in seen:
                    raise InputError(path, "is given twice")
                seen.add(path)
                frames.append(kafka.read(spark, path))
                continue
            files = list_files(spark, path)
            if not files:
                raise InputError(path, "holds no files")
            if again := seen.intersection(files):
                raise InputError(path, f"{min(again)} was already given by another path")
            seen.update(files)
            before = len(frames)
            for source in SOURCES:
                own = tuple(name for name in files if name.endswith(source.suffixes))
                if own:
                    frames.append(source.read(spark, Files(path, literal(path), source, own)))
            if len(frames) == before:
                known = ", ".join(source.suffixes[0] for source in SOURCES)
                raise InputError(path, f"no file of a known format (names that end in {known})")
    return reduce(lambda one, other: one.unionAll(other), frames)
