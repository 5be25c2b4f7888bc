"""What ``kafka-consumer-groups.sh --describe`` prints, a file for each time that it was run.

When that was is in the file's name (see ``log_dirs``). Lines without a partition (column names,
groups without members) say nothing; ``-`` is an offset that the group has not committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from partage.pipeline.sources.log_dirs import NO_TIME, SUFFIXES, time_in_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from partage.pipeline.sources.files import Files

__all__ = ["SUFFIXES", "read"]

# A group's name may have spaces: group, topic, partition, committed, end, lag, and who has it.
_LINE = r"^(\S.*?) +(\S+) +(\d+) +(\d+|-) +(\d+|-) +(-?\d+|-)( +\S.*)?$"


def read(spark: SparkSession, files: Files) -> DataFrame:
    """A row for each partition of a group."""
    lines = files.lines(spark).where(sf.col("line").rlike(_LINE))
    group, topic, partition, committed, end = (
        sf.regexp_extract("line", _LINE, number) for number in range(1, 6)
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
