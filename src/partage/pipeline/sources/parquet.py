"""Parquet files. Columns keep the types they have; a row is told as JSON when it is rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files


def read(spark: SparkSession, files: Files) -> DataFrame:
    """Every file's footer is read, so that files of different types are refused at once."""
    reader = files.reader(spark).option("mergeSchema", "true")
    frame = reader.load(files.pattern, format="parquet")
    files.kind.check_columns(frame.columns, files.named)
    columns = [name for name in frame.columns if name in files.kind.input_columns]
    rows = frame.select(
        *columns, files.origin().alias("source"), sf.lit(None).cast("string").alias("broken")
    )
    return files.kind.canonical(rows, sf.to_json(sf.struct(*columns)), files.named)
