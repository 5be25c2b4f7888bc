"""The first rows of each group in an order, without sorting the other rows.

Rows are distributed to buckets by a hash, several buckets for each wanted row. Of every bucket the
best score counts, and of these the N-th highest is the *floor*: at least N rows reach it, so no
other row is among the first N. Few more than N rows do, since the best rows are rarely in one
bucket; all of them only where all are equal. Only these are sorted, and each task drops all but its
own first N before one task ranks the rest. The best scores are numbers, so Spark finds them by hash
aggregation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_BUCKETS = 8
"""Buckets per wanted row."""

_MOST_BUCKETS = 2**30


def first_rows(
    rows: DataFrame, group: str, key: str, score: Column, order: Sequence[Column], most: int
) -> DataFrame:
    """Rows → the first ``most`` of each ``group`` in ``order``, with their ``rank`` from 1.

    ``key`` distinguishes the rows of a group and may end the order. ``score``: a double that never
    rises along the order. The group must not be null.
    """
    ranked = Window.partitionBy(group).orderBy(*order)
    return (
        reaching_floor(rows, group, key, score, most)
        .withColumn("rank", sf.row_number().over(ranked))
        .where(sf.col("rank") <= most)
    )


def reaching_floor(rows: DataFrame, group: str, key: str, score: Column, most: int) -> DataFrame:
    """Rows → those that reach the floor of their group: at least ``most``, or all."""
    buckets = min(_BUCKETS * most, _MOST_BUCKETS)
    best = Window.partitionBy(group).orderBy(sf.desc("score"), "bucket")
    floors = (
        rows.groupBy(group, sf.pmod(sf.xxhash64(key), sf.lit(buckets)).alias("bucket"))
        .agg(sf.max(score).alias("score"))
        .withColumn("at", sf.row_number().over(best))
        .where(sf.col("at") <= most)
        .groupBy(group)
        # with fewer buckets than wanted rows, all rows are kept
        .agg(sf.min(sf.when(sf.col("at") == most, sf.col("score"))).alias("floor"))
    )
    return (
        rows.join(sf.broadcast(floors), group)
        .where(sf.col("floor").isNull() | (score >= sf.col("floor")))
        .drop("floor")
    )
