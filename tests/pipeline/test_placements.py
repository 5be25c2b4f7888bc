"""The hashes of placements, and the memory that placements take while they are cached."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark.sql import functions as sf

from partage.pipeline import placements
from partage.pipeline.cache import Cache
from partage.producers.fitting import HASHES

pytestmark = pytest.mark.spark

MOST_BYTES = 41
"""Per cached key of 10 to 15 bytes."""

KEYS = [b"", b"a", b"customer-1234", b"\xff" * 40, b"x" * 400, None]
KEYS += [b"3wujz9a", b"04v324lp", b"2b3erfye"]
"""The last three: FNV-1a is the number that has no positive counterpart, 0, and the highest one."""


def test_each_hash_is_that_of_the_key(spark: Any) -> None:
    rows = pa.table({"topic": ["t"] * len(KEYS), "key": pa.array(KEYS, pa.binary())})
    table = spark.createDataFrame(rows).transform(placements.hashed).toArrow()
    assert table.num_rows == len(KEYS)
    for row in table.to_pylist():
        for name, own in HASHES.items():
            expected = None if row["key"] is None else own.one(bytes(row["key"]))
            found = row[name]
            assert (found if found is None else found % 2**32) == expected, (name, row["key"])


def test_cached_placements_take_few_bytes(spark: Any) -> None:
    count = 100_000
    records = spark.range(0, count).select(
        sf.lit("events").alias("topic"),
        sf.pmod(sf.xxhash64("id"), sf.lit(64)).cast("int").alias("partition"),
        sf.concat(sf.lit("customer-"), sf.col("id").cast("string")).cast("binary").alias("key"),
        (sf.col("id") % 1000).alias("value_bytes"),
        sf.timestamp_millis(sf.lit(1_700_000_000_000) + sf.col("id")).alias("timestamp"),
    )
    stored = spark.sparkContext._jsc.sc().getRDDStorageInfo
    before = sum(one.memSize() for one in stored())
    with Cache() as cached:
        placed = records.transform(placements.placed).transform(placements.hashed, cached)
        assert placed.count() == count
        taken = sum(one.memSize() for one in stored()) - before
    assert 0 < taken <= MOST_BYTES * count
