"""Output of ``kafka-log-dirs.sh --describe``, one file per run.

The output has no time, so the file name must have one: a date and time in UTC, as in
``log-dirs-2026-11-20T08-00.txt`` or ``20261120T080000.txt``. Future replicas, which are being moved
between log dirs (``isFuture``), are ignored.
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


def read(spark: SparkSession, files: Files) -> list[DataFrame]:
    """A row per replica, from the one line of JSON."""
    lines = files.lines(spark).where(sf.ltrim("line").startswith("{"))
    common = ("source", "line", "timestamp")
    replicas = (
        lines.withColumn("timestamp", time_in_name())
        .select(*common, sf.explode_outer(sf.from_json("line", _OUTPUT)["brokers"]).alias("by"))
        .select(*common, "by.broker", sf.explode_outer("by.logDirs").alias("log_dir"))
        .select(*common, "broker", sf.explode_outer("log_dir.partitions").alias("replica"))
        .where("broker is null or replica is not null")
        .where("not coalesce(replica.isFuture, false)")
    )
    rows = replicas.select(
        *common,
        sf.regexp_extract("replica.partition", _NAME, 1).alias("topic"),
        sf.regexp_extract("replica.partition", _NAME, 2).alias("partition"),
        "broker",
        sf.col("replica.size").alias("size_bytes"),
        sf.to_json("replica").alias("text"),
        sf.when(sf.col("broker").isNull(), sf.lit("line has no broker with log dirs"))
        .when(sf.col("timestamp").isNull(), sf.lit(NO_TIME))
        .alias("broken"),
    )
    return [files.row_type.canonical(rows, sf.coalesce("text", "line"), files.named)]


NO_TIME = "the file name has no time, such as 2026-11-20T08-00"


def time_in_name() -> Column:
    """The time in a file name (column ``file``) as ISO 8601, null if there is none."""
    name = sf.url_decode("file")
    part = [sf.regexp_extract(name, _TIME, group) for group in range(1, 7)]
    day, clock = sf.concat_ws("-", *part[:3]), sf.concat_ws(":", *part[3:5])
    seconds = sf.when(part[5] == "", sf.lit("00")).otherwise(part[5])
    iso = sf.concat(day, sf.lit("T"), clock, sf.lit(":"), seconds, sf.lit("Z"))
    return sf.when(part[0] != "", iso)
