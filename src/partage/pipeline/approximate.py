"""``partage profile --approximate``: distinct and hottest keys without grouping all records by key.

    by_window ─ places ┐
    records ───────── drawn ┬ counts ─ distinct_keys
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

``places`` and ``counts`` have a row per partition and are on the driver. Four standard errors count
as the bound. Few keys, or records, are drawn all: those figures are exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from partage.pipeline import measure

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from partage.arrays import Ints

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


def places(by_window: DataFrame) -> pa.Table:
    """``measure.by_window`` with ``bitmaps`` → topic, partition, all (the topic's records),
    record_mask and key_mask: the bits of the hashes of records and keys that must be 0 for the
    samples."""
    sums = sf.sum("records").alias("records"), sf.bit_or("bitmaps").alias("bitmaps")
    counted = by_window.where(sf.col("topic").isNotNull()).groupBy("topic", "partition").agg(*sums)
    found = counted.toArrow()
    topic = found["topic"].combine_chunks().dictionary_encode()
    row = np.asarray(topic.indices)
    of_topic = np.zeros(len(topic.dictionary), dtype=np.int64)
    np.add.at(of_topic, row, np.asarray(found["records"]))
    every = of_topic[row]
    full = np.zeros(len(row))
    for at in range(_BITMAPS):
        unset = ~np.asarray(found["bitmaps"]) >> at * _WIDTH & (1 << _WIDTH) - 1
        full += np.log2(np.where(unset, unset & -unset, 1))
    estimate = math.log2(_BITMAPS << _SKIPPED) - math.log2(_CORRECTION) - math.log2(KEYS)
    masks = {
        # the exponent of a number from 1/2 to 1 is 0
        "record_mask": _mask(np.frexp(every // SAMPLE)[1] - 1),
        "key_mask": _mask(np.floor(full / _BITMAPS + estimate)),
    }
    return pa.table(
        {**{name: found[name] for name in ("topic", "partition")}, "all": every, **masks}
    )


def drawn(records: DataFrame, places: pa.Table) -> DataFrame:
    """Records → topic, partition, key, key_drawn, records, bytes: of both samples; the null key has
    its own row. ``records`` and ``bytes`` are those of the sample of records."""
    keys, offsets = sf.shiftright(sf.xxhash64("key"), 32), sf.xxhash64("partition", "offset")

    def are_drawn(record_mask: Column, key_mask: Column) -> tuple[Column, Column]:
        of_keys = sf.col("key").isNotNull() & (keys.bitwiseAND(key_mask) == 0)
        return offsets.bitwiseAND(record_mask) == 0, of_keys

    # what would be in the sample of no partition need not be looked up
    masks = ("record_mask", "key_mask")
    least = (int(np.asarray(places[name]).min()) for name in masks)
    ever = are_drawn(*(sf.lit(mask).cast("bigint") for mask in least))
    record, key = are_drawn(*map(sf.col, masks))
    local = records.sparkSession.createDataFrame(places.drop_columns("all"))
    return (
        records.where(ever[0] | ever[1])
        .join(sf.broadcast(local), ["topic", "partition"])
        .where(record | key)
        .groupBy("topic", "partition", "key")
        .agg(
            sf.bool_or(key).alias("key_drawn"),
            sf.count_if(record).alias("records"),
            sf.sum(sf.when(record, measure.record_bytes()).otherwise(0)).alias("bytes"),
        )
    )


def counts(drawn: DataFrame, places: pa.Table) -> pa.Table:
    """``places`` with ``keys`` and ``records``: how many are in the samples."""
    found = drawn.groupBy("topic", "partition").agg(
        sf.count_if("key_drawn").alias("keys"), sf.sum("records").alias("records")
    )
    return places.join(found.toArrow(), ["topic", "partition"])


def distinct_keys(counts: pa.Table) -> pa.Table:
    """``counts`` → topic, partition, distinct_keys, of partitions with a key."""
    keyed = counts.filter(pc.greater(counts["keys"], 0))
    whole = pc.multiply(keyed["keys"], pc.add(keyed["key_mask"], 1))
    return keyed.select(["topic", "partition"]).append_column("distinct_keys", whole)


def bounds(counts: pa.Table) -> dict[str, float]:
    """The most by which figures are wrong: ``distinct_keys`` in proportion to the true number,
    ``share`` in absolute terms."""
    keyed = counts.filter(pc.greater(counts["keys"], 0))
    part, keys = np.asarray(keyed["key_mask"]) + 1, np.asarray(keyed["keys"])
    errors = np.sqrt((1 - 1 / part) / keys)
    sampled = np.asarray(counts["record_mask"]).any()
    return {
        "distinct_keys": _STANDARD_ERRORS * float(errors.max(initial=0)),
        "share": _STANDARD_ERRORS / (2 * math.sqrt(SAMPLE)) if sampled else 0.0,
    }


def keys(drawn: DataFrame, counts: pa.Table, top: int) -> DataFrame:
    """``drawn`` → topic, rank, key, records, bytes, share, as ``measure.keys`` gives them, with
    records and bytes enlarged from the sample to the topic."""
    topics = counts.group_by("topic").aggregate([("records", "sum"), ("all", "max")])
    totals = drawn.sparkSession.createDataFrame(topics)
    records = sf.col("share") * sf.col("all_max")
    enlarged = {"records": records, "bytes": sf.col("bytes") * (records / sf.col("records"))}
    return (
        drawn.where(sf.col("records") > 0)
        .transform(measure.hottest, top)
        .join(sf.broadcast(totals), "topic")
        .withColumn("share", sf.col("records") / sf.col("records_sum"))
        .withColumns({name: sf.round(own).cast("bigint") for name, own in enlarged.items()})
        .select("topic", "rank", "key", "records", "bytes", "share")
    )


def _bits(column: Column, begin: int, width: int) -> Column:
    """Bits of a long, as a number."""
    return sf.shiftrightunsigned(column, begin).bitwiseAND(sf.lit((1 << width) - 1))


def _mask(bits: Ints) -> Ints:
    """Numbers with so many bits set."""
    return (1 << np.maximum(bits, 0).astype(np.int64)) - 1
