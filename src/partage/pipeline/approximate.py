"""``partage profile --approximate``: distinct and hottest keys without grouping all records by key.

    records ┬ distinct_keys
            └ sampled ─ keys

Distinct keys of a partition are estimated by Spark's HyperLogLog++, of the size of a sketch per
partition. The hottest keys of a topic are those of a sample of its records, enlarged to the whole
topic. Whether a record is in the sample depends on its partition and offset alone: the same records
give the same tables, on any number of machines. Records of topics up to twice ``SAMPLE`` are all in
the sample.

A partition's estimate has a relative standard error of at most ``SKETCH_ERROR``. A share p of a
sample of n records has one of √(p(1 - p)/n), at most 1/(2√n). Four standard errors count as the
bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from partage.pipeline import measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 1 << 18
"""Records of a topic that are sampled: this many to twice as many are expected."""

SKETCH_ERROR = 0.02
"""Relative standard error that is asked of HyperLogLog++."""

_STANDARD_ERRORS = 4


def bounds(sampled: bool) -> dict[str, Any]:
    """The most by which figures are wrong: ``distinct_keys`` in proportion to the true number,
    ``share`` in absolute terms. ``sampled``: whether any record was not in the sample."""
    share = _STANDARD_ERRORS / (2 * math.sqrt(SAMPLE)) if sampled else 0.0
    return {"distinct_keys": _STANDARD_ERRORS * SKETCH_ERROR, "share": share}


def topics(by_window: DataFrame) -> DataFrame:
    """``measure.by_window`` → topic, all (its records), mask: the bits of its records' hashes that
    must be 0 for the sample."""
    bits = sf.length(sf.bin(sf.floor(sf.col("all") / SAMPLE))) - 1
    mask = sf.call_function("shiftleft", sf.lit(1).cast("bigint"), bits) - 1
    return (
        by_window.where(sf.col("topic").isNotNull())
        .groupBy("topic")
        .agg(sf.sum("records").alias("all"))
        .withColumn("mask", mask)
    )


def distinct_keys(records: DataFrame) -> DataFrame:
    """Records → topic, partition, distinct_keys: estimates."""
    estimate = sf.approx_count_distinct("key", SKETCH_ERROR)
    return records.groupBy("topic", "partition").agg(estimate.alias("distinct_keys"))


def sampled(records: DataFrame, topics: DataFrame) -> DataFrame:
    """Records → topic, key, records, bytes: of the sample; the null key has its own row."""
    drawn = sf.xxhash64("partition", "offset").bitwiseAND(sf.col("mask")) == 0
    return (
        records.join(sf.broadcast(topics), "topic")
        .where(drawn)
        .groupBy("topic", "key")
        .agg(sf.count("*").alias("records"), sf.sum(measure.record_bytes()).alias("bytes"))
    )


def keys(sampled: DataFrame, topics: DataFrame, top: int) -> DataFrame:
    """``sampled`` → topic, rank, key, records, bytes, share, as ``measure.keys`` gives them, with
    records and bytes enlarged from the sample to the topic."""
    records = sf.col("share") * sf.col("all")
    enlarged = {"records": records, "bytes": sf.col("bytes") * (records / sf.col("records"))}
    return (
        sampled.transform(measure.keys, top)
        .join(sf.broadcast(topics), "topic")
        .withColumns({name: sf.round(own).cast("bigint") for name, own in enlarged.items()})
        .select("topic", "rank", "key", "records", "bytes", "share")
    )
