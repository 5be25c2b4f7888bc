"""What ``kafka-consumer-groups.sh --describe`` prints, a file for each time that it was run.

When that was is in the file's name (see ``log_dirs``). Lines without a partition (column names,
groups without members) say nothing; ``-`` is an offset that the group has not committed.

With ``--verbose`` the leader's epoch stands between partition and offsets. Which of the two forms a
line has is told from its own numbers: the lag is the end less what is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from partage.pipeline.sources.log_dirs import NO_TIME, SUFFIXES, time_in_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

__all__ = ["SUFFIXES", "read"]

# A group's name may have spaces: group, topic, partition, then committed, end, lag, and who has it.
_WHERE = r"^(\S.*?) +(\S+) +(\d+)"
_OFFSETS = r" +(\d+|-) +(\d+|-) +(-?\d+|-)( +\S.*)?$"
_LINE = _WHERE + _OFFSETS
_VERBOSE = _WHERE + r" +(?:\d+|-)" + _OFFSETS


def read(spark: SparkSession, files: Files) -> DataFrame:
    """A row for each partition of a group."""
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
    return files.kind.canonical(rows, sf.col("line"), files.named)


def _adds_up(form: str) -> Column:
    """Whether a line of this form tells a lag that is the end less what is committed, or, as ``-``,
    none, where one of the two is not known."""
    committed, end, lag = (sf.regexp_extract("line", form, number) for number in (4, 5, 6))
    unknown = (committed == "-") | (end == "-")
    told = end.try_cast("long") - committed.try_cast("long") == lag.try_cast("long")
    return sf.col("line").rlike(form) & sf.when(lag == "-", unknown).otherwise(
        ~unknown & sf.coalesce(told, sf.lit(False))
    )
