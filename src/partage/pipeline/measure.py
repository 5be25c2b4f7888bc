"""The measurements: functions DataFrame → DataFrame, to be chained with ``DataFrame.transform``.

                     ┌ by_window ┬ windows
    records ─ accepted           ├ partitions
                     └ by_key    ┴ keys
    records ─ rejected

Everything follows from two groupings of the accepted records, by (topic, partition, window) and by
(topic, partition, key); the tables are made out of those, so that records are grouped twice and no
oftener. A record's *bytes* are its value's and its key's (not its headers, not Kafka's framing).
Counts and sums are integers, ties are broken by key, and windows are aligned to 1970-01-01 UTC: the
same records give the same tables in any order, on any number of machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from partage.pipeline.records import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW_SECONDS = 3600
"""The default length of a window: an hour is short enough to show a daily peak."""

TOP_KEYS = 100
"""The default number of hottest keys per topic."""

_MICROSECONDS = 1_000_000


def accepted(records: DataFrame) -> DataFrame:
    """What ``read_records`` gave → the records among its rows: ``COLUMNS``."""
    return records.where(F.col("reason").isNull()).select(*COLUMNS)


def rejected(records: DataFrame) -> DataFrame:
    """What ``read_records`` gave → the rows that are none: source, row, reason."""
    return records.where(F.col("reason").isNotNull()).select("source", "row", "reason")


def by_window(records: DataFrame, seconds: int = WINDOW_SECONDS) -> DataFrame:
    """Records → topic, partition, window_start, records, bytes, null_keys, first, last."""
    micros = F.unix_micros("timestamp")
    length = F.lit(seconds * _MICROSECONDS)
    start = F.timestamp_micros(micros - F.pmod(micros, length))
    size = F.col("value_bytes") + F.coalesce(F.octet_length("key"), F.lit(0))
    return records.groupBy("topic", "partition", start.alias("window_start")).agg(
        F.count("*").alias("records"),
        F.sum(size).alias("bytes"),
        F.count_if(F.col("key").isNull()).alias("null_keys"),
        F.min("timestamp").alias("first"),
        F.max("timestamp").alias("last"),
    )


def by_key(records: DataFrame) -> DataFrame:
    """Records → topic, partition, key, records, bytes; the key null has a row of its own."""
    size = F.col("value_bytes") + F.coalesce(F.octet_length("key"), F.lit(0))
    return records.groupBy("topic", "partition", "key").agg(
        F.count("*").alias("records"), F.sum(size).alias("bytes")
    )


def windows(by_window: DataFrame) -> DataFrame:
    """``by_window`` → topic, partition, window_start, records, bytes; empty windows are left out."""
    return by_window.select("topic", "partition", "window_start", "records", "bytes")


def partitions(by_window: DataFrame, by_key: DataFrame, seconds: int = WINDOW_SECONDS) -> DataFrame:
    """``by_window`` and ``by_key`` → one row per partition that has records.

    topic, partition, records, bytes, bytes_per_second, peak_bytes_per_second, distinct_keys,
    null_keys, first, last. bytes_per_second is over the time from the first to the last record of
    the whole topic, but at least one window; the peak is that of the fullest window.
    """
    totals = by_window.groupBy("topic", "partition").agg(
        F.sum("records").alias("records"),
        F.sum("bytes").alias("bytes"),
        (F.max("bytes") / F.lit(float(seconds))).alias("peak_bytes_per_second"),
        F.sum("null_keys").alias("null_keys"),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
    )
    distinct = by_key.groupBy("topic", "partition").agg(F.count("key").alias("distinct_keys"))
    topic = Window.partitionBy("topic")
    span = F.unix_micros(F.max("last").over(topic)) - F.unix_micros(F.min("first").over(topic))
    span_seconds = F.greatest(span, F.lit(seconds * _MICROSECONDS)) / F.lit(float(_MICROSECONDS))
    return (
        totals.join(distinct, ["topic", "partition"])
        .withColumn("bytes_per_second", F.col("bytes") / span_seconds)
        .select(
            "topic",
            "partition",
            "records",
            "bytes",
            "bytes_per_second",
            "peak_bytes_per_second",
            "distinct_keys",
            "null_keys",
            "first",
            "last",
        )
    )


def keys(by_key: DataFrame, top: int = TOP_KEYS) -> DataFrame:
    """``by_key`` → the ``top`` hottest keys of each topic: topic, rank, key, records, bytes, share.

    Hottest is most records, then most bytes, then the least key. ``share`` is of the topic's
    records, those without a key among them; null itself is no key.
    """
    per_topic = by_key.groupBy("topic", "key").agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )
    hottest = Window.partitionBy("topic").orderBy(F.desc("records"), F.desc("bytes"), "key")
    totals = by_key.groupBy("topic").agg(F.sum("records").alias("all"))
    return (
        per_topic.where(F.col("key").isNotNull())
        .withColumn("rank", F.row_number().over(hottest))
        .where(F.col("rank") <= top)
        .join(F.broadcast(totals), "topic")
        .withColumn("share", F.col("records") / F.col("all"))
        .select("topic", "rank", "key", "records", "bytes", "share")
    )
