"""Parquet, ORC and Avro files. Columns keep their types; a rejected row is shown as JSON.

Spark reads Avro with a jar that it does not have: it is added to the session when first needed. Of
Avro files it reads the schema of one; columns that another file lacks are null there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from partage.jars import fetched_jars, locked_versions
from partage.pipeline.compat_pyspark import errors
from partage.pipeline.sources import added_jars
from partage.pipeline.sources.files import literal
from partage.pipeline.sources.frames import canonical, renamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

_AVRO = "spark-avro_2.13"

_DIFFERENT = re.compile("(?i)CANNOT_MERGE|failed (to )?merg")


def parquet(spark: SparkSession, files: Files) -> list[DataFrame]:
    """A frame for all files, or one for each group with its own types."""
    return list(_read(spark, files, "parquet"))


def orc(spark: SparkSession, files: Files) -> list[DataFrame]:
    """As ``parquet``."""
    return list(_read(spark, files, "orc"))


def avro(spark: SparkSession, files: Files) -> list[DataFrame]:
    """A frame for all files."""
    try:
        return list(_read(spark, files, "avro"))
    except AnalysisException as error:
        if not added_jars.is_missing(error):
            raise
    add_avro(spark)
    return list(_read(spark, files, "avro"))


def add_avro(spark: SparkSession) -> None:
    """Add Spark's Avro reader to the session. Raises PartageError."""
    number = added_jars.fitting(locked_versions(_AVRO))
    instead = f"start Spark with --conf spark.jars.packages=org.apache.spark:{_AVRO}:VERSION"
    added_jars.add_jars(
        spark, fetched_jars(f"{_AVRO}-{number}", f"Spark's Avro reader {number}", instead)
    )


def _read(spark: SparkSession, files: Files, form: str) -> Iterator[DataFrame]:
    """Reads the footer of every file. Where types differ between files, Spark refuses all of them:
    the files are halved until each group has its own types, which ``canonical`` widens."""
    try:
        reader = files.reader(spark).option("mergeSchema", "true")
        frame = reader.load(files.pattern, format=form)
        found = frame.columns
    except errors() as error:
        if len(files.names) == 1 or not _DIFFERENT.search(str(error)):
            raise
        half = len(files.names) // 2
        for names in (files.names[:half], files.names[half:]):
            named = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
            pattern = [literal(name) for name in names]
            yield from _read(spark, replace(files, named=named, pattern=pattern, names=names), form)
        return
    more = files.in_names(sf.col("_metadata.file_path"), files.row_type.known(found))
    more = {name: column for name, column in more.items() if name not in files.columns}
    frame = renamed(frame, files.row_type, files.named, files.columns)
    yield canonical(frame, files.row_type, files.named, more, files.origin())
