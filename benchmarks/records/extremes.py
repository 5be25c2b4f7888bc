"""Records of which one table of a profile is as long as the input, as Parquet.

``windows``: each record is the only one of its partition and hour, on 200,000 partitions;
``rejected``: every other record has a negative offset; ``keys``: each record has its own key, on
random partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_BEGIN = 1_767_225_600_000  # 2026-01-01
_HOUR = 3_600_000
_PARTITIONS = 200_000
_PER_FILE = 2_000_000

Columns = Mapping[str, "Column"]


def _windows() -> Columns:
    hour = sf.floor(sf.col("id") / _PARTITIONS)
    return {
        "partition": sf.col("id") % _PARTITIONS,
        "timestamp": sf.timestamp_millis(sf.lit(_BEGIN) + hour * _HOUR),
    }


def _rejected() -> Columns:
    return {"offset": sf.when(sf.col("id") % 2 == 0, sf.col("id")).otherwise(-sf.col("id"))}


def _keys() -> Columns:
    return {
        "partition": sf.pmod(sf.xxhash64("id"), sf.lit(64)),
        "key": sf.concat(sf.lit("customer-"), sf.col("id").cast("string")).cast("binary"),
    }


EXTREMES: Mapping[str, Callable[[], Columns]] = {
    "windows": _windows,
    "rejected": _rejected,
    "keys": _keys,
}


def generate_extreme(spark: SparkSession, folder: Path, kind: str, records: int) -> None:
    """Write the records of a kind to a folder."""
    columns: dict[str, Column] = {
        "topic": sf.lit("events"),
        "partition": sf.col("id") % 64,
        "offset": sf.col("id"),
        "timestamp": sf.timestamp_millis(sf.lit(_BEGIN) + sf.col("id") % _HOUR),
        "key": sf.lit(None).cast("binary"),
        "value_bytes": sf.col("id") % 1000,
        **EXTREMES[kind](),
    }
    rows = spark.range(0, records, 1, max(2, -(-records // _PER_FILE)))
    rows.select(*(column.alias(name) for name, column in columns.items())).write.parquet(
        str(folder)
    )
