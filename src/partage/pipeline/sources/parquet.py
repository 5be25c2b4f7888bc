"""Parquet files. Columns keep their types; a rejected row is shown as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files


def read(spark: SparkSession, files: Files) -> DataFrame:
    """Reads the footer of every file, so files with different types are refused at once."""
    reader = files.reader(spark).option("mergeSchema", "true")
    frame = reader.load(files.pattern, format="parquet")
    known = [name for name in frame.columns if name in files.row_type.input_columns]
    more = files.in_names(sf.col("_metadata.file_path"), known)
    columns = [*known, *more]
    files.row_type.check_columns([*frame.columns, *more], files.named)
    rows = frame.select(
        *known,
        *(column.alias(name) for name, column in more.items()),
        files.origin().alias("source"),
        sf.lit(None).cast("string").alias("broken"),
    )
    return files.row_type.canonical(rows, sf.to_json(sf.struct(*columns)), files.named)
