"""``partage profile --approximate``: distinct and hottest keys without grouping all records by key.

    by_window ─ places ┐
    records ───────── drawn ┬ distinct_keys
                            └ keys

Records are read a second time for two samples, which are drawn by hashes: the same records give the
same tables, on any number of machines.

- Of the *keys* of a partition, about ``KEYS`` to twice as many are drawn; their number is enlarged.
  How many keys there are, to choose what part of them is drawn, is estimated while windows are
  counted, by probabilistic counting with stochastic averaging (Flajolet and Martin, 1985). A part p
  of the keys that has n keys gives a relative standard error of √((1 - p)/n).
- Of the *records* of a topic, ``SAMPLE`` to twice as many are drawn, by partition and offset; the
  hottest keys are those of this sample, enlarged to the topic. A share p of n records has a
  standard error of √(p(1 - p)/n), at most 1/(2√n).

Four standard errors count as the bound. Few keys, or records, are drawn all: those figures are
exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from partage.pipeline import measure

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

SAMPLE = 1 << 18
"""Records of a topic that are sampled: this many to twice as many are expected."""

KEYS = 1 << 12
"""Keys of a partition that are sampled: this many to twice as many are expected."""

_STANDARD_ERRORS = 4

_BITMAPS, _WIDTH = 4, 16
"""The bits of a long: of each of four bitmaps, bit b is set by one of 2ᵇ⁺¹ of its hashes."""

_SKIPPED = 8
"""Only one of 2⁸ hashes sets a bit: fewer keys than that are all drawn."""

_CORRECTION = 0.77351
"""Of the estimate, from the same article."""


def bitmaps() -> Column:
    """Of records, an estimate of the number of keys, to be merged by ``bit_or``."""
    key = sf.xxhash64("key")
    levels = _bits(key, 2 + _SKIPPED, _WIDTH)
    lowest = levels.bitwiseAND(-levels)
    mark = sf.call_function("shiftleft", lowest, (_bits(key, 0, 2) * _WIDTH).cast("int"))
    rare = _bits(key, 2, _SKIPPED) == 0
    return sf.bit_or(sf.when(rare, mark).otherwise(0))


def places(by_window: DataFrame) -> DataFrame:
    """``measure.by_window`` with ``bitmaps`` → topic, partition, all (the topic's records),
    record_mask and key_mask: the bits of the hashes of records and keys that must be 0 for the
    samples."""
    full: Column = sf.lit(0)
    for at in range(_BITMAPS):
        unset = sf.bitwise_not(_bits(sf.col("bitmaps"), at * _WIDTH, _WIDTH))
        full += sf.bit_count(unset.bitwiseAND(-unset) - 1)
    estimate = math.log2(_BITMAPS << _SKIPPED) - math.log2(_CORRECTION) - math.log2(KEYS)
    of_topic = sf.sum("records").over(Window.partitionBy("topic"))
    sampled = sf.length(sf.bin(sf.floor(sf.col("all") / SAMPLE))) - 1
    return (
        by_window.where(sf.col("topic").isNotNull())
        .groupBy("topic", "partition")
        .agg(sf.sum("records").alias("records"), sf.bit_or("bitmaps").alias("bitmaps"))
        .withColumn("all", of_topic)
        .select(
            "topic",
            "partition",
            "all",
            _mask(sampled).alias("record_mask"),
            _mask(sf.floor(full / _BITMAPS + estimate)).alias("key_mask"),
        )
    )


def masks(places: DataFrame) -> Row:
    """The least masks of ``places``, and the most of the records."""
    least = (sf.min(name).alias(name) for name in ("record_mask", "key_mask"))
    return places.agg(*least, sf.max("record_mask").alias("most")).collect()[0]


def drawn(records: DataFrame, places: DataFrame, masks: Row) -> DataFrame:
    """Records → topic, partition, key, key_drawn, records, bytes: of both samples; the null key has
    its own row. ``records`` and ``bytes`` are those of the sample of records."""
    keys, offsets = sf.shiftright(sf.xxhash64("key"), 32), sf.xxhash64("partition", "offset")

    def are_drawn(record_mask: Column, key_mask: Column) -> tuple[Column, Column]:
        of_keys = sf.col("key").isNotNull() & (keys.bitwiseAND(key_mask) == 0)
        return offsets.bitwiseAND(record_mask) == 0, of_keys

    # what would be in the sample of no partition need not be looked up
    ever = are_drawn(*(sf.lit(masks[name]).cast("bigint") for name in ("record_mask", "key_mask")))
    record, key = are_drawn(sf.col("record_mask"), sf.col("key_mask"))
    return (
        records.where(ever[0] | ever[1])
        .join(sf.broadcast(places), ["topic", "partition"])
        .where(record | key)
        .groupBy("topic", "partition", "key")
        .agg(
            sf.bool_or(key).alias("key_drawn"),
            sf.count_if(record).alias("records"),
            sf.sum(sf.when(record, measure.record_bytes()).otherwise(0)).alias("bytes"),
        )
    )


def distinct_keys(drawn: DataFrame, places: DataFrame) -> DataFrame:
    """``drawn`` → topic, partition, distinct_keys, of partitions with a key; error: the relative
    standard error."""
    part = sf.col("key_mask") + 1
    return (
        drawn.where("key_drawn")
        .groupBy("topic", "partition")
        .agg(sf.count("*").alias("keys"))
        .join(sf.broadcast(places), ["topic", "partition"])
        .select(
            "topic",
            "partition",
            (sf.col("keys") * part).alias("distinct_keys"),
            sf.sqrt((1 - 1 / part) / sf.col("keys")).alias("error"),
        )
    )


def bounds(distinct_keys: DataFrame, masks: Row) -> dict[str, float]:
    """The most by which figures are wrong: ``distinct_keys`` in proportion to the true number,
    ``share`` in absolute terms."""
    error = distinct_keys.agg(sf.max("error")).collect()[0][0]
    return {
        "distinct_keys": _STANDARD_ERRORS * (error or 0.0),
        "share": _STANDARD_ERRORS / (2 * math.sqrt(SAMPLE)) if masks["most"] else 0.0,
    }


def keys(drawn: DataFrame, places: DataFrame, top: int) -> DataFrame:
    """``drawn`` → topic, rank, key, records, bytes, share, as ``measure.keys`` gives them, with
    records and bytes enlarged from the sample to the topic."""
    topics = places.select("topic", "all").distinct()
    sample = drawn.where(sf.col("records") > 0).select(
        "topic", "partition", "key", "records", "bytes"
    )
    records = sf.col("share") * sf.col("all")
    enlarged = {"records": records, "bytes": sf.col("bytes") * (records / sf.col("records"))}
    return (
        sample.transform(measure.keys, top)
        .join(sf.broadcast(topics), "topic")
        .withColumns({name: sf.round(own).cast("bigint") for name, own in enlarged.items()})
        .select("topic", "rank", "key", "records", "bytes", "share")
    )


def _bits(column: Column, begin: int, width: int) -> Column:
    """Bits of a long, as a number."""
    return sf.shiftrightunsigned(column, begin).bitwiseAND(sf.lit((1 << width) - 1))


def _mask(bits: Column) -> Column:
    """A number with so many bits set."""
    least = sf.greatest(bits.cast("int"), sf.lit(0))
    return sf.call_function("shiftleft", sf.lit(1).cast("bigint"), least) - 1
