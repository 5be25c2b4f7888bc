"""Samples of replica sizes and consumer offsets over time: their row types and measurements.

Functions DataFrame → DataFrame. Counters (bytes of a log, offsets) are compared from one sample to
the next: a rise is growth; a fall has another cause (retention, an offset reset) and does not
count. Sums are of integers, so the same samples give the same tables in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from partage.pipeline.rows import (
    INT32_MAX,
    NUMBER,
    Field,
    RowType,
    as_whole,
    bounds,
    text,
    time,
    whole,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GROUP_LENGTH = 1000


def _optional(name: str) -> Field:
    """An integer from 0, or null."""
    return Field(
        name,
        "bigint",
        {name: NUMBER},
        lambda rows, taken: [as_whole(rows, taken).alias(f"_{name}")],
        lambda taken: bounds(taken, sf.col(f"_{name}"), 2**63 - 1)[1:],
    )


SIZES = RowType(
    "log-dir sizes",
    (
        time("timestamp"),
        text("topic"),
        whole("partition", INT32_MAX, "int"),
        whole("broker", INT32_MAX, "int"),
        whole("size_bytes"),
    ),
)
"""The size of a replica at a time."""

LAGS = RowType(
    "consumer lags",
    (
        time("timestamp"),
        text("group", _GROUP_LENGTH),
        text("topic"),
        whole("partition", INT32_MAX, "int"),
        _optional("committed"),
        whole("end_offset"),
    ),
    hint='; a partition without a committed offset is written "committed": null',
)
"""A group's committed offset of a partition at a time, and the partition's end offset."""


def sizes(samples: DataFrame) -> DataFrame:
    """Samples of ``SIZES`` → one row per partition.

    topic, partition, samples, first, last, size_bytes (at the last), peak_bytes, grown_bytes,
    deleted_bytes. The size of a partition is that of its largest replica at the time.
    """
    by_time = samples.groupBy("topic", "partition", "timestamp").agg(
        sf.max("size_bytes").alias("size_bytes")
    )
    rise = _rise("size_bytes", "topic", "partition")
    return (
        by_time.withColumn("rise", rise)
        .groupBy("topic", "partition")
        .agg(
            sf.count("*").alias("samples"),
            sf.min("timestamp").alias("first"),
            sf.max("timestamp").alias("last"),
            sf.max_by("size_bytes", "timestamp").alias("size_bytes"),
            sf.max("size_bytes").alias("peak_bytes"),
            _sum(sf.greatest("rise", sf.lit(0))).alias("grown_bytes"),
            _sum(sf.greatest(-sf.col("rise"), sf.lit(0))).alias("deleted_bytes"),
        )
    )


def lags(samples: DataFrame) -> DataFrame:
    """Samples of ``LAGS`` → one row per partition of a group.

    group, topic, partition, samples, first, last, committed, end_offset, lag (at the last),
    peak_lag, consumed, produced (records from the first sample to the last). Without a committed
    offset, the whole partition is lag.
    """
    key = ("group", "topic", "partition")
    by_time = samples.groupBy(*key, "timestamp").agg(
        sf.max("committed").alias("committed"), sf.max("end_offset").alias("end_offset")
    )
    behind = sf.col("end_offset") - sf.coalesce("committed", sf.lit(0))
    return (
        by_time.withColumn("lag", sf.greatest(behind, sf.lit(0)))
        .withColumn("consumed", _rise("committed", *key))
        .withColumn("produced", _rise("end_offset", *key))
        .groupBy(*key)
        .agg(
            sf.count("*").alias("samples"),
            sf.min("timestamp").alias("first"),
            sf.max("timestamp").alias("last"),
            sf.max_by("committed", "timestamp").alias("committed"),
            sf.max_by("end_offset", "timestamp").alias("end_offset"),
            sf.max_by("lag", "timestamp").alias("lag"),
            sf.max("lag").alias("peak_lag"),
            _sum(sf.greatest("consumed", sf.lit(0))).alias("consumed"),
            _sum(sf.greatest("produced", sf.lit(0))).alias("produced"),
        )
    )


def _rise(column: str, *key: str) -> Column:
    """The change since the previous sample; null for the first."""
    # like counter_diff of Spark 4.3 and later
    before = sf.lag(column).over(Window.partitionBy(*key).orderBy("timestamp"))
    return sf.col(column) - before


def _sum(column: Column) -> Column:
    return sf.coalesce(sf.sum(column), sf.lit(0))
