"""What ``kafka-log-dirs.sh --describe`` prints, a file for each time that it was run.

It does not say when, so the file's name must: a date and a time of day in UTC, as in
``log-dirs-2026-11-20T08-00.txt`` or ``20261120T080000.txt``. Copies that are still being moved
between log dirs (``isFuture``) do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

SUFFIXES = (".txt", ".txt.gz")

_TIME = r"(\d{4})-?(\d{2})-?(\d{2})[T_ -]?(\d{2})[.-]?(\d{2})(?:[.-]?(\d{2}))?[^/]*$"
_REPLICAS = "array<struct<partition: string, size: string, isFuture: boolean>>"
_OUTPUT = f"brokers array<struct<broker: string, logDirs: array<struct<partitions: {_REPLICAS}>>>>"
_NAME = r"^(.+)-(\d+)$"


def read(spark: SparkSession, files: Files) -> DataFrame:
    """A row for each replica; of the lines only the one of JSON tells anything."""
    lines = files.lines(spark).where(sf.ltrim("line").startswith("{"))
    told = ("source", "line", "timestamp")
    replicas = (
        lines.withColumn("timestamp", time_in_name())
        .select(*told, sf.explode_outer(sf.from_json("line", _OUTPUT)["brokers"]).alias("by"))
        .select(*told, "by.broker", sf.explode_outer("by.logDirs").alias("log_dir"))
        .select(*told, "broker", sf.explode_outer("log_dir.partitions").alias("replica"))
        .where("broker is null or replica is not null")
        .where("not coalesce(replica.isFuture, false)")
    )
    rows = replicas.select(
        *told,
        sf.regexp_extract("replica.partition", _NAME, 1).alias("topic"),
        sf.regexp_extract("replica.partition", _NAME, 2).alias("partition"),
        "broker",
        sf.col("replica.size").alias("size_bytes"),
        sf.to_json("replica").alias("said"),
        sf.when(sf.col("broker").isNull(), sf.lit("line names no broker with its log dirs"))
        .when(sf.col("timestamp").isNull(), sf.lit(NO_TIME))
        .alias("broken"),
    )
    return files.kind.canonical(rows, sf.coalesce("said", "line"), files.named)


NO_TIME = "the file's name has no time, such as 2026-11-20T08-00"


def time_in_name() -> Column:
    """ISO 8601 out of a file's name (the column ``file``), null where there is no time in it."""
    name = sf.url_decode("file")
    part = [sf.regexp_extract(name, _TIME, group) for group in range(1, 7)]
    day, clock = sf.concat_ws("-", *part[:3]), sf.concat_ws(":", *part[3:5])
    seconds = sf.when(part[5] == "", sf.lit("00")).otherwise(part[5])
    iso = sf.concat(day, sf.lit("T"), clock, sf.lit(":"), seconds, sf.lit("Z"))
    return sf.when(part[0] != "", iso)
