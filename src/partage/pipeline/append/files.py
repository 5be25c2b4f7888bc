"""Files that came since the last run: those under the paths that were not measured yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from partage.errors import InputError
from partage.measured_loads.damaged import damaged_counted
from partage.pipeline.append.marks import FILE, Mark, New
from partage.pipeline.damaged import without_damaged
from partage.pipeline.progress import Progress, reported
from partage.pipeline.records import RECORDS
from partage.pipeline.sources import SOURCES, Reading, check_formats, read_files
from partage.pipeline.sources.files import listed, literal, refuse_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources import Keep

_SUFFIXES = tuple(suffix for source in SOURCES for suffix in source.suffixes)


def new_files(
    spark: SparkSession,
    paths: Sequence[str],
    before: Sequence[Mark],
    reading: Reading,
    progress: Progress | None,
    *,
    skip_damaged: bool,
) -> New:
    """The files under ``paths`` that are not in ``before``; ``skip_damaged``: without the damaged
    ones. Raises InputError for a file that has changed since it was measured."""
    with reported(spark, progress, "listing files"):
        marks = _listed(spark, paths, before)
    if skip_damaged:
        names = [mark.source for mark in marks]
        reading = without_damaged(spark, {RECORDS: names}, reading, progress)
        marks = [mark for mark in marks if mark.source not in reading.left_out]

    def rows(keep: Keep, origins: bool) -> DataFrame:
        names = [mark.source for mark in marks]
        return read_files(spark, names, RECORDS, keep, origins=origins, reading=reading)

    about = {"new_files": len(marks), **damaged_counted(reading.left_out)}
    return New(tuple(marks), rows, about)


def _listed(spark: SparkSession, paths: Sequence[str], before: Sequence[Mark]) -> list[Mark]:
    measured = {mark.source: mark for mark in before if mark.kind == FILE}
    reader = spark.read.option("recursiveFileLookup", "true")
    found: dict[str, Mark] = {}
    for path in paths:
        own = {
            name: Mark(FILE, name, None, at, length)
            for name, at, length in listed(reader, literal(path))
            if name.endswith(_SUFFIXES)
        }
        refuse_table(path, own)
        if not measured:
            check_formats(path, own)
        found |= own
    for name, mark in found.items():
        if measured.get(name, mark) != mark:
            problem = (
                "has changed since it was measured: measure again with `append` and `overwrite`"
            )
            raise InputError(name, problem)
    return [found[name] for name in sorted(found.keys() - measured.keys())]
