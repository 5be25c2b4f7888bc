"""Keys and where they lie: functions DataFrame → DataFrame.

    records ─ placements ─ hashed ┬ loads
                                  ├ agreement, sample, scatter    (who wrote it)
                                  └ by_key ┬ key_counts
                                           ├ hottest
                                           └ candidates           (what if)

A *placement* is a key on a partition. Records are grouped once, into placements, and those are
hashed: a key takes as many hashes as it has partitions, mostly one, however many records it has.
Everything else is arithmetic on the hashes. Counts and sums are integers, and ties are broken, so
that results are the same in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from partage.producers.detection import HASHES
from partage.producers.keys import Keys

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MODELS = "topic string, partitions int, models array<struct<hash: int, partitions: int>>"
"""A row per topic: how many partitions it has, and the models to try, ``hash`` as a position in
``HASHES``."""

WHAT_IFS = (
    "topic string, what_ifs array<struct<partitions: int, hash: int, empty_is_null: boolean>>"
)
"""A row per topic: the numbers of partitions to try, and by which hash."""

_THOUSAND = 1000
_INT31 = 2**31


def placements(records: DataFrame) -> DataFrame:
    """Records → topic, partition, key, records, bytes, first, last.

    Records without a key have a row per partition. Rows that are no records, where they are among
    them, have one row together, whose topic is null.
    """
    size = sf.col("value_bytes") + sf.coalesce(sf.octet_length("key"), sf.lit(0))
    return records.groupBy("topic", "partition", "key").agg(
        sf.count("*").alias("records"),
        sf.sum(size).alias("bytes"),
        sf.min("timestamp").alias("first"),
        sf.max("timestamp").alias("last"),
    )


def hashes_of(keys: pa.Array) -> pa.Array:
    """Binaries [N] → structs [N] of the numbers of ``HASHES``; a null key is not hashed, and gives
    nulls."""
    there = Keys.of(keys.drop_null())
    row = np.cumsum(np.asarray(keys.is_valid())) - 1
    rows = pa.array(row, pa.int64(), mask=np.asarray(keys.is_null()))
    columns = [pa.array(found.many(there).astype(np.int64)) for found in HASHES.values()]
    return pa.StructArray.from_arrays([column.take(rows) for column in columns], list(HASHES))


def hashed(placements: DataFrame) -> DataFrame:
    """``placements`` + a column for each hash."""
    kind = ", ".join(f"`{name}` bigint" for name in HASHES)
    hashes = sf.arrow_udf(hashes_of, f"struct<{kind}>")
    return placements.withColumn("hashes", hashes("key")).select(
        *placements.columns, *(sf.col("hashes")[name].alias(name) for name in HASHES)
    )


def loads(placements: DataFrame) -> DataFrame:
    """→ topic, partition, records, bytes, null_records, null_bytes, empty_records."""
    null, empty = sf.col("key").isNull(), sf.octet_length("key") == 0
    return placements.groupBy("topic", "partition").agg(
        sf.sum("records").alias("records"),
        sf.sum("bytes").alias("bytes"),
        _sum_if(null, "records").alias("null_records"),
        _sum_if(null, "bytes").alias("null_bytes"),
        _sum_if(empty, "records").alias("empty_records"),
    )


def agreement(hashed: DataFrame, models: DataFrame) -> DataFrame:
    """``hashed`` and ``MODELS`` → placements of keys, counted by which models explain them.

    topic, partition, fits (a truth value for each model), placements, records, first, last.
    """
    return (
        _keyed(hashed)
        .join(sf.broadcast(models.select("topic", "models")), "topic")
        .withColumn("fits", sf.transform("models", _explains))
        .groupBy("topic", "partition", "fits")
        .agg(
            sf.count("*").alias("placements"),
            sf.sum("records").alias("records"),
            sf.unix_micros(sf.min("first")).alias("first"),
            sf.unix_micros(sf.max("last")).alias("last"),
        )
    )


def sample(hashed: DataFrame, models: DataFrame, most: int) -> DataFrame:
    """``hashed`` and ``MODELS`` → at most so many placements of each topic that no model explains,
    as if drawn at random, but always the same: topic, partition, and the hashes."""
    from pyspark.sql import Window

    drawn = Window.partitionBy("topic").orderBy(sf.xxhash64("key", "partition"), "key", "partition")
    return (
        _unexplained(hashed, models)
        .withColumn("drawn", sf.row_number().over(drawn))
        .where(sf.col("drawn") <= most)
        .select("topic", "partition", *HASHES)
    )


def scatter(hashed: DataFrame, models: DataFrame) -> DataFrame:
    """``hashed`` and ``MODELS`` → of the placements that no model explains: topic, again, excess,
    expected (in thousandths), as ``partage.producers.detection.Scatter`` has them."""
    several = sf.col("records") >= 2
    count = sf.col("partitions").cast("double")
    # so many partitions are hit by chance, beyond the first
    hit = count * (1 - sf.pow(1 - 1 / count, sf.col("records"))) - 1
    return (
        _unexplained(hashed, models)
        .groupBy("topic", "key")
        .agg(
            sf.count("*").alias("places"),
            sf.sum("records").alias("records"),
            sf.max("partitions").alias("partitions"),
        )
        .groupBy("topic")
        .agg(
            sf.count_if(several).alias("again"),
            sf.sum(sf.col("places") - 1).alias("excess"),
            sf.sum(sf.round(hit * _THOUSAND).cast("bigint")).alias("expected"),
        )
    )


def by_key(hashed: DataFrame) -> DataFrame:
    """→ topic, key, records, bytes, places (partitions), latest (the partition of the last record,
    the highest where several are), and the hashes. Records without a key are left out."""
    moment = sf.unix_micros("last").cast("decimal(38,0)") * sf.lit(_INT31) + sf.col("partition")
    latest = sf.max(moment.cast("decimal(38,0)"))
    return (
        hashed.where(sf.col("key").isNotNull())
        .groupBy("topic", "key")
        .agg(
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.count("*").alias("places"),
            (latest % sf.lit(_INT31)).cast("int").alias("latest"),
            *(sf.max(name).alias(name) for name in HASHES),
        )
    )


def key_counts(by_key: DataFrame) -> DataFrame:
    """→ topic, keys, several (on several partitions); empty keys are left out."""
    return (
        _keyed(by_key)
        .groupBy("topic")
        .agg(sf.count("*").alias("keys"), sf.count_if(sf.col("places") > 1).alias("several"))
    )


def hottest(by_key: DataFrame, totals: DataFrame, top: int) -> DataFrame:
    """``by_key`` and (topic, all_records, all_bytes) → topic, rank, key, records, bytes.

    The ``top`` of each topic with the largest share of its records or of its bytes.
    """
    from pyspark.sql import Window

    share = sf.greatest(
        sf.col("records") / sf.col("all_records"),
        sf.col("bytes") / sf.greatest("all_bytes", sf.lit(1)),
    )
    ranked = Window.partitionBy("topic").orderBy(sf.desc("share"), sf.desc("records"), "key")
    return (
        _keyed(by_key)
        .join(sf.broadcast(totals), "topic")
        .withColumn("share", share)
        .withColumn("rank", sf.row_number().over(ranked))
        .where(sf.col("rank") <= top)
        .select("topic", "rank", "key", "records", "bytes")
    )


def candidates(by_key: DataFrame, what_ifs: DataFrame) -> DataFrame:
    """``by_key`` and ``WHAT_IFS`` → what each partition would have got.

    topic, partitions, hash, partition, keys, records, bytes, keys_moved, records_moved. The
    partition is null for an empty key where it is none.
    """
    what_if = sf.col("what_if")
    free = what_if["empty_is_null"] & (sf.octet_length("key") == 0)
    to = _hash(what_if["hash"]) % what_if["partitions"]
    return (
        by_key.join(sf.broadcast(what_ifs), "topic")
        .withColumn("what_if", sf.explode("what_ifs"))
        .withColumn("to", sf.when(~free, to))
        .withColumn("moved", sf.col("to") != sf.col("latest"))
        .groupBy("topic", "what_if", sf.col("to").alias("partition"))
        .agg(
            sf.count("*").alias("keys"),
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.count_if("moved").alias("keys_moved"),
            _sum_if(sf.col("moved"), "records").alias("records_moved"),
        )
        .select("topic", "what_if.partitions", "what_if.hash", "partition", *_COUNTED)
    )


_COUNTED: Sequence[str] = ("keys", "records", "bytes", "keys_moved", "records_moved")


def _keyed(frame: DataFrame) -> DataFrame:
    return frame.where(sf.octet_length("key") > 0)


def _unexplained(hashed: DataFrame, models: DataFrame) -> DataFrame:
    return (
        _keyed(hashed)
        .join(sf.broadcast(models), "topic")
        .where(~sf.exists("models", _explains))
        .drop("models")
    )


def _explains(model: Column) -> Column:
    return _hash(model["hash"]) % model["partitions"] == sf.col("partition")


def _hash(position: Column) -> Column:
    """The hash of a row by its position in ``HASHES``."""
    return sf.get(sf.array(*(sf.col(name) for name in HASHES)), position)


def _sum_if(condition: Column, column: str) -> Column:
    return sf.sum(sf.when(condition, sf.col(column)).otherwise(0))
