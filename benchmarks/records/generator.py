"""Records that Spark generates from a seed, as Parquet: with or without a hot key.

A key is ``customer-`` and a number. There is at most one key per 20 records, in ``TOPICS`` topics
of ``PARTITIONS`` partitions, partitioned as librdkafka does (CRC32, which Spark has built in). One
record in a hundred has no key. Timestamps are evenly distributed over a week.

Kinds: ``even``, all keys are equally likely; ``zipf``, the k-th key is about 1/k as likely as the
first; ``hot``, like ``even``, but half of all records have one key.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

TOPICS = 4
PARTITIONS = 24
RECORDS_PER_KEY = 20
HOT = 0.5

_BEGIN = 1_767_225_600_000  # 2026-01-01
_WEEK = 7 * 24 * 3600 * 1000
_KEYLESS = 100
_PER_FILE = 2_000_000

Draw = Callable[[int], "Column"]
"""Random numbers from 0 to 1, a sequence per argument."""


def _even(keys: int, draw: Draw) -> Column:
    return sf.floor(draw(1) * keys)


def _zipf(keys: int, draw: Draw) -> Column:
    return sf.floor(sf.pow(sf.lit(float(keys)), draw(1))) - 1


def _hot(keys: int, draw: Draw) -> Column:
    return sf.when(draw(2) < HOT, sf.lit(0)).otherwise(_even(keys, draw))


KINDS: Mapping[str, Callable[[int, Draw], Column]] = {"even": _even, "zipf": _zipf, "hot": _hot}


def folder_of(data: Path, kind: str, records: int, seed: int) -> Path:
    """The folder of these records."""
    return data / f"{kind}-{records}-seed-{seed}"


def generate_records(spark: SparkSession, folder: Path, kind: str, records: int, seed: int) -> None:
    """Write the records unless the folder exists; never leaves it incomplete."""
    if folder.exists():
        return

    def draw(sequence: int) -> Column:
        bits = sf.shiftrightunsigned(sf.xxhash64("id", sf.lit(seed), sf.lit(sequence)), 11)
        return bits / sf.lit(float(1 << 53))

    customer = KINDS[kind](max(1, records // RECORDS_PER_KEY), draw).cast("bigint")
    key = sf.concat(sf.lit("customer-"), sf.col("customer").cast("string")).cast("binary")
    millis = sf.lit(_BEGIN) + sf.floor(sf.col("id") * (_WEEK / records))
    rows = (
        spark.range(0, records, 1, max(2, -(-records // _PER_FILE)))
        .withColumn("customer", customer)
        .withColumn("key", sf.when(sf.col("id") % _KEYLESS != 0, key))
        .select(
            sf.concat(sf.lit("topic-"), (sf.col("customer") % TOPICS).cast("string")).alias(
                "topic"
            ),
            (sf.coalesce(sf.crc32("key"), "id") % PARTITIONS).cast("int").alias("partition"),
            sf.col("id").alias("offset"),
            sf.timestamp_millis(millis).alias("timestamp"),
            "key",
            (100 + sf.floor(draw(3) * 900)).cast("bigint").alias("value_bytes"),
        )
    )
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    rows.write.parquet(str(unfinished))
    unfinished.rename(folder)
