"""Output of ``kafka-consumer-groups.sh --describe``, one file per run.

The file name has the time of the run (see ``log_dirs``). Lines without a partition (headers, groups
without members) are ignored; ``-`` means no committed offset.

With ``--verbose`` the leader epoch stands between partition and offsets. The numbers of a line show
which form it has: the lag is the end offset minus the committed offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from partage.pipeline.sources.log_dirs import NO_TIME, SUFFIXES, time_in_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

__all__ = ["SUFFIXES", "read"]

# group (may contain spaces), topic, partition, committed, end, lag, consumer
_WHERE = r"^(\S.*?) +(\S+) +(\d+)"
_OFFSETS = r" +(\d+|-) +(\d+|-) +(-?\d+|-)( +\S.*)?$"
_LINE = _WHERE + _OFFSETS
_VERBOSE = _WHERE + r" +(?:\d+|-)" + _OFFSETS


def read(spark: SparkSession, files: Files) -> list[DataFrame]:
    """A row per partition of a group."""
    lines = files.lines(spark).where(sf.col("line").rlike(_LINE))
    group, topic, partition = (sf.regexp_extract("line", _LINE, number) for number in (1, 2, 3))
    verbose = ~_adds_up(_LINE) & _adds_up(_VERBOSE)
    committed, end = (
        sf.when(verbose, sf.regexp_extract("line", _VERBOSE, number)).otherwise(
            sf.regexp_extract("line", _LINE, number)
        )
        for number in (4, 5)
    )
    rows = lines.select(
        "source",
        "line",
        time_in_name().alias("timestamp"),
        group.alias("group"),
        topic.alias("topic"),
        partition.alias("partition"),
        sf.when(committed != "-", committed).alias("committed"),
        sf.when(end != "-", end).alias("end_offset"),
    ).withColumn("broken", sf.when(sf.col("timestamp").isNull(), sf.lit(NO_TIME)))
    return [files.row_type.canonical(rows, sf.col("line"), files.named)]


def _adds_up(form: str) -> Column:
    """Whether the lag of a line, read in this form, is the end offset minus the committed one, or
    ``-`` if one of the two is unknown."""
    committed, end, lag = (sf.regexp_extract("line", form, number) for number in (4, 5, 6))
    unknown = (committed == "-") | (end == "-")
    equal = end.try_cast("long") - committed.try_cast("long") == lag.try_cast("long")
    return sf.col("line").rlike(form) & sf.when(lag == "-", unknown).otherwise(
        ~unknown & sf.coalesce(equal, sf.lit(False))
    )
