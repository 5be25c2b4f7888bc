"""Let Spark's executors write a table to a folder, in any format that they know by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from partage.errors import InputError
from partage.pipeline.compat_pyspark import errors
from partage.pipeline.sources import added_jars
from partage.pipeline.spark_errors import spark_errors
from partage.pipeline.table_formats import FORMATS
from partage.printable import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"

ROWS_PER_FILE = 200_000
"""Most rows of a file, so that an executor can hold a whole one to compute its SHA-256."""

_ROW_GROUP = 16_000_000
"""Bytes of a row group of Parquet, which each task that writes holds in memory."""

_TEXT = ("csv", "json", "xml")
"""Text formats: bytes are written as base64, texts without characters that a terminal obeys."""

_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet evaluates, also one for wide letters: it gets an
apostrophe."""

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


def of_format(format: str) -> str:
    """The subject of errors about a format."""
    return f"format {format}"


def typed(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """The rows with these columns."""
    return frame.select(*(sf.col(one.name).cast(one.dataType) for one in from_arrow_schema(schema)))


def save(frame: DataFrame, url: str, format: str, out: str) -> None:
    """Let Spark write the rows of a frame to a new folder. ``out``: the user's name for what is
    written. Raises InputError."""
    if format.lower() in _TEXT:
        inert = sf.arrow_udf(_cells if format.lower() == "csv" else _texts, "string")
        written_as = {"binary": sf.base64, "string": inert}
        frame = frame.withColumns(
            {name: written_as[kind](name) for name, kind in frame.dtypes if kind in written_as}
        )
    writer = frame.write.format(format).option("maxRecordsPerFile", ROWS_PER_FILE)
    if format.lower() == "csv":
        # RFC 4180, not Spark's backslashes: a quote or a semicolon in a text begins no new cell
        writer = writer.option("header", True).option("escape", '"').option("quoteAll", True)
    if format == PARQUET:
        writer = writer.option("compression", "zstd").option("parquet.block.size", _ROW_GROUP)
    where = "" if format == PARQUET else of_format(format)
    with _microseconds(frame.sparkSession), spark_errors(where, out):
        try:
            writer.save(url)
        except errors() as error:
            if format.lower() in FORMATS and added_jars.is_missing(error):
                package = FORMATS[format.lower()].package(frame.sparkSession.version)
                problem = f"Spark lacks it: start it with --packages {package}"
                raise InputError(where, problem) from None
            raise


def _texts(column: pa.Array) -> pa.Array:
    """Printable texts."""
    return pa.array([one and printable(one) for one in column.to_pylist()], pa.string())


def _cells(column: pa.Array) -> pa.Array:
    """Printable texts, none of them a formula."""
    texts = _texts(column).to_pylist()
    quoted = [f"'{one}" if one and _FORMULA.match(one) else one for one in texts]
    return pa.array(quoted, pa.string())


@contextmanager
def _microseconds(spark: SparkSession) -> Iterator[None]:
    """Write timestamps to Parquet as INT64, which all readers know, not as INT96."""
    before = spark.conf.get(_TIMESTAMPS)
    spark.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(_TIMESTAMPS, str(before))
