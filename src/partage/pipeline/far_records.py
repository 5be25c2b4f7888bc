"""Find records whose time is far from that of all others of their topic, as a wrong clock leaves.

At each end of a topic, records are *far* if they are at most 1 % of it, and between them and the
others is a gap of more than ten times the days that the middle 98 % take. So a topic that is
written once a day, or that grows, has none. Those of days to come are far, too, unless all of the
topic are. Days are counted (or windows, where they are longer), so that a topic has at most as many
rows as there are days from 1970 to 2100.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from partage.measured_loads.far_records import FarRecords
from partage.period import Period

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DAY = 86_400_000
_ONE_IN = 100
_TIMES = 10
_TOPICS = 100
"""Most topics that are kept."""


def far_records(
    by_window: DataFrame, figures: Mapping[str, Any], window: int, period: Period
) -> list[dict[str, Any]]:
    """The topics of ``by_window`` whose mean rate such records decide: ``FarRecords`` as JSON.

    ``figures``: its totals, of which ``first`` and ``last`` show whether there can be any: only
    then a job runs. ``window``: seconds.
    """
    if figures["first"] is None:
        return []
    length = max(_DAY, window * 1000)
    today = time.time_ns() // 10**6 // length
    first, last = (figures[name] // length for name in ("first", "last"))
    if last - first <= _TIMES and last <= today + 1:
        return []
    rows = by_window.where(sf.col("topic").isNotNull()).transform(_far, length, today).collect()
    found = [FarRecords(**row.asDict()) for row in rows]
    return [one.to_json() for one in found if one.matters(period)]


def _far(windows: DataFrame, length: int, today: int) -> DataFrame:
    """``windows`` → the columns of ``FarRecords``, for the topics that have some. ``length``: of a
    day, in milliseconds; ``today``: its number."""
    topic = Window.partitionBy("topic")
    ordered = topic.orderBy("day")
    number = sf.floor(sf.unix_millis("window_start") / length).alias("day")
    days = windows.groupBy("topic", number).agg(
        sf.sum("records").alias("own"), sf.min("first").alias("first"), sf.max("last").alias("last")
    )
    counted = days.select(
        "*",
        sf.sum("own").over(topic).alias("all"),
        sf.sum("own").over(ordered).alias("up_to"),
        sf.lag("day").over(ordered).alias("before"),
        sf.lead("day").over(ordered).alias("after"),
    )
    few = sf.floor(sf.col("all") / _ONE_IN)
    middle = (sf.col("up_to") > few) & (sf.col("up_to") - sf.col("own") < sf.col("all") - few)
    known = counted.select(
        "*",
        sf.min(sf.when(middle, sf.col("day"))).over(topic).alias("middle_first"),
        sf.max(sf.when(middle, sf.col("day"))).over(topic).alias("middle_last"),
    )
    day, gap = sf.col("day"), _TIMES * (sf.col("middle_last") - sf.col("middle_first") + 1)
    begins = (day <= sf.col("middle_first")) & (day - sf.col("before") > gap)
    ends = (day >= sf.col("middle_last")) & (sf.col("after") - day > gap)
    to_come = sf.when(sf.col("middle_first") <= today + 1, day > today + 1).otherwise(False)
    marked = known.select(
        *("topic", "day", "own", "first", "last"),
        sf.max(sf.when(begins, day)).over(topic).alias("from_day"),
        sf.min(sf.when(ends, day)).over(topic).alias("to_day"),
        to_come.alias("to_come"),
    )
    far = sf.coalesce(
        (day < sf.col("from_day")) | (day > sf.col("to_day")) | sf.col("to_come"), sf.lit(False)
    )
    return (
        marked.withColumn("far", far)
        .groupBy("topic")
        .agg(
            sf.sum(sf.when(sf.col("far"), sf.col("own"))).alias("records"),
            sf.unix_millis(sf.min("first")).alias("first"),
            sf.unix_millis(sf.max("last")).alias("last"),
            sf.unix_millis(sf.min(sf.when(~sf.col("far"), sf.col("first")))).alias("since"),
            (sf.unix_millis(sf.max(sf.when(~sf.col("far"), sf.col("last")))) + 1).alias("until"),
        )
        .where("records > 0")
        .sort("topic")
        .limit(_TOPICS)
    )
